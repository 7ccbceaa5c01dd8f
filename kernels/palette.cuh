// Colour ramps in linear RGB, from 0 (young or fast) to 1 (old or slow).
#pragma once

#include "warploom/vector.h"

struct Palette {
    float3 stops[4];
};

__device__ inline Palette palette_by_index(int index) {
    if (index == 1)  // aurora
        return {{{0.55f, 1.00f, 0.75f}, {0.05f, 0.85f, 0.50f}, {0.05f, 0.30f, 0.95f}, {0.35f, 0.05f, 0.70f}}};
    if (index == 2)  // ice
        return {{{0.95f, 0.98f, 1.00f}, {0.30f, 0.70f, 1.00f}, {0.06f, 0.28f, 0.95f}, {0.02f, 0.06f, 0.45f}}};
    // ember
    return {{{1.00f, 0.72f, 0.34f}, {1.00f, 0.24f, 0.06f}, {0.72f, 0.05f, 0.38f}, {0.10f, 0.10f, 0.95f}}};
}

__device__ inline float3 sample(const Palette& palette, float t) {
    const float s = 3.0f * t;
    const float3 first = lerp(palette.stops[0], palette.stops[1], saturate(s));
    const float3 second = lerp(first, palette.stops[2], saturate(s - 1.0f));
    return lerp(second, palette.stops[3], saturate(s - 2.0f));
}
