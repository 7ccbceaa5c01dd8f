// Running sums and products of floats, combined in f64 and always in the same order, which CUB doesn't promise: first
// the total of each tile of elements, then the totals before each tile, then the elements of each tile.
#include "elements.cuh"

constexpr int THREADS = 256, EACH = 16, TILE = THREADS * EACH;

__device__ inline double combined(int is_product, double a, double b) { return is_product ? a * b : a + b; }

// The place of an element of a tile in shared memory; the gaps keep threads in different banks.
__device__ inline int place(int element) { return element + element / EACH; }

// Loads each thread's numbers of a tile, a thread block's width apart; beyond the end, those that change nothing.
__device__ inline void load_tile(double (&numbers)[EACH], const void* x, unsigned int type, int is_product,
                                 unsigned long long start, unsigned long long count) {
    by_reader(x, type, [&](auto number) {
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            const unsigned long long i = start + threadIdx.x + k * THREADS;
            numbers[k] = i < count ? number(i) : is_product ? 1.0 : 0.0;
        }
    });
}

// Combines the values of a warp's threads before each thread and its own.
__device__ inline double scan_warp(int is_product, double value) {
    const int lane = threadIdx.x % 32;
    for (int step = 1; step < 32; step *= 2) {
        const double before = __shfl_up_sync(~0u, value, step);
        if (lane >= step) value = combined(is_product, before, value);
    }
    return value;
}

// Combines each element of a tile with all before it in the tile, and returns the total in each thread. `held` has the
// results.
__device__ double scan_tile(
    double* held, const void* x, unsigned int type, int is_product, unsigned long long start, unsigned long long count) {
    __shared__ double totals[THREADS / 32];
    const int thread = threadIdx.x, first = place(thread * EACH);
    double numbers[EACH];
    load_tile(numbers, x, type, is_product, start, count);
#pragma unroll
    for (int k = 0; k < EACH; ++k) held[place(thread + k * THREADS)] = numbers[k];
    __syncthreads();
    numbers[0] = held[first];
#pragma unroll
    for (int k = 1; k < EACH; ++k) numbers[k] = combined(is_product, numbers[k - 1], held[first + k]);
    const double up_to = scan_warp(is_product, numbers[EACH - 1]);
    if (thread % 32 == 31) totals[thread / 32] = up_to;
    double before = __shfl_up_sync(~0u, up_to, 1);  // of the threads before this one
    __syncthreads();
    double all = totals[0];
    for (int warp = 1; warp < THREADS / 32; ++warp) {
        if (warp == thread / 32) before = thread % 32 ? combined(is_product, all, before) : all;
        all = combined(is_product, all, totals[warp]);
    }
#pragma unroll
    for (int k = 0; k < EACH; ++k) held[first + k] = thread ? combined(is_product, before, numbers[k]) : numbers[k];
    __syncthreads();
    return all;
}

// Writes the total of each tile. The thread blocks loop over the tiles.
extern "C" __global__ void total_tiles(
    const void* __restrict__ x, unsigned int type, double* __restrict__ totals, int is_product, unsigned long long count) {
    __shared__ double warps[THREADS / 32];
    const int thread = threadIdx.x;
    for (unsigned long long tile = blockIdx.x; tile * TILE < count; tile += gridDim.x) {
        double numbers[EACH];
        load_tile(numbers, x, type, is_product, tile * TILE, count);
#pragma unroll
        for (int k = 1; k < EACH; ++k) numbers[0] = combined(is_product, numbers[0], numbers[k]);
        const double total = scan_warp(is_product, numbers[0]);
        if (thread % 32 == 31) warps[thread / 32] = total;
        __syncthreads();
        if (thread == 0) {
            double all = warps[0];
            for (int warp = 1; warp < THREADS / 32; ++warp) all = combined(is_product, all, warps[warp]);
            totals[tile] = all;
        }
        __syncthreads();
    }
}

// Replaces each total by that of all tiles before it, and the first by that of none. Launched with one thread block.
extern "C" __global__ void scan_totals(double* totals, int is_product, unsigned long long count) {
    __shared__ double held[TILE + THREADS];
    double before = is_product ? 1.0 : 0.0;
    for (unsigned long long start = 0; start < count; start += TILE) {
        const double total = scan_tile(held, totals, ELEMENT_FLOAT | 8, is_product, start, count);
        for (int element = threadIdx.x; element < TILE && start + element < count; element += THREADS)
            totals[start + element] = element ? combined(is_product, before, held[place(element - 1)]) : before;
        before = combined(is_product, before, total);
        __syncthreads();
    }
}

// Writes the running totals. The thread blocks loop over the tiles.
extern "C" __global__ void scan_tiles(
    const void* __restrict__ x,
    const double* __restrict__ totals,
    void* __restrict__ out,
    unsigned int type,
    int is_product,
    int exclusive,
    unsigned long long count) {
    __shared__ double held[TILE + THREADS];
    for (unsigned long long tile = blockIdx.x; tile * TILE < count; tile += gridDim.x) {
        scan_tile(held, x, type, is_product, tile * TILE, count);
        for (int element = threadIdx.x; element < TILE; element += THREADS) {
            const unsigned long long i = tile * TILE + element;
            const int last = element - exclusive;  // the last element that counts, if it is in this tile
            if (i >= count) break;
            const double total = last < 0 ? totals[tile] : tile ? combined(is_product, totals[tile], held[place(last)]) : held[place(last)];
            put_number(out, type, i, total);
        }
        __syncthreads();
    }
}
