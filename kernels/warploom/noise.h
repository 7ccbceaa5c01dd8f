// Smooth pseudo-random functions of a position. A position and a seed give the same number on every device.
// `value_noise`, `gradient_noise` and their hash are those of expressions (engine/ops/library/noise.py).
#pragma once

#include "random.h"
#include "vector.h"

// lowbias32, by Chris Wellons.
__device__ inline unsigned int mixed(unsigned int h) {
    h = (h ^ h >> 16) * 0x7FEB352Du;
    h = (h ^ h >> 15) * 0x846CA68Bu;
    return h ^ h >> 16;
}
__device__ inline unsigned int hash(unsigned int seed, int x, int y) {
    return mixed(mixed(mixed(seed + 0x9E3779B9u) + y) + x);
}
__device__ inline unsigned int hash(unsigned int seed, int x, int y, int z) {
    return mixed(mixed(mixed(mixed(seed + 0x9E3779B9u) + z) + y) + x);
}

// 0 at 0 and 1 at 1, with first and second derivatives of 0 at both (Perlin, "Improving noise", 2002).
__device__ inline float fade(float t) { return t * t * t * (t * (t * 6.0f - 15.0f) + 10.0f); }
__device__ inline float fade_slope(float t) { return 30.0f * t * t * (t * (t - 2.0f) + 1.0f); }

// The part `at` of a gradient whose components are 10 bits of the hash each, from -1 to 1.
__device__ inline float gradient_part(unsigned int h, int at) {
    return static_cast<float>(h >> 10 * at & 1023u) * (2.0f / 1023.0f) - 1.0f;
}

struct ValueCorner {
    __device__ static float at(unsigned int h, float2) { return uniform(h); }
    __device__ static float at(unsigned int h, float3) { return uniform(h); }
};
struct GradientCorner {
    __device__ static float at(unsigned int h, float2 from) {
        return gradient_part(h, 0) * from.x + gradient_part(h, 1) * from.y;
    }
    __device__ static float at(unsigned int h, float3 from) {
        return gradient_part(h, 0) * from.x + gradient_part(h, 1) * from.y + gradient_part(h, 2) * from.z;
    }
};

// The corners of a position's cell, blended along each axis.
template <class Corner>
__device__ inline float lattice_noise(float2 p, unsigned int seed) {
    const float2 cell = floor(p), from = p - cell;
    const int x = static_cast<int>(cell.x), y = static_cast<int>(cell.y);
    float rows[2];
    for (int j = 0; j < 2; ++j) {
        const float left = Corner::at(hash(seed, x, y + j), float2{from.x, from.y - j});
        const float right = Corner::at(hash(seed, x + 1, y + j), float2{from.x - 1.0f, from.y - j});
        rows[j] = lerp(left, right, fade(from.x));
    }
    return lerp(rows[0], rows[1], fade(from.y));
}
template <class Corner>
__device__ inline float lattice_noise(float3 p, unsigned int seed) {
    const float3 cell = floor(p), from = p - cell;
    const int x = static_cast<int>(cell.x), y = static_cast<int>(cell.y), z = static_cast<int>(cell.z);
    float layers[2];
    for (int k = 0; k < 2; ++k) {
        float rows[2];
        for (int j = 0; j < 2; ++j) {
            const float left = Corner::at(hash(seed, x, y + j, z + k), float3{from.x, from.y - j, from.z - k});
            const float right =
                Corner::at(hash(seed, x + 1, y + j, z + k), float3{from.x - 1.0f, from.y - j, from.z - k});
            rows[j] = lerp(left, right, fade(from.x));
        }
        layers[k] = lerp(rows[0], rows[1], fade(from.y));
    }
    return lerp(layers[0], layers[1], fade(from.z));
}

// Random values at whole positions with a smooth way in between, from 0 to 1. `Position` is float2 or float3.
template <class Position>
__device__ inline float value_noise(Position p, unsigned int seed = 0) {
    return lattice_noise<ValueCorner>(p, seed);
}
// Slopes at whole positions, where it is 0 (Perlin, 2002); from -1 to 1, seldom beyond 0.7.
template <class Position>
__device__ inline float gradient_noise(Position p, unsigned int seed = 0) {
    return lattice_noise<GradientCorner>(p, seed);
}

// One random point in each cell of size 1 (Worley, 1996): distances to the nearest and second nearest one, and a hash
// that belongs to the nearest.
struct Cells {
    float nearest, second;
    unsigned int id;

