// Philox4x32-10 (Salmon and others, "Parallel Random Numbers: As Easy as 1, 2, 3", 2011): four random words from a
// counter and a key, without state. Each operation is rounded separately, so that every device gives the same bits.
#pragma once

#include "warploom/random.h"

__device__ inline uint4 philox(uint4 counter, uint2 key) {
    for (int round = 0; round < 10; ++round) {
        const unsigned int high0 = __umulhi(0xD2511F53u, counter.x), low0 = 0xD2511F53u * counter.x;
        const unsigned int high1 = __umulhi(0xCD9E8D57u, counter.z), low1 = 0xCD9E8D57u * counter.z;
        counter = {high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0};
        key = {key.x + 0x9E3779B9u, key.y + 0xBB67AE85u};
    }
    return counter;
}

// The natural logarithm of a number from 2^-126 to 2, within 2 ulp. The number is m 2^e with m near 1; the polynomial
// approximates (log(m) - r + r^2 / 2) / r^3 with r = m - 1.
__device__ inline float log_of(float x) {
    const int bits = __float_as_int(x) - 0x3F3504F3;  // shifted so that sqrt(1/2) has the exponent of 1
    const float e = __int2float_rn(bits >> 23);
    const float r = __fadd_rn(__int_as_float((bits & 0x7FFFFF) + 0x3F3504F3), -1.0f);
    float p = -0.07635588f;
    p = __fmaf_rn(p, r, 0.12763301f);
    p = __fmaf_rn(p, r, -0.13160595f);
    p = __fmaf_rn(p, r, 0.14201558f);
    p = __fmaf_rn(p, r, -0.16623297f);
    p = __fmaf_rn(p, r, 0.20001233f);
    p = __fmaf_rn(p, r, -0.25000823f);
    p = __fmaf_rn(p, r, 0.33333331f);
    const float square = __fmul_rn(r, r);
    const float rest = __fmaf_rn(__fmul_rn(square, r), p, __fmul_rn(-0.5f, square));
    return __fmaf_rn(e, 0.69314718f, __fadd_rn(r, rest));
}

// The cosine and sine of an angle whose full turn is 2^32, within 2 ulp. The upper two bits give the quarter turn, and
// polynomials cover an eighth of a turn to either side.
__device__ inline float2 cosine_and_sine(unsigned int turn) {
    const unsigned int quarter = (turn + 0x20000000u) >> 30;
    const float x = __fmul_rn(__int2float_rn(static_cast<int>(turn - (quarter << 30))), 1.0f / 2147483648.0f);
    const float z = __fmul_rn(x, x);
    float s = -0.58907866f, c = 0.23132971f;
    s = __fmaf_rn(s, z, 2.5497677f);
    s = __fmaf_rn(s, z, -5.1677079f);
    s = __fmaf_rn(s, z, -8.7422777e-8f);  // pi minus the nearest f32
    s = __fmaf_rn(x, 3.1415927f, __fmul_rn(x, s));
    c = __fmaf_rn(c, z, -1.3350446f);
    c = __fmaf_rn(c, z, 4.0587072f);
    c = __fmaf_rn(c, z, -4.9348021f);
    c = __fmaf_rn(c, z, 1.0f);
    const float2 turned = quarter & 1u ? float2{-s, c} : float2{c, s};
    return quarter & 2u ? float2{-turned.x, -turned.y} : turned;
}

// Two normally distributed numbers with mean 0 and deviation 1 (Box and Muller, 1958), at most 6.8 from 0.
__device__ inline float2 normal_pair(unsigned int a, unsigned int b) {
    const float x = __fmaf_rn(__uint2float_rn(a), 1.0f / 4294967296.0f, 1.0f / 8589934592.0f);
    const float radius = __fsqrt_rn(__fmul_rn(-2.0f, log_of(x)));
    const float2 place = cosine_and_sine(b);
    return {__fmul_rn(radius, place.x), __fmul_rn(radius, place.y)};
}
