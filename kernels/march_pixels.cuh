// Filters along the rows of a picture and then along its columns, in one pass. A thread block moves down a strip, filters a
// few rows at a time, and keeps the filtered rows that columns still need. So each pixel is loaded once, except beside
// the strip and above it. `march.cuh` has this for single numbers.
#pragma once
#include "slide.cuh"
#include "warploom/pixel.h"

// The pixels next to each other that a thread filters.
constexpr int RUN = 8;

// The pixels of a strip's row, the rows that are filtered together, and the threads of a thread block.
constexpr int STRIP_WIDE = 64, STRIP_HIGH = 16, MARCHING = STRIP_WIDE * STRIP_HIGH / RUN;

struct Picture {
    int width, height, row, column;
};

// Copies a pixel to shared memory. One of float4 goes there while the thread does other work, until `wait_for_copies`.
template <typename Pixel> __device__ inline void copy_pixel(float4* to, const Pixel* from) { *to = *from; }
__device__ inline void copy_pixel(float4* to, const float4* from) {
    const unsigned int address = static_cast<unsigned int>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
}
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// `across(found, load)` filters RUN windows next to each other of a row, where load(i) is pixel i of the first window and
// those after it; `down` does so in a column. Radii are MOST or less. With HOLDS, the next rows are loaded into registers
// while others are filtered, which is fastest where filters use few; otherwise they are copied. Distances between rows in
// shared memory are odd, so that threads that use the same column of several rows use different banks. Offsets are numbers
// of 32 bits, which take fewer instructions.
template <int MOST, bool HOLDS, typename Pixel, typename Across, typename Down>
__device__ inline void march_pixels(const Pixel* __restrict__ image, Pixel* __restrict__ out, Picture size, int radius_x,
                                    int radius_y, Across across, Down down) {
    constexpr int WIDE = STRIP_WIDE, HIGH = STRIP_HIGH;
    constexpr int TILE_PITCH = WIDE + 2 * MOST + 1, PITCH = WIDE + 1, KEPT = 2 * MOST + HIGH;
    constexpr int ROUNDS = (TILE_PITCH - 1 + WIDE - 1) / WIDE;
    extern __shared__ float4 tile[];
    float4* const kept = tile + HIGH * TILE_PITCH;
    const int strips = (size.width + WIDE - 1) / WIDE, block = blockIdx.y * gridDim.x + blockIdx.x, thread = threadIdx.x;
    const int segment = segment_of(size.height, strips, radius_y);
    const int left = block % strips * WIDE, top = block / strips * segment, rows = min(segment, size.height - top);
    if (rows <= 0) return;
    // Calls work(k, place in the tile, pixel) for what this thread loads of HIGH rows.
    const auto each = [&](int first, auto work) {
#pragma unroll
        for (int round = 0; round < ROUNDS; ++round) {
            const int x = thread % WIDE + round * WIDE;
            if (x >= WIDE + 2 * radius_x) continue;
            const Pixel* const from = image + inside(left + x - radius_x, size.width) * size.column;
#pragma unroll
            for (int k = 0; k < RUN; ++k) {
                const int row = thread / WIDE + k * (HIGH / RUN);
                work(round * RUN + k, tile + (row * TILE_PITCH + x), from + inside(first + row, size.height) * size.row);
            }
        }
    };
    Pixel held[HOLDS ? ROUNDS * RUN : 1];
    const auto begin_loads = [&](int first) {
        if constexpr (HOLDS)
            each(first, [&](int k, float4*, const Pixel* from) { held[k] = *from; });
        else
            each(first, [](int, float4* to, const Pixel* from) { copy_pixel(to, from); });
    };
    begin_loads(top - radius_y);
    int slot = 0;  // where the first of the next rows is kept
    for (int y = -2 * radius_y; y < rows; y += HIGH) {  // the first row that they complete
        const bool has_next = y + HIGH < rows;
        const int next = top + y + HIGH + radius_y;
        if constexpr (HOLDS)
            each(0, [&](int k, float4* to, const Pixel*) { *to = held[k]; });
        else
            wait_for_copies();
        __syncthreads();
        if (HOLDS && has_next) begin_loads(next);
        float4 found[RUN];
        {
            const int k = thread % HIGH, x = thread / HIGH * RUN, to = slot + k < KEPT ? slot + k : slot + k - KEPT;
            const float4* const row = tile + k * TILE_PITCH + x;
            across(found, [=](int i) { return row[i]; });
#pragma unroll
            for (int j = 0; j < RUN; ++j) kept[to * PITCH + x + j] = found[j];
        }
        __syncthreads();
        if (!HOLDS && has_next) begin_loads(next);
        const int x = thread % WIDE, k = thread / WIDE * RUN;
        if (y + k > -RUN && left + x < size.width) {
            int first = slot + k - 2 * radius_y;
            first += first < 0 ? KEPT : 0;
            const float4* const low = kept + (first * PITCH + x);
            const float4* const high = low - KEPT * PITCH;
            down(found, [=](int i) { return (i < KEPT - first ? low : high)[i * PITCH]; });
            Pixel* const target = out + ((top + y + k) * size.width + left + x);
#pragma unroll
            for (int j = 0; j < RUN; ++j)
                if (static_cast<unsigned int>(y + k + j) < static_cast<unsigned int>(rows)) target[j * size.width] = found[j];
        }
        slot = slot + HIGH < KEPT ? slot + HIGH : slot + HIGH - KEPT;
    }
}
