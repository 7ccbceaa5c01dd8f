// Separable Gaussian blur of images with four channels. Beyond the edge, the nearest pixel is used.
//
// A Gaussian with a sigma above LARGEST is computed on an image that is smaller by a power of two, its `step`: a B-spline
// reduces the image, and one of degree 5 enlarges the result. The weights of the smaller image make up for both.
#include "march_pixels.cuh"
#include "warploom/vector.h"

constexpr float LARGEST = 3.0f;
// The largest radii: of the image itself, and of a smaller one whose thread blocks move down strips.
constexpr int NARROW = 12, MOST = 24;
// A spline of degree 5 weighs TAPS pixels of the smaller image, which begin BEHIND pixels before the nearest one above it or
// to its left. The smaller image has a border of BEFORE pixels there and one more elsewhere: those beyond equal the outermost.
constexpr int TAPS = 6, BEHIND = 2, BEFORE = 3;

__device__ inline int step_of(float sigma) {
    return sigma <= LARGEST ? 1 : sigma < 6.0f ? 2 : sigma < 12.0f ? 4 : sigma < 48.0f ? 8 : sigma < 96.0f ? 16 : 32;
}

// How many boxes of `step` pixels are convolved to reduce an image. The pixels of the smaller image lie at multiples of `step`.
__device__ inline int boxes_of(int step) { return step < 16 ? 6 : 4; }

// The size of a smaller image. The limits tell the compiler that its pixels are inside its buffer.
__device__ inline int reduced(int size, int step) { return min(max((size - 1) / step, 0), size / 2) + 2 * BEFORE + 2; }

// The sigma of the Gaussian in pixels of the smaller image.
__device__ inline float rest_of(float sigma, int step) {
    const float wide = sigma / step, narrow = 1.0f / step;
    return step == 1 ? sigma : sqrtf(wide * wide - (boxes_of(step) * (1.0f - narrow * narrow) + TAPS) / 12.0f);
}

// Where a Gaussian is cut off: at four sigma.
__device__ inline int radius_of(float rest) { return static_cast<int>(4.0f * rest + 0.5f); }

__device__ inline float bell(int offset, float sigma) {
    const float distance = static_cast<float>(offset) / sigma;
    return expf(-0.5f * distance * distance);
}

// weights[k] is the weight of the pixels at distance k in the smaller image, which leave as much of each frequency as the
// Gaussian with both splines; idle if there is none. One thread block, with a thread for each weight.
constexpr int WEIGHTS = 64, FREQUENCIES = 64;

extern "C" __global__ void __launch_bounds__(WEIGHTS) gaussian_weights(float* __restrict__ weights, float sigma) {
    __shared__ float spectrum[FREQUENCIES], shares[WEIGHTS];
    const int k = threadIdx.x, step = step_of(sigma), radius = radius_of(rest_of(sigma, step));
    if (step == 1) return;
    const float angle = k * (1.5707963f / FREQUENCIES), wide = 2.0f * angle * sigma / step;
    const float reduces = k == 0 ? 1.0f : sinf(angle) / (step * sinf(angle / step));
    const float enlarges = k == 0 ? 1.0f : sinf(angle) / angle;
    spectrum[k] = expf(-0.5f * wide * wide) / (powf(reduces, boxes_of(step)) * powf(enlarges, TAPS));
    __syncthreads();
    float share = 0.5f * spectrum[0];
    for (int i = 1; i < FREQUENCIES; ++i)
        share += spectrum[i] * cospif(static_cast<float>(i * k % (2 * FREQUENCIES)) / FREQUENCIES);
    shares[k] = k <= radius ? share : 0.0f;
    __syncthreads();
    float all = 0.0f;
    for (int j = radius; j >= 1; --j) all += 2.0f * shares[j];
    weights[k] = shares[k] / (all + shares[0]);
}

// How many of `rows` a thread block completes, where thread blocks share strips of them.
__device__ inline int rows_of_each(int rows, int strips) {
    int parts = max(static_cast<int>(gridDim.x) / strips, 1);
#ifdef WARPLOOM_CPU
    parts = min(parts, (63 + strips) / strips);  // enough for its cores
#endif
    return (rows + parts - 1) / parts;
}

// Puts the weights of the boxes into table[i % step][i / step]. All threads of the thread block take part.
constexpr int STEPS = 32;

