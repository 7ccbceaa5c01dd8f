// Squares on a CPU, where a thread has numbers of a row, so that threads next to each other load neighbours. A thread block
// moves down a strip of an image, HIGH rows at a time: it combines columns into shared memory, and then windows of 2, 4, 8 and
// so on numbers of each row, of which it makes the windows of the right size.
#pragma once
#include "held.cuh"
#include "slide.cuh"

struct Numbers {
    int width, height, row, column, channels;
    int radius_x, radius_y;
};

// A thread has EACH numbers of a row, THREADS apart. LARGEST is the largest radius; with IS_TALL, a column has HIGH numbers or
// more.
template <int THREADS, int EACH, int LARGEST, bool IS_TALL, typename Number>
__device__ void march_numbers(const void* __restrict__ pixels, void* __restrict__ result, void* shared, Numbers size) {
    const Number* const image = static_cast<const Number*>(pixels);
    Number* const out = static_cast<Number*>(result);
    using Type = Held<Number>;
    constexpr int HIGH = 8, SPAN = THREADS * EACH, SLACK = LARGEST * 4, PITCH = SPAN + 2 * SLACK;
    const int channels = size.channels, numbers = size.width * channels, side = size.radius_x * channels;
    const int wide = SPAN - 2 * side, strips = (numbers + wide - 1) / wide, block = blockIdx.y * gridDim.x + blockIdx.x;
    const int segment = segment_of(size.height, strips, size.radius_y), top = block / strips * segment;
    if (top >= size.height) return;
    // The last strip ends with the row. Where it overlaps with another one, both have the same results.
    const int left = min(block % strips * wide, max(numbers - wide, 0)), end = min(top + segment, size.height);
    const int base = max(min(left - side, numbers - SPAN), 0), thread = threadIdx.x;
    const bool is_at_side = left < side || left + wide + side > numbers;
    Type* const tile = static_cast<Type*>(shared) + (SLACK + thread);  // place p of a row is number left - side + p
    Type* const stored = tile + (base - left + side);
    const float factor = TAKE == 0 ? 1.0f / ((2 * size.radius_x + 1) * (2 * size.radius_y + 1)) : 1.0f;
    const int tall = 2 * size.radius_y, count = 2 * size.radius_x + 1;
    for (int y = top; y < end; y += HIGH) {
        const auto load_at = [&](int from, int i) {
            Type number;
            hold(image[line(y + i - size.radius_y, size.height, size.row * channels) + from], number);
            return number;
        };
        Type found[EACH][HIGH];
        if (size.column == 1) {
            const auto load = [&](int j, int i) { return load_at(min(base + thread + j * THREADS, numbers - 1), i); };
            if constexpr (IS_TALL) {
                Type common[EACH];
#pragma unroll
                for (int j = 0; j < EACH; ++j) common[j] = load(j, HIGH - 1);
#pragma unroll 4
                for (int i = HIGH; i <= tall; ++i)
#pragma unroll
                    for (int j = 0; j < EACH; ++j) common[j] = both(common[j], load(j, i));
#pragma unroll
                for (int j = 0; j < EACH; ++j) {
                    found[j][HIGH - 1] = common[j];
#pragma unroll
                    for (int k = HIGH - 2; k >= 0; --k) found[j][k] = common[j] = both(common[j], load(j, k));
                    Type after = load(j, tall + 1);
#pragma unroll
                    for (int k = 1; k < HIGH; ++k) {
                        if (k > 1) after = both(after, load(j, tall + k));
                        found[j][k] = both(found[j][k], after);
                    }
                }
            } else {
#pragma unroll
                for (int j = 0; j < EACH; ++j)
#pragma unroll
                    for (int k = 0; k < HIGH; ++k) found[j][k] = load(j, k);
                for (int i = 1; i <= tall; ++i)
#pragma unroll
                    for (int j = 0; j < EACH; ++j)
#pragma unroll
                        for (int k = 0; k < HIGH; ++k) found[j][k] = both(found[j][k], load(j, k + i));
            }
#pragma unroll
            for (int j = 0; j < EACH; ++j)
#pragma unroll
                for (int k = 0; k < HIGH; ++k) stored[k * PITCH + j * THREADS] = found[j][k];
        } else {  // pixels with gaps between them, which are rare: as little code as possible
#pragma unroll 1
            for (int place = 0; place < SPAN; place += THREADS) {
                const int x = min(base + thread + place, numbers - 1);
                const int from = x / channels * size.column * channels + x % channels;
#pragma unroll 1
                for (int k = 0; k < HIGH; ++k) {
                    Type all = load_at(from, k);
#pragma unroll 1
                    for (int i = 1; i <= tall; ++i) all = both(all, load_at(from, k + i));
                    stored[k * PITCH + place] = all;
                }
            }
        }
        __syncthreads();
        if (is_at_side) {
#pragma unroll 1
            for (int place = thread; place < SPAN; place += THREADS) {
                const int x = left - side + place, channel = place % channels;
                const int by = min(max(x, channel), numbers - channels + channel) - x;
                if (by != 0)
                    for (int k = 0; k < HIGH; ++k) tile[k * PITCH + place - thread] = tile[k * PITCH + place - thread + by];
            }
            __syncthreads();
        }
        // `found` are sums of the first `done` numbers, and the rows at `now` are windows of `many`.
        int now = 0, next = HIGH * PITCH, many = 1, done = 1;
        if constexpr (TAKE == 0) {
#pragma unroll
            for (int j = 0; j < EACH; ++j)
#pragma unroll
                for (int k = 0; k < HIGH; ++k) found[j][k] = tile[k * PITCH + j * THREADS];
        }
        while (2 * many <= count) {
#pragma unroll
            for (int j = 0; j < EACH; ++j)
#pragma unroll
                for (int k = 0; k < HIGH; ++k) {
                    const Type* const first = tile + (now + k * PITCH + j * THREADS);
                    tile[next + k * PITCH + j * THREADS] = both(first[0], first[many * channels]);
                }
            __syncthreads();
            now = next;
            next = HIGH * PITCH - next;
            many *= 2;
            if (TAKE == 0 && (count & many) != 0) {
#pragma unroll
                for (int j = 0; j < EACH; ++j)
#pragma unroll
                    for (int k = 0; k < HIGH; ++k)
                        found[j][k] = both(found[j][k], tile[now + done * channels + k * PITCH + j * THREADS]);
                done += many;
            }
        }
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            if (thread + j * THREADS >= min(wide, numbers)) continue;
#pragma unroll
            for (int k = 0; k < HIGH; ++k) {
                if (y + k >= end) continue;
                const Type* const first = tile + (now + k * PITCH + j * THREADS);
                const Type all = TAKE == 0 ? found[j][k] * factor : both(first[0], first[(count - many) * channels]);
                put(all, out + (static_cast<long long>(y + k) * numbers + left + thread + j * THREADS));
            }
        }
        __syncthreads();
    }
}
