// Products of a matrix with sparse columns, which hold the numbers of the rows with ones, and end at a number below 0.
// ELEMENT is the element type; ACTIVATION is applied to each result.
#include "tensor_activations.cuh"

#ifndef ACTIVATION
#define ACTIVATION identity
#endif

using Number = NumberOf<ELEMENT>;

// The sum of the rows of `table` [size, width] at each example's row numbers, and of the bias [width], if there is one.
// Each thread computes a result. `out` has `stride` elements for each example; these results begin at `offset`.
extern "C" __global__ void sum_rows(
    const ELEMENT* __restrict__ table,
    const int* __restrict__ rows,
    const ELEMENT* __restrict__ bias,
    ELEMENT* __restrict__ out,
    int examples,
    int count,
    int size,
    int width,
    int stride,
    int offset) {
    const size_t at = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    const size_t example = at / width;
    const int column = at - example * width;
    if (example >= examples) return;
    const int* __restrict__ own = rows + example * count;
    Number sum = 0;
#pragma unroll 8
    for (int i = 0; i < count; ++i) {
        const int row = own[i];
        if (row < 0) break;
        if (row < size) sum += number(table[static_cast<size_t>(row) * width + column]);
    }
    if (bias) sum += number(bias[column]);
    out[example * stride + offset + column] = Stored<ELEMENT>::of(ACTIVATION(sum));
}

// The same in thread blocks that add up 64 * COLUMNS columns of one example each, so all threads of one read the same
// row numbers, and neighbours read neighbouring elements. With IS_WHOLE, the width is a multiple of 64 * COLUMNS.
#ifndef COLUMNS
#define COLUMNS 4
#define IS_WHOLE 1
#endif
constexpr int THREADS = 64, TOGETHER = THREADS * COLUMNS;

// Adds up the first `there` columns of each thread; returns false after the end of the sparse column.
template <int UNROLLED>
__device__ bool add_rows(
    Number (&sum)[COLUMNS], const ELEMENT* __restrict__ table, const int* own, int size, int width, int there) {
    int row[UNROLLED];
    ELEMENT found[UNROLLED][COLUMNS];
    bool goes_on = true;
#pragma unroll
    for (int i = 0; i < UNROLLED; ++i) row[i] = own[i];
#pragma unroll
    for (int i = 0; i < UNROLLED; ++i) {
        goes_on = goes_on && row[i] >= 0;
        const bool is_there = goes_on && row[i] < size;
        const ELEMENT* from = table + static_cast<size_t>(is_there ? row[i] : 0) * width;
#pragma unroll
        for (int k = 0; k < COLUMNS; ++k) {
            const ELEMENT value = k < there ? from[k * THREADS] : ELEMENT{};
            found[i][k] = is_there ? value : ELEMENT{};
        }
    }
#pragma unroll
    for (int i = 0; i < UNROLLED; ++i)
#pragma unroll
        for (int k = 0; k < COLUMNS; ++k) sum[k] += number(found[i][k]);
    return goes_on;
}

extern "C" __global__ void __launch_bounds__(THREADS) sum_rows_together(
    const ELEMENT* __restrict__ table,
    const int* __restrict__ rows,
    const ELEMENT* __restrict__ bias,
    ELEMENT* __restrict__ out,
    int examples,
    int count,
    int size,
    int width,
    int stride,
    int offset) {
    size_t example = blockIdx.x;
    int column = threadIdx.x;
    if (width > TOGETHER) {
        const int tiles = (width + TOGETHER - 1) / TOGETHER;
        example = blockIdx.x / tiles;
        column += blockIdx.x % tiles * TOGETHER;
    }
    const int there = IS_WHOLE ? COLUMNS : (width - column + THREADS - 1) / THREADS;
    const int* own = rows + example * count;
    Number sum[COLUMNS] = {};
    int i = 0;
    bool goes_on = true;
    for (; goes_on && i + 8 <= count; i += 8) goes_on = add_rows<8>(sum, table + column, own + i, size, width, there);
    for (; goes_on && i < count; ++i) goes_on = add_rows<1>(sum, table + column, own + i, size, width, there);
    ELEMENT* to = out + example * stride + offset + column;
#pragma unroll
    for (int k = 0; k < COLUMNS; ++k) {
        if (k >= there) break;
        if (bias) sum[k] += number(bias[column + k * THREADS]);
        to[k * THREADS] = Stored<ELEMENT>::of(ACTIVATION(sum[k]));
    }
}

// The same for a width that is a multiple of 4, with four results per thread.
template <int UNROLLED>
__device__ bool add_four(Number (&sum)[4], const ELEMENT* __restrict__ table, const int* own, int size, int width) {
    int row[UNROLLED];
    ELEMENT found[UNROLLED][4];
    bool goes_on = true;
#pragma unroll
    for (int i = 0; i < UNROLLED; ++i) row[i] = own[i];
#pragma unroll
    for (int i = 0; i < UNROLLED; ++i) {
        goes_on = goes_on && row[i] >= 0;
        const bool is_there = goes_on && row[i] < size;
        const auto four = load_several<ELEMENT, 4>(table + static_cast<size_t>(is_there ? row[i] : 0) * width);
#pragma unroll
        for (int k = 0; k < 4; ++k) found[i][k] = is_there ? four.at[k] : ELEMENT{};
    }
#pragma unroll
    for (int i = 0; i < UNROLLED; ++i)
#pragma unroll
        for (int k = 0; k < 4; ++k) sum[k] += number(found[i][k]);
    return goes_on;
}

extern "C" __global__ void sum_rows_by_four(
    const ELEMENT* __restrict__ table,
    const int* __restrict__ rows,
    const ELEMENT* __restrict__ bias,
    ELEMENT* __restrict__ out,
    int examples,
    int count,
    int size,
    int width,
    int stride,
    int offset) {
    const size_t at = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    const size_t example = at / (width / 4);
    const int column = static_cast<int>(at - example * (width / 4)) * 4;
    if (example >= examples) return;
    const int* own = rows + example * count;
    Number sum[4] = {};
    int i = 0;
    bool goes_on = true;
    for (; goes_on && i + 8 <= count; i += 8) goes_on = add_four<8>(sum, table + column, own + i, size, width);
    for (; goes_on && i < count; ++i) goes_on = add_four<1>(sum, table + column, own + i, size, width);
    Several<ELEMENT, 4> four;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        if (bias) sum[k] += number(bias[column + k]);
        four.at[k] = Stored<ELEMENT>::of(ACTIVATION(sum[k]));
    }
    store_several(out + example * stride + offset + column, four);
}

// The row numbers of sparse columns with -1 behind the end of each, for what takes entries in any order. A warp has the
// entries of an example.
extern "C" __global__ void end_rows(const int* __restrict__ rows, int* __restrict__ out, int examples, int count) {
    const int example = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (example >= examples) return;
    const size_t first = static_cast<size_t>(example) * count;
    bool goes_on = true;
    for (int i = lane; i - lane < count; i += 32) {
        const int row = i < count ? rows[first + i] : 0;
        const unsigned int ends = __ballot_sync(~0u, row < 0), before = (2u << lane) - 1;
        if (i < count) out[first + i] = goes_on && (ends & before) == 0 ? row : -1;
        goes_on = goes_on && ends == 0;
    }
}
