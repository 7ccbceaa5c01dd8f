// Reductions along one axis of a buffer of shape [outer, size, inner], in two steps whose results are always equal.
#include "elements.cuh"
#include "extremes.cuh"

constexpr int LOADS = 8;  // of a thread that are under way at once

// The operations, in the order of blocks/reduce/along_axis.py.
enum Operation { SUM, MEAN, SMALLEST, LARGEST, VARIANCE, DEVIATION };

// Reduces every `parts`-th element of each line along the axis to two numbers, shape [outer, parts, inner, 2]: a sum or
// an extreme, and for variances the sum of squares. These are of distances to the line's first element: next to the
// variance, no distance can be so large that its square loses much. One thread per pair; neighbouring threads read
// neighbouring elements.
extern "C" __global__ void reduce_parts(
    const void* __restrict__ x,
    double2* __restrict__ found,
    unsigned int type,
    int operation,
    int size,
    int inner,
    int parts,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int part = i / inner % parts;
    const size_t line = static_cast<size_t>(i / inner / parts) * size * inner + i % inner;
    const bool is_spread = operation >= VARIANCE;
    double first = 0.0, squares = 0.0;
    by_reader(x, type, [&](auto number) {
        const double start = is_spread ? number(line) : 0.0;
        first = number(line + static_cast<size_t>(part) * inner) - start;
        squares = first * first;
        for (int at = part + parts; at < size; at += LOADS * parts) {
            double values[LOADS];
#pragma unroll
            for (int j = 0; j < LOADS; ++j) {
                const int k = min(at + j * parts, size - 1);
                values[j] = number(line + static_cast<size_t>(k) * inner) - start;
            }
#pragma unroll
            for (int j = 0; j < LOADS; ++j) {
                if (at + j * parts >= size) break;
                first = operation == SMALLEST  ? smaller(first, values[j])
                        : operation == LARGEST ? larger(first, values[j])
                                               : first + values[j];
                squares += values[j] * values[j];
            }
        }
    });
    found[i] = make_double2(first, is_spread ? squares : 0.0);
}

// Combines the parts of each line to the result. One thread per line.
extern "C" __global__ void combine_parts(
    const double2* __restrict__ found,
    float* __restrict__ out,
    int operation,
    int size,
    int inner,
    int parts,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const double2* from = found + static_cast<size_t>(i / inner) * parts * inner + i % inner;
    double2 all = from[0];
    for (int part = 1; part < parts; ++part) {
        const double2 next = from[static_cast<size_t>(part) * inner];
        all.x = operation == SMALLEST ? smaller(all.x, next.x) : operation == LARGEST ? larger(all.x, next.x) : all.x + next.x;
        all.y += next.y;
    }
    double result = operation == MEAN ? all.x / size : all.x;
    if (operation >= VARIANCE) {
        result = all.y / size - all.x / size * (all.x / size);
        if (result < 0.0) result = 0.0;
    }
    out[i] = static_cast<float>(operation == DEVIATION ? sqrt(result) : result);
}
