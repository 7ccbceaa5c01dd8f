// Signed distances: how far a point is from a shape's surface, negative inside. Shapes are at the origin; move the point
// to move them. After Inigo Quilez, "Distance functions". Combinations may give less than the distance, but never more.
#pragma once

#include "vector.h"

// Shapes, in the plane and in space. `half` has half of the sizes along the axes.

__device__ inline float sd_circle(float2 p, float radius) { return length(p) - radius; }
__device__ inline float sd_box(float2 p, float2 half) {
    const float2 q = abs(p) - half;
    return length(max(q, float2{0.0f, 0.0f})) + fminf(fmaxf(q.x, q.y), 0.0f);
}
__device__ inline float sd_segment(float2 p, float2 a, float2 b, float radius) {
    const float2 way = b - a;
    return length(p - a - way * saturate(dot(p - a, way) / dot(way, way))) - radius;
}

__device__ inline float sd_sphere(float3 p, float radius) { return length(p) - radius; }
__device__ inline float sd_box(float3 p, float3 half) {
    const float3 q = abs(p) - half;
    return length(max(q, float3{0.0f, 0.0f, 0.0f})) + fminf(fmaxf(q.x, fmaxf(q.y, q.z)), 0.0f);
}
// A plane through the origin; the normal has length 1 and points outside.
__device__ inline float sd_plane(float3 p, float3 normal) { return dot(p, normal); }
// A ring around the y axis: the radius of its middle line, and that of the tube.
__device__ inline float sd_torus(float3 p, float radius, float tube) {
    return length(float2{length(float2{p.x, p.z}) - radius, p.y}) - tube;
}
// A line from a to b with a radius, and round ends.
__device__ inline float sd_capsule(float3 p, float3 a, float3 b, float radius) {
    const float3 way = b - a;
    return length(p - a - way * saturate(dot(p - a, way) / dot(way, way))) - radius;
}
// A cylinder around the y axis.
__device__ inline float sd_cylinder(float3 p, float radius, float half_height) {
    return sd_box(float2{length(float2{p.x, p.z}), p.y}, float2{radius, half_height});
}

// Combinations of two distances, and a shape with rounder edges, which grows by the radius.

__device__ inline float sd_union(float a, float b) { return fminf(a, b); }
__device__ inline float sd_intersection(float a, float b) { return fmaxf(a, b); }
__device__ inline float sd_difference(float a, float b) { return fmaxf(a, -b); }
__device__ inline float sd_rounded(float distance, float radius) { return distance - radius; }
// As above, with a fillet where the surfaces are nearer to each other than `size`, which is above 0.
__device__ inline float sd_smooth_union(float a, float b, float size) {
    const float near = fmaxf(size - fabsf(a - b), 0.0f) / size;
    return fminf(a, b) - 0.25f * size * near * near;
}
__device__ inline float sd_smooth_intersection(float a, float b, float size) { return -sd_smooth_union(-a, -b, size); }
__device__ inline float sd_smooth_difference(float a, float b, float size) { return -sd_smooth_union(-a, b, size); }

// The point in the middle cell of a pattern that repeats along all axes, with cells of a size.
__device__ inline float3 sd_repeat(float3 p, float3 size) { return p - size * floor(p / size + float3{0.5f, 0.5f, 0.5f}); }

// The direction away from the surface, of length 1. `scene` is a function of a point: a lambda, or a struct.
template <class Scene>
__device__ inline float3 sd_normal(Scene scene, float3 p, float step = 1e-3f) {
    const float3 x = {step, 0.0f, 0.0f}, y = {0.0f, step, 0.0f}, z = {0.0f, 0.0f, step};
    return normalize(float3{
        scene(p + x) - scene(p - x),
        scene(p + y) - scene(p - y),
        scene(p + z) - scene(p - z),
    });
}

// The distance along a ray, whose direction has length 1, to the first surface before `most`; -1 if there is none,
// and 0 if it begins inside.
template <class Scene>
__device__ inline float sd_march(Scene scene, float3 origin, float3 direction, float most, int steps = 128) {
    float way = 0.0f;
    for (int step = 0; step < steps && way < most; ++step) {
        const float distance = scene(origin + direction * way);
        if (distance < 1e-4f * (1.0f + way)) return way;
        way += distance;
    }
    return -1.0f;
}

// The share of a light that reaches a point on a surface, along a direction to the light of length 1: rays that pass a
// shape nearby are dimmed, the more the larger `softness` is, which is the tangent of the light's half angle.
template <class Scene>
__device__ inline float sd_shadow(Scene scene, float3 p, float3 to_light, float most, float softness, int steps = 64) {
    float open = 1.0f, way = 0.02f;
    for (int step = 0; step < steps && way < most && open > 0.0f; ++step) {
        const float distance = scene(p + to_light * way);
        open = fminf(open, distance / fmaxf(softness * way, 1e-6f));
        way += fminf(fmaxf(distance, 0.01f), 0.3f * most);
    }
    return saturate(open);
}

// The share of the sky that a point on a surface sees: 1 if nothing is within `reach` of it along the normal.
template <class Scene>
__device__ inline float sd_openness(Scene scene, float3 p, float3 normal, float reach) {
    float hidden = 0.0f, weight = 0.5f;
    for (int step = 1; step <= 5; ++step) {
        const float way = reach * step * 0.2f;
        hidden += weight * fmaxf(way - scene(p + normal * way), 0.0f) / way;
        weight *= 0.7f;
    }
    return saturate(1.0f - hidden * 0.72f);
}
