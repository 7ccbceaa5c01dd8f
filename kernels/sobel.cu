// Edges: the length of the gradient by Sobel's two 3 x 3 kernels. Beyond the edge, the nearest pixel is used.
#include "warploom/color.h"
#include "warploom/pixel.h"

struct Gradient {
    float4 x;
    float4 y;
};

__device__ inline Gradient sobel_gradient(const PIXEL* __restrict__ image, int x, int y, int width, int height) {
    const size_t above = static_cast<size_t>(max(y - 1, 0)) * width;
    const size_t here = static_cast<size_t>(y) * width;
    const size_t below = static_cast<size_t>(min(y + 1, height - 1)) * width;
    const int left = max(x - 1, 0);
    const int right = min(x + 1, width - 1);
    const float4 from_left = image[above + left] + image[here + left] * 2.0f + image[below + left];
    const float4 from_right = image[above + right] + image[here + right] * 2.0f + image[below + right];
    const float4 from_above = image[above + left] + image[above + x] * 2.0f + image[above + right];
    const float4 from_below = image[below + left] + image[below + x] * 2.0f + image[below + right];
    return {from_right - from_left, from_below - from_above};
}

__device__ inline float length(float x, float y) { return sqrtf(x * x + y * y); }

// With `per_channel` 0, the gradient is that of the luminance, which gives grey edges.
extern "C" __global__ void sobel(
    const PIXEL* __restrict__ image, PIXEL* __restrict__ out, float strength, int per_channel, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const size_t i = static_cast<size_t>(y) * width + x;
    const Gradient gradient = sobel_gradient(image, x, y, width, height);
    const float alpha = float4(image[i]).w;
    if (per_channel) {
        out[i] = {
            strength * length(gradient.x.x, gradient.y.x),
            strength * length(gradient.x.y, gradient.y.y),
            strength * length(gradient.x.z, gradient.y.z),
            alpha,
        };
    } else {
        const float edge = strength * length(luminance(gradient.x), luminance(gradient.y));
        out[i] = {edge, edge, edge, alpha};
    }
}
