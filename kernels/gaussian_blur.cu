// Separable Gaussian blur of images with four channels. Beyond the edge, the nearest pixel is used.
//
// A Gaussian with a sigma above WIDE is computed on an image that is smaller by a power of two, its `step`: a B-spline
// of degree 2 reduces the image, and one of degree 3 enlarges the result. Their variances are part of the Gaussian's.
#include "slide.cuh"
#include "warploom/vector.h"

constexpr float WIDE = 6.0f;
constexpr int RUN = 8, CHANNELS = 4;
// Smaller images have BORDER pixels more on each side, so that all windows there lie inside.
constexpr int BORDER = 27;

__device__ inline int step_of(float sigma) {
    return sigma > WIDE ? 1 << static_cast<int>(ceilf(log2f(sigma / WIDE))) : 1;
}

// The size of a smaller image. The limits tell the compiler that its pixels are inside its buffer.
__device__ inline int reduced(int size, int step) {
    return min(max((size + step - 1) / step, 1), size / 2 + 1) + 2 * BORDER;
}

// The sigma of the Gaussian in pixels of the smaller image, and where it is cut off: at four sigma.
__device__ inline float rest_of(float sigma, int step) {
    const float wide = sigma / step, narrow = 1.0f / step;
    return step == 1 ? sigma : sqrtf(wide * wide - (1.0f - narrow * narrow) / 4.0f - 1.0f / 3.0f);
}

__device__ inline int radius_of(float rest) { return static_cast<int>(4.0f * rest + 0.5f); }

__device__ inline float bell(int offset, float sigma) {
    const float distance = static_cast<float>(offset) / sigma;
    return expf(-0.5f * distance * distance);
}

// weights[k] is the weight of the pixels at distance k to either side; the whole kernel sums to 1. One thread per
// weight.
extern "C" __global__ void gaussian_weights(float* __restrict__ weights, float sigma, int capacity) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= capacity) return;
    const float rest = rest_of(sigma, step_of(sigma));
    const int radius = radius_of(rest);
    float sum = 0.0f;
    for (int j = radius; j >= 1; --j) sum += 2.0f * bell(j, rest);  // small weights first, to round least
    weights[k] = k == 0 ? 1.0f / (sum + 1.0f) : bell(k, rest) / (sum + 1.0f);
}

// Reduces an image, and gives it a border; idle if the step is 1.
extern "C" __global__ void shrink(
    const float4* __restrict__ image, float4* __restrict__ out, float sigma, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int step = step_of(sigma), columns = reduced(width, step), rows = reduced(height, step);
    if (step == 1 || x >= columns || y >= rows) return;
    // Three boxes of `step` pixels along each axis, convolved with each other.
    const auto weight = [=](int t) {
        const int a = t + 1, b = max(a - step, 0), c = max(a - 2 * step, 0);
        return static_cast<float>((a * (a + 1) - 3 * b * (b + 1) + 3 * c * (c + 1)) / 2) / (step * step * step);
    };
    const int left = (x - BORDER) * step - (step - 1), top = (y - BORDER) * step - (step - 1);
    float4 sum = {};
    for (int j = 0; j < 3 * step - 2; ++j) {
        const float4* row = image + inside(top + j, height) * width;
        float4 part = {};
        for (int i = 0; i < 3 * step - 2; ++i) part = part + row[inside(left + i, width)] * weight(i);
        sum = sum + part * weight(j);
    }
    out[static_cast<size_t>(y) * columns + x] = sum;
}

// Blurs the rows of an image or, with `is_small`, of a smaller one; idle unless the step is for that.
extern "C" __global__ void blur_rows(
    const float4* __restrict__ image,
    float4* __restrict__ out,
    const float* __restrict__ weights,
    float sigma,
    int width,
    int height,
    bool is_small) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int step = step_of(sigma), radius = radius_of(rest_of(sigma, step));
    if (is_small) width = reduced(width, step), height = reduced(height, step);
    if (is_small == (step == 1) || x >= width || y >= height) return;
    const float4* row = image + static_cast<size_t>(y) * width;
    float4 sum = row[x] * weights[0];
    for (int k = 1; k <= radius; ++k) sum = sum + (row[max(x - k, 0)] + row[min(x + k, width - 1)]) * weights[k];
    out[static_cast<size_t>(y) * width + x] = sum;
}

// Blurs the columns. A thread computes RUN rows of one channel, which needs fewer loads.
extern "C" __global__ void blur_columns(
    const float* __restrict__ image,
    float* __restrict__ out,
    const float* __restrict__ weights,
    float sigma,
    int width,
    int height,
    bool is_small) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = (blockIdx.y * blockDim.y + threadIdx.y) * RUN;
    const int step = step_of(sigma), radius = radius_of(rest_of(sigma, step));
    if (is_small) width = reduced(width, step), height = reduced(height, step);
    const int pitch = width * CHANNELS;
    if (is_small == (step == 1) || x >= pitch || y >= height) return;
    float sum[RUN] = {};
    const auto load = [=](int at) { return image[inside(y - radius + at, height) * pitch + x]; };
    slide(sum, 2 * radius + 1, load, [=](float& all, float pixel, int t) { all += pixel * weights[abs(t - radius)]; });
#pragma unroll
    for (int k = 0; k < RUN; ++k)
        if (y + k < height) out[static_cast<size_t>(y + k) * pitch + x] = sum[k];
}

// The weights of the four pixels around a place between the middle two; `t` is the distance from the first of these.
struct Spline {
    float weights[4];
    int first;
};

__device__ inline Spline spline(int at, int step) {
    const float place = (static_cast<float>(at) - 0.5f * (step - 1)) / step, t = place - floorf(place), s = 1.0f - t;
    return {{s * s * s / 6, (3 * t * t * t - 6 * t * t + 4) / 6, (3 * s * s * s - 6 * s * s + 4) / 6, t * t * t / 6},
            static_cast<int>(floorf(place)) + BORDER - 1};
}

// Enlarges an image with a border; idle if the step is 1. A thread computes RUN rows.
extern "C" __global__ void grow(
    const float4* __restrict__ image, float4* __restrict__ out, float sigma, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, first = (blockIdx.y * blockDim.y + threadIdx.y) * RUN;
    const int step = step_of(sigma), columns = reduced(width, step);
    if (step == 1 || x >= width || first >= height) return;
    const Spline across = spline(x, step);
    for (int y = first; y < min(first + RUN, height); ++y) {
        const Spline down = spline(y, step);
        float4 sum = {};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float4* row = image + static_cast<size_t>(down.first + j) * columns + across.first;
            float4 part = row[0] * across.weights[0];
#pragma unroll
            for (int i = 1; i < 4; ++i) part = part + row[i] * across.weights[i];
            sum = sum + part * down.weights[j];
        }
        out[static_cast<size_t>(y) * width + x] = sum;
    }
}
