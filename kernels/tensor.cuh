// Elements of tensors: what ELEMENT may be, and how its elements are read and written as numbers to compute with.
#pragma once
#include "elements.cuh"

struct Half {
    unsigned short bits;
};
struct Brain {
    unsigned short bits;
};

template <typename N> __device__ inline N number(N value) { return value; }
__device__ inline float number(Half value) { return half_to_float(value.bits); }
__device__ inline float number(Brain value) { return __uint_as_float(static_cast<unsigned int>(value.bits) << 16); }

// What elements of a type are computed with.
template <typename E> using NumberOf = decltype(number(E()));

__device__ inline unsigned short half_bits(float value) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

template <typename E> struct Stored {
    template <typename N> __device__ static E of(N value) { return static_cast<E>(value); }
};
template <> struct Stored<Half> {
    __device__ static Half of(float value) { return Half{half_bits(value)}; }
};
template <> struct Stored<Brain> {
    __device__ static Brain of(float value) { return Brain{brain_bits(value)}; }
};

// Elements that are read or written at once.
template <typename E, int COUNT> struct alignas(COUNT * sizeof(E)) Several {
    E at[COUNT];
};
