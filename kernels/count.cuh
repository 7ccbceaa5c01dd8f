#pragma once

// Calls `work(i)` for each `i` below both `*count` and `capacity`; without a count (null), for each `i` below
// `capacity`. It is a grid-stride loop, so the grid may have any size. A block that launches its kernel with `count=`
// gets as many thread blocks as run at once, so the cost of the launch depends on the count and not on the capacity.
//
// All threads of a thread block do the same number of rounds, so a CPU can run them as a loop. `work` must not call
// `__syncthreads`: in the last round, some threads don't take part.
template <typename Work>
__device__ void for_each_counted(const unsigned* count, unsigned capacity, const Work& work)
{
    const unsigned wanted = count && *count < capacity ? *count : capacity;
    const unsigned long long threads = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    unsigned long long first = static_cast<unsigned long long>(blockIdx.x) * blockDim.x;
    for (; first < wanted; first += threads) {
        const unsigned long long i = first + threadIdx.x;
        if (i < wanted)
            work(static_cast<unsigned>(i));
    }
}
