// Pseudo-random numbers by hashing. A key gives the same number on every device and in any order.
#pragma once

// The PCG output permutation as a hash (Jarzynski and Olano, "Hash Functions for GPU Rendering", 2020).
__device__ inline unsigned int hash(unsigned int key) {
    const unsigned int state = key * 747796405u + 2891336453u;
    const unsigned int word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}

// Uniform in [0, 1): the upper 24 bits, which a float holds exactly.
__device__ inline float uniform(unsigned int bits) { return static_cast<float>(bits >> 8) * (1.0f / 16777216.0f); }

// A stream of numbers that belongs to one key.
struct Random {
    unsigned int state;
    __device__ explicit Random(unsigned int key) : state(hash(key)) {}
    __device__ float next() {
        state = hash(state);
        return uniform(state);
    }
};
