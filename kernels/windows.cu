// Means, smallest or largest values of the window around each pixel, 2 radius + 1 numbers along each axis. Beyond the
// border, the nearest pixel is used. The time hardly depends on the radius. `small_windows.cu` takes less for small squares.
//
// Windows of neighbours have a common part. As in van Herk's algorithm (1992), the numbers before it are combined from
// there backwards, those after it forwards, and each window is the combination of two results. Nothing is subtracted:
// a NaN or a large number leaves no trace outside its windows.
#include "march.cuh"
#include "march_numbers.cuh"
#include "warploom/vector.h"
#include "windows.cuh"

// How many windows next to each other a thread combines, of rows and of columns: 16, 8, 4 or 2, but no more than a window
// has numbers, or 2 for windows of one. They are constants, since the CPU would compile code for all of them.
// `ENTRY` is the number of the only entry point to compile: each takes a second on the CPU. Without it, all are.
#ifndef ACROSS
#define ACROSS 16
#define DOWN 16
#endif

// The bytes of an image: numbers or, for means of srgb4, codes of light. The smallest code is that of the least light.
template <bool IS_CODED> struct ByteOf {
    using type = unsigned char;
};
template <> struct ByteOf<true> {
    using type = Code;
};
using Byte = ByteOf<TAKE == 0 && sizeof(PIXEL) == sizeof(srgb4)>::type;

template <int RUN> __device__ inline void scale(float (&found)[RUN], int count) {
    const float factor = 1.0f / count;
    if (TAKE == 0) {
#pragma unroll
        for (int k = 0; k < RUN; ++k) found[k] *= factor;
    }
}

template <int CHANNELS, typename Across>
__device__ inline void march_down(const Strips& strips, Across across) {
    constexpr int PITCH = kept_pitch_of<CHANNELS>;
    const int end = 2 * strips.radius_y, count = (2 * strips.radius_x + 1) * (end + 1);
    float totals[3] = {};  // of the batches before this one, the last one first
    march<CHANNELS, ACROSS, DOWN, Byte>(strips, across, [&](auto& found, bool is_needed, auto row) {
        if constexpr (sizeof(found) < sizeof(float) * BATCH) {
            if (is_needed) combine(found, end, [=](int i) { return *row(i); });
        } else {
            const float *const newest = row(end), *const oldest = row(0), *const others = row(BATCH);
            float held[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; ++k) held[k] = newest[k * PITCH];
            if (is_needed) {
                float common = held[0];
                const int whole = (end - BATCH + 1) / BATCH;
#pragma unroll
                for (int k = 0; k < 3; ++k)
                    if (k < whole) common = both(common, totals[k]);
                for (int i = end - whole * BATCH - 1; i >= BATCH; --i) common = both(common, others[(i - BATCH) * PITCH]);
                combine(found, BATCH, common, [=](int i) { return oldest[i * PITCH]; }, [&](int k) { return held[k]; });
            }
            totals[2] = totals[1];
            totals[1] = totals[0];
            totals[0] = held[0];
#pragma unroll
            for (int k = 1; k < BATCH; ++k) totals[0] = both(totals[0], held[k]);
        }
        if (is_needed) scale(found, count);
    });
}

#if !defined(ENTRY) || ENTRY == 0
// Combines windows with radii of MOST or less. On a GPU, pixels have `squares.cu`, and this is idle; a CPU has
// `march_numbers.cuh`.
extern "C" __global__ void __launch_bounds__(THREADS, 2) combine_windows(
    const void* __restrict__ image, void* __restrict__ out, unsigned int type, int width, int height, int row,
    int column, int radius_x, int radius_y) {
    const int number = number_size(type);
#ifdef WARPLOOM_CPU
    extern __shared__ float tile[];
    const Numbers size = {width, height, row, column, static_cast<int>(type & ELEMENT_SIZE) / number, radius_x, radius_y};
    switch (number) {
        case 4: return march_numbers<THREADS, 4, MOST, DOWN >= 8, float>(image, out, tile, size);
        case 1: return march_numbers<THREADS, 4, MOST, DOWN >= 8, Byte>(image, out, tile, size);
        default:
            if constexpr (sizeof(PIXEL) == sizeof(half4)) march_numbers<THREADS, 4, MOST, DOWN >= 8, Half>(image, out, tile, size);
    }
#else
    const Strips strips = {image, out, number, width, height, row, column, radius_x, radius_y};
    const auto across = [=](auto& found, auto load) { combine(found, 2 * radius_x, load); };
    if ((type & ELEMENT_SIZE) == number) march_down<1>(strips, across);
#endif
}
#endif

