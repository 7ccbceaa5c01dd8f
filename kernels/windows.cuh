// What is taken of windows around each pixel, as the macro TAKE says.
#pragma once
#include "image_numbers.cuh"

#ifndef TAKE
#define TAKE 0  // 0 for means, 1 for the smallest number, 2 for the largest
#endif

__device__ inline float both(float a, float b) { return TAKE == 0 ? a + b : TAKE == 1 ? fminf(a, b) : fmaxf(a, b); }

__device__ inline float2 both(float2 a, float2 b) { return {both(a.x, b.x), both(a.y, b.y)}; }
__device__ inline float4 both(float4 a, float4 b) {
    return {both(a.x, b.x), both(a.y, b.y), both(a.z, b.z), both(a.w, b.w)};
}

// Two channels of a pixel, of which a GPU finds the larger numbers by one instruction; and both pairs of a pixel.
struct BytePair {
    unsigned int numbers;  // of 16 bits
};
struct HalfPair {
    unsigned int numbers;
};
template <typename Pair> struct alignas(8) Pairs {
    Pair first, second;
};

#if TAKE == 1
#define BEST "min"
#else
#define BEST "max"
#endif
__device__ inline BytePair both(BytePair a, BytePair b) {
    asm(BEST ".u16x2 %0, %1, %2;" : "=r"(a.numbers) : "r"(a.numbers), "r"(b.numbers));
    return a;
}
__device__ inline HalfPair both(HalfPair a, HalfPair b) {
    asm(BEST ".f16x2 %0, %1, %2;" : "=r"(a.numbers) : "r"(a.numbers), "r"(b.numbers));
    return a;
}
template <typename Pair> __device__ inline Pairs<Pair> both(Pairs<Pair> a, Pairs<Pair> b) {
    return {both(a.first, b.first), both(a.second, b.second)};
}

template <typename Part> __device__ inline Part scaled(Part found, float factor) { return found * factor; }
__device__ inline BytePair scaled(BytePair found, float) { return found; }
__device__ inline HalfPair scaled(HalfPair found, float) { return found; }
template <typename Pair> __device__ inline Pairs<Pair> scaled(Pairs<Pair> found, float) { return found; }

// A pixel as it is in shared memory, and back.
template <typename Pixel> __device__ inline void widen(const Pixel& pixel, float4* out) { *out = wide(pixel); }
__device__ inline void widen(const uchar4& pixel, Pairs<BytePair>* out) {
    const unsigned int bytes = reinterpret_cast<const unsigned int&>(pixel);
    *out = {{__byte_perm(bytes, 0, 0x4140)}, {__byte_perm(bytes, 0, 0x4342)}};
}
__device__ inline void narrow(Pairs<BytePair> pixel, uchar4* out) {
    *reinterpret_cast<unsigned int*>(out) = __byte_perm(pixel.first.numbers, pixel.second.numbers, 0x6420);
}

// The pixels of four bytes: of extremes, codes are compared.
template <bool IS_LIGHT> struct FourBytes {
    using Pixel = uchar4;
};
template <> struct FourBytes<true> {
    using Pixel = srgb4;
};
using SmallPixel = FourBytes<TAKE == 0 && sizeof(PIXEL) == sizeof(srgb4)>::Pixel;

// Combines RUN windows next to each other, each of RUN numbers or more. `common` is what the numbers from `known` to the
// end of the first window give, load(i) is a number before that, and next(k) is number k after that window.
template <int RUN, typename Number, typename Load, typename Next>
__device__ inline void combine(Number (&found)[RUN], int known, Number common, Load load, Next next) {
#pragma unroll 4
    for (int i = known - 1; i >= RUN - 1; --i) common = both(common, load(i));
    found[RUN - 1] = common;
#pragma unroll
    for (int k = RUN - 2; k >= 0; --k) found[k] = common = both(common, load(k));
#pragma unroll
    for (int k = 1; k < RUN; ++k) {
        const Number number = next(k);
        common = k == 1 ? number : both(common, number);
        found[k] = both(found[k], common);
    }
}

// The same, where load(i) is any number, and the first window ends with load(end). Windows may be of one number if RUN is 2.
template <int RUN, typename Number, typename Load>
__device__ inline void combine(Number (&found)[RUN], int end, Load load) {
    if (RUN == 2 && end == 0) {
        found[0] = load(0);
        found[1] = load(1);
        return;
    }
    combine(found, end, load(end), load, [=](int k) { return load(end + k); });
}

// The same for COUNT windows, RUN at a time.
template <int RUN, int COUNT, typename Number, typename Load>
__device__ inline void combine_runs(Number (&found)[COUNT], int end, Load load) {
#pragma unroll
    for (int first = 0; first < COUNT; first += RUN) {
        Number some[RUN];
        combine(some, end, [=](int i) { return load(first + i); });
#pragma unroll
        for (int k = 0; k < RUN; ++k) found[first + k] = some[k];
    }
}
