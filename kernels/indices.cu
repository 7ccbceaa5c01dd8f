// Elements that are read from, or written to, places that a buffer of indices names.
#include "elements.cuh"

// An index of any number type as a whole number: fractions are cut off, and NaN is 0.
__device__ inline long long index_at(const void* indices, unsigned int type, size_t i) {
    if (type & ELEMENT_FLOAT) {
        const double value = number_at(indices, type, i);
        return value == value ? static_cast<long long>(fmin(fmax(value, -9e18), 9e18)) : 0;
    }
    const long long whole = static_cast<long long>(whole_at(indices, type, i));
    return whole < 0 && !(type & ELEMENT_SIGNED) ? 0x7FFFFFFFFFFFFFFFll : whole;
}

// Takes `taken` slices of `width` elements for each of the outer axes, which have `size` slices in x. Indices beyond the
// ends are the nearest (edge 0), count from the other end (edge 1), or give zeros (edge 2). One thread per element.
extern "C" __global__ void gather(
    const void* x,
    const void* indices,
    void* out,
    unsigned int type,
    unsigned int index_type,
    int edge,
    int size,
    int width,
    int taken,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int row = width > 1 ? i / width : i, inner = width > 1 ? i % width : 0;  // divisions cost most
    const int outer = taken * width < count ? row / taken : 0;
    long long at = index_at(indices, index_type, row - outer * taken);
    const bool is_inside = at >= 0 && at < size;
    if (edge == 1) {
        at %= size;
        if (at < 0) at += size;
    }
    at = max(0ll, min(at, size - 1ll));  // so the CPU knows where all threads read, and reads for many at once
    const size_t from = (static_cast<size_t>(outer) * size + at) * width + inner;
    move_element(out, i, x, from, type, edge == 2 && !is_inside);
}

// Notes for each of `size` places the last index that names it, counted from 1. `last` starts as zeros. One thread per
// index.
extern "C" __global__ void claim(
    const void* indices,
    unsigned int index_type,
    unsigned int* last,
    int size,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const long long at = index_at(indices, index_type, i);
    if (at >= 0 && at < size) atomicMax(last + at, static_cast<unsigned int>(i) + 1u);
}

// Writes a value to each place that has a claim, and the target's element to the others. One thread per element.
extern "C" __global__ void scatter(
    const void* target,
    const void* values,
    const unsigned int* __restrict__ last,
    void* out,
    unsigned int type,
    int width,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int row = width > 1 ? i / width : i;  // a division costs most
    const unsigned int claimed = last[row], size = type & ELEMENT_SIZE;
    const void* source = claimed ? element_at(values, type, static_cast<size_t>(claimed - 1u) * width + i - row * width)
                                 : element_at(target, type, i);
    copy_element(static_cast<unsigned char*>(out) + static_cast<size_t>(i) * size, source, size);
}
