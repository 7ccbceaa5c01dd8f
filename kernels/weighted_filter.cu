// Sums of the pixels around each pixel, weighted. Beyond the border, the nearest pixel is used.
#include "slide.cuh"
#include "warploom/pixel.h"
#include "warploom/vector.h"

// The pixels of a column that a thread computes; more if weights have few rows, whose number then is a constant.
constexpr int RUN = 4, MORE = 8;

__device__ inline bool are_few(int down) { return down == 3 || down == 5; }

struct Image {
    int width, height, row, column;
};

template <int COUNT, int DOWN, typename Pixel>
__device__ inline void convolve(const void* __restrict__ pixels, const float* __restrict__ weights, void* __restrict__ results,
                                Image size, int across, int down) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = (blockIdx.y * blockDim.y + threadIdx.y) * COUNT;
    if (x >= size.width || y >= size.height) return;
    const auto image = static_cast<const Pixel*>(pixels);
    const auto out = static_cast<Pixel*>(results);
    using Sum = decltype(*image + *image);
    Sum sums[COUNT] = {};
    for (int i = 0; i < across; ++i) {
        const Pixel* source = image + inside(x + across / 2 - i, size.width) * size.column;
        const auto weight = [=](int t) { return weights[(down - 1 - t) * across + i]; };
        if constexpr (DOWN == 0) {
            const auto load = [=](int at) -> Sum { return source[line(y - down / 2 + at, size.height, size.row)]; };
            slide(sums, down, load, [=](Sum& sum, Sum pixel, int t) { sum = sum + pixel * weight(t); });
        } else {
            float column[DOWN];
#pragma unroll
            for (int t = 0; t < DOWN; ++t) column[t] = weight(t);
#pragma unroll
            for (int at = 0; at < COUNT + DOWN - 1; ++at) {
                const Sum pixel = source[inside(y - DOWN / 2 + at, size.height) * size.row];
#pragma unroll
                for (int k = 0; k < COUNT; ++k)
                    if (0 <= at - k && at - k < DOWN) sums[k] = sums[k] + pixel * column[at - k];
            }
        }
    }
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        if (y + k < size.height) out[static_cast<size_t>(y + k) * size.width + x] = sums[k];
}

// Idle if weights have few rows.
extern "C" __global__ void convolve_image(
    const void* __restrict__ image, const float* __restrict__ weights, void* __restrict__ out, unsigned int type,
    int width, int height, int row, int column, int across, int down) {
    if (are_few(down)) return;
    const Image size = {width, height, row, column};
    if (is_pixel(type))
        convolve<RUN, 0, PIXEL>(image, weights, out, size, across, down);
    else
        convolve<RUN, 0, float>(image, weights, out, size, across, down);
}

template <typename Pixel>
__device__ inline void convolve_by_few(const void* image, const float* weights, void* out, Image size, int across, int down) {
    if (down == 3)
        convolve<MORE, 3, Pixel>(image, weights, out, size, across, 3);
    else
        convolve<MORE, 5, Pixel>(image, weights, out, size, across, 5);
}

// Idle unless weights have few rows.
extern "C" __global__ void __launch_bounds__(256, 3) convolve_few(
    const void* __restrict__ image, const float* __restrict__ weights, void* __restrict__ out, unsigned int type,
    int width, int height, int row, int column, int across, int down) {
    if (!are_few(down)) return;
    const Image size = {width, height, row, column};
    if (is_pixel(type))
        convolve_by_few<PIXEL>(image, weights, out, size, across, down);
    else
        convolve_by_few<float>(image, weights, out, size, across, down);
}
