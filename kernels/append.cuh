#pragma once

// Put `value` into an append buffer: at the next free place, or nowhere when all `capacity` places are taken. Returns
// whether it found a place. `counter` ends up with how many elements wanted one, which is how the overflow is noticed.
template <typename T> __device__ bool append(T* data, unsigned* counter, unsigned capacity, const T& value)
{
    unsigned place = atomicAdd(counter, 1u);
    if (place >= capacity)
        return false;
    data[place] = value;
    return true;
}
