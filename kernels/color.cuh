// Colour: images are linear RGBA in float4.
#pragma once

#include "vector.cuh"

// Relative luminance of linear RGB with the sRGB (Rec. 709) primaries.
__device__ inline float luminance(float4 color) {
    return 0.2126f * color.x + 0.7152f * color.y + 0.0722f * color.z;
}

// 2^stops, for stops in -126..127. Every pixel computes it, so it uses a few multiplications and no library call: the
// Taylor series about the nearest whole number, which goes straight into the exponent. The error is below 2e-7.
__device__ inline float gain_of(float stops) {
    const float whole = floorf(stops + 0.5f);
    const float t = 0.69314718f * (stops - whole);
    const float series =
        1.0f + t * (1.0f + t * (0.5f + t * (1.0f / 6 + t * (1.0f / 24 + t * (1.0f / 120 + t * (1.0f / 720))))));
    return series * __int_as_float((static_cast<int>(whole) + 127) << 23);
}
