// Reductions of tensors along one axis, always in the same order. A tensor is treated as [outer, size, inner], and the
// middle axis is reduced. ELEMENT is the element type, and OPERATION is 0 for sums, 1 for the largest and 2 for the
// smallest.
#include "tensor.cuh"

#ifndef OPERATION
#define OPERATION 0
#endif

using Number = NumberOf<ELEMENT>;
constexpr int COLUMNS = 32, ROWS = 8;

// The larger, the smaller or the sum; NaN if either is NaN. -0 is smaller than 0.
__device__ inline Number combined(Number a, Number b) {
    if (OPERATION == 0) return a + b;
    if (a != a) return a;
    if (b != b) return b;
    return OPERATION == 1 ? max(a, b) : min(a, b);
}

// Reduces every `step`-th element from `from` up to `to`; there is at least one.
template <typename E>
__device__ Number reduced(const E* __restrict__ x, size_t start, int from, int to, int step, size_t stride) {
    Number result = number(x[start + from * stride]);
    int i = from + step;
    for (; i + 3 * step < to; i += 4 * step) {
        const Number a = number(x[start + i * stride]), b = number(x[start + (i + step) * stride]);
        const Number c = number(x[start + (i + 2 * step) * stride]), d = number(x[start + (i + 3 * step) * stride]);
        result = combined(result, combined(combined(a, b), combined(c, d)));
    }
    for (; i < to; i += step) result = combined(result, number(x[start + i * stride]));
    return result;
}

// A thread block of 32 x 8 threads reduces `share` elements of each of 32 columns: out [outer, shares, inner].
template <typename E, typename R>
__device__ void columns(const E* __restrict__ x, R* __restrict__ out, int size, int inner, int share) {
    __shared__ Number parts[ROWS][COLUMNS];
    const int column = threadIdx.x % COLUMNS, row = threadIdx.x / COLUMNS;
    const int tiles = (inner + COLUMNS - 1) / COLUMNS, shares = (size + share - 1) / share;
    const int tile = blockIdx.x % tiles, part = blockIdx.x / tiles % shares, outer = blockIdx.x / tiles / shares;
    const int at = tile * COLUMNS + column;
    const int from = part * share, to = min(size, from + share);
    const size_t start = static_cast<size_t>(outer) * size * inner + at;
    const bool has_any = at < inner && from + row < to;
    if (has_any) parts[row][column] = reduced(x, start, from + row, to, ROWS, inner);
    __syncthreads();
    if (row != 0 || at >= inner) return;
    Number result = parts[0][column];
    for (int other = 1; other < ROWS && from + other < to; ++other) result = combined(result, parts[other][column]);
    out[(static_cast<size_t>(outer) * shares + part) * inner + at] = Stored<R>::of(result);
}

extern "C" __global__ void reduce_columns(
    const ELEMENT* __restrict__ x, ELEMENT* __restrict__ out, int size, int inner, int share) {
    columns(x, out, size, inner, share);
}

extern "C" __global__ void share_columns(
    const ELEMENT* __restrict__ x, Number* __restrict__ out, int size, int inner, int share) {
    columns(x, out, size, inner, share);
}

extern "C" __global__ void reduce_shares(
    const Number* __restrict__ x, ELEMENT* __restrict__ out, int size, int inner, int share) {
    columns(x, out, size, inner, share);
}

// Each thread reduces a row of a few elements; `inner` is 1.
extern "C" __global__ void reduce_short_rows(
    const ELEMENT* __restrict__ x, ELEMENT* __restrict__ out, int rows, int size) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    out[row] = Stored<ELEMENT>::of(reduced(x, static_cast<size_t>(row) * size, 0, size, 1, 1));
}

// Each warp reduces a row; `inner` is 1. Launched with thread blocks of whole warps.
extern "C" __global__ void reduce_rows(const ELEMENT* __restrict__ x, ELEMENT* __restrict__ out, int rows, int size) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    Number result = reduced(x, static_cast<size_t>(row) * size, lane, size, 32, 1);
    for (int away = 16; away > 0; away /= 2) result = combined(result, __shfl_xor_sync(0xFFFFFFFFu, result, away));
    if (lane == 0) out[row] = Stored<ELEMENT>::of(result);
}
