// Resizes images of f32 or float4.
#include "warploom/pixel.h"
#include "warploom/vector.h"

// The pixel at or before the centre of new pixel `at`, and the distance from there towards the next one, from 0 to 1.
// For "nearest", the nearer pixel, or the later one of two at equal distance. Divisions of 64 bits cost more than
// everything else, so `Whole` is only as wide as the sizes need.
template <typename Whole>
__device__ inline int place_in(Whole at, Whole source, Whole target, bool is_linear, float& beyond) {
    beyond = 0.0f;
    const Whole doubled = (2 * at + 1) * source;  // the centre, in units of half a new pixel
    if (!is_linear) return static_cast<int>(doubled / (2 * target));
    if (doubled <= target) return 0;
    const Whole before = (doubled - target) / (2 * target);
    if (before >= source - 1) return static_cast<int>(source - 1);
    beyond = static_cast<float>(doubled - target - before * 2 * target) / static_cast<float>(2 * target);
    return static_cast<int>(before);
}

__device__ inline int place(int at, int source, int target, bool is_linear, float& beyond) {
    if (max(source, target) < 1 << 15) return place_in<unsigned int>(at, source, target, is_linear, beyond);
    return place_in<unsigned long long>(at, source, target, is_linear, beyond);
}

template <typename Pixel>
__device__ inline void resample(const Pixel* __restrict__ image, Pixel* __restrict__ out, int source_width,
                                int source_height, long long row, long long column, int width, int height,
                                bool is_linear) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float u, v;
    const int left = place(x, source_width, width, is_linear, u), top = place(y, source_height, height, is_linear, v);
    const Pixel* first = image + top * row + left * column;
    const long long right = u > 0.0f ? column : 0, down = v > 0.0f ? row : 0;
    decltype(first[0] + first[0]) found = first[0];
    if (is_linear) {
        const auto above = found + (first[right] - found) * u;
        const auto under = first[down] + (first[down + right] - first[down]) * u;
        found = above + (under - above) * v;
    }
    out[static_cast<size_t>(y) * width + x] = found;
}

extern "C" __global__ void resize(const void* __restrict__ image, void* __restrict__ out, unsigned int element,
                                  int source_width, int source_height, long long row, long long column, int width,
                                  int height, bool is_linear) {
    if (is_pixel(element))
        resample(static_cast<const PIXEL*>(image), static_cast<PIXEL*>(out), source_width, source_height, row, column,
                 width, height, is_linear);
    else
        resample(static_cast<const float*>(image), static_cast<float*>(out), source_width, source_height, row, column,
                 width, height, is_linear);
}
