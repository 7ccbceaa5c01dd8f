// Colours by a table, as programs for grading make them.
#include "warploom/color.h"
#include "warploom/pixel.h"
#include "warploom/vector.h"

// Where a value lies in a table of `size` entries over a range: the entry before it, and the way to the next one.
__device__ inline float place_in(float value, float low, float high, int size, int& entry) {
    const float at = fminf(fmaxf((value - low) / (high - low), 0.0f), 1.0f) * (size - 1);
    entry = min(static_cast<int>(at), max(size - 2, 0));
    return at - entry;
}

__device__ inline float3 entry_of(const float* __restrict__ table, int i) {
    return {table[3 * i], table[3 * i + 1], table[3 * i + 2]};
}

// A cube of colours, red fastest, between the four corners of the tetrahedron around a colour: the way to the far corner
// of a cell goes along its axes, in the order of the colour's parts.
__device__ inline float3 in_cube(const float* __restrict__ table, float3 color, float3 low, float3 high, int size) {
    int cell[3];
    const float way[3] = {
        place_in(color.x, low.x, high.x, size, cell[0]),
        place_in(color.y, low.y, high.y, size, cell[1]),
        place_in(color.z, low.z, high.z, size, cell[2]),
    };
    const int steps[3] = {1, size, size * size};
    int order[3] = {0, 1, 2};
    for (int k = 0; k < 3; ++k) {
        const int i = k == 1 ? 1 : 0;  // three exchanges of neighbours sort three
        if (way[order[i]] < way[order[i + 1]]) {
            const int first = order[i];
            order[i] = order[i + 1];
            order[i + 1] = first;
        }
    }
    int at = cell[0] + size * (cell[1] + size * cell[2]);
    float3 sum = entry_of(table, at) * (1.0f - way[order[0]]);
    for (int k = 0; k < 3; ++k) {
        at += size > 1 ? steps[order[k]] : 0;
        sum += entry_of(table, at) * (way[order[k]] - (k < 2 ? way[order[k + 1]] : 0.0f));
    }
    return sum;
}

__device__ inline float3 in_curves(const float* __restrict__ table, float3 color, float3 low, float3 high, int size) {
    const float parts[3] = {color.x, color.y, color.z}, lows[3] = {low.x, low.y, low.z};
    const float highs[3] = {high.x, high.y, high.z};
    float found[3];
    for (int c = 0; c < 3; ++c) {
        int i;
        const float way = place_in(parts[c], lows[c], highs[c], size, i);
        const float here = table[3 * i + c], next = table[3 * min(i + 1, size - 1) + c];
        found[c] = here + (next - here) * way;
    }
    return {found[0], found[1], found[2]};
}

// `size` is that of the table along each axis; `is_cube` tells a cube from three curves.
extern "C" __global__ void look_up(
    const PIXEL* __restrict__ image,
    const float* __restrict__ table,
    PIXEL* __restrict__ out,
    int size,
    int is_cube,
    int is_encoded,
    float low_x,
    float low_y,
    float low_z,
    float high_x,
    float high_y,
    float high_z,
    float amount,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float4 here = image[i];
    const float3 light = {here.x, here.y, here.z};
    const float3 low = {low_x, low_y, low_z}, high = {high_x, high_y, high_z};
    const float3 color = is_encoded ? to_srgb(light) : light;
    const float3 found = is_cube ? in_cube(table, color, low, high, size) : in_curves(table, color, low, high, size);
    const float3 graded = is_encoded ? from_srgb(found) : found;
    const float3 mixed = light + (graded - light) * amount;
    out[i] = {mixed.x, mixed.y, mixed.z, here.w};
}

// The light that light becomes by curve `c` of four. A curve has `size` entries for the square roots of light from 0 to 1,
// which lie closer together where it is dark.
__device__ inline float along(const float* __restrict__ curves, float light, int c, int size) {
    int i;
    const float way = place_in(sqrtf(fmaxf(light, 0.0f)), 0.0f, 1.0f, size, i), here = curves[4 * i + c];
    return here + (curves[4 * min(i + 1, size - 1) + c] - here) * way;
}

// The first curve changes the luminance, if it does; then each of the others a colour.
extern "C" __global__ void along_curves(
    const PIXEL* __restrict__ image, const float* __restrict__ curves, PIXEL* __restrict__ out, int size,
    int by_luminance, float amount, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float4 here = image[i];
    const float3 light = {here.x, here.y, here.z};
    float3 color = light;
    if (by_luminance) {
        const float before = luminance(light), after = along(curves, before, 0, size);
        color = before > 1e-6f ? light * (after / before) : float3{after, after, after};
    }
    color = {along(curves, color.x, 1, size), along(curves, color.y, 2, size), along(curves, color.z, 3, size)};
    const float3 mixed = light + (color - light) * amount;
    out[i] = {mixed.x, mixed.y, mixed.z, here.w};
}
