// Sums of the pixels around each pixel, weighted. Beyond the border, the nearest pixel is used.
#include "slide.cuh"
#include "warploom/pixel.h"
#include "warploom/vector.h"

constexpr int RUN = 8;  // the pixels of a column that a thread computes

// Adds a column of weights times pixels to RUN sums. DOWN is the number of weights if that is a constant, or 0.
template <int DOWN, typename Sum, typename Load, typename Weight>
__device__ inline void add_column(Sum (&sums)[RUN], int down, Load load, Weight weight) {
    if constexpr (DOWN > 0) {
        float weights[DOWN];
#pragma unroll
        for (int t = 0; t < DOWN; ++t) weights[t] = weight(t);
#pragma unroll
        for (int i = 0; i < RUN + DOWN - 1; ++i) {
            const Sum pixel = load(i);
#pragma unroll
            for (int k = 0; k < RUN; ++k)
                if (0 <= i - k && i - k < DOWN) sums[k] = sums[k] + pixel * weights[i - k];
        }
    } else {
        constexpr int PART = RUN / 2;  // whose pixels take fewer registers
#pragma unroll
        for (int first = 0; first < RUN; first += PART) {
            Sum part[PART];
#pragma unroll
            for (int k = 0; k < PART; ++k) part[k] = sums[first + k];
            slide(part, down, [=](int i) { return load(first + i); },
                  [=](Sum& sum, Sum pixel, int t) { sum = sum + pixel * weight(t); });
#pragma unroll
            for (int k = 0; k < PART; ++k) sums[first + k] = part[k];
        }
    }
}

template <int DOWN, typename Pixel>
__device__ inline void convolve(const Pixel* __restrict__ image, const float* __restrict__ weights, Pixel* __restrict__ out,
                                int width, int height, int row, int column, int across, int down) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = (blockIdx.y * blockDim.y + threadIdx.y) * RUN;
    if (x >= width || y >= height) return;
    using Sum = decltype(*image + *image);
    Sum sums[RUN] = {};
    for (int i = 0; i < across; ++i) {
        const Pixel* source = image + inside(x + across / 2 - i, width) * column;
        const auto load = [=](int at) -> Sum { return source[inside(y - down / 2 + at, height) * row]; };
        add_column<DOWN>(sums, down, load, [=](int t) { return weights[(down - 1 - t) * across + i]; });
    }
#pragma unroll
    for (int k = 0; k < RUN; ++k)
        if (y + k < height) out[static_cast<size_t>(y + k) * width + x] = sums[k];
}

template <typename Pixel>
__device__ inline void convolve_pixels(const void* image, const float* weights, void* out, int width, int height, int row,
                                       int column, int across, int down) {
    const auto from = static_cast<const Pixel*>(image);
    const auto to = static_cast<Pixel*>(out);
    switch (down) {
        case 3: return convolve<3>(from, weights, to, width, height, row, column, across, 3);
        case 5: return convolve<5>(from, weights, to, width, height, row, column, across, 5);
        default: return convolve<0>(from, weights, to, width, height, row, column, across, down);
    }
}

extern "C" __global__ void __launch_bounds__(256, 3) convolve_image(
    const void* __restrict__ image, const float* __restrict__ weights, void* __restrict__ out, unsigned int type,
    int width, int height, int row, int column, int across, int down) {
    if (is_pixel(type))
        convolve_pixels<PIXEL>(image, weights, out, width, height, row, column, across, down);
    else
        convolve_pixels<float>(image, weights, out, width, height, row, column, across, down);
}