// Threads of a GPU use different banks if there is some space between groups. A CPU computes a turn of a loop for
// neighbouring threads at once if they all make the same number of turns.
#ifdef WARPLOOM_CPU
#define HAS_BANKS false
#define FOR_EACH(i, count) \
    _Pragma("unroll 1") for (int turn = 0; turn < (count); turn += THREADS) \
        if (const int i = turn + static_cast<int>(threadIdx.x); i < (count))
#else
#define HAS_BANKS true
#define FOR_EACH(i, count) for (int i = threadIdx.x; i < (count); i += THREADS)
#endif

// Combines wide windows of rows. A thread computes BATCH windows of a channel, next to each other. The numbers of a row are
// combined in groups of BATCH first, so that a thread reads few of them.
template <int CHANNELS>
__device__ inline void combine_wide(const void* image, void* out, int number, int out_number, int width, int height,
                                    int row, int column, int radius) {
    extern __shared__ float tile[];
    constexpr int GROUP = BATCH * CHANNELS, SPACE = HAS_BANKS ? CHANNELS : 0;
    const auto slot = [](int i) { return i + i / GROUP * SPACE; };
    const int numbers = width * CHANNELS, left = blockIdx.x * THREADS * BATCH, y = blockIdx.y;
    if (left >= numbers) return;
    const int inner = min(THREADS * BATCH, numbers - left), wide_row = inner + 2 * radius * CHANNELS;
    const int groups = (wide_row + GROUP - 1) / GROUP;
    float* const totals = tile + slot(groups * GROUP);
    by_number<Byte>(image, number, [&](auto* source) {
        source += static_cast<long long>(y) * row * CHANNELS;
        FOR_EACH(i, groups * GROUP)
            tile[slot(i)] = wide(source[line((left + i) / CHANNELS - radius, width, column * CHANNELS) + i % CHANNELS]);
    });
    __syncthreads();
    FOR_EACH(i, groups * CHANNELS) {
        const float* const group = tile + i / CHANNELS * (GROUP + SPACE) + i % CHANNELS;
        float total = group[0];
#pragma unroll
        for (int k = 1; k < BATCH; ++k) total = both(total, group[k * CHANNELS]);
        totals[i] = total;
    }
    __syncthreads();
    const int thread = threadIdx.x, run = thread / CHANNELS, channel = thread % CHANNELS;
    float found[BATCH];
    if (run * GROUP < inner) {
        const float* const first = tile + run * (GROUP + SPACE) + channel;
        const auto load = [=](int i) { return first[slot(i * CHANNELS)]; };
        if constexpr (ACROSS < BATCH) {
            combine_runs<ACROSS>(found, 2 * radius, load);
        } else {
            const int end = 2 * radius / BATCH;  // the group in which the first window ends
            float common = load(end * BATCH);
            for (int i = end * BATCH + 1; i <= 2 * radius; ++i) common = both(common, load(i));
            for (int group = 1; group < end; ++group) common = both(common, totals[(run + group) * CHANNELS + channel]);
            combine(found, BATCH, common, load, [=](int k) { return load(2 * radius + k); });
        }
        scale(found, 2 * radius + 1);
    }
    __syncthreads();
    if (run * GROUP < inner) {
#pragma unroll
        for (int k = 0; k < BATCH; ++k) tile[run * (GROUP + SPACE) + k * CHANNELS + channel] = found[k];
    }
    __syncthreads();
    by_number<Byte>(out, out_number, [&](auto* target) {
        FOR_EACH(i, inner)
            narrow(tile[slot(i)], target + (static_cast<size_t>(y) * numbers + left + i));
    });
}

