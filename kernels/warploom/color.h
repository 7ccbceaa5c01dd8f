// Colour: images are linear RGBA in float4. Functions of float3 leave alpha to the caller.
#pragma once

#include "vector.h"

__device__ inline float3 rgb(float4 color) { return {color.x, color.y, color.z}; }
__device__ inline float4 with_alpha(float3 color, float alpha) { return {color.x, color.y, color.z, alpha}; }

// Relative luminance of linear RGB with the sRGB (Rec. 709) primaries.
__device__ inline float luminance(float3 color) {
    return 0.2126f * color.x + 0.7152f * color.y + 0.0722f * color.z;
}
__device__ inline float luminance(float4 color) { return luminance(rgb(color)); }

// 2^stops, for stops in -126..127. Every pixel computes it, so it uses a few multiplications and no library call: the
// Taylor series about the nearest whole number, which goes straight into the exponent. The error is below 2e-7.
__device__ inline float gain_of(float stops) {
    const float whole = floorf(stops + 0.5f);
    const float t = 0.69314718f * (stops - whole);
    const float series =
        1.0f + t * (1.0f + t * (0.5f + t * (1.0f / 6 + t * (1.0f / 24 + t * (1.0f / 120 + t * (1.0f / 720))))));
    return series * __int_as_float((static_cast<int>(whole) + 127) << 23);
}

// The curve of sRGB (IEC 61966-2-1), from light to the encoded value and back; negative light is mirrored.
__device__ inline float to_srgb(float light) {
    const float x = fabsf(light);
    return copysignf(x <= 0.0031308f ? 12.92f * x : 1.055f * powf(x, 1.0f / 2.4f) - 0.055f, light);
}
__device__ inline float from_srgb(float encoded) {
    const float x = fabsf(encoded);
    return copysignf(x <= 0.04045f ? x / 12.92f : powf((x + 0.055f) / 1.055f, 2.4f), encoded);
}
__device__ inline float3 to_srgb(float3 light) { return {to_srgb(light.x), to_srgb(light.y), to_srgb(light.z)}; }
__device__ inline float3 from_srgb(float3 encoded) {
    return {from_srgb(encoded.x), from_srgb(encoded.y), from_srgb(encoded.z)};
}

// Hue in turns, saturation and value (Smith, 1978), each from 0 to 1; any hue is taken, as 1.25 for 0.25.
__device__ inline float3 hsv_to_rgb(float3 hsv) {
    const float3 around = fract(float3{hsv.x, hsv.x, hsv.x} + float3{1.0f, 2.0f / 3.0f, 1.0f / 3.0f});
    const float3 pure = saturate(abs(around * 6.0f - float3{3.0f, 3.0f, 3.0f}) - float3{1.0f, 1.0f, 1.0f});
    return hsv.z * lerp(float3{1.0f, 1.0f, 1.0f}, pure, hsv.y);
}
__device__ inline float3 rgb_to_hsv(float3 color) {
    const float value = fmaxf(color.x, fmaxf(color.y, color.z));
    const float range = value - fminf(color.x, fminf(color.y, color.z));
    if (range == 0.0f) return {0.0f, 0.0f, value};
    const float sixths = value == color.x   ? (color.y - color.z) / range
                         : value == color.y ? (color.z - color.x) / range + 2.0f
                                            : (color.x - color.y) / range + 4.0f;
    return {fract(sixths * (1.0f / 6.0f)), range / value, value};
}

// Oklab (Ottosson, 2020): lightness, green to red and blue to yellow; equal steps look equally large. From linear RGB.
__device__ inline float3 rgb_to_oklab(float3 color) {
    const float l = cbrtf(dot(color, float3{0.4122214708f, 0.5363325363f, 0.0514459929f}));
    const float m = cbrtf(dot(color, float3{0.2119034982f, 0.6806995451f, 0.1073969566f}));
    const float s = cbrtf(dot(color, float3{0.0883024619f, 0.2817188376f, 0.6299787005f}));
    return {
        0.2104542553f * l + 0.7936177850f * m - 0.0040720468f * s,
        1.9779984951f * l - 2.4285922050f * m + 0.4505937099f * s,
        0.0259040371f * l + 0.7827717662f * m - 0.8086757660f * s,
    };
}
__device__ inline float3 oklab_to_rgb(float3 lab) {
    const float l = lab.x + 0.3963377774f * lab.y + 0.2158037573f * lab.z;
    const float m = lab.x - 0.1055613458f * lab.y - 0.0638541728f * lab.z;
    const float s = lab.x - 0.0894841775f * lab.y - 1.2914855480f * lab.z;
    const float3 cones = {l * l * l, m * m * m, s * s * s};
    return {
        dot(cones, float3{4.0767416621f, -3.3077115913f, 0.2309699292f}),
        dot(cones, float3{-1.2684380046f, 2.6097574011f, -0.3413193965f}),
        dot(cones, float3{-0.0041960863f, -0.7034186147f, 1.7076147010f}),
    };
}
