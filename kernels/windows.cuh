// What is taken of windows around each pixel, as the macro TAKE says.
#pragma once
#include "image_numbers.cuh"

#ifndef TAKE
#define TAKE 0  // 0 for means, 1 for the smallest number, 2 for the largest
#endif

__device__ inline float both(float a, float b) { return TAKE == 0 ? a + b : TAKE == 1 ? fminf(a, b) : fmaxf(a, b); }

__device__ inline float4 both(float4 a, float4 b) {
    return {both(a.x, b.x), both(a.y, b.y), both(a.z, b.z), both(a.w, b.w)};
}
