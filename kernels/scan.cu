// Running sums and products of floats in one pass, combined in f64 and always in the same order, which CUB doesn't promise.
//
// A thread block scans a tile and adds the total before it. The total consists of three parts, each of at most 32 totals
// or a few times as many: of the tiles before in the same group of 32 tiles, of the groups before in the same 32 groups,
// and of the larger groups before those. The last tile of a group writes the total of the group. So thread blocks wait
// for earlier ones only, which devices start in order, and whatever ends first, the same numbers are combined.
#include "elements.cuh"

#ifndef ELEMENTS
#define ELEMENTS (ELEMENT_FLOAT | 4u)
#endif
#ifndef ROWS
#define ROWS 8  // of a warp, each of which has 4 elements of each thread
#endif
constexpr unsigned int TYPE = ELEMENTS, SIZE = TYPE & ELEMENT_SIZE;
constexpr int THREADS = 256, WARPS = THREADS / 32, ROW = 32 * 4;
constexpr int TILE = WARPS * ROWS * ROW;
constexpr int RESIDENT = SIZE == 8 ? 2 : 3;  // thread blocks at once: with more of them, elements do not fit in registers
constexpr unsigned int GROUP = 32;
constexpr unsigned long long NOT_WRITTEN = ~0ull;  // bits of a NaN that is never written

__device__ inline double combined(int is_product, double a, double b) { return is_product ? a * b : a + b; }

__device__ inline void write_total(unsigned long long* to, double total) {
    *static_cast<volatile unsigned long long*>(to) = total == total ? __double_as_longlong(total) : 0x7FF8000000000000ull;
}

// Waits until some totals, at most one for each thread of a warp, are written, and combines them.
__device__ inline double wait_for(const unsigned long long* totals, unsigned int count, int is_product) {
    const int lane = threadIdx.x % 32;
    double total = is_product ? 1.0 : 0.0;
    if (lane < count) {
        unsigned long long bits;
        do bits = static_cast<const volatile unsigned long long*>(totals)[lane];
        while (bits == NOT_WRITTEN);
        total = __longlong_as_double(bits);
    }
#pragma unroll 1
    for (int step = 16; step > 0; step /= 2) total = combined(is_product, total, __shfl_xor_sync(~0u, total, step));
    return total;
}

// What a thread holds an element in, exactly.
template <unsigned int BYTES> struct HeldIn { using Type = float; };
template <> struct HeldIn<8> { using Type = double; };
using Held = HeldIn<SIZE>::Type;

__device__ inline bool is_aligned(const void* data) { return SIZE == 4 && (reinterpret_cast<size_t>(data) & 15u) == 0; }

// Loads four neighbours; beyond the end, numbers that change nothing.
__device__ inline void load(
    Held (&held)[4], const void* x, unsigned long long at, unsigned long long count, bool moves_fours, double none) {
    if (SIZE == 4 && moves_fours) {
        const float4 four = __ldcs(reinterpret_cast<const float4*>(static_cast<const float*>(x) + at));
        held[0] = four.x, held[1] = four.y, held[2] = four.z, held[3] = four.w;
        return;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) held[k] = static_cast<Held>(at + k < count ? number_at(x, TYPE, at + k) : none);
}

__device__ inline void store(
    const double (&results)[4], void* out, unsigned long long at, unsigned long long count, bool moves_fours) {
    if (SIZE == 4 && moves_fours) {
        const float4 four = make_float4(results[0], results[1], results[2], results[3]);
        __stcs(reinterpret_cast<float4*>(static_cast<float*>(out) + at), four);
        return;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k)
        if (at + k < count) put_number(out, TYPE, at + k, results[k]);
}

// Marks totals as not written.
extern "C" __global__ void begin_scan(unsigned long long* totals, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) totals[i] = NOT_WRITTEN;
}

// Writes the running totals: one thread block for each tile. `totals` has room for those of all tiles, groups and larger
// groups, none of which is written.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) scan_tiles(
    const void* __restrict__ x, void* __restrict__ out, unsigned long long* totals, int is_product, int exclusive,
    unsigned long long count) {
    __shared__ double warps[WARPS], before[3];
    const double none = is_product ? 1.0 : 0.0;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned int tile = blockIdx.x, group = tile / GROUP, large = group / GROUP;
    const unsigned long long first = static_cast<unsigned long long>(tile) * TILE + warp * (ROWS * ROW) + lane * 4;
    const bool moves_fours = is_aligned(x) && is_aligned(out) && first / TILE * TILE + TILE <= count;
    Held held[ROWS][4];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) load(held[r], x, first + r * ROW, count, moves_fours, none);
    double up_to[ROWS];  // of the row's elements up to those of this thread
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        up_to[r] = held[r][0];
#pragma unroll
        for (int k = 1; k < 4; ++k) up_to[r] = combined(is_product, up_to[r], held[r][k]);
    }
#pragma unroll
    for (int step = 1; step < 32; step *= 2)
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const double other = __shfl_up_sync(~0u, up_to[r], step);
            if (lane >= step) up_to[r] = combined(is_product, other, up_to[r]);
        }
    double all = none;  // of the warp's rows so far
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const double whole = __shfl_sync(~0u, up_to[r], 31), other = __shfl_up_sync(~0u, up_to[r], 1);
        up_to[r] = lane ? combined(is_product, all, other) : all;
        all = combined(is_product, all, whole);
    }
    if (lane == 31) warps[warp] = all;
    __syncthreads();
    double start = none, total = none;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
        if (w == warp) start = total;
        total = combined(is_product, total, warps[w]);
    }
    unsigned long long* const groups = totals + gridDim.x;
    unsigned long long* const larges = groups + (gridDim.x + GROUP - 1) / GROUP;
    if (threadIdx.x == 0) write_total(totals + tile, total);
    if (warp == 0) {
        const double found = wait_for(totals + group * GROUP, tile % GROUP, is_product);
        if (lane == 0) before[0] = found;
        if (lane == 0 && tile % GROUP == GROUP - 1) write_total(groups + group, combined(is_product, found, total));
    } else if (warp == 1) {
        const double found = wait_for(groups + large * GROUP, group % GROUP, is_product);
        if (lane == 0) before[1] = found;
        if (tile % (GROUP * GROUP) == GROUP * GROUP - 1) {
            const double last = wait_for(groups + group, 1, is_product);
            if (lane == 0) write_total(larges + large, combined(is_product, found, last));
        }
    } else if (warp == 2) {
        double found = none;
        for (unsigned int at = 0; at < large; at += GROUP)
            found = combined(is_product, found, wait_for(larges + at, min(GROUP, large - at), is_product));
        if (lane == 0) before[2] = found;
    }
    __syncthreads();
    start = combined(is_product, combined(is_product, before[2], before[1]), combined(is_product, before[0], start));
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        double now = combined(is_product, start, up_to[r]), results[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const double next = combined(is_product, now, held[r][k]);
            results[k] = exclusive ? now : next;
            now = next;
        }
        store(results, out, first + r * ROW, count, moves_fours);
    }
}