#if !defined(ENTRY) || ENTRY == 1
// With `is_wide_out`, the result is f32, and here and below, with `is_wide_in`, the image is.
extern "C" __global__ void __launch_bounds__(THREADS, 4) combine_rows(
    const void* __restrict__ image, void* __restrict__ out, unsigned int type, int width, int height, int row,
    int column, int radius, bool is_wide_in, bool is_wide_out) {
    const int number = number_size(type), in = is_wide_in ? 4 : number, to = is_wide_out ? 4 : number;
    if ((type & ELEMENT_SIZE) == number)
        combine_wide<1>(image, out, in, to, width, height, row, column, radius);
    else
        combine_wide<4>(image, out, in, to, width, height, row, column, radius);
}
#endif

#if !defined(ENTRY) || ENTRY == 2
// Combines tall windows of columns. A thread moves down a column, and keeps the combinations of BATCH rows each, so that
// it reads each number two or three times.
extern "C" __global__ void __launch_bounds__(THREADS, 4) combine_columns(
    const void* __restrict__ image, void* __restrict__ out, unsigned int type, int width, int height, int row,
    int column, int radius, bool is_wide_in, bool is_wide_out, int segment) {
    extern __shared__ float totals_of_threads[];
    const int number = number_size(type), channels = (type & ELEMENT_SIZE) / number, numbers = width * channels;
    const int x = blockIdx.x * THREADS + threadIdx.x, top = blockIdx.y * segment, rows = min(segment, height - top);
    if (x >= numbers) return;
    const int before = (2 * radius - BATCH + 1) / BATCH, kept = before + 1;  // whole batches in each window, before its last
#ifdef WARPLOOM_CPU
    const long long from = column == 1 ? x : static_cast<long long>(x / channels) * column * channels + x % channels;
#else
    const long long from = static_cast<long long>(x / channels) * column * channels + x % channels;
#endif
    by_number<Byte>(image, is_wide_in ? 4 : number, [&](auto* source) {
        float* const totals = totals_of_threads + threadIdx.x;
        int slot = 0;
        for (int y = -2 * radius; y < rows; y += BATCH) {  // the first row that this batch completes
            const auto load = [=](int i) {
                return wide(source[from + line(top + y + i - radius, height, row * channels)]);
            };
            float found[BATCH];
            if constexpr (DOWN < BATCH) {
                combine_runs<DOWN>(found, 2 * radius, load);
            } else {
                float held[BATCH];
#pragma unroll
                for (int k = 0; k < BATCH; ++k) held[k] = load(2 * radius + k);
                if (y > -BATCH) {
                    float common = held[0];
                    for (int j = 1; j <= before; ++j)
                        common = both(common, totals[(slot - j + (j > slot ? kept : 0)) * THREADS]);
                    combine(found, 2 * radius - before * BATCH, common, load, [&](int k) { return held[k]; });
                }
#pragma unroll
                for (int k = 1; k < BATCH; ++k) held[0] = both(held[0], held[k]);
                totals[slot * THREADS] = held[0];
                slot = slot + 1 < kept ? slot + 1 : 0;
            }
            if (y <= -BATCH) continue;
            scale(found, 2 * radius + 1);
            by_number<Byte>(out, is_wide_out ? 4 : number, [&](auto* target) {
#pragma unroll
                for (int k = 0; k < BATCH; ++k)
                    if (y + k >= 0 && y + k < rows)
                        narrow(found[k], target + (static_cast<size_t>(top + y + k) * numbers + x));
            });
        }
    });
}
#endif
