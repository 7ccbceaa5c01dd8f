// Reductions along one axis of a buffer of shape [outer, size, inner], in two steps whose results are always equal.
#include "elements.cuh"
#include "extremes.cuh"

constexpr int LOADS = 12;  // of a thread that are under way at once

// The operations, in the order of blocks/reduce/along_axis.py. It is a constant, since a GPU would be as busy with
// choosing as with loading.
enum Operation { SUM, MEAN, SMALLEST, LARGEST, VARIANCE, DEVIATION };
#ifndef OPERATION
#define OPERATION SUM
#endif
constexpr bool IS_SPREAD = OPERATION >= VARIANCE;

// A sum or an extreme and, for variances, the sum of squares.
__device__ inline double2 both(double2 a, double2 b) {
    const double first = OPERATION == SMALLEST ? smaller(a.x, b.x) : OPERATION == LARGEST ? larger(a.x, b.x) : a.x + b.x;
    return make_double2(first, IS_SPREAD ? a.y + b.y : 0.0);
}

// Combines every `step`-th of `size` pairs, from `at` on.
template <typename Load> __device__ inline double2 reduce(int at, int size, int step, Load load) {
    double2 all = load(at);
    for (at += step; size - at > (LOADS - 1) * step; at += LOADS * step) {
        double2 pairs[LOADS];
#pragma unroll
        for (int j = 0; j < LOADS; ++j) pairs[j] = load(at + j * step);
#pragma unroll
        for (int j = 0; j < LOADS; ++j) all = both(all, pairs[j]);
    }
    for (; at < size; at += step) all = both(all, load(at));
    return all;
}

// Reduces every `parts`-th element of each line along the axis to two numbers, shape [outer, parts, inner, 2]. Squares
// are those of distances to the line's first element: next to the variance, no distance can be so large that its square
// loses much. One thread per pair; neighbouring threads read neighbouring elements.
extern "C" __global__ void __launch_bounds__(256, 4) reduce_parts(
    const void* __restrict__ x, double2* __restrict__ found, unsigned int type, int size, int inner, int parts, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const size_t line = static_cast<size_t>(i / inner / parts) * size * inner + i % inner;
    by_reader(x, type, [&](auto number) {
        const double start = IS_SPREAD ? number(line) : 0.0;
        found[i] = reduce(i / inner % parts, size, parts, [=](int k) {
            const double value = number(line + static_cast<size_t>(k) * inner) - start;
            return make_double2(value, IS_SPREAD ? value * value : 0.0);
        });
    });
}

// Combines the parts of each line to the result. One thread per line.
extern "C" __global__ void combine_parts(
    const double2* __restrict__ found, float* __restrict__ out, int size, int inner, int parts, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const double2* const from = found + static_cast<size_t>(i / inner) * parts * inner + i % inner;
    const double2 all = reduce(0, parts, 1, [=](int part) { return from[static_cast<size_t>(part) * inner]; });
    double result = OPERATION == MEAN ? all.x / size : all.x;
    if (IS_SPREAD) {
        result = all.y / size - all.x / size * (all.x / size);
        if (result < 0.0) result = 0.0;
    }
    out[i] = static_cast<float>(OPERATION == DEVIATION ? sqrt(result) : result);
}