__device__ inline void weigh_boxes(float (&table)[STEPS][8], int step, int boxes) {
    __shared__ float line[2][TAPS * STEPS];
    const int length = boxes * step;
    for (int i = threadIdx.x; i < length; i += blockDim.x) line[0][i] = i < step ? 1.0f / step : 0.0f;
    for (int box = 1; box < boxes; ++box) {
        __syncthreads();
        const float* const from = line[(box + 1) % 2];
        for (int i = threadIdx.x; i < length; i += blockDim.x) {
            float sum = 0.0f;
            for (int j = max(i - step + 1, 0); j <= i; ++j) sum += from[j];
            line[box % 2][i] = sum / step;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < step * 8; i += blockDim.x)
        table[i / 8][i % 8] = i % 8 < boxes ? line[(boxes + 1) % 2][i / 8 + i % 8 * step] : 0.0f;
    __syncthreads();
}

// The same for a constant step: at[i] is the weight of pixel i.
template <int STEP> struct Boxes {
    float at[TAPS * STEP] = {};

    __device__ constexpr Boxes() {
        for (int i = 0; i < STEP; ++i) at[i] = 1.0f / STEP;
        for (int box = 1; box < TAPS; ++box)
            for (int i = TAPS * STEP - 1; i >= 0; --i) {
                float sum = 0.0f;
                for (int j = i >= STEP ? i - STEP + 1 : 0; j <= i; ++j) sum += at[j];
                at[i] = sum / STEP;
            }
    }
};

// Reduces an image, and gives it a border. A thread block moves down a strip: a thread adds up a column into the TAPS pixels
// that it belongs to, and rows of completed ones are added up. A GPU has code for small steps, in which TAPS rows after each
// other are unrolled, so that no number moves from register to register.
constexpr int SHRINKING = 256, PAIR = 2, AHEAD = 4;

using Sums = float4[TAPS][SHRINKING + STEPS];

template <int STEP>
__device__ inline void shrink_by(const PIXEL* __restrict__ image, float4* __restrict__ out, Sums& sums, int step, int width,
                                 int height) {
    __shared__ float table[STEPS][8];
    constexpr Boxes<(STEP > 0 ? STEP : 1)> CONSTANT;
    if (STEP > 0) step = STEP;
    const int boxes = STEP > 0 ? TAPS : boxes_of(step), thread = threadIdx.x;
    if (STEP == 0) weigh_boxes(table, step, boxes);
    const int columns = reduced(width, step), rows = reduced(height, step), reach = boxes * (step - 1) / 2;
    const int wide = SHRINKING / step, most = wide - boxes + 1, strips = (columns + most - 1) / most;
    const int part = (columns + strips - 1) / strips, segment = rows_of_each(rows, strips);
    const int pitch = wide + max(8 / step, 1), x = thread % wide;
    const int place = thread % step * pitch + thread / step;
    for (int each = blockIdx.x; each < strips * ((rows + segment - 1) / segment); each += gridDim.x) {
        const int first = each % strips * part, top = each / strips * segment, bottom = min(top + segment, rows);
        const PIXEL* const column = image + inside((first - BEFORE) * step - reach + thread, width);
        int row = (top - BEFORE) * step - reach;
        const auto load = [&]() { return column[line(row++, height, width)]; };
        float4 sum[TAPS];
        PIXEL next[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) next[k] = load();
#pragma unroll
        for (int j = 0; j < TAPS; ++j) sum[j] = {};
        for (int y = top - (boxes - 1); y < bottom; y += TAPS) {
#pragma unroll
            for (int u = 0; u < TAPS; ++u) {
                if (y + u >= bottom) break;
                sum[u] = {};
#pragma unroll(STEP > 0 ? STEP : 1)
                for (int phase = 0; phase < step; phase += PAIR) {
                    float4 now[PAIR];
#pragma unroll
                    for (int k = 0; k < PAIR; ++k) now[k] = next[k];
#pragma unroll
                    for (int k = 0; k < AHEAD; ++k) next[k] = k + PAIR < AHEAD ? next[k + PAIR] : load();
#pragma unroll
                    for (int k = 0; k < PAIR; ++k)
#pragma unroll
                        for (int j = 0; j < TAPS; ++j) {
                            const float share = STEP > 0 ? CONSTANT.at[j * STEP + phase + k] : table[phase + k][j];
                            float4& all = sum[(u - j + TAPS) % TAPS];
                            if (STEP == 0 || share > 0.0f) all = all + now[k] * share;
                        }
                }
                sums[u][place] = boxes == TAPS ? sum[(u + 1) % TAPS] : sum[(u + 3) % TAPS];
            }
            __syncthreads();
            for (int u = thread / wide; u < TAPS; u += step) {
                if (x >= min(part, columns - first) || y + u < top || y + u >= bottom) continue;
                const float4* const from = sums[u] + x;
                float4 all = {};
#pragma unroll(STEP > 0 ? STEP : 1)
                for (int phase = 0; phase < step; ++phase)
#pragma unroll
                    for (int j = 0; j < TAPS; ++j) {
                        const float share = STEP > 0 ? CONSTANT.at[j * STEP + phase] : table[phase][j];
                        if (STEP > 0 ? share > 0.0f : j < boxes) all = all + from[phase * pitch + j] * share;
                    }
                out[static_cast<size_t>(y + u) * columns + first + x] = all;
            }
            __syncthreads();
        }
    }
}

// Idle if the step is 1.
extern "C" __global__ void __launch_bounds__(SHRINKING, 2) shrink(
    const PIXEL* __restrict__ image, float4* __restrict__ out, float sigma, int width, int height) {
    __shared__ Sums sums;
    const int step = step_of(sigma);
    if (step == 1) return;
#ifndef WARPLOOM_CPU
    if (step == 2) return shrink_by<2>(image, out, sums, step, width, height);
    if (step == 4) return shrink_by<4>(image, out, sums, step, width, height);
    if (step == 8) return shrink_by<8>(image, out, sums, step, width, height);
#endif
    shrink_by<0>(image, out, sums, step, width, height);
}

#ifdef WARPLOOM_CPU
// The same as below where threads next to each other have numbers next to each other, so that a CPU loads and filters many
// at once. A thread has EACH numbers of TALL rows; PART weights are applied before it keeps the sums in memory.
template <int MANY> struct Count {
    static constexpr int value = MANY;
};

// Calls add(t, how many) for parts of `taps` weights, in order.
template <int PART, typename Add> __device__ inline void add_parts(int taps, Add add) {
    int t = 0;
#pragma unroll 1
    for (; t + PART <= taps; t += PART) add(t, Count<PART>{});
#pragma unroll 1
    for (; t < taps; ++t) add(t, Count<1>{});
}

template <int LIMIT>
__device__ inline void blur_numbers(const float* __restrict__ image, float* __restrict__ out, const float* weights,
                                    int radius, int width, int height) {
    constexpr int EACH = 2, TALL = 8, PART = 8, WIDE = EACH * MARCHING, KEPT = 2 * LIMIT + TALL;
    constexpr int PITCH = WIDE + (8 * LIMIT + MARCHING - 1) / MARCHING * MARCHING;
    extern __shared__ float4 tile[];
    float *const rows = &tile[0].x, *const kept = rows + TALL * PITCH;
    const int numbers = 4 * width, strips = (numbers + WIDE - 1) / WIDE, block = blockIdx.y * gridDim.x + blockIdx.x;
    const int segment = segment_of(height, strips, radius), thread = threadIdx.x, side = 4 * radius, taps = 2 * radius + 1;
    const int left = block % strips * WIDE, top = block / strips * segment, count = min(segment, height - top);
    int slot = 0;  // where the first of the next rows is kept
    for (int y = -2 * radius; y < count; y += TALL) {
        const auto row_at = [=](int k) { return image + line(top + y + k + radius, height, numbers); };
#pragma unroll 1
        for (int place = 0; place < WIDE + 2 * side; place += MARCHING) {
            const int first = left - side + place;
            if (first >= 0 && first + MARCHING <= numbers) {
#pragma unroll
                for (int k = 0; k < TALL; ++k) rows[k * PITCH + place + thread] = row_at(k)[first + thread];
            } else if (place + thread < WIDE + 2 * side) {
                const int x = first + thread, channel = x & 3, from = min(max(x, channel), numbers - 4 + channel);
#pragma unroll
                for (int k = 0; k < TALL; ++k) rows[k * PITCH + place + thread] = row_at(k)[from];
            }
        }
        __syncthreads();
        // The sums of EACH windows in TALL rows or columns: load(j, i) is number i of the first one, a turn of which adds
        // `many` weighted numbers.
        float sums[EACH][TALL] = {};
        const auto across = [&](int t, auto many) {
#pragma unroll
            for (int u = 0; u < many.value; ++u)
#pragma unroll
                for (int j = 0; j < EACH; ++j)
#pragma unroll
                    for (int k = 0; k < TALL; ++k)
                        sums[j][k] += rows[k * PITCH + j * MARCHING + thread + 4 * (t + u)] * weights[t + u];
        };
        add_parts<PART>(taps, across);
#pragma unroll
        for (int k = 0; k < TALL; ++k) {
            float* const to = kept + (slot + k < KEPT ? slot + k : slot + k - KEPT) * WIDE + thread;
#pragma unroll
            for (int j = 0; j < EACH; ++j) {
                to[j * MARCHING] = sums[j][k];
                sums[j][k] = 0.0f;
            }
        }
        __syncthreads();
        const int first = slot - 2 * radius + (slot < 2 * radius ? KEPT : 0);
        const auto down = [&](int t, auto many) {
#pragma unroll
            for (int at = 0; at < many.value + TALL - 1; ++at) {
                const int row = first + t + at;
                const float* const from = kept + (row < KEPT ? row : row - KEPT) * WIDE + thread;
#pragma unroll
                for (int j = 0; j < EACH; ++j) {
                    const float number = from[j * MARCHING];
#pragma unroll
                    for (int k = 0; k < TALL; ++k)
                        if (0 <= at - k && at - k < many.value) sums[j][k] += number * weights[t + at - k];
                }
            }
        };
        add_parts<PART>(taps, down);
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            const int x = left + j * MARCHING + thread;
            if (x >= numbers) continue;
#pragma unroll
            for (int k = 0; k < TALL; ++k)
                if (y + k >= 0 && y + k < count) out[static_cast<size_t>(top + y + k) * numbers + x] = sums[j][k];
        }
        slot = slot + TALL < KEPT ? slot + TALL : slot + TALL - KEPT;
        __syncthreads();
    }
}
#endif

