// Elements of tensors: the types that ELEMENT may be, and their conversion to and from numbers to compute with.
#pragma once
#include "elements.cuh"

#ifndef ELEMENT
#define ELEMENT float
#endif

struct Half {
    unsigned short bits;
};
struct Brain {
    unsigned short bits;
};

template <typename N> __device__ inline N number(N value) { return value; }
__device__ inline float number(Half value) { return half_to_float(value.bits); }
__device__ inline float number(Brain value) { return __uint_as_float(static_cast<unsigned int>(value.bits) << 16); }

// The type in which elements are computed.
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

// Adjacent elements, read or written at once if their address allows it.
template <typename E, int COUNT> struct alignas(COUNT * sizeof(E)) Several {
    E at[COUNT];
};

template <typename E, int COUNT> __device__ inline Several<E, COUNT> load_several(const E* from) {
    if (reinterpret_cast<size_t>(from) % sizeof(Several<E, COUNT>) == 0)
        return *reinterpret_cast<const Several<E, COUNT>*>(from);
    Several<E, COUNT> found;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) found.at[i] = from[i];
    return found;
}

template <typename E, int COUNT> __device__ inline void store_several(E* to, const Several<E, COUNT>& values) {
    if (reinterpret_cast<size_t>(to) % sizeof(Several<E, COUNT>) == 0) {
        *reinterpret_cast<Several<E, COUNT>*>(to) = values;
        return;
    }
#pragma unroll
    for (int i = 0; i < COUNT; ++i) to[i] = values.at[i];
}
