// Separable Gaussian blur of images with four channels. Beyond the edge, the nearest pixel is used.
//
// A Gaussian with a sigma above LARGEST is computed on an image that is smaller by a power of two, its `step`: a B-spline
// of degree 2 reduces the image, and one of degree 3 enlarges the result. Their variances are part of the Gaussian's.
#include "march_pixels.cuh"
#include "warploom/vector.h"

constexpr float LARGEST = 6.0f;
// The largest radius, and that of a kernel whose thread blocks need less shared memory, so that more of them run at once.
constexpr int MOST = 24, NARROW = 12;
// Smaller images have BORDER pixels more on each side, so that all windows there lie inside.
constexpr int BORDER = 27;

__device__ inline int step_of(float sigma) {
    return sigma > LARGEST ? 1 << static_cast<int>(ceilf(log2f(sigma / LARGEST))) : 1;
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

// Reduces an image, and gives it a border; idle if the step is 1. Thread blocks share the parts of rows of the smaller image.
// One adds up the rows of PIXELS columns, and then the columns for as many pixels as these are enough for.
constexpr int EACH = 4, SHRINKING = 256, PIXELS = EACH * SHRINKING;

extern "C" __global__ void __launch_bounds__(SHRINKING, 4) shrink(
    const PIXEL* __restrict__ image, float4* __restrict__ out, float sigma, int width, int height) {
    __shared__ float4 sums[PIXELS];
    const int step = step_of(sigma), columns = reduced(width, step);
    if (step == 1) return;
    // Three boxes of `step` pixels along each axis, convolved with each other.
    const int taps = 3 * step - 2, part = (PIXELS - taps) / step + 1;
    const float scale = 1.0f / (step * step * step);
    const auto weight = [=](int t) {
        const int a = t + 1, b = max(a - step, 0), c = max(a - 2 * step, 0);
        return static_cast<float>((a * (a + 1) - 3 * b * (b + 1) + 3 * c * (c + 1)) / 2) * scale;
    };
    const int across = (columns + part - 1) / part;
    for (int each = blockIdx.x; each < across * reduced(height, step); each += gridDim.x) {
        const int first = each % across * part, y = each / across, top = (y - BORDER) * step - (step - 1);
        const int left = (first - BORDER) * step - (step - 1);
        float4 sum[EACH] = {};
        int place[EACH];
#pragma unroll
        for (int k = 0; k < EACH; ++k) place[k] = inside(left + static_cast<int>(threadIdx.x) + k * SHRINKING, width);
#pragma unroll 2
        for (int t = 0; t < taps; ++t) {
            const PIXEL* const row = image + line(top + t, height, width);
            const float share = weight(t);
#pragma unroll
            for (int k = 0; k < EACH; ++k) sum[k] = sum[k] + row[place[k]] * share;
        }
#pragma unroll
        for (int k = 0; k < EACH; ++k) sums[threadIdx.x + k * SHRINKING] = sum[k];
        __syncthreads();
        for (int x = threadIdx.x; x < min(part, columns - first); x += SHRINKING) {
            float4 all = {};
            for (int t = 0; t < taps; ++t) all = all + sums[x * step + t] * weight(t);
            out[static_cast<size_t>(y) * columns + first + x] = all;
        }
        __syncthreads();
    }
}

// A thread computes RUN pixels of a row, and then of a column. The radius is LIMIT or less.
template <int LIMIT, typename Pixel>
__device__ inline void blur_picture(const Pixel* __restrict__ image, Pixel* __restrict__ out, const float* __restrict__ weights,
                                    int radius, int width, int height) {
    const int taps = 2 * radius + 1;
    const auto filter = [=](float4 (&sums)[RUN], auto load) {
        const auto weight = [=](int t) { return weights[abs(t - radius)]; };
#pragma unroll
        for (int k = 0; k < RUN; ++k) sums[k] = {};
        if (taps >= RUN) return weigh(sums, taps, load, weight);
        for (int t = 0; t < taps; ++t)
#pragma unroll
            for (int k = 0; k < RUN; ++k) sums[k] = sums[k] + load(t + k) * weight(t);
    };
    march_pixels<LIMIT, false>(image, out, Picture{width, height, width, 1}, radius, radius, filter, filter);
}

// Blurs the image; idle unless the step is 1 and the radius above NARROW.
extern "C" __global__ void __launch_bounds__(MARCHING, 2) blur(
    const PIXEL* __restrict__ image,
    PIXEL* __restrict__ out,
    const float* __restrict__ weights,
    float sigma,
    int width,
    int height) {
    const int step = step_of(sigma), radius = radius_of(rest_of(sigma, step));
    if (step == 1 && radius > NARROW) blur_picture<MOST>(image, out, weights, radius, width, height);
}

// Blurs the image; idle unless the step is 1 and the radius at most NARROW.
extern "C" __global__ void __launch_bounds__(MARCHING, 3) blur_narrow(
    const PIXEL* __restrict__ image,
    PIXEL* __restrict__ out,
    const float* __restrict__ weights,
    float sigma,
    int width,
    int height) {
    const int step = step_of(sigma), radius = radius_of(rest_of(sigma, step));
    if (step == 1 && radius <= NARROW) blur_picture<NARROW>(image, out, weights, radius, width, height);
}

// Blurs the smaller image; idle if the step is 1.
extern "C" __global__ void __launch_bounds__(MARCHING, 2) blur_small(
    const float4* __restrict__ small,
    float4* __restrict__ out,
    const float* __restrict__ weights,
    float sigma,
    int width,
    int height) {
    const int step = step_of(sigma), radius = radius_of(rest_of(sigma, step));
    if (step > 1) blur_picture<MOST>(small, out, weights, radius, reduced(width, step), reduced(height, step));
}

// The place of a pixel in the smaller image, and the weight of a pixel there at a distance below 2.
__device__ inline float place(int at, int step) { return (at - 0.5f * (step - 1)) / step + BORDER; }

__device__ inline float spline(float distance) {
    const float d = fabsf(distance), far = 2.0f - d;
    return d < 1.0f ? (0.5f * d - 1.0f) * d * d + 2.0f / 3.0f : far * far * far / 6.0f;
}

// Enlarges an image with a border; idle if the step is 1. A thread computes TALL pixels of a column.
constexpr int TALL = 4;

extern "C" __global__ void grow(
    const float4* __restrict__ image, PIXEL* __restrict__ out, float sigma, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * blockDim.y + threadIdx.y;
    const int step = step_of(sigma), columns = reduced(width, step);
    if (step == 1 || x >= width) return;
    const float across = place(x, step);
    const int left = static_cast<int>(across) - 1;
    for (int y = first * TALL; y < height; y += gridDim.y * blockDim.y * TALL) {
        const int top = static_cast<int>(place(y, step)) - 1, bottom = static_cast<int>(place(y + TALL - 1, step)) + 2;
        float4 sum[TALL] = {};
        for (int j = top; j <= bottom; ++j) {
            const float4* row = image + line(j, reduced(height, step), columns) + left;
            float4 part = {};
#pragma unroll
            for (int i = 0; i < 4; ++i) part = part + row[i] * spline(across - (left + i));
#pragma unroll
            for (int k = 0; k < TALL; ++k) {
                const float distance = place(y + k, step) - j;
                if (fabsf(distance) < 2.0f) sum[k] = sum[k] + part * spline(distance);
            }
        }
#pragma unroll
        for (int k = 0; k < TALL; ++k)
            if (y + k < height) out[static_cast<size_t>(y + k) * width + x] = sum[k];
    }
}