// A thread computes RUN pixels of a row, and then of a column. The radius is LIMIT or less, and weight(k) is the weight of the
// pixels at distance k to either side.
template <int LIMIT, typename Pixel, typename Weight>
__device__ inline void blur_picture(const Pixel* __restrict__ image, Pixel* __restrict__ out, Weight weight,
                                    int radius, int width, int height) {
    __shared__ float weights[2 * LIMIT + 1];
    const int taps = 2 * radius + 1;
    for (int t = threadIdx.x; t < taps; t += MARCHING) weights[t] = weight(abs(t - radius));
    __syncthreads();
#ifdef WARPLOOM_CPU
    if constexpr (sizeof(Pixel) == sizeof(float4))
        return blur_numbers<LIMIT>(&image->x, &out->x, weights, radius, width, height);
#endif
    const auto filter = [=](float4 (&sums)[RUN], auto load) {
#pragma unroll
        for (int k = 0; k < RUN; ++k) sums[k] = {};
        if (taps >= RUN) return weigh(sums, taps, load, [](int t) { return weights[t]; });
        for (int t = 0; t < taps; ++t)
#pragma unroll
            for (int k = 0; k < RUN; ++k) sums[k] = sums[k] + load(t + k) * weights[t];
    };
    march_pixels<LIMIT, false>(image, out, Picture{width, height, width, 1}, radius, radius, filter, filter);
}

