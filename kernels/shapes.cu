// Smallest or largest numbers of discs, diamonds and crosses around each pixel; `windows.cu` has squares. Beyond the border,
// the nearest pixel is used.
#include "held.cuh"
#include "slide.cuh"

// How far a shape reaches up and down at a distance from its middle column: a disc (1), a diamond (2) or a cross (3).
__device__ inline int reach(int shape, int radius, int distance) {
    if (shape == 1) return static_cast<int>(sqrtf(static_cast<float>(radius * (radius + 1) - distance * distance)));
    return shape == 3 && distance == 0 ? radius : shape == 2 ? radius - abs(distance) : 0;
}

#ifdef RADIUS
// The same for the SHAPE and the RADIUS of a small window, which are constants on a CPU. A GPU has `spread.cu` for these.
constexpr int reach(int distance) {
    if (SHAPE == 3) return distance == 0 ? RADIUS : 0;
    int far = 0;
    while (SHAPE == 1 ? (far + 1) * (far + 1) + distance * distance <= RADIUS * (RADIUS + 1) : far < RADIUS - distance) ++far;
    return far;
}

constexpr bool is_reached(int far) {
    for (int distance = 0; distance <= RADIUS; ++distance)
        if (reach(distance) == far) return true;
    return false;
}

// The threads of a thread block, which are also the numbers of a row that it combines and those beside them, and its rows.
constexpr int NUMBERS = 1024, HIGH = 32;

// Combines the numbers of each column up to each distance that the shape reaches, and then those of neighbouring columns.
// So the work grows with the radius only, and threads next to each other load neighbours.
template <int CHANNELS, bool IS_DENSE, typename Number>
__device__ void shapes(const Number* __restrict__ image, Number* __restrict__ out, float* shared, int width, int height, int row,
                       int column) {
    using Type = Held<Number>;
    constexpr int SIDE = RADIUS * CHANNELS, WIDE = NUMBERS - 2 * SIDE;
    Type* const columns = reinterpret_cast<Type*>(shared);
    const int numbers = width * CHANNELS, left = blockIdx.x * WIDE, top = blockIdx.y * HIGH, thread = threadIdx.x;
    if (left >= numbers) return;
    const int x = left + thread - SIDE, from = IS_DENSE ? x : x / CHANNELS * column * CHANNELS + x % CHANNELS;
    const int channel = thread % CHANNELS, nearest = min(max(x, channel), numbers - CHANNELS + channel) - x;
    const bool is_at_side = left < SIDE || left + WIDE + SIDE > numbers;
    for (int y = top; y < top + HIGH && y < height; ++y) {
        const auto load = [=](int at) {
            Type number;
            hold(image[static_cast<long long>(inside(at, height)) * row * CHANNELS + from], number);
            return number;
        };
        if (x >= 0 && x < numbers) {
            Type all = load(y);
#pragma unroll
            for (int far = 0; far <= RADIUS; ++far) {
                if (far > 0) all = both(all, both(load(y - far), load(y + far)));
                if (is_reached(far)) columns[far * NUMBERS + thread] = all;
            }
        }
        __syncthreads();
        if (is_at_side) {
            if (nearest != 0) {
#pragma unroll
                for (int far = 0; far <= RADIUS; ++far)
                    if (is_reached(far)) columns[far * NUMBERS + thread] = columns[far * NUMBERS + thread + nearest];
            }
            __syncthreads();
        }
        if (thread < min(WIDE, numbers - left)) {
            const Type* const middle = columns + SIDE + thread;
            Type all = middle[reach(0) * NUMBERS];
#pragma unroll
            for (int distance = 1; distance <= RADIUS; ++distance) {
                const Type* const beside = middle + reach(distance) * NUMBERS;
                all = both(all, both(beside[-distance * CHANNELS], beside[distance * CHANNELS]));
            }
            put(all, out + (static_cast<long long>(y) * numbers + left + thread));
        }
        __syncthreads();
    }
}

template <int CHANNELS, typename Number>
__device__ void shapes(const void* image, void* out, float* shared, int width, int height, int row, int column) {
    const Number* const from = static_cast<const Number*>(image);
    Number* const to = static_cast<Number*>(out);
    if (column == 1) return shapes<CHANNELS, true>(from, to, shared, width, height, row, column);
    shapes<CHANNELS, false>(from, to, shared, width, height, row, column);
}

template <typename Pixel> struct NumberOf {
    using type = unsigned char;
};
template <> struct NumberOf<float4> {
    using type = float;
};
template <> struct NumberOf<half4> {
    using type = Half;
};
#else

// A thread computes RUN pixels of a column.
template <typename Pixel>
__device__ void shapes(const Pixel* __restrict__ image, Pixel* __restrict__ out, int width, int height, int row,
                       int column, int shape, int radius) {
    constexpr int RUN = 8;
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = (blockIdx.y * blockDim.y + threadIdx.y) * RUN;
    if (x >= width || y >= height) return;
    decltype(wide(Pixel{})) all[RUN];
#pragma unroll
    for (int k = 0; k < RUN; ++k) all[k] = wide(image[line(y + k, height, row) + line(x, width, column)]);
    for (int distance = -radius; distance <= radius; ++distance) {
        const int far = reach(shape, radius, distance);
        const Pixel* source = image + line(x + distance, width, column);
        const auto load = [=](int at) { return wide(source[line(y - far + at, height, row)]); };
        if (2 * far < RUN) {
            slide(all, 2 * far + 1, load, [](auto& most, auto pixel, int) { most = both(most, pixel); });
        } else {
            decltype(wide(Pixel{})) found[RUN];
            combine(found, 2 * far, load);
#pragma unroll
            for (int k = 0; k < RUN; ++k) all[k] = both(all[k], found[k]);
        }
    }
#pragma unroll
    for (int k = 0; k < RUN; ++k)
        if (y + k < height) narrow(all[k], out + (static_cast<size_t>(y + k) * width + x));
}
#endif

// Windows with a SHAPE and a RADIUS are combined on a CPU only.
#ifdef RADIUS
#define BOUNDS NUMBERS
#else
#define BOUNDS 128
#endif
extern "C" __global__ void __launch_bounds__(BOUNDS) combine_shapes(
    const void* __restrict__ image, void* __restrict__ out, unsigned int type, int width, int height, int row,
    int column, int shape, int radius) {
#if defined(RADIUS) && defined(WARPLOOM_CPU)
    __shared__ float shared[(RADIUS + 1) * NUMBERS];
    switch (type & (ELEMENT_SIZE | ELEMENT_FLOAT)) {
        case 1: return shapes<1, unsigned char>(image, out, shared, width, height, row, column);
        case 4: return shapes<4, unsigned char>(image, out, shared, width, height, row, column);
        case 4 | ELEMENT_FLOAT: return shapes<1, float>(image, out, shared, width, height, row, column);
        default: return shapes<4, NumberOf<PIXEL>::type>(image, out, shared, width, height, row, column);
    }
#elif !defined(RADIUS)
    const auto take = [=](auto pixel) {
        using Pixel = decltype(pixel);
        shapes(static_cast<const Pixel*>(image), static_cast<Pixel*>(out), width, height, row, column, shape, radius);
    };
    switch (type & (ELEMENT_SIZE | ELEMENT_FLOAT)) {
        case 1: return take(static_cast<unsigned char>(0));
        case 4: return take(uchar4{});
        case 4 | ELEMENT_FLOAT: return take(0.0f);
        default: return take(PIXEL{});
    }
#endif
}
