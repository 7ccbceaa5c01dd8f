// Sums, smallest or largest values of the window around each pixel, 2 radius + 1 numbers along each axis. Beyond the
// border, the nearest pixel is used. The time hardly depends on the radius.
//
// Windows of neighbours have a common part. As in van Herk's algorithm (1992), the numbers before it are combined from
// there backwards, those after it forwards, and each window is the combination of two results. Nothing is subtracted:
// a NaN or a large number leaves no trace outside its windows.
#include "elements.cuh"
#include "slide.cuh"
#include "warploom/vector.h"

#ifndef TAKE
#define TAKE 0  // 0 for means, 1 for the smallest number, 2 for the largest
#endif

template <typename Number> __device__ inline Number both(Number a, Number b) {
    return TAKE == 0 ? a + b : (TAKE == 1 ? a < b : a > b) ? a : b;
}

__device__ inline float4 both(float4 a, float4 b) {
    return {both(a.x, b.x), both(a.y, b.y), both(a.z, b.z), both(a.w, b.w)};
}

__device__ inline uchar4 both(uchar4 a, uchar4 b) {
    return {both(a.x, b.x), both(a.y, b.y), both(a.z, b.z), both(a.w, b.w)};
}

// Combines windows along rows of the tile, in place: RUN neighbours for each thread, which are at most `beyond` + 1.
// Threads next to each other have neighbouring channels and rows, whose numbers lie in different banks.
template <int RUN>
__device__ void along_rows(float* tile, int pitch, int tile_x, int tile_y, int channels, int beyond) {
    const int threads_of_row = tile_x / RUN, rows = blockDim.x * blockDim.y / threads_of_row;
    const int number = threadIdx.y * blockDim.x + threadIdx.x, thread = number / channels, row = thread % rows;
    float* in = tile + row * pitch + thread / rows * RUN * channels + number % channels;
    for (int first = 0; first < tile_y; first += rows, in += rows * pitch) {
        const bool inside = first + row < tile_y;
        float found[RUN];
        if (inside) {
            float held = in[beyond * channels];
            for (int i = beyond - 1; i >= RUN - 1; --i) held = both(held, in[i * channels]);
            found[RUN - 1] = held;
#pragma unroll
            for (int k = RUN - 2; k >= 0; --k) found[k] = held = both(held, in[k * channels]);
#pragma unroll
            for (int k = 1; k < RUN; ++k) {
                const float next = in[(beyond + k) * channels];
                held = k == 1 ? next : both(held, next);
                found[k] = both(found[k], held);
            }
        }
        __syncthreads();
        if (inside) {
#pragma unroll
            for (int k = 0; k < RUN; ++k) in[k * channels] = found[k];
        }
    }
    __syncthreads();
}

// A thread block has a tile of `tile_x` numbers, of all channels, by `tile_y` rows. First it combines windows along
// columns, into shared memory.
template <typename T>
__device__ void windows(const T* __restrict__ image, T* __restrict__ out, int channels, int width, int height,
                        int row, int column, int radius_x, int radius_y, int tile_x, int tile_y) {
    extern __shared__ float tile[];
    const int wide = tile_x + 2 * radius_x * channels, pitch = (wide + 31) / 32 * 32 + channels;
    const int left = blockIdx.x * tile_x, top = blockIdx.y * tile_y;
    if (left >= width * channels) return;
    const int run = min(tile_y, 2 * radius_y + 1), side = radius_x * channels;
    const bool inside = left >= side && left - side + wide <= width * channels && column == 1;
    for (int begin = threadIdx.y * run; begin < tile_y; begin += blockDim.y * run)
    for (int at = threadIdx.x; at < wide; at += blockDim.x) {
        const int count = min(run, tile_y - begin), place = left + at, pivot = top + begin + radius_y;
        const T* source = image + (place - side);
        if (!inside) {
            source = image + line(place / channels - radius_x, width, column * channels) + place % channels;
        }
        const int step = row * channels;
        const auto load = [=](int y) { return static_cast<float>(source[line(y, height, step)]); };
        float* to = tile + begin * pitch + at;
        float held = load(pivot);
#pragma unroll 4
        for (int y = pivot - 1; y >= pivot - 2 * radius_y + count - 1; --y) held = both(held, load(y));
        to[(count - 1) * pitch] = held;
#pragma unroll 4
        for (int k = count - 2; k >= 0; --k) to[k * pitch] = held = both(held, load(pivot - 2 * radius_y + k));
#pragma unroll 4
        for (int k = 1; k < count; ++k) {
            held = k == 1 ? load(pivot + 1) : both(held, load(pivot + k));
            to[k * pitch] = both(to[k * pitch], held);
        }
    }
    __syncthreads();
    if (radius_x >= 8) along_rows<16>(tile, pitch, tile_x, tile_y, channels, 2 * radius_x);
    else if (radius_x >= 2) along_rows<4>(tile, pitch, tile_x, tile_y, channels, 2 * radius_x);
    else if (radius_x == 1) along_rows<2>(tile, pitch, tile_x, tile_y, channels, 2);
    const float scale = TAKE == 0 ? 1.0f / ((2 * radius_x + 1) * (2 * radius_y + 1)) : 1.0f;
    const float half = TAKE == 0 && sizeof(T) == 1 ? 0.5f : 0.0f;  // means of bytes are rounded
    const int rows = min(tile_y, height - top), columns = min(tile_x, width * channels - left);
    for (int y = threadIdx.y; y < rows; y += blockDim.y)
        for (int x = threadIdx.x; x < columns; x += blockDim.x)
            out[static_cast<long long>(top + y) * width * channels + left + x] =
                static_cast<T>(tile[y * pitch + x] * scale + half);
}