// Blurs the image; idle unless the step is 1.
extern "C" __global__ void __launch_bounds__(MARCHING, 3) blur(
    const PIXEL* __restrict__ image, PIXEL* __restrict__ out, float sigma, int width, int height) {
    const int radius = radius_of(sigma);
    if (step_of(sigma) > 1) return;
    float sum = 0.0f;
    for (int j = radius; j >= 1; --j) sum += 2.0f * bell(j, sigma);  // small weights first, to round least
    const auto weight = [=](int k) { return k == 0 ? 1.0f / (sum + 1.0f) : bell(k, sigma) / (sum + 1.0f); };
    blur_picture<NARROW>(image, out, weight, radius, width, height);
}

// Blurs the smaller image; idle if the step is 1.
constexpr int PART = 128;

extern "C" __global__ void __launch_bounds__(MARCHING, 2) blur_small(
    const float4* __restrict__ small,
    float4* __restrict__ out,
    const float* __restrict__ weights,
    float sigma,
    int width,
    int height) {
    const int step = step_of(sigma), radius = radius_of(rest_of(sigma, step));
    const int columns = reduced(width, step), rows = reduced(height, step);
    if (step == 1) return;
    if (radius <= MOST) return blur_picture<MOST>(small, out, [=](int k) { return weights[k]; }, radius, columns, rows);
    // A thread block adds up the columns of a part of a row, and then the row.
    __shared__ float4 sums[PART + 2 * WEIGHTS];
    const auto along = [&](auto load) {
        float4 all = load(0) * weights[0];
        for (int k = 1; k <= radius; ++k) all = all + (load(-k) + load(k)) * weights[k];
        return all;
    };
    const int parts = (columns + PART - 1) / PART;
    for (int each = blockIdx.y * gridDim.x + blockIdx.x; each < parts * rows; each += gridDim.x * gridDim.y) {
        const int left = each % parts * PART, y = each / parts;
        for (int x = threadIdx.x; x < PART + 2 * radius; x += MARCHING)
            sums[x] = along([&](int k) { return small[line(y + k, rows, columns) + inside(left + x - radius, columns)]; });
        __syncthreads();
        for (int x = threadIdx.x; x < min(PART, columns - left); x += MARCHING)
            out[static_cast<size_t>(y) * columns + left + x] = along([&](int k) { return sums[x + radius + k]; });
        __syncthreads();
    }
}

