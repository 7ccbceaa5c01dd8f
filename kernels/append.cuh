#pragma once

// Appends `value` to an append buffer unless its `capacity` is used up, and returns whether it did. `counter` counts
// all calls, so it shows an overflow.
template <typename T> __device__ bool append(T* data, unsigned* counter, unsigned capacity, const T& value)
{
    unsigned place = atomicAdd(counter, 1u);
    if (place >= capacity)
        return false;
    data[place] = value;
    return true;
}
