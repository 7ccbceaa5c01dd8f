// Motion between two pictures: pyramidal Lucas-Kanade with a window around each pixel, by weighted least squares.
// Kernels do nothing unless `is_new`: then the pictures and the motion stay.
#include "warploom/color.h"
#include "warploom/pixel.h"

// State begins with zeros, and a brightness is never 0: so the first picture is known, which is its own last one.
__device__ inline void store_brightness(float* __restrict__ before, float* __restrict__ now, size_t i, float value) {
    value = fminf(fmaxf(value, 1e-6f), 1e4f);  // NaN is dark
    before[i] = now[i] == 0.0f ? value : now[i];
    now[i] = value;
}

extern "C" __global__ void take_brightness(
    const PIXEL* __restrict__ image, float* __restrict__ before, float* __restrict__ now, int is_new, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height || !is_new) return;
    const size_t i = static_cast<size_t>(y) * width + x;
    store_brightness(before, now, i, sqrtf(fmaxf(luminance(image[i]) * float4(image[i]).w, 0.0f)));
}

// Half the size, rounded up, with weights 1 3 3 1. Beyond the border, the nearest pixel is used.
extern "C" __global__ void halve_brightness(
    const float* __restrict__ fine,
    float* __restrict__ before,
    float* __restrict__ now,
    int is_new,
    int fine_width,
    int fine_height,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height || !is_new) return;
    float sum = 0.0f;
    for (int j = -1; j <= 2; ++j) {
        const float* row = fine + static_cast<size_t>(min(max(2 * y + j, 0), fine_height - 1)) * fine_width;
        const float outer = row[max(2 * x - 1, 0)] + row[min(2 * x + 2, fine_width - 1)];
        const float inner = row[2 * x] + row[min(2 * x + 1, fine_width - 1)];
        sum += (j == 0 || j == 1 ? 3.0f : 1.0f) * (outer + 3.0f * inner);
    }
    store_brightness(before, now, static_cast<size_t>(y) * width + x, sum * (1.0f / 64));
}

// The pixels on both sides of a position inside, and the distance from the first one.
struct Between {
    int low, high;
    float part;
};

__device__ inline Between between(float at, int size) {
    at = fminf(fmaxf(at, 0.0f), size - 1.0f);
    const int low = static_cast<int>(at);
    return {low, min(low + 1, size - 1), at - low};
}

// The motion of a picture of half the size, in pixels of this one.
extern "C" __global__ void enlarge_motion(
    const float2* __restrict__ coarse,
    float2* __restrict__ motion,
    int is_new,
    int coarse_width,
    int coarse_height,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height || !is_new) return;
    const Between u = between(0.5f * x - 0.25f, coarse_width), v = between(0.5f * y - 0.25f, coarse_height);
    const float2* above = coarse + static_cast<size_t>(v.low) * coarse_width;
    const float2* below = coarse + static_cast<size_t>(v.high) * coarse_width;
    motion[static_cast<size_t>(y) * width + x] = {
        2.0f * lerp(lerp(above[u.low].x, above[u.high].x, u.part), lerp(below[u.low].x, below[u.high].x, u.part), v.part),
        2.0f * lerp(lerp(above[u.low].y, above[u.high].y, u.part), lerp(below[u.low].y, below[u.high].y, u.part), v.part),
    };
}

// The terms of the least squares, as five planes. Where now(x) = before(x - d), gradient * d is
// gradient * motion - (now(x) - before(x - motion)). What comes from outside the picture does not count.
extern "C" __global__ void compare_pictures(
    const float* __restrict__ before,
    const float* __restrict__ now,
    const float2* __restrict__ motion,
    float* __restrict__ products,
    int is_new,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height || !is_new) return;
    const size_t i = static_cast<size_t>(y) * width + x, plane = static_cast<size_t>(width) * height;
    const float from_x = x - motion[i].x, from_y = y - motion[i].y;
    float slope_x = 0.0f, slope_y = 0.0f, along = 0.0f;
    if (from_x >= 0.0f && from_x <= width - 1.0f && from_y >= 0.0f && from_y <= height - 1.0f) {
        const int left = max(x - 1, 0), right = min(x + 1, width - 1);
        const int above = max(y - 1, 0), below = min(y + 1, height - 1);
        const float* row = now + static_cast<size_t>(y) * width;
        slope_x = (row[right] - row[left]) / max(right - left, 1);
        slope_y = (now[static_cast<size_t>(below) * width + x] - now[static_cast<size_t>(above) * width + x]) /
                  max(below - above, 1);
        const Between u = between(from_x, width), v = between(from_y, height);
        const float* upper = before + static_cast<size_t>(v.low) * width;
        const float* lower = before + static_cast<size_t>(v.high) * width;
        const float found =
            lerp(lerp(upper[u.low], upper[u.high], u.part), lerp(lower[u.low], lower[u.high], u.part), v.part);
        along = slope_x * motion[i].x + slope_y * motion[i].y - (row[x] - found);
    }
    products[i] = slope_x * slope_x;
    products[i + plane] = slope_x * slope_y;
    products[i + 2 * plane] = slope_y * slope_y;
    products[i + 3 * plane] = slope_x * along;
    products[i + 4 * plane] = slope_y * along;
}

__device__ inline float window_weight(int offset, int radius) {
    const float part = offset / (radius + 1.0f);
    return 1.0f - part * part;
}

// `height` counts the rows of all planes.
extern "C" __global__ void sum_rows(
    const float* __restrict__ products, float* __restrict__ sums, int is_new, int radius, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height || !is_new) return;
    const float* row = products + static_cast<size_t>(y) * width;
    float sum = 0.0f;
    for (int at = max(x - radius, 0); at <= min(x + radius, width - 1); ++at)
        sum += window_weight(at - x, radius) * row[at];
    sums[static_cast<size_t>(y) * width + x] = sum;
}

// The motion that fits a window best. `noise` draws it to the motion so far, which it may change by 2 pixels each way.
extern "C" __global__ void fit_motion(
    const float* __restrict__ sums, float2* __restrict__ motion, int is_new, int radius, float noise, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height || !is_new) return;
    const size_t i = static_cast<size_t>(y) * width + x, plane = static_cast<size_t>(width) * height;
    float sum[5] = {};
    for (int at = max(y - radius, 0); at <= min(y + radius, height - 1); ++at) {
        const float weight = window_weight(at - y, radius);
        const float* term = sums + static_cast<size_t>(at) * width + x;
        for (int k = 0; k < 5; ++k) sum[k] += weight * term[k * plane];
    }
    const float whole = (2 * radius + 1) * (1.0f - radius / (3.0f * (radius + 1)));  // the sum of the weights
    const float drawn = noise * noise * whole * whole;
    const float2 old = motion[i];
    const float a = sum[0] + drawn, b = sum[1], c = sum[2] + drawn;
    const float u = sum[3] + drawn * old.x, v = sum[4] + drawn * old.y;
    const float determinant = fmaxf(a * c - b * b, drawn * (a + c - drawn));  // never less, but for rounding
    motion[i] = {
        old.x + fminf(fmaxf((c * u - b * v) / determinant - old.x, -2.0f), 2.0f),
        old.y + fminf(fmaxf((a * v - b * u) / determinant - old.y, -2.0f), 2.0f),
    };
}