// The weight of a B-spline of degree 5.
__device__ constexpr float spline(float distance) {
    const float d = distance < 0.0f ? -distance : distance;
    float sum = 0.0f;
    for (int i = 3; i >= 1; --i) {
        const float rest = d < i ? i - d : 0.0f, square = rest * rest;
        sum += (i == 3 ? 1.0f : i == 2 ? -6.0f : 15.0f) / 120.0f * square * square * rest;
    }
    return sum;
}

// The weights of the TAPS pixels, for each place between two pixels.
template <int STEP> struct Splines {
    float at[STEP][TAPS] = {};

    __device__ constexpr Splines() {
        for (int k = 0; k < STEP; ++k)
            for (int i = 0; i < TAPS; ++i) at[k][i] = spline(static_cast<float>(k) / STEP + BEHIND - i);
    }
};

// Enlarges an image with a border. A thread moves down a column, and keeps TAPS pixels of it.
constexpr int GROWING = 128;

template <int STEP>
__device__ inline void grow_by(const float4* __restrict__ image, PIXEL* __restrict__ out, int step, int width, int height) {
    __shared__ float table[STEPS][8];
    constexpr Splines<(STEP > 0 ? STEP : 1)> CONSTANT;
    if (STEP > 0) step = STEP;
    const int columns = reduced(width, step), thread = threadIdx.x;
    for (int i = thread; i < step * 8; i += GROWING)
        table[i / 8][i % 8] = spline(static_cast<float>(i / 8) / step + BEHIND - i % 8);
    __syncthreads();
    const int strips = (width + GROWING - 1) / GROWING, groups = (height + step - 1) / step;
    const int segment = rows_of_each(groups, strips);
    for (int each = blockIdx.x; each < strips * ((groups + segment - 1) / segment); each += gridDim.x) {
        const int x = each % strips * GROWING + thread, first = each / strips * segment, end = min(first + segment, groups);
        if (x >= width) continue;
        const float4* from = image + static_cast<size_t>(first + BEFORE - BEHIND) * columns + (x / step + BEFORE - BEHIND);
        float share[TAPS];
        float4 held[TAPS];
#pragma unroll
        for (int i = 0; i < TAPS; ++i) share[i] = table[x % step][i];
        const auto row = [&]() {
            float4 all = from[0] * share[0];
#pragma unroll
            for (int i = 1; i < TAPS; ++i) all = all + from[i] * share[i];
            from += columns;
            return all;
        };
#pragma unroll
        for (int i = 1; i < TAPS; ++i) held[i] = row();
        PIXEL* target = out + (static_cast<size_t>(first) * step * width + x);
        int left = height - first * step;
#pragma unroll(STEP == 2 || STEP == 4 ? TAPS : 1)
        for (int group = first; group < end; ++group) {
#pragma unroll
            for (int i = 0; i < TAPS - 1; ++i) held[i] = held[i + 1];
            held[TAPS - 1] = row();
#pragma unroll(STEP > 0 ? STEP : 4)
            for (int k = 0; k < step; ++k) {
                float4 all = {};
#pragma unroll
                for (int i = 0; i < TAPS; ++i) {
                    const float weight = STEP > 0 ? CONSTANT.at[k][i] : table[k][i];
                    if (STEP == 0 || weight > 0.0f) all = all + held[i] * weight;
                }
                if (left-- > 0) *target = all;
                target += width;
            }
        }
    }
}

// Idle if the step is 1.
extern "C" __global__ void __launch_bounds__(GROWING, 4) grow(
    const float4* __restrict__ image, PIXEL* __restrict__ out, float sigma, int width, int height) {
    const int step = step_of(sigma);
    if (step == 1) return;
#ifndef WARPLOOM_CPU
    if (step == 2) return grow_by<2>(image, out, step, width, height);
    if (step == 4) return grow_by<4>(image, out, step, width, height);
    if (step == 8) return grow_by<8>(image, out, step, width, height);
#endif
    grow_by<0>(image, out, step, width, height);
}
