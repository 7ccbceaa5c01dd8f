// Means, smallest or largest values of the window around each pixel on a GPU, as `windows.cu` has for fields and on a CPU.
// Beyond the border, the nearest pixel is used. A thread block moves down a strip of the image, and keeps those filtered
// rows that columns still need. So each pixel is read once, except at the strip's sides.
#include "image_numbers.cuh"
#include "slide.cuh"
#include "warploom/vector.h"
#include "windows.cuh"

// How many windows next to each other a thread combines at once, of rows and of columns: 16, 8, 4 or 2, but no more than a
// window has pixels, or 2 for windows of one.
#ifndef ACROSS
#define ACROSS 16
#define DOWN 16
#endif

// The threads of a thread block, of which two share a pixel; the rows that are filtered together, which are also the windows
// of a row and then of a column that a thread combines; and the pixels of a strip's row.
constexpr int MARCHING = 128, PARTS = 2, BATCH = 16, STRIP = MARCHING / PARTS;

// Stores the first or the second half of a pixel.
__device__ inline void put(float2 found, float4* out, int part) { reinterpret_cast<float2*>(out)[part] = found; }
__device__ inline void put(float2 found, half4* out, int part) {
    asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(reinterpret_cast<unsigned int*>(out)[part]) : "f"(found.x), "f"(found.y));
}
template <typename Byte> __device__ inline void put_bytes(float2 found, Byte* out) {
    narrow(found.x, out);
    narrow(found.y, out + 1);
}
__device__ inline void put(float2 found, uchar4* out, int part) { put_bytes(found, reinterpret_cast<unsigned char*>(out) + 2 * part); }
__device__ inline void put(float2 found, srgb4* out, int part) { put_bytes(found, reinterpret_cast<Code*>(out) + 2 * part); }
__device__ inline void put(BytePair found, uchar4* out, int part) {
    reinterpret_cast<unsigned short*>(out)[part] = __byte_perm(found.numbers, 0, 0x20);
}
__device__ inline void put(HalfPair found, half4* out, int part) { reinterpret_cast<unsigned int*>(out)[part] = found.numbers; }

// Begins to copy a pixel to shared memory. The thread does other work until `wait_for_copies`.
template <typename Pixel> __device__ inline void begin_copy(const Pixel* from, void* to) {
    const auto address = static_cast<unsigned int>(__cvta_generic_to_shared(to));
    if constexpr (sizeof(Pixel) == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(from), "n"(sizeof(Pixel)) : "memory");
}
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

struct Strips {
    int width, height, row, column;
    int radius_x, radius_y;
};

