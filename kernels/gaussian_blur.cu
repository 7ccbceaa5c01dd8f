// Separable Gaussian blur. Beyond the edge, the nearest pixel is used.
// The weights are computed once per frame, since every pixel needs the same ones.
#include "warploom/vector.h"

__device__ inline int blur_radius(float sigma, int capacity) {
    return min(static_cast<int>(4.0f * sigma + 0.5f), capacity - 1);  // cut off at four sigma
}

__device__ inline float bell(int offset, float sigma) {
    const float distance = static_cast<float>(offset) / sigma;
    return expf(-0.5f * distance * distance);
}

// weights[k] is the weight of the pixels at distance k to either side; the whole kernel sums to 1. One thread per
// weight.
extern "C" __global__ void gaussian_weights(float* __restrict__ weights, float sigma, int capacity) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    const int radius = blur_radius(sigma, capacity);
    if (k >= capacity) return;
    if (k > radius) {
        weights[k] = 0.0f;
        return;
    }
    if (radius == 0) {
        weights[k] = 1.0f;
        return;
    }
    float sum = 0.0f;
    for (int j = radius; j >= 1; --j) sum += 2.0f * bell(j, sigma);  // small weights first, to round least
    weights[k] = bell(k, sigma) / (sum + 1.0f);
}

extern "C" __global__ void blur_rows(
    const float4* __restrict__ image,
    float4* __restrict__ out,
    const float* __restrict__ weights,
    float sigma,
    int capacity,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float4* row = image + static_cast<size_t>(y) * width;
    const int radius = blur_radius(sigma, capacity);
    float4 sum = row[x] * weights[0];
    for (int k = 1; k <= radius; ++k) sum = sum + (row[max(x - k, 0)] + row[min(x + k, width - 1)]) * weights[k];
    out[static_cast<size_t>(y) * width + x] = sum;
}

extern "C" __global__ void blur_columns(
    const float4* __restrict__ image,
    float4* __restrict__ out,
    const float* __restrict__ weights,
    float sigma,
    int capacity,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float4* column = image + x;
    const size_t pitch = width;
    const int radius = blur_radius(sigma, capacity);
    float4 sum = column[y * pitch] * weights[0];
    for (int k = 1; k <= radius; ++k)
        sum = sum + (column[max(y - k, 0) * pitch] + column[min(y + k, height - 1) * pitch]) * weights[k];
    out[y * pitch + x] = sum;
}
