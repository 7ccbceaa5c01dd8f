// Means, smallest or largest values of small windows around each pixel, as `windows.cu` has for large ones: the radii are
// constants. Beyond the border, the nearest pixel is used.
//
// A thread block combines the columns of HIGH rows, with those beside them that rows need, into shared memory, and then the
// rows. Rows there are split into lists, so that the first numbers of neighbouring threads, the second ones and so on are
// neighbours: no banks collide, and the CPU loads vectors.
#include "march_pixels.cuh"
#include "warploom/vector.h"
#include "windows.cuh"

#ifndef RADIUS_X
#define RADIUS_X 3
#define RADIUS_Y 3
#endif

constexpr int THREADS = 256, HIGH = 8;
constexpr int MOST = RADIUS_X > RADIUS_Y ? RADIUS_X : RADIUS_Y;
constexpr float FACTOR = TAKE == 0 ? 1.0f / ((2 * RADIUS_X + 1) * (2 * RADIUS_Y + 1)) : 1.0f;

// Combines COUNT windows next to each other; load(i) is number i of the first one and those after it. The part that large
// windows have in common is combined once.
template <int RADIUS, int COUNT, typename Number, typename Load>
__device__ inline void combine(Number (&found)[COUNT], Load load) {
    constexpr int SIZE = 2 * RADIUS + 1;
    if constexpr (SIZE < COUNT) {
        Number last[SIZE];
#pragma unroll
        for (int i = 0; i < COUNT + SIZE - 1; ++i) {
            last[i % SIZE] = load(i);
            if (i < SIZE - 1) continue;
            Number all = last[0];
#pragma unroll
            for (int k = 1; k < SIZE; ++k) all = both(all, last[k]);
            found[i - (SIZE - 1)] = all;
        }
    } else {
        Number common = load(SIZE - 1);
#pragma unroll
        for (int i = SIZE - 2; i >= COUNT - 1; --i) common = both(common, load(i));
        found[COUNT - 1] = common;
#pragma unroll
        for (int k = COUNT - 2; k >= 0; --k) found[k] = common = both(common, load(k));
#pragma unroll
        for (int k = 1; k < COUNT; ++k) {
            const Number number = load(SIZE - 1 + k);
            common = k == 1 ? number : both(common, number);
            found[k] = both(found[k], common);
        }
    }
}

struct Image {
    int width, height, row, column;

    // The offset of the nearest row. Offsets are numbers of 32 bits, which take fewer instructions.
    __device__ int row_at(int y) const { return inside(y, height) * row; }
    __device__ int column_at(int x) const { return inside(x, width) * column; }
};

// The type of a pixel in shared memory.
template <typename Pixel> struct WideOf {
    using type = float4;
};
#if TAKE != 0
template <> struct WideOf<uchar4> {
    using type = Pairs<BytePair>;
};
#endif

