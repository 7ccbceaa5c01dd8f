// Buffers as textures: elements between the pixels, and beyond the edges.
#pragma once

#include "vector.h"

// What lies beyond the edges: the nearest pixel, the texture again, its mirror image, or zeros.
enum class Edge { CLAMP, REPEAT, MIRROR, ZERO };

// Pixels of float, float2, float3 or float4 in rows. Positions are in pixels: the middle of the first one is at 0.5, 0.5.
template <class Pixel>
struct Texture {
    const Pixel* pixels;
    int width, height;
    Edge edge = Edge::CLAMP;

    // The pixel of a column and a row, which may lie beyond the edges.
    __device__ Pixel at(int x, int y) const {
        if (edge == Edge::ZERO && (x < 0 || y < 0 || x >= width || y >= height)) return Pixel{};
        return pixels[static_cast<long long>(placed(y, height)) * width + placed(x, width)];
    }

    // The pixel that has a position.
    __device__ Pixel nearest(float2 p) const { return at(whole(p.x), whole(p.y)); }

    // Bilinear between the middles of four pixels.
    __device__ Pixel linear(float2 p) const {
        const float2 q = p - float2{0.5f, 0.5f}, t = fract(q);
        const int x = whole(q.x), y = whole(q.y);
        return lerp(lerp(at(x, y), at(x + 1, y), t.x), lerp(at(x, y + 1), at(x + 1, y + 1), t.x), t.y);
    }

    // Bicubic between the middles of 16 pixels, through their values (Catmull and Rom, 1974).
    __device__ Pixel cubic(float2 p) const {
        const float2 q = p - float2{0.5f, 0.5f}, t = fract(q);
        const int x = whole(q.x), y = whole(q.y);
        const Weights across = weights(t.x), down = weights(t.y);
        Pixel sum{};
        for (int j = 0; j < 4; ++j) {
            Pixel row{};
            for (int i = 0; i < 4; ++i) row = row + at(x + i - 1, y + j - 1) * across.of[i];
            sum = sum + row * down.of[j];
        }
        return sum;
    }

private:
    struct Weights {
        float of[4];
    };

    // A position beyond every pixel, or NaN, becomes one that an int holds.
    __device__ static int whole(float x) { return static_cast<int>(floorf(clamp(x, -1e9f, 1e9f))); }

    __device__ int placed(int i, int size) const {
        if (i >= 0 && i < size) return i;
        if (edge == Edge::CLAMP) return i < 0 ? 0 : size - 1;
        const int period = edge == Edge::MIRROR ? 2 * size : size;
        const int rest = (i % period + period) % period;
        return rest < size ? rest : period - 1 - rest;
    }

    __device__ static Weights weights(float t) {
        return {{
            t * (-0.5f + t * (1.0f - 0.5f * t)),
            1.0f + t * t * (-2.5f + 1.5f * t),
            t * (0.5f + t * (2.0f - 1.5f * t)),
            t * t * (-0.5f + 0.5f * t),
        }};
    }
};

// A texture of a buffer of shape [height, width]: `texture(image, width, height, Edge::REPEAT).linear(p)`.
template <class Pixel>
__device__ inline Texture<Pixel> texture(const Pixel* pixels, int width, int height, Edge edge = Edge::CLAMP) {
    return {pixels, width, height, edge};
}
