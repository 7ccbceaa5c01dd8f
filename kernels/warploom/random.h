// Pseudo-random numbers by hashing. A key gives the same number on every device and in any order.
#pragma once

#include "vector.h"

// The PCG output permutation as a hash (Jarzynski and Olano, "Hash Functions for GPU Rendering", 2020).
__device__ inline unsigned int hash(unsigned int key) {
    const unsigned int state = key * 747796405u + 2891336453u;
    const unsigned int word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}

// Uniform in [0, 1): the upper 24 bits, which a float holds exactly.
__device__ inline float uniform(unsigned int bits) { return static_cast<float>(bits >> 8) * (1.0f / 16777216.0f); }

// A stream of numbers that belongs to one key, such as the index of a thread.
struct Random {
    unsigned int state;
    __device__ explicit Random(unsigned int key) : state(hash(key)) {}

    // Uniform in [0, 1).
    __device__ float next() {
        state = hash(state);
        return uniform(state);
    }
    // Normal, with mean 0 and deviation 1 (Box and Muller, 1958); at most 5.8.
    __device__ float normal() {
        const float radius = sqrtf(-2.0f * logf(1.0f - next()));
        return radius * cosf(6.28318531f * next());
    }
    // Uniform on the circle and on the sphere of radius 1.
    __device__ float2 direction2() {
        const float angle = 6.28318531f * next();
        return {cosf(angle), sinf(angle)};
    }
    __device__ float3 direction3() {
        const float z = 2.0f * next() - 1.0f, radius = sqrtf(fmaxf(1.0f - z * z, 0.0f));
        const float2 around = direction2() * radius;
        return {around.x, around.y, z};
    }
    // Uniform inside the circle and inside the sphere of radius 1.
    __device__ float2 inside2() {
        const float radius = sqrtf(next());
        return direction2() * radius;
    }
    __device__ float3 inside3() {
        const float radius = cbrtf(next());
        return direction3() * radius;
    }
};