#ifdef WARPLOOM_CPU
// A thread combines a column of pixels, and then numbers of rows, which need no shuffles: a CPU loads neighbours at once.
template <typename Pixel>
__device__ inline void combine_pixels(const Pixel* image, Pixel* out, float4* tile, Image size) {
    constexpr int CHANNELS = 4, WIDE = (THREADS - 2 * RADIUS_X) / 8 * 8;
    constexpr bool IS_WIDE = sizeof(Pixel) == sizeof(float4);
    __shared__ alignas(16) float rows[IS_WIDE ? 1 : HIGH * THREADS * CHANNELS];
    const int left = blockIdx.x * WIDE, top = blockIdx.y * HIGH, thread = threadIdx.x;
    if (left >= size.width) return;
    {
        const int column = size.column_at(left + thread - RADIUS_X);
        float4 found[HIGH];
        combine<RADIUS_Y>(found, [=](int i) { return wide(image[size.row_at(top + i - RADIUS_Y) + column]); });
#pragma unroll
        for (int k = 0; k < HIGH; ++k) tile[k * THREADS + thread] = found[k];
    }
    __syncthreads();
    const int inner = min(WIDE, size.width - left) * CHANNELS;
#pragma unroll 1
    for (int k = 0; k < HIGH && top + k < size.height; ++k) {
        const float* const row = &tile[k * THREADS].x + thread;
        float* const target = IS_WIDE ? reinterpret_cast<float*>(out + ((top + k) * size.width + left)) + thread
                                      : rows + (k * THREADS * CHANNELS + thread);
#pragma unroll
        for (int number = 0; number < CHANNELS * THREADS; number += THREADS) {
            float found[1];
            combine<RADIUS_X>(found, [=](int i) { return row[number + i * CHANNELS]; });
            if (number + thread < inner) target[number] = found[0] * FACTOR;
        }
    }
    if constexpr (!IS_WIDE) {
        __syncthreads();
        if (thread >= WIDE || left + thread >= size.width) return;
        const float4* const filtered = reinterpret_cast<const float4*>(rows) + thread;
        for (int k = 0; k < HIGH && top + k < size.height; ++k)
            narrow(filtered[k * THREADS], out + ((top + k) * size.width + left + thread));
    }
}
#else
// A thread combines a column of pixels, and then RUN pixels of a row. Distances between lists let threads that use several of
// them use different banks.
template <typename Pixel>
__device__ inline void combine_pixels(const Pixel* image, Pixel* out, float4* shared, Image size) {
    using Wide = typename WideOf<Pixel>::type;
    Wide* const tile = reinterpret_cast<Wide*>(shared);
    constexpr int RUN = 8, LISTED = THREADS / RUN, PITCH = LISTED + sizeof(float4) / sizeof(Wide), WIDE = (THREADS - 2 * RADIUS_X) / RUN * RUN;
    static_assert(THREADS / LISTED == HIGH, "each thread combines a run");
    const int left = blockIdx.x * WIDE, top = blockIdx.y * HIGH, thread = threadIdx.x;
    if (left >= size.width) return;
    const auto place = [](int y, int x) { return (y * RUN + x % RUN) * PITCH + x / RUN; };
    {
        const int column = size.column_at(left + thread - RADIUS_X);
        Wide found[HIGH];
        combine<RADIUS_Y>(found, [=](int i) {
            Wide pixel;
            widen(Pixel(image[size.row_at(top + i - RADIUS_Y) + column]), &pixel);
            return pixel;
        });
#pragma unroll
        for (int k = 0; k < HIGH; ++k) tile[place(k, thread)] = found[k];
    }
    __syncthreads();
    const int run = thread % LISTED;
    Wide* const listed = tile + place(thread / LISTED, 0) + run;
    Wide found[RUN];
    if (run * RUN < WIDE) combine<RADIUS_X>(found, [=](int i) { return listed[place(0, i)]; });
    __syncthreads();
    if (run * RUN < WIDE) {
#pragma unroll
        for (int k = 0; k < RUN; ++k) listed[place(0, k)] = scaled(found[k], FACTOR);
    }
    __syncthreads();
    if (thread >= WIDE || left + thread >= size.width) return;
#pragma unroll
    for (int k = 0; k < HIGH; ++k)
        if (top + k < size.height)
            narrow(tile[place(k, thread)], out + ((top + k) * size.width + left + thread));
}

#endif

// Four numbers next to each other, at an address that is a multiple of their size.
__device__ inline float4 four_at(const float* number) { return *reinterpret_cast<const float4*>(number); }
__device__ inline float4 four_at(const unsigned char* number) { return wide(*reinterpret_cast<const uchar4*>(number)); }
__device__ inline void put_four(float4 four, float* out) { *reinterpret_cast<float4*>(out) = four; }
__device__ inline void put_four(float4 four, unsigned char* out) { narrow(four, reinterpret_cast<uchar4*>(out)); }

template <typename Number> __device__ inline bool is_aligned(const Number* data) {
    return (reinterpret_cast<size_t>(data) & (4 * sizeof(Number) - 1)) == 0;
}

