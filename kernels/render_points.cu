// Draws particles as glowing points: projects them and adds up light, spreads part of it as glow, then makes the
// picture.
//
// Light is added up in fixed point. Integer atomics give the same picture in any order, and one 64-bit addition carries
// both sums of a pixel: its light (low half), and its light times the colour's place on the ramp (high half). The mean
// place then gives the pixel's colour.
#include "camera.cuh"
#include "warploom/color.h"
#include "count.cuh"
#include "frame.cuh"
#include "palette.cuh"
#include "particle.cuh"

typedef unsigned long long Light;

#define LIGHT_UNIT 1024.0f  // fixed-point steps in the light of one full pixel
#define LARGEST_POINT 12.0f  // pixels; limits the work for a particle right in front of the camera
#define GLOW_CELL 8         // pixels along an edge of a cell of the glow image

__device__ inline float light_of(Light light) { return static_cast<unsigned int>(light) * (1.0f / LIGHT_UNIT); }

__device__ inline float ramp_of(Light light) {
    const float sum = static_cast<float>(static_cast<unsigned int>(light));
    return static_cast<float>(static_cast<unsigned int>(light >> 32)) / fmaxf(sum, 1.0f);
}

// Computes once the camera's data that every particle needs; run by a single thread.
extern "C" __global__ void place_camera(
    Camera* __restrict__ camera,
    const Frame* __restrict__ frame,
    float orbit,
    float spin,
    float elevation,
    float distance,
    float height,
    float field_of_view,
    int image_height) {
    if (blockIdx.x * blockDim.x + threadIdx.x > 0) return;
    *camera = orbit_camera(orbit + spin * frame->time, elevation, distance, height, field_of_view, image_height);
}

// Adds a point of light to the pixels that it covers.
__device__ inline void splat(
    const Particle particle,
    const Camera* __restrict__ camera,
    Light* __restrict__ lights,
    float point_size,
    float brightness,
    float fastest,
    int color_by_speed,
    int width,
    int height) {
    if (!is_alive(particle)) return;

    const float3 offset = particle.position - camera->position;
    const float depth = dot(offset, camera->forward);
    if (depth < 0.1f) return;
    const float scale = camera->focal / depth;
    const float x = 0.5f * width + dot(offset, camera->right) * scale;
    const float y = 0.5f * height - dot(offset, camera->up) * scale;

    // A point smaller than a pixel keeps a pixel's size and gives less light instead, so that it does not flicker.
    const float size = point_size * 0.001f * scale;
    const float radius = fminf(fmaxf(size, 1.0f), LARGEST_POINT);
    const float share = fminf(size * size, 1.0f);
    const int left = max(static_cast<int>(ceilf(x - radius - 0.5f)), 0);
    const int right = min(static_cast<int>(floorf(x + radius - 0.5f)), width - 1);
    const int top = max(static_cast<int>(ceilf(y - radius - 0.5f)), 0);
    const int bottom = min(static_cast<int>(floorf(y + radius - 0.5f)), height - 1);
    if (left > right || top > bottom) return;

    const float ripeness = saturate(particle.age / particle.life);
    const float speed = sqrtf(dot(particle.velocity, particle.velocity));
    const float ramp = color_by_speed ? saturate(1.0f - speed / fastest) : ripeness;
    const float fading = smoothstep(0.0f, 0.05f, ripeness) * smoothstep(1.0f, 0.3f, ripeness);
    const float light = brightness * share * fading * LIGHT_UNIT;
    const float inverse_square = 1.0f / (radius * radius);
    for (int row = top; row <= bottom; ++row) {
        const float dy = row + 0.5f - y;
        for (int column = left; column <= right; ++column) {
            const float dx = column + 0.5f - x;
            const float soft = 1.0f - (dx * dx + dy * dy) * inverse_square;
            if (soft <= 0.0f) continue;
            const float added = light * soft * soft;
            const Light sum = static_cast<unsigned int>(added);
            const Light weighted = static_cast<unsigned int>(added * ramp);
            if (sum > 0) atomicAdd(&lights[row * width + column], sum | weighted << 32);
        }
    }
}

// One thread per particle, or per several particles if there are fewer threads. `wanted`, if given, is the number to
// draw.
extern "C" __global__ void splat_points(
    const Particle* __restrict__ particles,
    const unsigned int* __restrict__ wanted,
    const Camera* __restrict__ camera,
    Light* __restrict__ lights,
    float point_size,
    float brightness,
    float fastest,
    int color_by_speed,
    int count,
    int width,
    int height) {
    for_each_counted(wanted, count, [&](unsigned int i) {
        splat(particle_at(particles, i), camera, lights, point_size, brightness, fastest, color_by_speed, width, height);
    });
}

