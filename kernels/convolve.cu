// Convolution of images through their spectra. Red, green and blue lie in planes of `rows` x `columns`; alpha does not
// change.
#include "warploom/pixel.h"

// Puts the image into the upper left of its planes, shifted so that no sum wraps around the edge. `border` selects the
// pixels around the image, numbered as in blocks/spectrum/convolve.py: the nearest pixel, black, or the image again.
__device__ inline int inside(int place, int size, int border) {
    if (border == 0) return min(max(place, 0), size - 1);
    if (border == 1) return place >= 0 && place < size ? place : -1;
    const int rest = place % size;
    return rest < 0 ? rest + size : rest;
}

__device__ inline void put_planes(float* planes, float4 color, int x, int y, int columns, int rows) {
    const size_t i = static_cast<size_t>(y) * columns + x, plane = static_cast<size_t>(rows) * columns;
    planes[i] = color.x;
    planes[i + plane] = color.y;
    planes[i + 2 * plane] = color.z;
}

extern "C" __global__ void spread_image(
    const PIXEL* __restrict__ image,
    float* __restrict__ planes,
    int border,
    int width,
    int height,
    int left,
    int above,
    int columns,
    int rows) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    const int from_x = inside(x - left, width, border), from_y = inside(y - above, height, border);
    const bool is_inside = from_x >= 0 && from_y >= 0;
    const float4 none = {0.0f, 0.0f, 0.0f, 0.0f};
    put_planes(planes, is_inside ? float4(image[static_cast<size_t>(from_y) * width + from_x]) : none, x, y, columns, rows);
}

// Puts the weights into the upper left of their planes, with 0 around them.
extern "C" __global__ void spread_weights(
    const float4* __restrict__ weights, float* __restrict__ planes, int width, int height, int columns, int rows) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    const float4 none = {0.0f, 0.0f, 0.0f, 0.0f};
    put_planes(planes, x < width && y < height ? weights[static_cast<size_t>(y) * width + x] : none, x, y, columns, rows);
}

// Sets `x` to x y / n, for spectra of n numbers each. With `normalize`, it is also divided by the sum of the weights,
// which is the first number of their spectrum, unless that is 0.
extern "C" __global__ void multiply_spectra(
    float2* __restrict__ x, const float2* __restrict__ y, bool normalize, int n, int spectrum, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float sum = y[i / spectrum * spectrum].x;
    const float factor = 1.0f / (static_cast<float>(n) * (normalize && sum != 0.0f ? sum : 1.0f));
    const float2 a = x[i], b = {y[i].x * factor, y[i].y * factor};
    x[i] = {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

// Copies the image out of its planes, starting at `left` and `above`.
extern "C" __global__ void gather_image(
    const float* __restrict__ planes,
    const PIXEL* __restrict__ image,
    PIXEL* __restrict__ out,
    int width,
    int height,
    int left,
    int above,
    int columns,
    int rows) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const size_t i = static_cast<size_t>(y + above) * columns + x + left, plane = static_cast<size_t>(rows) * columns;
    const size_t here = static_cast<size_t>(y) * width + x;
    out[here] = {planes[i], planes[i + plane], planes[i + 2 * plane], float4(image[here]).w};
}
