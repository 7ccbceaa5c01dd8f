// Conditions of regions, and fills of the outputs of skipped regions. All kernels but the fills run as one thread each.
// Those that begin a region set `chosen` to the index of the body that runs; if none does, to the number of bodies.

#include "elements.cuh"

extern "C" __device__ __cudart_builtin__ void cudaGraphSetConditional(unsigned long long handle, unsigned value);

// The number of turns of a For: the first element of `counts` if it is connected, otherwise `count`; never below 0.
__device__ unsigned turns_of(int count, const void* counts, unsigned type)
{
    double turns = counts ? number_at(counts, type, 0) : count;
    return turns >= 4294967295.0 ? 4294967295u : turns > 0 ? static_cast<unsigned>(turns) : 0;
}

extern "C" __global__ void begin_if(unsigned long long handle, const void* data, unsigned type, unsigned index,
                                    unsigned* chosen)
{
    bool holds = is_true(data, type, index);
    *chosen = !holds;
    cudaGraphSetConditional(handle, holds);
}

// A fraction is rounded down. No body has a number below 0, beyond the last, or NaN.
extern "C" __global__ void begin_switch(unsigned long long handle, const void* data, unsigned type, unsigned index,
                                        unsigned bodies, unsigned* chosen)
{
    double number = number_at(data, type, index);
    *chosen = number >= 0 && number < bodies ? static_cast<unsigned>(number) : bodies;
    cudaGraphSetConditional(handle, *chosen);
}

extern "C" __global__ void begin_while(unsigned long long handle, const void* data, unsigned type, unsigned index,
                                       unsigned* turns, unsigned* stopped, unsigned limit, unsigned* chosen)
{
    *turns = 0;
    bool wanted = is_true(data, type, index);
    if (wanted && limit == 0)
        *stopped = 1;
    bool runs = wanted && limit > 0;
    *chosen = !runs;
    cudaGraphSetConditional(handle, runs);
}

extern "C" __global__ void turn_while(unsigned long long handle, const void* data, unsigned type, unsigned index,
                                      unsigned* turns, unsigned* stopped, unsigned limit)
{
    unsigned done = ++*turns;
    bool wanted = is_true(data, type, index);
    if (wanted && done >= limit)
        *stopped = 1;
    cudaGraphSetConditional(handle, wanted && done < limit);
}

extern "C" __global__ void begin_for(unsigned long long handle, int count, const void* counts, unsigned type,
                                     unsigned* index, unsigned* stopped, unsigned limit, unsigned* chosen)
{
    *index = 0;
    bool wanted = turns_of(count, counts, type) > 0;
    if (wanted && limit == 0)
        *stopped = 1;
    bool runs = wanted && limit > 0;
    *chosen = !runs;
    cudaGraphSetConditional(handle, runs);
}

extern "C" __global__ void turn_for(unsigned long long handle, int count, const void* counts, unsigned type,
                                    unsigned* index, unsigned* stopped, unsigned limit)
{
    unsigned done = ++*index;
    bool wanted = done < turns_of(count, counts, type);
    if (wanted && done >= limit)
        *stopped = 1;
    cudaGraphSetConditional(handle, wanted && done < limit);
}

template <typename T> __device__ void fill(T* target, T value, unsigned long long count)
{
    unsigned long long i = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
    if (i < count)
        target[i] = value;
}

extern "C" __global__ void fill_8(unsigned char* target, unsigned char value, unsigned long long count)
{
    fill(target, value, count);
}

extern "C" __global__ void fill_16(unsigned short* target, unsigned short value, unsigned long long count)
{
    fill(target, value, count);
}

extern "C" __global__ void fill_32(unsigned* target, unsigned value, unsigned long long count)
{
    fill(target, value, count);
}

extern "C" __global__ void fill_64(unsigned long long* target, unsigned long long value, unsigned long long count)
{
    fill(target, value, count);
}
