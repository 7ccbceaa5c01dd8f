// Elements as whole numbers above 0 in the same order, their codes, and back: for sorting, and for running extremes.
#include "elements.cuh"

// The code of positive infinity. Those above it are of NaN, in both directions.
__device__ inline unsigned long long infinity_code(unsigned int type, unsigned long long sign) {
    switch (type & ELEMENT_SIZE) {
        case 2: return sign | (type & ELEMENT_BRAIN ? 0x7F80ull : 0x7C00ull);
        case 4: return sign | 0x7F800000ull;
        default: return sign | 0x7FF0000000000000ull;
    }
}

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
    const unsigned int bits = 8 * (as & ELEMENT_SIZE);
    const unsigned long long sign = 1ull << (bits - 1), all = ~0ull >> (64 - bits);
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < count; i += step) {
        unsigned long long code = whole_at(x, type & ELEMENT_SIZE, i);
        bool is_nan = false;
        if (as & ELEMENT_FLOAT) {
            const unsigned long long infinity = infinity_code(as, sign), magnitude = code & (sign - 1);
            is_nan = (sign | magnitude) > infinity;
            if (is_nan)
                code = positions ? all : sign | magnitude;
            else if (positions && magnitude == 0)
                code = sign;
            else
                code = code & sign ? ~code & all : code | sign;
        } else if (as & ELEMENT_SIGNED) {
            code ^= sign;
        }
        put_code(codes, is_wide, i, descending && !is_nan ? ~code & all : code);
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
