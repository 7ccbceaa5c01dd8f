// Filters over a window around each pixel that are not sums: the median, and means of what is alike. Beyond the border,
// the nearest pixel is used.
#include "warploom/color.h"
#include "warploom/pixel.h"
#include "warploom/vector.h"

#define MOST_RADIUS 3  // of the median; equals MOST_RADIUS in median.py
#define MOST ((2 * MOST_RADIUS + 1) * (2 * MOST_RADIUS + 1))

// Swaps the halves of a window so that the middle one of `count` values is at its place (Hoare's selection). NaN counts
// as larger than all others.
__device__ inline float middle_of(float (&values)[MOST], int count) {
    int low = 0, high = count - 1;
    const int middle = count / 2;
    while (low < high) {
        const float pivot = values[middle];
        int i = low, k = high;
        while (i <= k) {
            while (values[i] < pivot || (isnan(pivot) && !isnan(values[i]))) ++i;
            while (values[k] > pivot || (isnan(values[k]) && !isnan(pivot))) --k;
            if (i > k) break;
            const float value = values[i];
            values[i++] = values[k];
            values[k--] = value;
        }
        if (k < middle) low = i;
        if (middle < i) high = k;
    }
    return values[middle];
}

#ifdef WARPLOOM_CPU
// A whole number for each float, in the same order; NaN is the largest. Any CPU has instructions for the lesser and the
// greater of many whole numbers, but not of floats with NaN.
__device__ inline int rank_of(float number) {
    const int bits = __float_as_int(number);
    return isnan(number) ? 0x7FFFFFFF : bits ^ (bits >> 31 & 0x7FFFFFFF);
}
__device__ inline float float_of(int rank) { return __int_as_float(rank ^ (rank >> 31 & 0x7FFFFFFF)); }

// The middle one of 3 x 3 numbers by 19 exchanges (Paeth, Median Finding on a 3 x 3 Grid, 1990), which a CPU makes for many
// threads at once.
__device__ inline float middle_of_nine(const float (&numbers)[9]) {
    constexpr int EXCHANGES[][2] = {{1, 2}, {4, 5}, {7, 8}, {0, 1}, {3, 4}, {6, 7}, {1, 2}, {4, 5}, {7, 8}, {0, 3},
                                    {5, 8}, {4, 7}, {3, 6}, {1, 4}, {2, 5}, {4, 7}, {4, 2}, {6, 4}, {4, 2}};
    int ranks[9];
#pragma unroll
    for (int k = 0; k < 9; ++k) ranks[k] = rank_of(numbers[k]);
#pragma unroll
    for (int k = 0; k < 19; ++k) {
        int &low = ranks[EXCHANGES[k][0]], &high = ranks[EXCHANGES[k][1]];
        const int least = min(low, high);
        high = max(low, high);
        low = least;
    }
    return float_of(ranks[4]);
}

__device__ inline void median_of_nine(const float* image, float* out, int channels, int x, int y, int width, int height) {
#pragma unroll
    for (int channel = 0; channel < 4; ++channel) {
        if (channel >= channels) return;
        float values[9];
#pragma unroll
        for (int k = 0; k < 9; ++k) {
            const int row = min(max(y + k / 3 - 1, 0), height - 1), column = min(max(x + k % 3 - 1, 0), width - 1);
            values[k] = image[(static_cast<size_t>(row) * width + column) * channels + channel];
        }
        out[(static_cast<size_t>(y) * width + x) * channels + channel] = channel == 3 ? values[4] : middle_of_nine(values);
    }
}
#endif

// Pixels that are smaller than float4, each of which is read as a whole.
__device__ inline void median_of_pixels(const PIXEL* __restrict__ image, PIXEL* __restrict__ out, int radius, int x, int y,
                                        int width, int height) {
    const size_t here = static_cast<size_t>(y) * width + x;
    float4 found = image[here];
    for (int channel = 0; channel < 3; ++channel) {
        float values[MOST];
        int count = 0;
        for (int dy = -radius; dy <= radius; ++dy) {
            const PIXEL* row = image + static_cast<size_t>(min(max(y + dy, 0), height - 1)) * width;
            for (int dx = -radius; dx <= radius; ++dx) {
                const float4 pixel = row[min(max(x + dx, 0), width - 1)];
                values[count++] = channel == 0 ? pixel.x : channel == 1 ? pixel.y : pixel.z;
            }
        }
        (channel == 0 ? found.x : channel == 1 ? found.y : found.z) = middle_of(values, count);
    }
    out[here] = found;
}

// `channels` floats in an element, of which a fourth one, alpha, stays as it is.
extern "C" __global__ void median(
    const void* __restrict__ pixels, void* __restrict__ found, unsigned int element, int radius, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    if (sizeof(PIXEL) != sizeof(float4))
        return median_of_pixels(static_cast<const PIXEL*>(pixels), static_cast<PIXEL*>(found), radius, x, y, width, height);
    const float* image = static_cast<const float*>(pixels);
    float* out = static_cast<float*>(found);
    const int channels = (element & 0xFFFFu) / sizeof(float);
#ifdef WARPLOOM_CPU
    if (radius == 1) return median_of_nine(image, out, channels, x, y, width, height);
#endif
    const size_t here = (static_cast<size_t>(y) * width + x) * channels;
    for (int channel = 0; channel < min(channels, 3); ++channel) {
        float values[MOST];
        int count = 0;
        for (int dy = -radius; dy <= radius; ++dy) {
            const float* row = image + static_cast<size_t>(min(max(y + dy, 0), height - 1)) * width * channels;
            for (int dx = -radius; dx <= radius; ++dx)
                values[count++] = row[min(max(x + dx, 0), width - 1) * channels + channel];
        }
        out[here + channel] = middle_of(values, count);
    }
    if (channels == 4) out[here + 3] = image[here + 3];
}

// The mean over a window, in which a pixel counts less the farther it is and the more its colour differs.
extern "C" __global__ void bilateral(
    const PIXEL* __restrict__ image, PIXEL* __restrict__ out, float sigma, float range, int radius, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const size_t i = static_cast<size_t>(y) * width + x;
    const float4 here = image[i];
    const float by_place = -0.5f / (sigma * sigma), by_color = -0.5f / (range * range);
    float3 sum = {0.0f, 0.0f, 0.0f};
    float total = 0.0f;
    for (int dy = -radius; dy <= radius; ++dy) {
        const PIXEL* row = image + static_cast<size_t>(min(max(y + dy, 0), height - 1)) * width;
        for (int dx = -radius; dx <= radius; ++dx) {
            const float4 there = row[min(max(x + dx, 0), width - 1)];
            const float3 color = {there.x, there.y, there.z}, way = color - float3{here.x, here.y, here.z};
            const float weight = expf(by_place * (dx * dx + dy * dy) + by_color * dot(way, way));
            sum += color * weight;
            total += weight;
        }
    }
    const float3 mean = sum * (1.0f / total);
    out[i] = {mean.x, mean.y, mean.z, here.w};
}