// One thread per cell: the mean colour of its pixels' light. Very bright light counts less, since a few pixels would
// otherwise flood their surroundings.
extern "C" __global__ void gather_glow(
    const Light* __restrict__ lights,
    float4* __restrict__ glow,
    int palette,
    int width,
    int height,
    int cells_x,
    int cells_y) {
    const int cell_x = blockIdx.x * blockDim.x + threadIdx.x;
    const int cell_y = blockIdx.y * blockDim.y + threadIdx.y;
    if (cell_x >= cells_x || cell_y >= cells_y) return;
    float sum = 0.0f, weighted = 0.0f;
    for (int row = cell_y * GLOW_CELL; row < min((cell_y + 1) * GLOW_CELL, height); ++row) {
        for (int column = cell_x * GLOW_CELL; column < min((cell_x + 1) * GLOW_CELL, width); ++column) {
            const Light light = lights[row * width + column];
            sum += static_cast<float>(static_cast<unsigned int>(light));
            weighted += static_cast<float>(static_cast<unsigned int>(light >> 32));
        }
    }
    const float mean = sum / (GLOW_CELL * GLOW_CELL * LIGHT_UNIT);
    const float3 color = sample(palette_by_index(palette), weighted / fmaxf(sum, 1.0f)) * (mean / (1.0f + 0.3f * mean));
    glow[cell_y * cells_x + cell_x] = {color.x, color.y, color.z, 0.0f};
}

// Spreads the glow along one direction, with a narrow core and a wide skirt, as a lens scatters light.
extern "C" __global__ void spread_glow(
    const float4* __restrict__ glow, float4* __restrict__ out, int along_y, int cells_x, int cells_y) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= cells_x || y >= cells_y) return;
    float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
    float total = 0.0f;
    for (int k = -9; k <= 9; ++k) {
        const int from_x = along_y ? x : min(max(x + k, 0), cells_x - 1);
        const int from_y = along_y ? min(max(y + k, 0), cells_y - 1) : y;
        const float weight = 1.0f / (1.0f + 0.35f * k * k) - 0.03f;
        sum = sum + glow[from_y * cells_x + from_x] * weight;
        total += weight;
    }
    out[y * cells_x + x] = sum * (1.0f / total);
}

// A film's response: dark stays dark, and bright approaches white gently (a rational curve after Narkowicz's fit to
// ACES).
__device__ inline float develop(float x) {
    return saturate(x * (2.51f * x + 0.03f) / (x * (2.43f * x + 0.59f) + 0.14f));
}

// The glow at a row of cells, interpolated between the cells to the left and to the right of a column of pixels.
__device__ inline float4 glow_at(const float4* __restrict__ glow, int row, float u, int cells_x, int cells_y) {
    const float4* cells = glow + min(max(row, 0), cells_y - 1) * cells_x;
    const int left = min(static_cast<int>(u), cells_x - 1), right = min(left + 1, cells_x - 1);
    return cells[left] + (cells[right] - cells[left]) * (u - left);
}

// Each thread computes the pixels of a column between the centres of two glow cells. Their common data, mainly the glow
// above and below, are loaded and computed once for GLOW_CELL pixels.
extern "C" __global__ void develop_picture(
    const Light* __restrict__ lights,
    const float4* __restrict__ glow,
    float4* __restrict__ image,
    float exposure,
    float glow_amount,
    float background,
    int palette,
    int width,
    int height,
    int cells_x,
    int cells_y) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int run = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || run > cells_y) return;
    const float gain = gain_of(exposure);
    const Palette colors = palette_by_index(palette);
    const float column = fmaxf((x + 0.5f) / GLOW_CELL - 0.5f, 0.0f);
    const float4 above = glow_at(glow, run - 1, column, cells_x, cells_y) * (gain * glow_amount);
    const float4 below = glow_at(glow, run, column, cells_x, cells_y) * (gain * glow_amount);
    const float u = 2.0f * (x + 0.5f) / width - 1.0f;

    const int start = run * GLOW_CELL - GLOW_CELL / 2;
    for (int y = max(start, 0); y < min(start + GLOW_CELL, height); ++y) {
        const float4 halo = above + (below - above) * ((y - start + 0.5f) / GLOW_CELL);
        // A night sky that is a little lighter towards the middle.
        const float v = 2.0f * (y + 0.5f) / height - 1.0f;
        const float dim = background / (1.0f + 1.5f * (u * u + v * v));
        float red = 0.010f * dim + halo.x, green = 0.014f * dim + halo.y, blue = 0.034f * dim + halo.z;
        const Light light = lights[y * width + x];
        if (light != 0) {
            // Much light on one pixel bleaches it, as on film.
            const float amount = light_of(light) * gain;
            const float3 color = sample(colors, ramp_of(light)) * amount;
            const float bleach = 0.06f * amount * amount / (1.0f + amount);
            red += color.x + bleach;
            green += color.y + bleach;
            blue += color.z + bleach;
        }
        image[y * width + x] = {develop(red), develop(green), develop(blue), 1.0f};
    }
}
