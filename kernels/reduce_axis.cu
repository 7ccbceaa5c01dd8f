// Reductions along one axis of a buffer of shape [outer, size, inner], in two steps whose results are always equal.
#include "elements.cuh"
#include "extremes.cuh"

constexpr int WIDTH = 128;  // threads of a thread block that reduces parts
constexpr int LOADS = 12;  // of a thread that are under way at once
constexpr int FOLD = 8;  // parts of a long row that a thread block combines to one pair

// What is kept of a part, in the order of blocks/reduce/along_axis.py. It is a constant, since a GPU would be as busy
// with choosing as with loading.
enum Kept { TOTAL, SMALLEST, LARGEST, SPREAD };
#ifndef KEPT
#define KEPT TOTAL
#endif
constexpr bool IS_SPREAD = KEPT == SPREAD;

// A sum or an extreme and, for variances, the sum of squares.
__device__ inline double2 both(double2 a, double2 b) {
    const double first = KEPT == SMALLEST ? smaller(a.x, b.x) : KEPT == LARGEST ? larger(a.x, b.x) : a.x + b.x;
    return make_double2(first, IS_SPREAD ? a.y + b.y : 0.0);
}

// Combines every `step`-th of `size` pairs, from `at` on, which is below `step`; `load` takes distances from there. All
// threads do the same number of rounds, so a CPU can run them as vectors; in the last round, some have no pair left.
template <typename Load> __device__ inline double2 reduce(int at, int size, int step, Load load) {
    const int rounds = size / step;
    double2 all = load(0);
    int round = 1;
    for (; rounds - round >= LOADS; round += LOADS) {
        double2 pairs[LOADS];
#pragma unroll
        for (int j = 0; j < LOADS; ++j) pairs[j] = load((round + j) * step);
#pragma unroll
        for (int j = 0; j < LOADS; ++j) all = both(all, pairs[j]);
    }
    for (; round < rounds; ++round) all = both(all, load(round * step));
    if (at < size - rounds * step) all = both(all, load(rounds * step));
    return all;
}

// Reduces every `parts`-th element of the line that begins at element `line`. The first one, the line's element `at`, is
// element `first` of x. Squares are those of distances to the line's first element: next to the variance, no distance can
// be so large that its square loses much.
__device__ inline double2 reduce_part(
    const void* x, unsigned int type, size_t line, size_t first, int at, int size, int inner, int parts) {
    double2 result;
    by_reader(x, type, [&](auto number) {
        const double start = IS_SPREAD ? number(line) : 0.0;
        result = reduce(at, size, parts, [=](int k) {
            const double value = number(first + static_cast<size_t>(k) * inner) - start;
            return make_double2(value, IS_SPREAD ? value * value : 0.0);
        });
    });
    return result;
}

// Writes pairs of all lines, shape [outer, pairs, inner, 2]. One thread per part; neighbouring threads read neighbouring
// elements. Long rows of lines begin at a thread block's first thread. There, and where a thread block has parts of a
// single line, addresses follow from the thread's number without a division, so a CPU can load vectors.
extern "C" __global__ void __launch_bounds__(WIDTH, 1024 / WIDTH) reduce_parts(
    const void* __restrict__ x, double2* __restrict__ found, unsigned int type, int size, int inner, int pairs, int count) {
    const bool is_long_row = inner == 1 && size >= FOLD * WIDTH;
    const int block = blockIdx.x, parts = is_long_row ? pairs * FOLD : pairs;
    const unsigned int thread = threadIdx.x;
    if (inner >= WIDTH) {
        const int blocks = (inner + WIDTH - 1) / WIDTH, row = block / blocks, at = row % parts;
        const int column = block % blocks * WIDTH + static_cast<int>(thread);
        if (column >= inner) return;
        const size_t line = static_cast<size_t>(row / parts) * size * inner + column;
        found[static_cast<size_t>(row) * inner + column] =
            reduce_part(x, type, line, line + static_cast<size_t>(at) * inner, at, size, inner, parts);
    } else if (is_long_row) {
        __shared__ double2 kept[WIDTH];
        const int i = block * WIDTH, at = i % parts;
        const size_t line = static_cast<size_t>(i / parts) * size;
        kept[thread] = reduce_part(x, type, line, line + at + thread, at + static_cast<int>(thread), size, 1, parts);
        __syncthreads();
        if (thread >= WIDTH / FOLD) return;
        double2 all = kept[thread];
        for (int j = 1; j < FOLD; ++j) all = both(all, kept[thread + j * (WIDTH / FOLD)]);
        found[static_cast<size_t>(block) * (WIDTH / FOLD) + thread] = all;
    } else {
        const int i = block * WIDTH + static_cast<int>(thread), at = i / inner % parts;
        if (i >= count) return;
        const size_t line = static_cast<size_t>(i / inner / parts) * size * inner + i % inner;
        found[i] = reduce_part(x, type, line, line + static_cast<size_t>(at) * inner, at, size, inner, parts);
    }
}

// Combines the pairs of each line to the result: with `is_derived`, a mean and not a total, or a deviation and not a
// variance. One thread per line; a thread block per line if its pairs are more than the threads of a thread block.
extern "C" __global__ void __launch_bounds__(WIDTH) combine_parts(
    const double2* __restrict__ found, float* __restrict__ out, int size, int inner, int pairs, int count,
    bool is_derived) {
    __shared__ double2 kept[WIDTH];
    const bool is_shared = pairs > WIDTH;
    const int thread = threadIdx.x, at = is_shared ? thread : 0;
    const int i = is_shared ? blockIdx.x : blockIdx.x * WIDTH + thread;
    double2 all = make_double2(0.0, 0.0);
    if (i < count) {
        const double2* const from = found + (static_cast<size_t>(i / inner) * pairs + at) * inner + i % inner;
        all = reduce(at, pairs, is_shared ? WIDTH : 1, [=](int pair) { return from[static_cast<size_t>(pair) * inner]; });
    }
    if (is_shared) {
        kept[thread] = all;
        __syncthreads();
        if (thread != 0) return;
        for (int j = 1; j < WIDTH; ++j) all = both(all, kept[j]);
    }
    if (i >= count) return;
    double result = KEPT == TOTAL && is_derived ? all.x / size : all.x;
    if (IS_SPREAD) {
        result = all.y / size - all.x / size * (all.x / size);
        if (result < 0.0) result = 0.0;
        if (is_derived) result = sqrt(result);
    }
    out[i] = static_cast<float>(result);
}
