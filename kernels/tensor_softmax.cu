// Softmax and its logarithm along the middle axis of a tensor that is treated as [outer, size, inner]. ELEMENT is the
// element type, and LOGARITHM is 1 for the logarithm.
#include "tensor.cuh"

#ifndef LOGARITHM
#define LOGARITHM 0
#endif

using Number = NumberOf<ELEMENT>;

__device__ inline void put(ELEMENT* out, size_t at, Number below, Number sum) {
    out[at] = Stored<ELEMENT>::of(LOGARITHM ? below - log(sum) : exp(below) / sum);
}

// Each thread takes a row.
extern "C" __global__ void softmax_each(
    const ELEMENT* __restrict__ x, ELEMENT* __restrict__ out, int rows, int size, int inner) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const size_t start = static_cast<size_t>(row / inner) * size * inner + row % inner;
    Number largest = number(x[start]), sum = 0;
    for (int i = 1; i < size; ++i) {
        const Number value = number(x[start + static_cast<size_t>(i) * inner]);
        largest = value > largest || value != value ? value : largest;
    }
    for (int i = 0; i < size; ++i) sum += exp(number(x[start + static_cast<size_t>(i) * inner]) - largest);
    for (int i = 0; i < size; ++i) {
        const size_t at = start + static_cast<size_t>(i) * inner;
        put(out, at, number(x[at]) - largest, sum);
    }
}

// Each warp takes a row; `inner` is 1. Launched with thread blocks of whole warps.
extern "C" __global__ void softmax_rows(
    const ELEMENT* __restrict__ x, ELEMENT* __restrict__ out, int rows, int size) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const size_t start = static_cast<size_t>(row) * size;
    Number largest = number(x[start]), sum = 0;
    for (int i = lane; i < size; i += 32) {
        const Number value = number(x[start + i]);
        largest = value > largest || value != value ? value : largest;
    }
    for (int away = 16; away > 0; away /= 2) {
        const Number value = __shfl_xor_sync(0xFFFFFFFFu, largest, away);
        largest = value > largest || value != value ? value : largest;
    }
    for (int i = lane; i < size; i += 32) sum += exp(number(x[start + i]) - largest);
    for (int away = 16; away > 0; away /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, away);
    for (int i = lane; i < size; i += 32) put(out, start + i, number(x[start + i]) - largest, sum);
}
