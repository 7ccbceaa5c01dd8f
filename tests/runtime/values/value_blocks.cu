// Kernels of the blocks in value_blocks.py.

#include "append.cuh"

// Appends what is not below `least`: NaN too, and -0 where `least` is 0.
extern "C" __global__ void keep(
    const float* x, float least, float* out, unsigned* counter, unsigned capacity, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count && !(x[i] < least))
        append(out, counter, capacity, x[i]);
}

// All bits of the first `count[0]` elements, in any order; every NaN counts as the same one.
extern "C" __global__ void digest(const float* x, const unsigned* count, unsigned* out)
{
    unsigned both = 0, sum = 0;
    for (unsigned i = 0; i < count[0]; ++i) {
        unsigned bits = x[i] == x[i] ? __float_as_uint(x[i]) : 0x7FFFFFFFu;
        both ^= bits;
        sum += bits;
    }
    out[0] = both;
    out[1] = sum;
}

extern "C" __global__ void negate(const float* x, float* out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = -x[i];
}