extern "C" __global__ void __launch_bounds__(256, 4) combine_windows(
    const void* __restrict__ image, void* __restrict__ out, unsigned int type, int width, int height, int row, int column, int radius_x, int radius_y, int tile_x, int tile_y) {
    const int size = type & ELEMENT_SIZE, part = type & ELEMENT_FLOAT ? size : type >> ELEMENT_PARTS_AT & 15u;
    if (part == 4)
        windows(static_cast<const float*>(image), static_cast<float*>(out), size / 4, width, height, row, column,
                radius_x, radius_y, tile_x, tile_y);
    else
        windows(static_cast<const unsigned char*>(image), static_cast<unsigned char*>(out), size, width, height, row,
                column, radius_x, radius_y, tile_x, tile_y);
}

// How far a shape reaches up and down at a distance from its middle column: a rectangle (0), a disc (1), a diamond (2)
// or a cross (3).
__device__ inline int reach(int shape, int radius, int distance) {
    if (shape == 1)  // radius + 0.5 from the middle, squared
        return static_cast<int>(sqrtf(static_cast<float>(radius * (radius + 1) - distance * distance)));
    return shape == 0 || (shape == 3 && distance == 0) ? radius : shape == 2 ? radius - abs(distance) : 0;
}

__device__ inline float wide(float pixel) { return pixel; }
__device__ inline float4 wide(float4 pixel) { return pixel; }
#if TAKE == 0
__device__ inline float wide(unsigned char pixel) { return pixel; }
__device__ inline float4 wide(uchar4 p) { return make_float4(p.x, p.y, p.z, p.w); }
__device__ inline void narrow(float sum, float scale, float* out) { *out = sum * scale; }
__device__ inline void narrow(float4 sum, float scale, float4* out) { *out = sum * scale; }
__device__ inline void narrow(float sum, float scale, unsigned char* out) {
    *out = static_cast<unsigned char>(sum * scale + 0.5f);
}
__device__ inline void narrow(float4 sum, float scale, uchar4* out) {
    narrow(sum.x, scale, &out->x);
    narrow(sum.y, scale, &out->y);
    narrow(sum.z, scale, &out->z);
    narrow(sum.w, scale, &out->w);
}
#else
__device__ inline unsigned char wide(unsigned char pixel) { return pixel; }
__device__ inline uchar4 wide(uchar4 pixel) { return pixel; }
template <typename Pixel> __device__ inline void narrow(Pixel pixel, float, Pixel* out) { *out = pixel; }
#endif

// Combines windows of any shape. A thread computes RUN rows, whose windows share most of their pixels.
template <typename Pixel>
__device__ void shapes(const Pixel* __restrict__ image, Pixel* __restrict__ out, int width, int height, int row, int column, int shape, int radius_x, int radius_y) {
    constexpr int RUN = 4;
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = (blockIdx.y * blockDim.y + threadIdx.y) * RUN;
    if (x >= width || y >= height) return;
    decltype(wide(Pixel{})) found[RUN] = {};
    if (TAKE != 0) {
#pragma unroll
        for (int k = 0; k < RUN; ++k) found[k] = wide(image[line(y + k, height, row) + line(x, width, column)]);
    }
    for (int distance = -radius_x; distance <= radius_x; ++distance) {
        const int far = reach(shape, radius_y, distance);
        const Pixel* source = image + line(x + distance, width, column);
        const auto load = [=](int at) { return wide(source[line(y - far + at, height, row)]); };
        slide(found, 2 * far + 1, load, [](auto& all, auto pixel, int) { all = both(all, pixel); });
    }
    const float scale = 1.0f / ((2 * radius_x + 1) * (2 * radius_y + 1));
#pragma unroll
    for (int k = 0; k < RUN; ++k)
        if (y + k < height) narrow(found[k], scale, out + static_cast<size_t>(y + k) * width + x);
}

extern "C" __global__ void combine_shapes(
    const void* __restrict__ image, void* __restrict__ out, unsigned int type, int width, int height, int row, int column, int shape, int radius_x, int radius_y) {
    const auto take = [=](auto pixel) {
        using Pixel = decltype(pixel);
        shapes(static_cast<const Pixel*>(image), static_cast<Pixel*>(out), width, height, row, column, shape, radius_x,
               radius_y);
    };
    switch (type & (ELEMENT_SIZE | ELEMENT_FLOAT)) {
        case 1: return take(static_cast<unsigned char>(0));
        case 4: return take(uchar4{});
        case 4 | ELEMENT_FLOAT: return take(0.0f);
        default: return take(float4{});
    }
}
