// Kernels that follow a count on the device, for test_launches.py. `visits` counts who came to each element.
#include "count.cuh"

extern "C" __global__ void visit(const unsigned* count, unsigned* visits, unsigned* blocks, unsigned capacity)
{
    if (threadIdx.x == 0)
        atomicAdd(blocks, 1u);
    for_each_counted(count, capacity, [&](unsigned i) { atomicAdd(&visits[i], 1u); });
}

// The same by one thread an element, which is wrong with a grid that does not cover all of them.
extern "C" __global__ void visit_once(const unsigned* count, unsigned* visits, unsigned* blocks, unsigned capacity)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        atomicAdd(blocks, 1u);
    if (i < capacity && i < *count)
        atomicAdd(&visits[i], 1u);
}

__device__ __noinline__ void visit_from_afar(const unsigned* count, unsigned* visits, unsigned capacity)
{
    for_each_counted(count, capacity, [&](unsigned i) { atomicAdd(&visits[i], 1u); });
}

extern "C" __global__ void visit_by_call(const unsigned* count, unsigned* visits, unsigned* blocks, unsigned capacity)
{
    if (threadIdx.x == 0)
        atomicAdd(blocks, 1u);
    visit_from_afar(count, visits, capacity);
}