// Combines windows of pixels that are Wide in shared memory, of which a thread has a Part.
template <typename Wide, typename Part, typename Pixel>
__device__ inline void march(const Pixel* image, Pixel* out, const Strips& size) {
    constexpr int PITCH = STRIP + 1;
    extern __shared__ float4 shared[];
    const int end_x = 2 * size.radius_x, end_y = 2 * size.radius_y, span = STRIP + end_x, pitch = span + 1;
    // Distances between rows are odd, so that threads with neighbouring rows use different banks.
    Wide* const tile = reinterpret_cast<Wide*>(shared);
    Wide* const ring = tile + BATCH * pitch;
    const int kept = DOWN < BATCH ? end_y + BATCH : end_y;
    const int strips = (size.width + STRIP - 1) / STRIP, block = blockIdx.y * gridDim.x + blockIdx.x, thread = threadIdx.x;
    const int segment = segment_of(size.height, strips, size.radius_y);
    const int left = block % strips * STRIP, top = block / strips * segment, rows = min(segment, size.height - top);
    if (rows <= 0) return;
    // Calls work(from, to) for each pixel that this thread copies, of the rows from `first` on.
    const auto each = [&](int first, auto work) {
        for (int x = thread % STRIP; x < span; x += STRIP) {
            const Pixel* const from = image + inside(left + x - size.radius_x, size.width) * size.column;
#pragma unroll
            for (int k = 0; k < BATCH; k += PARTS) {
                const int row = k + thread / STRIP;
                work(from + inside(first + row, size.height) * size.row, tile + (row * pitch + x));
            }
        }
    };
    const auto begin_copies = [&](int first) {
        each(first, [](const Pixel* from, Wide* to) { begin_copy(from, to); });
    };
    const float factor = TAKE == 0 ? 1.0f / ((end_x + 1) * (end_y + 1)) : 1.0f;
    const int part = thread % PARTS, column = thread / PARTS, line = column % BATCH, run = column / BATCH * BATCH;
    Part* const kept_column = reinterpret_cast<Part*>(ring + column) + part;
    Part totals[3] = {};  // of the batches before this one, the last one first
    begin_copies(top - size.radius_y);
    int slot = 0;  // the oldest row that is kept
    for (int y = -end_y; y < rows; y += BATCH) {  // the first row that the batch completes
        wait_for_copies();
        if constexpr (sizeof(Pixel) != sizeof(Wide))
            each(0, [](const Pixel*, Wide* to) { widen(Pixel(*reinterpret_cast<const Pixel*>(to)), to); });
        __syncthreads();
        Part found[BATCH], held[BATCH];
        const Part* const in_row = reinterpret_cast<const Part*>(tile + line * pitch + run) + part;
        combine_runs<ACROSS>(found, end_x, [=](int i) { return in_row[i * PARTS]; });
        __syncthreads();
        Part* const to = reinterpret_cast<Part*>(tile + line * PITCH + run) + part;
#pragma unroll
        for (int k = 0; k < BATCH; ++k) to[k * PARTS] = found[k];
        __syncthreads();
        const Part* const in_column = reinterpret_cast<const Part*>(tile + column) + part;
#pragma unroll
        for (int k = 0; k < BATCH; ++k) held[k] = in_column[k * (PITCH * PARTS)];
        __syncthreads();
        if (y + BATCH < rows) begin_copies(top + y + BATCH + size.radius_y);
        const auto place = [=](int i) { return kept_column + (slot + i < kept ? slot + i : slot + i - kept) * (PITCH * PARTS); };
        const auto load = [=](int i) { return *place(i); };
        const auto keep = [&](int first) {
#pragma unroll
            for (int k = 0; k < BATCH; ++k) *place(first + k) = held[k];
        };
        if constexpr (DOWN < BATCH) {
            keep(end_y);
            combine_runs<DOWN>(found, end_y, load);
        } else {
            // What all windows have in common ends with whole batches and the first row of this one.
            const int whole = min((end_y - BATCH + 1) / BATCH, 3);
            Part common = held[0];
#pragma unroll
            for (int k = 0; k < 3; ++k)
                if (k < whole) common = both(common, totals[k]);
            combine(found, end_y - whole * BATCH, common, load, [&](int k) { return held[k]; });
            keep(0);
            totals[2] = totals[1];
            totals[1] = totals[0];
            totals[0] = held[0];
#pragma unroll
            for (int k = 1; k < BATCH; ++k) totals[0] = both(totals[0], held[k]);
        }
        slot = slot + BATCH < kept ? slot + BATCH : slot + BATCH - kept;
        if (left + column >= size.width) continue;
        Pixel* const target = out + ((top + y) * size.width + left + column);
#pragma unroll
        for (int k = 0; k < BATCH; ++k)
            if (static_cast<unsigned int>(y + k) < static_cast<unsigned int>(rows))
                put(scaled(found[k], factor), target + k * size.width, part);
    }
}

template <typename Wide, typename Part, typename Pixel> __device__ inline void march(const void* image, void* out, const Strips& size) {
    march<Wide, Part>(static_cast<const Pixel*>(image), static_cast<Pixel*>(out), size);
}

// Idle for fields.
extern "C" __global__ void __launch_bounds__(MARCHING, 4) combine_squares(
    const void* __restrict__ image, void* __restrict__ out, unsigned int type, int width, int height, int row,
    int column, int radius_x, int radius_y) {
#ifndef WARPLOOM_CPU
    const int bytes = type & ELEMENT_SIZE;
    const Strips size = {width, height, row, column, radius_x, radius_y};
    if (bytes == number_size(type)) return;
    if constexpr (TAKE == 0) {
        if (bytes == sizeof(SmallPixel)) return march<float4, float2, SmallPixel>(image, out, size);
        march<float4, float2, PIXEL>(image, out, size);
    } else {
        if (bytes == sizeof(uchar4)) return march<Pairs<BytePair>, BytePair, uchar4>(image, out, size);
        if constexpr (sizeof(PIXEL) == sizeof(half4))
            march<Pairs<HalfPair>, HalfPair, half4>(image, out, size);
        else if constexpr (sizeof(PIXEL) == sizeof(float4))
            march<float4, float2, float4>(image, out, size);
    }
#endif
}
