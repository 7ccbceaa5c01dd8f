// Generated images.
#include "frame.cuh"
#include "random.cuh"
#include "vector.cuh"

__device__ inline float lattice_value(int x, int y, int z, unsigned int seed) {
    return uniform(hash(x + hash(y + hash(z + hash(seed)))));
}

// Value noise in [0, 1): random values at whole coordinates, interpolated smoothly.
__device__ inline float value_noise(float3 p, unsigned int seed) {
    const float3 base = {floorf(p.x), floorf(p.y), floorf(p.z)};
    const int x = static_cast<int>(base.x), y = static_cast<int>(base.y), z = static_cast<int>(base.z);
    const float u = smooth_step(0.0f, 1.0f, p.x - base.x);
    const float v = smooth_step(0.0f, 1.0f, p.y - base.y);
    const float w = smooth_step(0.0f, 1.0f, p.z - base.z);
    float layer[2];
    for (int k = 0; k < 2; ++k) {
        const float upper = lerp(lattice_value(x, y, z + k, seed), lattice_value(x + 1, y, z + k, seed), u);
        const float lower = lerp(lattice_value(x, y + 1, z + k, seed), lattice_value(x + 1, y + 1, z + k, seed), u);
        layer[k] = lerp(upper, lower, v);
    }
    return lerp(layer[0], layer[1], w);
}

extern "C" __global__ void noise(
    float4* __restrict__ out,
    const Frame* __restrict__ frame,
    float cell,
    int octaves,
    float speed,
    int seed,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float3 p = {x / cell, y / cell, frame->time * speed};
    float value = 0.0f, weight = 0.5f, total = 0.0f;
    for (int octave = 0; octave < octaves; ++octave) {
        value += weight * value_noise(p, seed + octave);
        total += weight;
        weight *= 0.5f;
        p = p * 2.0f;
    }
    value /= total;
    out[static_cast<size_t>(y) * width + x] = {value, value, value, 1.0f};
}
