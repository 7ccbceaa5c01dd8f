// Sums of the pixels around each pixel, weighted. Beyond the border, the nearest pixel is used.
#include "slide.cuh"
#include "warploom/pixel.h"
#include "warploom/vector.h"

// The pixels of a column that a thread computes; more if weights have few rows, whose number then is a constant.
constexpr int RUN = 4, MORE = 8;

// Tiles hold the pixels for weights with up to MOST columns.
constexpr int MOST = 9;

__device__ inline bool are_few(int across, int down) { return (down == 3 || down == 5) && across <= MOST; }

struct Image {
    int width, height, row, column;

    // Offsets are numbers of 32 bits, which take fewer instructions.
    __device__ int row_at(int y) const { return inside(y, height) * row; }
    __device__ int column_at(int x) const { return inside(x, width) * column; }
};

template <int COUNT, int DOWN, typename Pixel>
__device__ inline void convolve(const void* __restrict__ pixels, const float* __restrict__ weights, void* __restrict__ results,
                                Image size, int across, int down) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = (blockIdx.y * blockDim.y + threadIdx.y) * COUNT;
    if (x >= size.width || y >= size.height) return;
    const auto image = static_cast<const Pixel*>(pixels);
    const auto out = static_cast<Pixel*>(results);
    using Sum = decltype(*image + *image);
    Sum sums[COUNT] = {};
    for (int i = 0; i < across; ++i) {
        const Pixel* source = image + inside(x + across / 2 - i, size.width) * size.column;
        const auto weight = [=](int t) { return weights[(down - 1 - t) * across + i]; };
        if constexpr (DOWN == 0) {
            const auto load = [=](int at) -> Sum { return source[line(y - down / 2 + at, size.height, size.row)]; };
            slide(sums, down, load, [=](Sum& sum, Sum pixel, int t) { sum = sum + pixel * weight(t); });
        } else {
            float column[DOWN];
#pragma unroll
            for (int t = 0; t < DOWN; ++t) column[t] = weight(t);
#pragma unroll
            for (int at = 0; at < COUNT + DOWN - 1; ++at) {
                const Sum pixel = source[inside(y - DOWN / 2 + at, size.height) * size.row];
#pragma unroll
                for (int k = 0; k < COUNT; ++k)
                    if (0 <= at - k && at - k < DOWN) sums[k] = sums[k] + pixel * column[at - k];
            }
        }
    }
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        if (y + k < size.height) out[static_cast<size_t>(y + k) * size.width + x] = sums[k];
}

// Idle if weights are few.
extern "C" __global__ void convolve_image(
    const void* __restrict__ image, const float* __restrict__ weights, void* __restrict__ out, unsigned int type,
    int width, int height, int row, int column, int across, int down) {
    if (are_few(across, down)) return;
    const Image size = {width, height, row, column};
    if (is_pixel(type))
        convolve<RUN, 0, PIXEL>(image, weights, out, size, across, down);
    else
        convolve<RUN, 0, float>(image, weights, out, size, across, down);
}

// A thread block takes a tile into shared memory, so that each pixel is loaded and becomes floats once. A CPU takes twice as
// long for that as for loading from the image.
constexpr int WIDE = 64, LANES = 4, HIGH = LANES * MORE;
constexpr int ROWS = HIGH + 4, PITCH = WIDE + MOST - 1;

// With an ACROSS of 0, the number of columns is not a constant.
template <int DOWN, int ACROSS, typename Pixel>
__device__ inline void convolve_tile(const Pixel* __restrict__ image, const float* __restrict__ weights,
                                     Pixel* __restrict__ out, float4* shared, Image size, int columns) {
    const int across = ACROSS > 0 ? ACROSS : columns;
    using Sum = decltype(*image + *image);
    Sum* const tile = reinterpret_cast<Sum*>(shared);
    const int left = blockIdx.x * WIDE, top = blockIdx.y * HIGH, x = threadIdx.x, lane = threadIdx.y;
    const auto load = [=](int y, int x) {
        return image[size.row_at(top + y - DOWN / 2) + size.column_at(left + x - across / 2)];
    };
    Pixel held[ROWS / LANES];
#pragma unroll
    for (int k = 0; k < ROWS / LANES; ++k) held[k] = load(lane + k * LANES, x);
    for (int i = lane * WIDE + x; i < (across - 1) * ROWS; i += LANES * WIDE)
        tile[i % ROWS * PITCH + WIDE + i / ROWS] = load(i % ROWS, WIDE + i / ROWS);
#pragma unroll
    for (int k = 0; k < ROWS / LANES; ++k) tile[(lane + k * LANES) * PITCH + x] = held[k];
    __syncthreads();
    const Sum* source = tile + lane * MORE * PITCH + x;
    Sum sums[MORE] = {};
#pragma unroll (ACROSS > 0 ? ACROSS : 1)
    for (int i = across - 1; i >= 0; --i, ++source) {
        float column[DOWN];
#pragma unroll
        for (int t = 0; t < DOWN; ++t) column[t] = weights[(DOWN - 1 - t) * across + i];
#pragma unroll
        for (int at = 0; at < MORE + DOWN - 1; ++at) {
            const Sum pixel = source[at * PITCH];
#pragma unroll
            for (int k = 0; k < MORE; ++k)
                if (0 <= at - k && at - k < DOWN) sums[k] = sums[k] + pixel * column[at - k];
        }
    }
    const int y = top + lane * MORE;
    if (left + x >= size.width) return;
#pragma unroll
    for (int k = 0; k < MORE; ++k)
        if (y + k < size.height) out[static_cast<size_t>(y + k) * size.width + left + x] = sums[k];
}

template <int DOWN, typename Pixel>
__device__ inline void convolve_few_rows(const void* image, const float* weights, void* out, float4* tile, Image size, int across) {
#ifdef WARPLOOM_CPU
    convolve<MORE, DOWN, Pixel>(image, weights, out, size, across, DOWN);
#else
    const auto from = static_cast<const Pixel*>(image);
    const auto to = static_cast<Pixel*>(out);
    if (across == DOWN)
        convolve_tile<DOWN, DOWN>(from, weights, to, tile, size, across);
    else
        convolve_tile<DOWN, 0>(from, weights, to, tile, size, across);
#endif
}

template <typename Pixel>
__device__ inline void convolve_by_few(const void* image, const float* weights, void* out, float4* tile, Image size,
                                       int across, int down) {
    if (down == 3)
        convolve_few_rows<3, Pixel>(image, weights, out, tile, size, across);
    else
        convolve_few_rows<5, Pixel>(image, weights, out, tile, size, across);
}

// Idle unless weights are few.
extern "C" __global__ void __launch_bounds__(WIDE * LANES, 4) convolve_few(
    const void* __restrict__ image, const float* __restrict__ weights, void* __restrict__ out, unsigned int type,
    int width, int height, int row, int column, int across, int down) {
    __shared__ float4 tile[ROWS * PITCH];
    if (!are_few(across, down)) return;
    const Image size = {width, height, row, column};
    if (is_pixel(type))
        convolve_by_few<PIXEL>(image, weights, out, tile, size, across, down);
    else
        convolve_by_few<float>(image, weights, out, tile, size, across, down);
}
