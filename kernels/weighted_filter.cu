// Sums of the pixels around each pixel, weighted. Beyond the border, the nearest pixel is used.
#include "slide.cuh"
#include "warploom/pixel.h"
#include "warploom/vector.h"

constexpr int RUN = 4;

template <typename Pixel>
__device__ inline void convolve(const Pixel* __restrict__ image, const float* __restrict__ weights, Pixel* __restrict__ out,
                                int width, int height, int row, int column, int across, int down) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = (blockIdx.y * blockDim.y + threadIdx.y) * RUN;
    if (x >= width || y >= height) return;
    using Sum = decltype(*image + *image);
    Sum sums[RUN] = {};
    for (int i = 0; i < across; ++i) {
        const Pixel* source = image + line(x + across / 2 - i, width, column);
        const auto load = [=](int at) -> Sum { return source[line(y - down / 2 + at, height, row)]; };
        const auto add = [=](Sum& sum, Sum pixel, int t) {
            sum = sum + pixel * weights[(down - 1 - t) * across + i];
        };
        slide(sums, down, load, add);
    }
#pragma unroll
    for (int k = 0; k < RUN; ++k)
        if (y + k < height) out[static_cast<size_t>(y + k) * width + x] = sums[k];
}

extern "C" __global__ void convolve_image(
    const void* __restrict__ image, const float* __restrict__ weights, void* __restrict__ out, unsigned int type,
    int width, int height, int row, int column, int across, int down) {
    if (is_pixel(type))
        convolve(static_cast<const PIXEL*>(image), weights, static_cast<PIXEL*>(out), width, height, row, column,
                 across, down);
    else
        convolve(static_cast<const float*>(image), weights, static_cast<float*>(out), width, height, row, column, across,
                 down);
}