// A thread combines four columns of a field, and then four numbers of each row.
template <typename Number>
__device__ inline void combine_numbers(const Number* image, Number* out, float* tile, Image size) {
    constexpr int RUN = 4, SIDE = (RADIUS_X + RUN - 1) / RUN, WIDE = (THREADS - 2 * SIDE) * RUN;
    const int left = blockIdx.x * WIDE, top = blockIdx.y * HIGH, thread = threadIdx.x, x = left + (thread - SIDE) * RUN;
    if (left >= size.width) return;
    const auto place = [](int y, int x) { return (y * RUN + x % RUN) * THREADS + x / RUN; };
    if (size.column == 1 && is_aligned(image) && (size.row | size.width) % RUN == 0) {
        const Number* const column = image + inside(x, size.width - RUN + 1);
        float4 found[HIGH];
        combine<RADIUS_Y>(found, [=](int i) { return four_at(column + size.row_at(top + i - RADIUS_Y)); });
#pragma unroll
        for (int k = 0; k < HIGH; ++k) {
            const float first = x >= size.width ? found[k].w : found[k].x, last = x < 0 ? found[k].x : found[k].w;
            const bool is_inside = 0 <= x && x < size.width;
            float* const listed = tile + place(k, 0) + thread;
            listed[place(0, 0)] = first;
            listed[place(0, 1)] = is_inside ? found[k].y : first;
            listed[place(0, 2)] = is_inside ? found[k].z : last;
            listed[place(0, 3)] = last;
        }
    } else {
#pragma unroll 1
        for (int j = 0; j < RUN; ++j) {
            const Number* const column = image + size.column_at(x + j);
            float found[HIGH];
            combine<RADIUS_Y>(found, [=](int i) { return wide(column[size.row_at(top + i - RADIUS_Y)]); });
#pragma unroll
            for (int k = 0; k < HIGH; ++k) tile[place(k, j) + thread] = found[k];
        }
    }
    __syncthreads();
    if (thread < SIDE || thread >= THREADS - SIDE || x >= size.width) return;
    for (int k = 0; k < HIGH && top + k < size.height; ++k) {
        const float* const listed = tile + place(k, 0) + thread - SIDE;
        float found[RUN];
        combine<RADIUS_X>(found, [=](int i) { return listed[place(0, SIDE * RUN - RADIUS_X + i)]; });
#pragma unroll
        for (int j = 0; j < RUN; ++j) found[j] *= FACTOR;
        Number* const target = out + ((top + k) * size.width + x);
        if (size.width % RUN == 0 && is_aligned(out)) {
            put_four({found[0], found[1], found[2], found[3]}, target);
        } else {
#pragma unroll
            for (int j = 0; j < RUN; ++j)
                if (x + j < size.width) narrow(found[j], target + j);
        }
    }
}

// A GPU has a kernel of its own for pixels of floats, `combine_strips`, unless the radius is 1, or 2 for
// float4. A CPU takes longer for it.
#ifdef WARPLOOM_CPU
constexpr bool MARCHES = false;
#else
constexpr bool MARCHES = sizeof(PIXEL) >= sizeof(half4) && MOST > (sizeof(PIXEL) == sizeof(half4) ? 1 : 2);
#endif

// How many thread blocks a multiprocessor holds at once, as measured on an H200; codes of light take more registers.
constexpr bool IS_SMALLEST = MOST <= 3;
constexpr int RESIDENT = sizeof(PIXEL) == sizeof(half4) || (sizeof(PIXEL) == sizeof(float4) && !IS_SMALLEST) ? 4 : 3;

// Without `__restrict__`, so that a column's loads stay together: the compiler moves loads by ld.global.nc to their uses.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) combine_small(
    const void* image, void* out, unsigned int type, int width, int height, int row,
    int column) {
    __shared__ float4 tile[HIGH * (THREADS + 8)];
    const Image size = {width, height, row, column};
    const auto pixels = [&](auto pixel) {
        using Pixel = decltype(pixel);
        combine_pixels(static_cast<const Pixel*>(image), static_cast<Pixel*>(out), tile, size);
    };
    const auto numbers = [&](auto number) {
        using Number = decltype(number);
        combine_numbers(static_cast<const Number*>(image), static_cast<Number*>(out), &tile[0].x, size);
    };
    switch (type & (ELEMENT_SIZE | ELEMENT_FLOAT)) {
        case 1: return numbers(static_cast<unsigned char>(0));
        case 4: return pixels(SmallPixel{});
        case 4 | ELEMENT_FLOAT: return numbers(0.0f);
        default:
            if constexpr (!MARCHES) pixels(PIXEL{});
    }
}

// Idle unless it takes these pixels.
extern "C" __global__ void __launch_bounds__(MARCHING, 3) combine_strips(
    const void* __restrict__ image, void* __restrict__ out, unsigned int type, int width, int height, int row, int column) {
    if constexpr (MARCHES) {
        if ((type & ELEMENT_SIZE) != sizeof(PIXEL)) return;
        const auto across = [](auto& found, auto load) { combine<RADIUS_X>(found, load); };
        const auto down = [](auto& found, auto load) {
            combine<RADIUS_Y>(found, load);
#pragma unroll
            for (int k = 0; k < RUN; ++k) found[k] = found[k] * FACTOR;
        };
        const Picture size = {width, height, row, column};
        march_pixels<MOST, true>(static_cast<const PIXEL*>(image), static_cast<PIXEL*>(out), size, RADIUS_X, RADIUS_Y, across, down);
    }
}
