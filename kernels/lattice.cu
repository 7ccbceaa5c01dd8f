// The lattice Boltzmann method on nine directions (D2Q9): fluid in a plane, by parts of it that go from cell to cell.
//
// Of each direction i, a buffer holds the share of the fluid less its weight, cell by cell, so zeros are a fluid of
// density 1 at rest, and small flows keep their digits. Collisions are those of Bhatnagar, Gross and Krook, with forces
// after Guo, Zheng and Shi ("Discrete lattice effects on the forcing term", 2002), and eddies that are smaller than a
// cell after Smagorinsky.
#include "warploom/vector.h"

#define DIRECTIONS 9

// Steps of the directions: each odd one is followed by the opposite one.
__device__ inline int step_x(int i) { return (i == 1 || i == 5 || i == 7) - (i == 2 || i == 6 || i == 8); }
__device__ inline int step_y(int i) { return (i == 3 || i == 5 || i == 8) - (i == 4 || i == 6 || i == 7); }
__device__ inline int opposite(int i) { return i == 0 ? 0 : ((i - 1) ^ 1) + 1; }
__device__ inline float weight(int i) { return i == 0 ? 4.0f / 9.0f : i < 5 ? 1.0f / 9.0f : 1.0f / 36.0f; }

// What a fluid in balance has in a direction, less the weight; `more` is the density less 1.
__device__ inline float balanced(int i, float more, float2 velocity) {
    const float along = 3.0f * (step_x(i) * velocity.x + step_y(i) * velocity.y);
    const float flow = along + 0.5f * along * along - 1.5f * dot(velocity, velocity);
    return weight(i) * (more + (1.0f + more) * flow);
}

// Gives the fluid its first velocity; run in every frame, but only the first one changes anything.
extern "C" __global__ void begin_lattice(
    float* __restrict__ parts,
    const float2* __restrict__ start,
    const unsigned int* __restrict__ begun,
    float speed,
    int is_tunnel,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count || *begun) return;
    const float2 velocity = start ? start[i] : float2{is_tunnel ? speed : 0.0f, 0.0f};
    for (int k = 0; k < DIRECTIONS; ++k) parts[static_cast<size_t>(k) * count + i] = balanced(k, 0.0f, velocity);
}

// Run by a single thread, after begin_lattice.
extern "C" __global__ void note_begun(unsigned int* begun) { *begun = 1; }

// One time step: each cell takes what its neighbours send, lets it collide, and keeps it for the next step. What comes
// from a solid cell, or through a wall, is what the cell itself has sent there. `border` is 0 for a torus, 1 for walls,
// and 2 for a wind tunnel: a flow from the left that leaves on the right, with a torus from top to bottom.
extern "C" __global__ void step_lattice(
    const float* __restrict__ parts,
    const float* __restrict__ solid,
    const float2* __restrict__ push,
    float* __restrict__ next,
    float2* __restrict__ velocities,
    float* __restrict__ densities,
    float viscosity,
    float eddies,
    float force_x,
    float force_y,
    float speed,
    int border,
    int is_last,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const size_t count = static_cast<size_t>(width) * height, here = static_cast<size_t>(y) * width + x;
    const bool is_solid = solid && solid[here] != 0.0f;
    float part[DIRECTIONS], more = 0.0f;
    float2 flow = {0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < DIRECTIONS; ++i) {
        int column = x - step_x(i), row = y - step_y(i);
        const bool is_left = column < 0, is_right = column >= width, is_beyond = row < 0 || row >= height;
        if (border == 2 && is_right) column = x;
        column = column < 0 ? width - 1 : column >= width ? 0 : column;
        row = row < 0 ? height - 1 : row >= height ? 0 : row;
        const size_t from = static_cast<size_t>(row) * width + column;
        const bool is_wall = (border == 1 && (is_left || is_right || is_beyond)) || (solid && solid[from] != 0.0f);
        part[i] = is_wall ? parts[opposite(i) * count + here]
                          : border == 2 && is_left ? balanced(i, 0.0f, float2{speed, 0.0f}) : parts[i * count + from];
        more += part[i];
        flow += float2{static_cast<float>(step_x(i)), static_cast<float>(step_y(i))} * part[i];
    }

    float2 force = {force_x, force_y};
    if (push) force += push[here];
    const float2 velocity = (flow + force * 0.5f) / (1.0f + more);
    if (is_last) {
        velocities[here] = is_solid ? float2{0.0f, 0.0f} : velocity;
        densities[here] = is_solid ? 1.0f : 1.0f + more;
    }

    // The time in which the fluid comes to balance, longer where eddies that no cell shows would slow it down.
    float stress_xx = 0.0f, stress_xy = 0.0f, stress_yy = 0.0f;
#pragma unroll
    for (int i = 0; i < DIRECTIONS; ++i) {
        const float apart = part[i] - balanced(i, more, velocity);
        stress_xx += step_x(i) * step_x(i) * apart;
        stress_xy += step_x(i) * step_y(i) * apart;
        stress_yy += step_y(i) * step_y(i) * apart;
    }
    const float stress = sqrtf(2.0f * (stress_xx * stress_xx + 2.0f * stress_xy * stress_xy + stress_yy * stress_yy));
    const float usual = 3.0f * viscosity + 0.5f;
    const float time = 0.5f * (usual + sqrtf(usual * usual + 18.0f * eddies * eddies * stress / (1.0f + more)));
    const float rate = 1.0f / time;
#pragma unroll
    for (int i = 0; i < DIRECTIONS; ++i) {
        const float2 step = {static_cast<float>(step_x(i)), static_cast<float>(step_y(i))};
        const float2 pull = (step - velocity) * 3.0f + step * (9.0f * dot(step, velocity));
        const float after = part[i] + rate * (balanced(i, more, velocity) - part[i]) +
                            (1.0f - 0.5f * rate) * weight(i) * dot(pull, force);
        next[i * count + here] = is_solid ? 0.0f : after;
    }
}
