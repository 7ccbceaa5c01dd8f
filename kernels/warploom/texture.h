// Buffers as textures: elements between the pixels, and beyond the edges.
//
// A kernel of a block may take a texture: `Texture<float4> image` is an input, whose edge and filter are live
// parameters, `Volume<float> field` one with three axes. Its `sample` is what CUDA's tex2D and tex3D are for pixels
// without normalised coordinates; the weights are those of f32 on every device, where a GPU's own have 8 bits.
#pragma once

#include "vector.h"

// What lies beyond the edges: the nearest pixel, the texture again, its mirror image, or zeros.
enum class Edge { CLAMP, REPEAT, MIRROR, ZERO };

// What `sample` takes: the pixel that has the position, or what is linear between pixels.
enum class Filter { NEAREST, LINEAR };

// The whole number at or below a coordinate. One beyond every pixel, or NaN, becomes one that an int holds.
__device__ inline int texture_whole(float x) { return static_cast<int>(floorf(clamp(x, -1e9f, 1e9f))); }

// The pixel of one axis that is meant by a number that may lie beyond the ends.
__device__ inline int texture_placed(int i, int size, Edge edge) {
    if (i >= 0 && i < size) return i;
    if (edge == Edge::CLAMP) return i < 0 ? 0 : size - 1;
    const int period = edge == Edge::MIRROR ? 2 * size : size;
    const int rest = (i % period + period) % period;
    return rest < size ? rest : period - 1 - rest;
}

// Pixels of float, float2, float3 or float4 in rows. Positions are in pixels: the middle of the first one is at 0.5, 0.5.
template <class Pixel>
struct Texture {
    const Pixel* pixels;
    int width, height;
    Edge edge = Edge::CLAMP;
    Filter filter = Filter::LINEAR;

    // The pixel of a column and a row, which may lie beyond the edges.
    __device__ Pixel at(int x, int y) const {
        if (edge == Edge::ZERO && (x < 0 || y < 0 || x >= width || y >= height)) return Pixel{};
        return pixels[static_cast<long long>(texture_placed(y, height, edge)) * width + texture_placed(x, width, edge)];
    }

    // The pixel that has a position.
    __device__ Pixel nearest(float2 p) const { return at(texture_whole(p.x), texture_whole(p.y)); }

    // Bilinear between the middles of four pixels.
    __device__ Pixel linear(float2 p) const {
        const float2 q = p - float2{0.5f, 0.5f}, t = fract(q);
        const int x = texture_whole(q.x), y = texture_whole(q.y);
        return lerp(lerp(at(x, y), at(x + 1, y), t.x), lerp(at(x, y + 1), at(x + 1, y + 1), t.x), t.y);
    }

    // The pixel at a position as the filter says.
    __device__ Pixel sample(float2 p) const { return filter == Filter::NEAREST ? nearest(p) : linear(p); }

    // Bicubic between the middles of 16 pixels, through their values (Catmull and Rom, 1974).
    __device__ Pixel cubic(float2 p) const {
        const float2 q = p - float2{0.5f, 0.5f}, t = fract(q);
        const int x = texture_whole(q.x), y = texture_whole(q.y);
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
__device__ inline Texture<Pixel> texture(
    const Pixel* pixels, int width, int height, Edge edge = Edge::CLAMP, Filter filter = Filter::LINEAR) {
    return {pixels, width, height, edge, filter};
}

// Pixels in a box, slice after slice. The middle of the first one is at 0.5, 0.5, 0.5.
template <class Pixel>
struct Volume {
    const Pixel* pixels;
    int width, height, depth;
    Edge edge = Edge::CLAMP;
    Filter filter = Filter::LINEAR;

    // The pixel of a column, a row and a slice, which may lie beyond the edges.
    __device__ Pixel at(int x, int y, int z) const {
        if (edge == Edge::ZERO && (z < 0 || z >= depth)) return Pixel{};
        const long long first = static_cast<long long>(texture_placed(z, depth, edge)) * width * height;
        return Texture<Pixel>{pixels + first, width, height, edge}.at(x, y);
    }

    // The pixel that has a position.
    __device__ Pixel nearest(float3 p) const { return at(texture_whole(p.x), texture_whole(p.y), texture_whole(p.z)); }

    // Trilinear between the middles of eight pixels.
    __device__ Pixel linear(float3 p) const {
        const float3 q = p - float3{0.5f, 0.5f, 0.5f}, t = fract(q);
        const int x = texture_whole(q.x), y = texture_whole(q.y), z = texture_whole(q.z);
        const auto slice = [&](int k) {
            return lerp(lerp(at(x, y, k), at(x + 1, y, k), t.x), lerp(at(x, y + 1, k), at(x + 1, y + 1, k), t.x), t.y);
        };
        return lerp(slice(z), slice(z + 1), t.z);
    }

    // The pixel at a position as the filter says.
    __device__ Pixel sample(float3 p) const { return filter == Filter::NEAREST ? nearest(p) : linear(p); }
};

// A texture of a buffer of shape [depth, height, width]: `volume(field, width, height, depth).linear(p)`.
template <class Pixel>
__device__ inline Volume<Pixel> volume(
    const Pixel* pixels, int width, int height, int depth, Edge edge = Edge::CLAMP, Filter filter = Filter::LINEAR) {
    return {pixels, width, height, depth, edge, filter};
}
