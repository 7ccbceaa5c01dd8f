// The picture of a scene of signed distances: its kernels are written by blocks/geometry/ray_march.py.
#pragma once

#include "camera.cuh"
#include "frame.cuh"
#include "warploom/color.h"
#include "warploom/noise.h"
#include "warploom/sdf.h"

struct Sight {
    float orbit, elevation, distance, target, field_of_view, most;
    int steps, samples;
};

struct Lamp {
    float turn, elevation, brightness, softness, sky, shine, openness;
};

// The light from a surface, with alpha 1. Faces away from the lamp, and places that it does not reach, have the sky's.
template <class Scene>
__device__ inline float4 lit(Scene scene, float3 place, float3 normal, float3 to_eye, float3 paint, const Lamp& lamp) {
    float turn_sin, turn_cos, rise_sin, rise_cos;
    sincospif(lamp.turn / 180.0f, &turn_sin, &turn_cos);
    sincospif(lamp.elevation / 180.0f, &rise_sin, &rise_cos);
    const float3 to_lamp = {rise_cos * turn_sin, rise_sin, rise_cos * turn_cos};
    const float facing = saturate(dot(normal, to_lamp));
    float open = facing > 0.0f ? lamp.brightness : 0.0f;
    if (open > 0.0f) open *= sd_shadow(scene, place + normal * 0.002f, to_lamp, 20.0f, lamp.softness);
    const float seen = lamp.openness > 0.0f ? sd_openness(scene, place, normal, lamp.openness) : 1.0f;
    const float glint = saturate(dot(normal, normalize(to_lamp + to_eye)));
    const float square = glint * glint, fourth = square * square, sixteenth = fourth * fourth * fourth * fourth;
    const float body = lamp.sky * (0.75f + 0.25f * normal.y) * seen + open * facing;
    const float bright = lamp.shine * open * sixteenth * sixteenth;
    return {paint.x * body + bright, paint.y * body + bright, paint.z * body + bright, 1.0f};
}

// As sd_march, to a surface nearer than a share of the way: what is smaller than a pixel needs no more steps.
template <class Scene>
__device__ inline float march(Scene scene, float3 origin, float3 direction, float near, const Sight& sight) {
    float way = 0.0f;
    for (int step = 0; step < sight.steps && way < sight.most; ++step) {
        const float distance = scene(origin + direction * way);
        if (distance < near * way) return way;
        way += distance;
    }
    return -1.0f;
}

// One thread per pixel: rays to the nearest surface, samples x samples of them. `scene` and `paint` are
// functions of a place.
template <class Scene, class Paint>
__device__ inline void march_picture(
    float4* __restrict__ image, Scene scene, Paint paint, const Sight& sight, const Lamp& lamp, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const Camera camera = orbit_camera(
        sight.orbit, sight.elevation, sight.distance, sight.target, sight.field_of_view, height);
    float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
    const int rays = max(sight.samples, 1);
    for (int k = 0; k < rays * rays; ++k) {
        const float right = (x + (k % rays + 0.5f) / rays - 0.5f * width) / camera.focal;
        const float down = (y + (k / rays + 0.5f) / rays - 0.5f * height) / camera.focal;
        const float3 ray = normalize(camera.forward + camera.right * right - camera.up * down);
        const float way = march(scene, camera.position, ray, 0.05f / (camera.focal * rays), sight);
        if (way < 0.0f) continue;
        const float3 place = camera.position + ray * way, normal = sd_normal(scene, place);
        sum += lit(scene, place, normal, -ray, paint(place, normal), lamp);
    }
    const float scale = sum.w > 0.0f ? 1.0f / sum.w : 0.0f;
    image[static_cast<size_t>(y) * width + x] = {sum.x * scale, sum.y * scale, sum.z * scale, sum.w / (rays * rays)};
}
