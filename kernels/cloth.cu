// Cloth on a grid of points, by positions: each step moves the points freely, then draws neighbours back to their
// distance (Müller et al., "Position based dynamics", 2007; Macklin et al., "Small steps in physics simulation", 2019).
//
// All pairs of a step are corrected at once from the same positions, and both ends by the same amount, so the order of
// threads does not matter, and the momentum of free cloth stays.
#include "frame.cuh"
#include "warploom/vector.h"

#define RELAX 0.35f  // share of a correction: all that meet at a point must not go too far together

struct Sheet {
    int columns, rows, is_lying, pins;
    float spacing, height;

    __device__ float3 first_place(int column, int row) const {
        const float x = (column - 0.5f * (columns - 1)) * spacing;
        if (is_lying) return {x, height, (row - 0.5f * (rows - 1)) * spacing};
        return {x, height - row * spacing, 0.0f};
    }
    // Pins are numbered as in blocks/geometry/cloth.py.
    __device__ bool holds(const float* __restrict__ pinned, int column, int row) const {
        const bool is_side = column == 0 || column == columns - 1, is_end = row == 0 || row == rows - 1;
        const bool by_choice = (pins == 1 && row == 0 && is_side) || (pins == 2 && row == 0) ||
                               (pins == 3 && column == 0) || (pins == 4 && is_side && is_end);
        return by_choice || (pinned && pinned[row * columns + column] != 0.0f);
    }
};

__device__ inline float3 three(float4 v) { return {v.x, v.y, v.z}; }
__device__ inline float4 four(float3 v, float w) { return {v.x, v.y, v.z, w}; }

// The normal of a grid of points, from the points around one.
__device__ inline float3 normal_of(const float4* __restrict__ places, int columns, int rows, int column, int row) {
    const int left = max(column - 1, 0), right = min(column + 1, columns - 1);
    const int above = max(row - 1, 0), below = min(row + 1, rows - 1);
    const float3 across = three(places[row * columns + right]) - three(places[row * columns + left]);
    const float3 along = three(places[below * columns + column]) - three(places[above * columns + column]);
    return normalize(cross(along, across));
}

// One thread per point: where its speed, gravity and wind would bring it. Wind pushes where the cloth faces it. The
// fourth number is 0 for a point that is held, 2 for one that begins, and else 1.
extern "C" __global__ void move_cloth(
    const float4* __restrict__ places,
    const float4* __restrict__ ways,
    float4* __restrict__ guesses,
    const float* __restrict__ pinned,
    const Frame* __restrict__ frame,
    float size,
    float height,
    float gravity,
    float wind_x,
    float wind_z,
    float air,
    int is_lying,
    int pins,
    int steps,
    int columns,
    int rows) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= columns || row >= rows) return;
    const int i = row * columns + column;
    const Sheet sheet = {columns, rows, is_lying, pins, size / max(columns - 1, 1), height};
    const float time_step = frame->time_step / steps;
    const bool is_held = sheet.holds(pinned, column, row);
    if (is_held || places[i].w == 0.0f) {
        guesses[i] = four(sheet.first_place(column, row), is_held ? 0.0f : 2.0f);
        return;
    }
    const float3 way = three(ways[i]), normal = normal_of(places, columns, rows, column, row);
    const float gust = dot(float3{wind_x, 0.0f, wind_z} - way, normal) * fminf(air * time_step, 1.0f);
    const float3 later = way + normal * gust - float3{0.0f, gravity * time_step, 0.0f};
    guesses[i] = four(three(places[i]) + later * time_step, 1.0f);
}

// One thread per point: draws it towards its distance from the points around, keeps it out of the ball and above the
// floor, and finds its speed from the way that it went.
extern "C" __global__ void draw_cloth(
    float4* __restrict__ places,
    float4* __restrict__ ways,
    const float4* __restrict__ guesses,
    const Frame* __restrict__ frame,
    float size,
    float shear,
    float bend,
    float damping,
    float ball_x,
    float ball_y,
    float ball_z,
    float ball_size,
    float floor_height,
    float friction,
    int steps,
    int columns,
    int rows) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= columns || row >= rows) return;
    const int i = row * columns + column;
    const float4 guess = guesses[i];
    const float3 here = three(guess), from = guess.w == 1.0f ? three(places[i]) : here;
    const float spacing = size / max(columns - 1, 1), time_step = frame->time_step / steps;
    if (guess.w == 0.0f) {
        places[i] = four(here, 1.0f);
        ways[i] = {0.0f, 0.0f, 0.0f, 0.0f};
        return;
    }

    float3 change = {0.0f, 0.0f, 0.0f};
    for (int k = 0; k < 12; ++k) {
        // Four points beside it, four across, and four beyond the next one.
        const int sign = k % 2 ? -1 : 1, turn = k / 2 % 2, kind = k / 4;
        const int dx = kind == 1 ? sign : turn ? 0 : sign * (kind == 2 ? 2 : 1);
        const int dy = kind == 1 ? (turn ? -sign : sign) : turn ? sign * (kind == 2 ? 2 : 1) : 0;
        const int x = column + dx, y = row + dy;
        if (x < 0 || y < 0 || x >= columns || y >= rows) continue;
        const float4 other = guesses[y * columns + x];
        const float3 way = three(other) - here;
        const float far = length(way), rest = spacing * (kind == 0 ? 1.0f : kind == 1 ? 1.41421356f : 2.0f);
        const float share = (kind == 0 ? 1.0f : kind == 1 ? shear : bend) * (other.w == 0.0f ? 1.0f : 0.5f);
        if (far > 0.0f) change += way * (RELAX * share * (far - rest) / far);
    }
    float3 place = here + change;

    const float3 out = place - float3{ball_x, ball_y, ball_z};
    const float inside = ball_size - length(out), below = floor_height - place.y;
    if (inside > 0.0f && ball_size > inside) {
        const float3 normal = normalize(out), step = place - from;
        place += normal * inside - (step - normal * dot(step, normal)) * friction;
    }
    if (below > 0.0f) {
        const float3 step = place - from;
        place = {place.x - step.x * friction, floor_height, place.z - step.z * friction};
    }
    const float kept = fmaxf(1.0f - damping * time_step, 0.0f);
    places[i] = four(place, 1.0f);
    ways[i] = four((place - from) * (time_step > 0.0f ? kept / time_step : 0.0f), 0.0f);
}

// One thread per point: its normal and, except in the last row and column, the two triangles to its lower right.
extern "C" __global__ void cloth_mesh(
    const float4* __restrict__ places, float4* __restrict__ normals, int* __restrict__ faces, int columns, int rows) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= columns || row >= rows) return;
    const int i = row * columns + column;
    normals[i] = four(normal_of(places, columns, rows, column, row), 0.0f);
    if (column + 1 == columns || row + 1 == rows) return;
    int* face = faces + 6 * (static_cast<size_t>(row) * (columns - 1) + column);
    const int corners[6] = {i, i + columns, i + 1, i + 1, i + columns, i + columns + 1};
    for (int k = 0; k < 6; ++k) face[k] = corners[k];
}
