// Smallest or largest numbers of discs, diamonds and crosses around each pixel; `windows.cu` has squares. Beyond the border,
// the nearest pixel is used.
#include "image_numbers.cuh"
#include "slide.cuh"
#include "windows.cuh"

// A GPU has `spread.cu` instead, up to a radius. A CPU takes longer for that.
#ifndef IDLE_ON_GPU
#define IDLE_ON_GPU 0
#endif

// SHAPE and RADIUS are those of a small window. A CPU, which would mask much of what loops do, unrolls them.
#if defined(WARPLOOM_CPU) && defined(RADIUS)
#define IS_UNROLLED
#endif

// How far a shape reaches up and down at a distance from its middle column: a disc (1), a diamond (2) or a cross (3).
__device__ inline int reach(int shape, int radius, int distance) {
    if (shape == 1) {  // radius + 0.5 from the middle, squared
        const int square = radius * (radius + 1) - distance * distance;
#ifdef IS_UNROLLED
        int far = 0;
        while ((far + 1) * (far + 1) <= square) ++far;
        return far;
#else
        return static_cast<int>(sqrtf(static_cast<float>(square)));
#endif
    }
    return shape == 3 && distance == 0 ? radius : shape == 2 ? radius - abs(distance) : 0;
}

// A thread computes RUN pixels of a column.
template <typename Pixel>
__device__ void shapes(const Pixel* __restrict__ image, Pixel* __restrict__ out, int width, int height, int row,
                       int column, int shape, int radius) {
    constexpr int RUN = 8;
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = (blockIdx.y * blockDim.y + threadIdx.y) * RUN;
    if (x >= width || y >= height) return;
    decltype(wide(Pixel{})) all[RUN];
#pragma unroll
    for (int k = 0; k < RUN; ++k) all[k] = wide(image[line(y + k, height, row) + line(x, width, column)]);
#ifdef IS_UNROLLED
    shape = SHAPE, radius = RADIUS;
#pragma unroll
#endif
    for (int distance = -radius; distance <= radius; ++distance) {
        const int far = reach(shape, radius, distance);
        const Pixel* source = image + line(x + distance, width, column);
        const auto load = [=](int at) { return wide(source[line(y - far + at, height, row)]); };
        if (2 * far < RUN) {
            slide(all, 2 * far + 1, load, [](auto& most, auto pixel, int) { most = both(most, pixel); });
        } else {
            decltype(wide(Pixel{})) found[RUN];
            combine(found, 2 * far, load);
#pragma unroll
            for (int k = 0; k < RUN; ++k) all[k] = both(all[k], found[k]);
        }
    }
#pragma unroll
    for (int k = 0; k < RUN; ++k)
        if (y + k < height) narrow(all[k], out + (static_cast<size_t>(y + k) * width + x));
}

extern "C" __global__ void __launch_bounds__(IDLE_ON_GPU ? 1024 : 128) combine_shapes(
    const void* __restrict__ image, void* __restrict__ out, unsigned int type, int width, int height, int row,
    int column, int shape, int radius) {
#if !IDLE_ON_GPU || defined(WARPLOOM_CPU)
    const auto take = [=](auto pixel) {
        using Pixel = decltype(pixel);
        shapes(static_cast<const Pixel*>(image), static_cast<Pixel*>(out), width, height, row, column, shape, radius);
    };
    switch (type & (ELEMENT_SIZE | ELEMENT_FLOAT)) {
        case 1: return take(static_cast<unsigned char>(0));
        case 4: return take(uchar4{});
        case 4 | ELEMENT_FLOAT: return take(0.0f);
        default: return take(PIXEL{});
    }
#endif
}
