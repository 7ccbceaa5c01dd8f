// The codes of elements, and elements from codes: for sorting, and for running extremes.
#include "codes.cuh"

__device__ inline void put_code(void* codes, int is_wide, size_t i, unsigned long long code) {
    if (is_wide)
        static_cast<unsigned long long*>(codes)[i] = code;
    else
        static_cast<unsigned int*>(codes)[i] = static_cast<unsigned int>(code);
}

// Writes the codes of elements, read as another type `as`, u64 if `is_wide` and else u32. With `positions`, which get 0, 1, 2 and so on, -0 has the
// code of 0, and all NaN have one code.
extern "C" __global__ void encode(
    const void* __restrict__ x,
    unsigned int type,
    unsigned int as,
    void* __restrict__ codes,
    int is_wide,
    int descending,
    unsigned int* __restrict__ positions,
    unsigned long long count) {
    const Coder<unsigned long long> code_of(as, positions, descending);
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < count; i += step) {
        put_code(codes, is_wide, i, code_of(whole_at(x, type & ELEMENT_SIZE, i)));
        if (positions) positions[i] = static_cast<unsigned int>(i);
    }
}

// Writes the elements that have these codes.
extern "C" __global__ void decode(
    const void* __restrict__ codes,
    int is_wide,
    void* __restrict__ out,
    unsigned int type,
    int descending,
    unsigned long long count) {
    const unsigned int bits = 8 * (type & ELEMENT_SIZE);
    const unsigned long long sign = 1ull << (bits - 1), all = ~0ull >> (64 - bits);
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < count; i += step) {
        unsigned long long code = whole_at(codes, is_wide ? 8 : 4, i);
        const bool is_float = type & ELEMENT_FLOAT, is_nan = is_float && code > infinity_code(type, sign);
        if (descending && !is_nan) code = ~code & all;
        if (is_float ? code & sign : type & ELEMENT_SIGNED)
            code ^= sign;
        else if (is_float)
            code = ~code & all;
        put_whole(out, type, i, code);
    }
}
