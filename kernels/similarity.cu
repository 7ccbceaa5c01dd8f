// How similar two images look: the structural similarity index (Wang, Bovik, Sheikh and Simoncelli, "Image quality
// assessment: from error visibility to structural similarity", 2004), with its Gaussian window of 11 x 11 pixels.
#include "warploom/color.h"

#define REACH 5

// The Gaussian of standard deviation 1.5, from the middle on; all eleven weights add up to 1.
__device__ const float weights[REACH + 1] = {0.26601172f, 0.21300554f, 0.10936069f, 0.03600077f, 0.00759876f, 0.00102838f};

// The luminances of both images, the sum of their squares, and that of their difference, whose means the index is made
// of. Twice the covariance is the sum of the variances less that of the difference, which is exact for equal images.
extern "C" __global__ void compare_lights(
    const float4* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ terms, int encoded, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float x = luminance(a[i]), y = luminance(b[i]);
    if (encoded) x = to_srgb(x), y = to_srgb(y);
    terms[i] = {x, y, x * x + y * y, (x - y) * (x - y)};
}

// The weighted mean along a row, or a column if `step` is the width; beyond the border, the nearest element is used.
__device__ inline float4 window_mean(const float4* __restrict__ terms, size_t i, int place, int size, int step) {
    float4 sum = terms[i] * weights[0];
    for (int k = 1; k <= REACH; ++k) {
        const long long before = max(place - k, 0) - place, after = min(place + k, size - 1) - place;
        sum = sum + (terms[i + before * step] + terms[i + after * step]) * weights[k];
    }
    return sum;
}

extern "C" __global__ void average_rows(
    const float4* __restrict__ terms, float4* __restrict__ rows, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const size_t i = static_cast<size_t>(y) * width + x;
    rows[i] = window_mean(terms, i, x, width, 1);
}

extern "C" __global__ void find_similarity(
    const float4* __restrict__ rows, float* __restrict__ out, float range, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const size_t i = static_cast<size_t>(y) * width + x;
    const float4 mean = window_mean(rows, i, y, height, width);
    const float least_light = 1e-4f * range * range, least_contrast = 9e-4f * range * range;
    const float squares = mean.x * mean.x + mean.y * mean.y, apart = mean.x - mean.y;
    const float spread = fmaxf(mean.z - squares, 0.0f) + least_contrast;
    const float light = 1.0f - apart * apart / (squares + least_light);
    out[i] = light * (1.0f - fmaxf(mean.w - apart * apart, 0.0f) / spread);
}

// Run by a single thread: the sum of `parts`, divided by the number of pixels.
extern "C" __global__ void average_similarity(
    const double* __restrict__ parts, float* __restrict__ mean, int count, int pixels) {
    double sum = 0.0;
    for (int k = 0; k < count; ++k) sum += parts[k];
    *mean = static_cast<float>(sum / pixels);
}
