// Generated images.
#include "frame.cuh"
#include "warploom/noise.h"

// A noise of some kind, from 0 to 1.
__device__ inline float noise_of(int kind, float3 p, unsigned int seed) {
    if (kind == 1) return saturate(0.5f + 0.7f * gradient_noise(p, seed));
    if (kind == 2) return saturate(cellular_noise(p, seed).nearest);
    return value_noise(p, seed);
}

extern "C" __global__ void noise(
    float4* __restrict__ out,
    const Frame* __restrict__ frame,
    float cell,
    int octaves,
    float speed,
    int seed,
    int kind,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float3 p = {x / cell, y / cell, frame->time * speed};
    const float value =
        fractal_noise(p, octaves, seed, [kind](float3 at, unsigned int key) { return noise_of(kind, at, key); });
    out[static_cast<size_t>(y) * width + x] = {value, value, value, 1.0f};
}
