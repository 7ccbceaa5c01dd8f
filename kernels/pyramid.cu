// Pyramids of pictures, each half as large as the one before (P. Burt and E. Adelson, The Laplacian Pyramid as a
// Compact Image Code, 1983).
#include "warploom/color.h"
#include "warploom/pixel.h"
#include "warploom/vector.h"

// What pixels become where one computes with them.
template <typename Pixel> using Sum = decltype(Pixel() + Pixel());

// The place of a pixel beyond the border: mirrored about the pixel at the border.
__device__ inline int mirrored(int at, int size) {
    if (at < 0) at = -at;
    if (at >= size) at = 2 * (size - 1) - at;
    return min(max(at, 0), size - 1);
}

// Half the size: each pixel is the sum of 5 x 5 weights 1 4 6 4 1 / 16 around every second one.
template <typename Pixel, typename Across>
__device__ inline Sum<Pixel> halved(const Pixel* __restrict__ image, int x, int y, int width, int height, Across across) {
    Sum<Pixel> sum = {};
#pragma unroll
    for (int j = -2; j <= 2; ++j) {
        const Pixel* line = image + static_cast<size_t>(mirrored(2 * y + j, height)) * width;
        const Sum<Pixel> row = (line[across(-2)] + line[across(2)]) * (1.0f / 16.0f) +
                          (line[across(-1)] + line[across(1)]) * (4.0f / 16.0f) + line[2 * x] * (6.0f / 16.0f);
        sum += row * (j == 0 ? 6.0f / 16.0f : j == 1 || j == -1 ? 4.0f / 16.0f : 1.0f / 16.0f);
    }
    return sum;
}

template <typename Pixel>
__device__ void halve(const Pixel* __restrict__ image, Pixel* __restrict__ out, int width, int height, int out_width,
                      int out_height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= out_width || y >= out_height) return;
    const auto beside = [=](int i) { return 2 * x + i; };
    const auto within = [=](int i) { return mirrored(2 * x + i, width); };
    out[static_cast<size_t>(y) * out_width + x] = x >= 1 && 2 * x + 2 < width
                                                      ? halved(image, x, y, width, height, beside)
                                                      : halved(image, x, y, width, height, within);
}

extern "C" __global__ void halve_image(
    const void* __restrict__ image, void* __restrict__ out, unsigned int type, int width, int height, int out_width,
    int out_height) {
    if (!is_pixel(type))
        halve(static_cast<const float*>(image), static_cast<float*>(out), width, height, out_width, out_height);
    else
        halve(static_cast<const PIXEL*>(image), static_cast<PIXEL*>(out), width, height, out_width, out_height);
}

// A pixel between those of a picture of half the size: the same weights, of those that there are.
template <typename Pixel> __device__ inline Sum<Pixel> between(const Pixel* line, int x, int width) {
    const int at = min(x / 2, width - 1), next = min(at + 1, width - 1);
    if (x % 2) return (line[at] + line[next]) * 0.5f;
    return (line[max(at - 1, 0)] + line[next]) * 0.125f + line[at] * 0.75f;
}

template <typename Pixel>
__device__ inline Sum<Pixel> enlarged(const Pixel* __restrict__ image, int x, int y, int width, int height) {
    const int at = min(y / 2, height - 1);
    const size_t before = static_cast<size_t>(max(at - 1, 0)) * width, next = static_cast<size_t>(min(at + 1, height - 1)) * width;
    const Sum<Pixel> here = between(image + static_cast<size_t>(at) * width, x, width), after = between(image + next, x, width);
    if (y % 2) return (here + after) * 0.5f;
    return (between(image + before, x, width) + after) * 0.125f + here * 0.75f;
}

extern "C" __global__ void enlarge_image(
    const void* __restrict__ image, void* __restrict__ out, unsigned int type, int width, int height, int out_width,
    int out_height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= out_width || y >= out_height) return;
    const size_t to = static_cast<size_t>(y) * out_width + x;
    if (!is_pixel(type))
        static_cast<float*>(out)[to] = enlarged(static_cast<const float*>(image), x, y, width, height);
    else
        static_cast<PIXEL*>(out)[to] = enlarged(static_cast<const PIXEL*>(image), x, y, width, height);
}

// The share of the second image: a number, or the luminance of a colour where it is opaque.
extern "C" __global__ void read_mask(
    const void* __restrict__ mask, unsigned int type, float* __restrict__ out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float share;
    if (!is_pixel(type)) {
        share = static_cast<const float*>(mask)[i];
    } else {
        const float4 color = static_cast<const PIXEL*>(mask)[i];
        share = luminance(color) * color.w;
    }
    out[i] = fminf(fmaxf(share, 0.0f), 1.0f);
}

// A level of a blend: the mixture of what two pictures have beyond their halves, added to the enlarged blend of those.
extern "C" __global__ void blend_level(
    const float4* __restrict__ a, const float4* __restrict__ b, const float* __restrict__ mask,
    const float4* __restrict__ half_a, const float4* __restrict__ half_b, const float4* __restrict__ half_out,
    float4* __restrict__ out, int has_half, int width, int height, int half_width, int half_height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const size_t at = static_cast<size_t>(y) * width + x;
    const float share = mask[at];
    float4 first = a[at], second = b[at], below = {};
    if (has_half) {
        first = first - enlarged(half_a, x, y, half_width, half_height);
        second = second - enlarged(half_b, x, y, half_width, half_height);
        below = enlarged(half_out, x, y, half_width, half_height);
    }
    out[at] = below + first + (second - first) * share;
}
