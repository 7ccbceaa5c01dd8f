// Colour: images are linear RGBA in float4; a display wants sRGB in uchar4.
#pragma once

#include "vector.cuh"

// Relative luminance of linear RGB with the sRGB (Rec. 709) primaries.
__device__ inline float luminance(float4 color) {
    return 0.2126f * color.x + 0.7152f * color.y + 0.0722f * color.z;
}

// The sRGB curve (IEC 61966-2-1) without powf, which would cost more than the rest of a display kernel. Above the linear
// toe it is a minimax fit over powers of x that square roots give; it is off by at most 0.01 of an 8-bit step.
__device__ inline float encode_srgb(float x) {
    const float root = sqrtf(x);
    const float fourth = sqrtf(root);
    const float curve =
        -0.064611562f + 0.081329678f * x + 1.1226810f * root + 0.19613609f * fourth - 0.33550082f * root * fourth;
    return x <= 0.0031308f ? 12.92f * x : curve;
}

// 2^stops, for stops in -126..127. Every pixel computes it, so it is a few multiplications and no library call: the
// Taylor series about the nearest whole number, whose power of two goes straight into the exponent. Good to 2e-7.
__device__ inline float gain_of(float stops) {
    const float whole = floorf(stops + 0.5f);
    const float t = 0.69314718f * (stops - whole);
    const float series =
        1.0f + t * (1.0f + t * (0.5f + t * (1.0f / 6 + t * (1.0f / 24 + t * (1.0f / 120 + t * (1.0f / 720))))));
    return series * __int_as_float((static_cast<int>(whole) + 127) << 23);
}

__device__ inline unsigned char to_byte(float x) { return static_cast<unsigned char>(saturate(x) * 255.0f + 0.5f); }

// Linear RGBA, clamped to 0..1, to an sRGB pixel.
__device__ inline uchar4 to_pixel(float4 color) {
    return {
        to_byte(encode_srgb(saturate(color.x))),
        to_byte(encode_srgb(saturate(color.y))),
        to_byte(encode_srgb(saturate(color.z))),
        to_byte(color.w),
    };
}
