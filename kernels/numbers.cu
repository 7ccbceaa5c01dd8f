// Single numbers of buffers, as doubles.
#include "elements.cuh"

// The number at `index`, which counts back from the end if it is negative; the nearest one if there is none.
extern "C" __global__ void pick_number(
    const void* __restrict__ x, unsigned int type, double* __restrict__ out, long long index, long long count) {
    if (blockIdx.x || threadIdx.x) return;
    if (index < 0) index += count;
    out[0] = number_at(x, type, static_cast<size_t>(index < 0 ? 0 : index < count ? index : count - 1));
}

extern "C" __global__ void divide_number(const double* __restrict__ x, double* __restrict__ out, long long count) {
    if (blockIdx.x || threadIdx.x) return;
    out[0] = x[0] / static_cast<double>(count);
}
