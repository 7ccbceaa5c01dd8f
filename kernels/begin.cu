// State that begins with the contents of a buffer: both kernels run in every frame, and do something in the first.
#include "elements.cuh"

extern "C" __global__ void begin_with(
    const void* __restrict__ first,
    void* __restrict__ out,
    const unsigned int* __restrict__ begun,
    unsigned int type,
    unsigned long long count) {
    const unsigned long long i = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
    if (!first || *begun || i >= count) return;
    const unsigned int size = type & ELEMENT_SIZE;
    const unsigned char* from = element_at(first, type, i);
    unsigned char* to = static_cast<unsigned char*>(out) + i * size;
    for (unsigned int byte = 0; byte < size; ++byte) to[byte] = from[byte];
}

extern "C" __global__ void has_begun(unsigned int* begun) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *begun = 1;
}
