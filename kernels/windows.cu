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

// Combines RUN windows next to each other, each of `beyond` + 1 numbers, and of RUN or more.
template <int RUN, typename Load> __device__ inline void combine(float (&found)[RUN], int beyond, Load load) {
    float held = load(beyond);
#pragma unroll 8
    for (int i = beyond - 1; i >= RUN - 1; --i) held = both(held, load(i));
    found[RUN - 1] = held;
#pragma unroll
    for (int k = RUN - 2; k >= 0; --k) found[k] = held = both(held, load(k));
#pragma unroll
    for (int k = 1; k < RUN; ++k) {
        const float next = load(beyond + k);
        held = k == 1 ? next : both(held, next);
        found[k] = both(found[k], held);
    }
}

// Calls `work` with an array for as many windows as a thread combines for a radius.
template <typename Work> __device__ inline void by_radius(int radius, Work work) {
    if (radius >= 8) {
        float found[16];
        work(found);
    } else if (radius >= 2) {
        float found[4];
        work(found);
    } else {
        float found[1];
        work(found);
    }
}

// A thread block has a tile of `tile_x` numbers, of all channels, by `tile_y` rows in shared memory.
template <typename T>
__device__ void windows(const T* __restrict__ image, T* __restrict__ out, int channels, int width, int height, int row,
                        int column, int radius_x, int radius_y, int tile_x, int tile_y) {
    extern __shared__ float tile[];
    const int wide = tile_x + 2 * radius_x * channels, pitch = (wide + 31) / 32 * 32 + channels;
    const int left = blockIdx.x * tile_x, top = blockIdx.y * tile_y, side = radius_x * channels;
    if (left >= width * channels) return;
    const bool is_inside = left >= side && left - side + wide <= width * channels && column == 1;
    by_radius(radius_y, [&](auto& found) {
        constexpr int RUN = sizeof(found) / sizeof(float);
        for (int x = threadIdx.x; x < wide; x += blockDim.x) {
            const int place = left + x, step = row * channels;
            const T* source = image + (place - side);
            if (!is_inside)
                source = image + line(place / channels - radius_x, width, column * channels) + place % channels;
            for (int y = threadIdx.y * RUN; y < tile_y; y += blockDim.y * RUN) {
                const auto load = [=](int i) {
                    return static_cast<float>(source[line(top + y - radius_y + i, height, step)]);
                };
                combine(found, 2 * radius_y, load);
#pragma unroll
                for (int k = 0; k < RUN; ++k)
                    if (y + k < tile_y) tile[(y + k) * pitch + x] = found[k];
            }
        }
    });
    __syncthreads();
    // Threads next to each other have neighbouring channels and rows, whose numbers lie in different banks.
    if (radius_x > 0) by_radius(radius_x, [&](auto& found) {
        constexpr int RUN = sizeof(found) / sizeof(float);
        const int number = threadIdx.y * blockDim.x + threadIdx.x, rows = blockDim.x * blockDim.y / (tile_x / RUN);
        const int thread = number / channels, first_x = thread / rows * RUN * channels + number % channels;
        for (int first = 0; first < tile_y; first += rows) {
            const int y = first + thread % rows;
            float* in = tile + y * pitch + first_x;
            if (y < tile_y) combine(found, 2 * radius_x, [=](int i) { return in[i * channels]; });
            __syncthreads();
            if (y < tile_y) {
#pragma unroll
                for (int k = 0; k < RUN; ++k) in[k * channels] = found[k];
            }
        }
        __syncthreads();
    });
    const float scale = TAKE == 0 ? 1.0f / ((2 * radius_x + 1) * (2 * radius_y + 1)) : 1.0f;
    const float half = TAKE == 0 && sizeof(T) == 1 ? 0.5f : 0.0f;  // means of bytes are rounded
    const int rows = min(tile_y, height - top), columns = min(tile_x, width * channels - left);
    for (int y = threadIdx.y; y < rows; y += blockDim.y)
        for (int x = threadIdx.x; x < columns; x += blockDim.x)
            out[static_cast<size_t>(top + y) * width * channels + left + x] =
                static_cast<T>(tile[y * pitch + x] * scale + half);
}

extern "C" __global__ void __launch_bounds__(256, 4) combine_windows(
    const void* __restrict__ image, void* __restrict__ out, unsigned int type, int width, int height, int row,
    int column, int radius_x, int radius_y, int tile_x, int tile_y) {
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
__device__ void shapes(const Pixel* __restrict__ image, Pixel* __restrict__ out, int width, int height, int row,
                       int column, int shape, int radius_x, int radius_y) {
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
    const void* __restrict__ image, void* __restrict__ out, unsigned int type, int width, int height, int row,
    int column, int shape, int radius_x, int radius_y) {
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
