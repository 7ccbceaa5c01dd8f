// Numbers of images as a CPU holds them while it combines windows: bytes of extremes stay bytes, of which it compares most at
// once, and all others become f32.
#pragma once
#include "windows.cuh"

__device__ inline unsigned char both(unsigned char a, unsigned char b) { return TAKE == 1 ? min(a, b) : max(a, b); }

template <typename Number, bool IS_EXTREME> struct HeldOf {
    using type = float;
};
template <> struct HeldOf<unsigned char, true> {
    using type = unsigned char;
};
template <typename Number> using Held = typename HeldOf<Number, TAKE != 0>::type;

template <typename Number> __device__ inline void hold(const Number& number, float& held) { held = wide(number); }
__device__ inline void hold(unsigned char number, unsigned char& held) { held = number; }
__device__ inline void put(unsigned char number, unsigned char* out) { *out = number; }
template <typename Number> __device__ inline void put(float number, Number* out) { narrow(number, out); }