    __device__ void meet(float square, unsigned int found) {
        if (square < nearest) {
            second = nearest;
            nearest = square;
            id = found;
        } else if (square < second) {
            second = square;
        }
    }
};
__device__ inline Cells cellular_noise(float2 p, unsigned int seed = 0) {
    const float2 cell = floor(p), from = p - cell;
    Cells cells = {1e30f, 1e30f, 0u};
    for (int j = -2; j <= 2; ++j)
        for (int i = -2; i <= 2; ++i) {
            const unsigned int h = hash(seed, static_cast<int>(cell.x) + i, static_cast<int>(cell.y) + j);
            const float2 point = {i + uniform(mixed(h + 1u)), j + uniform(mixed(h + 2u))};
            const float2 way = point - from;
            cells.meet(dot(way, way), h);
        }
    return {sqrtf(cells.nearest), sqrtf(cells.second), cells.id};
}
__device__ inline Cells cellular_noise(float3 p, unsigned int seed = 0) {
    const float3 cell = floor(p), from = p - cell;
    Cells cells = {1e30f, 1e30f, 0u};
    for (int k = -2; k <= 2; ++k)
        for (int j = -2; j <= 2; ++j)
            for (int i = -2; i <= 2; ++i) {
                const unsigned int h = hash(
                    seed, static_cast<int>(cell.x) + i, static_cast<int>(cell.y) + j, static_cast<int>(cell.z) + k);
                const float3 point = {
                    i + uniform(mixed(h + 1u)), j + uniform(mixed(h + 2u)), k + uniform(mixed(h + 3u))};
                const float3 way = point - from;
                cells.meet(dot(way, way), h);
            }
    return {sqrtf(cells.nearest), sqrtf(cells.second), cells.id};
}

// The sum of several octaves of a noise, each with half the size and half the weight of the one before, as a mean with
// these weights. `noise` takes a position and a seed: fractal_noise(p, 5, 0u, gradient_noise<float3>).
template <class Position, class Noise>
__device__ inline float fractal_noise(Position p, int octaves, unsigned int seed, Noise noise) {
    float sum = 0.0f, weight = 0.5f, total = 0.0f;
    for (int octave = 0; octave < octaves; ++octave) {
        sum += weight * noise(p, seed + octave);
        total += weight;
        weight *= 0.5f;
        p = p * 2.0f;
    }
    return sum / total;
}

// The slopes of gradient noise along each axis.
__device__ inline float2 gradient_noise_slopes(float2 p, unsigned int seed = 0) {
    const float2 cell = floor(p), from = p - cell;
    const float2 blend = {fade(from.x), fade(from.y)}, rise = {fade_slope(from.x), fade_slope(from.y)};
    float2 sum = {0.0f, 0.0f};
    for (int corner = 0; corner < 4; ++corner) {
        const int i = corner & 1, j = corner >> 1;
        const unsigned int h = hash(seed, static_cast<int>(cell.x) + i, static_cast<int>(cell.y) + j);
        const float2 gradient = {gradient_part(h, 0), gradient_part(h, 1)};
        const float wx = i ? blend.x : 1.0f - blend.x, wy = j ? blend.y : 1.0f - blend.y;
        const float2 change = {(i ? rise.x : -rise.x) * wy, wx * (j ? rise.y : -rise.y)};
        sum += gradient * (wx * wy) + change * GradientCorner::at(h, float2{from.x - i, from.y - j});
    }
    return sum;
}
__device__ inline float3 gradient_noise_slopes(float3 p, unsigned int seed = 0) {
    const float3 cell = floor(p), from = p - cell;
    const float3 blend = {fade(from.x), fade(from.y), fade(from.z)};
    const float3 rise = {fade_slope(from.x), fade_slope(from.y), fade_slope(from.z)};
    float3 sum = {0.0f, 0.0f, 0.0f};
    for (int corner = 0; corner < 8; ++corner) {
        const int i = corner & 1, j = corner >> 1 & 1, k = corner >> 2;
        const unsigned int h =
            hash(seed, static_cast<int>(cell.x) + i, static_cast<int>(cell.y) + j, static_cast<int>(cell.z) + k);
        const float3 gradient = {gradient_part(h, 0), gradient_part(h, 1), gradient_part(h, 2)};
        const float wx = i ? blend.x : 1.0f - blend.x, wy = j ? blend.y : 1.0f - blend.y;
        const float wz = k ? blend.z : 1.0f - blend.z;
        const float3 change = {
            (i ? rise.x : -rise.x) * wy * wz, wx * (j ? rise.y : -rise.y) * wz, wx * wy * (k ? rise.z : -rise.z)};
        sum += gradient * (wx * wy * wz) + change * GradientCorner::at(h, float3{from.x - i, from.y - j, from.z - k});
    }
    return sum;
}

// A flow without sources (Bridson, Hourihan and Nordenstam, "Curl-noise", 2007): particles that follow it swirl and do
// not gather. In the plane it follows the level lines of gradient noise; in space it is the curl of three of them.
__device__ inline float2 curl_noise(float2 p, unsigned int seed = 0) {
    const float2 slopes = gradient_noise_slopes(p, seed);
    return {slopes.y, -slopes.x};
}
__device__ inline float3 curl_noise(float3 p, unsigned int seed = 0) {
    const float3 a = gradient_noise_slopes(p, seed), b = gradient_noise_slopes(p, seed + 1u);
    const float3 c = gradient_noise_slopes(p, seed + 2u);
    return {c.y - b.z, a.z - c.x, b.x - a.y};
}
