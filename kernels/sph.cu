// Water as particles: smoothed particle hydrodynamics (Müller, Charypar and Gross, "Particle-based fluid simulation for
// interactive applications", 2003), with pressure after Monaghan, which keeps the momentum.
//
// Particles are sorted by cells as large as a particle's reach, so those near each other are near in memory, and sums
// over neighbours always have the same order. Densities are relative to that at rest.
#include "frame.cuh"
#include "particle.cuh"
#include "warploom/random.h"
#include "warploom/vector.h"

#define BUCKETS 65536  // lists of particles by cell; equals BUCKETS in sph.py
#define NOWHERE 0xFFFFFFFFu
#define PI 3.14159265f

__device__ inline int3 cell_of(float3 place, float reach) {
    const float3 cell = floor(place * (1.0f / reach));
    return {static_cast<int>(cell.x), static_cast<int>(cell.y), static_cast<int>(cell.z)};
}
__device__ inline unsigned int bucket_of(int3 cell) {
    return hash(cell.x + hash(cell.y + hash(cell.z))) % BUCKETS;
}

// One thread per particle: the list that it belongs to; dead particles come after all lists.
extern "C" __global__ void key_particles(
    const Particle* __restrict__ particles, unsigned int* __restrict__ keys, float spacing, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    keys[i] = is_alive(particles[i]) ? bucket_of(cell_of(particles[i].position, 2.0f * spacing)) : BUCKETS;
}

// One thread per place in the order: copies the particle, and notes where lists begin and end.
extern "C" __global__ void sort_particles(
    const Particle* __restrict__ particles,
    const unsigned int* __restrict__ keys,
    const unsigned int* __restrict__ order,
    float4* __restrict__ places,
    float4* __restrict__ ways,
    unsigned int* __restrict__ starts,
    unsigned int* __restrict__ ends,
    int count) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count) return;
    const unsigned int key = keys[order[k]];
    const Particle particle = particle_at(particles, order[k]);
    places[k] = {particle.position.x, particle.position.y, particle.position.z, 0.0f};
    ways[k] = {particle.velocity.x, particle.velocity.y, particle.velocity.z, 0.0f};
    if (key >= BUCKETS) return;
    if (k == 0 || keys[order[k - 1]] != key) starts[key] = k;
    if (k == count - 1 || keys[order[k + 1]] != key) ends[key] = k + 1;
}

// Calls `take` with the number and the way to each particle within the reach of a place, also to one at the place.
template <class Take>
__device__ inline void for_each_near(
    float3 here,
    float reach,
    const float4* __restrict__ places,
    const unsigned int* __restrict__ starts,
    const unsigned int* __restrict__ ends,
    Take take) {
    const int3 cell = cell_of(here, reach);
    for (int side = 0; side < 27; ++side) {
        const int3 other = {cell.x + side % 3 - 1, cell.y + side / 3 % 3 - 1, cell.z + side / 9 - 1};
        const unsigned int bucket = bucket_of(other), first = starts[bucket];
        if (first == NOWHERE) continue;
        for (unsigned int k = first; k < ends[bucket]; ++k) {
            const float3 place = {places[k].x, places[k].y, places[k].z};
            const float3 way = place - here;
            if (!(dot(way, way) < reach * reach)) continue;
            const int3 its = cell_of(place, reach);  // cells can share a list
            if (its.x == other.x && its.y == other.y && its.z == other.z) take(k, way);
        }
    }
}

// One thread per particle: its density, into the fourth number of its place, and its pressure over the square of that,
// into the fourth number of its way. `sound` is in metres per second.
extern "C" __global__ void weigh_particles(
    float4* __restrict__ places,
    float4* __restrict__ ways,
    const unsigned int* __restrict__ keys,
    const unsigned int* __restrict__ order,
    const unsigned int* __restrict__ starts,
    const unsigned int* __restrict__ ends,
    float* __restrict__ density,
    const Frame* __restrict__ frame,
    float spacing,
    float sound,
    int steps,
    int count) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count) return;
    const unsigned int i = order[k];
    density[i] = 0.0f;
    if (keys[i] >= BUCKETS) return;
    const float reach = 2.0f * spacing;
    float sum = 0.0f;
    for_each_near({places[k].x, places[k].y, places[k].z}, reach, places, starts, ends, [&](unsigned int, float3 way) {
        const float near = 1.0f - dot(way, way) / (reach * reach);
        sum += near * near * near;
    });
    // The kernel is 315 / (64 pi reach^3) times the cube, and a particle has the volume spacing^3.
    const float found = sum * (315.0f / (64.0f * PI * 8.0f));
    const float fastest = 0.3f * reach * steps / frame->time_step, speed = fminf(sound, fastest);
    density[i] = found;
    places[k].w = found;
    ways[k].w = speed * speed * fmaxf(found - 1.0f, 0.0f) / (found * found);
}

// One thread per particle: what its neighbours and gravity do to it, a part of the time step in which it moves, and the
// box that it stays in, open at the top.
extern "C" __global__ void push_particles(
    Particle* __restrict__ particles,
    const float4* __restrict__ places,
    const float4* __restrict__ ways,
    const unsigned int* __restrict__ keys,
    const unsigned int* __restrict__ order,
    const unsigned int* __restrict__ starts,
    const unsigned int* __restrict__ ends,
    const Frame* __restrict__ frame,
    float spacing,
    float viscosity,
    float gravity,
    float half_width,
    float half_depth,
    float floor_height,
    float bounce,
    int steps,
    int count) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count || keys[order[k]] >= BUCKETS) return;
    const float reach = 2.0f * spacing, time_step = frame->time_step / steps;
    const float thick = fminf(viscosity, 0.1f * spacing * spacing / fmaxf(time_step, 1e-9f));
    const float3 here = {places[k].x, places[k].y, places[k].z}, way_here = {ways[k].x, ways[k].y, ways[k].z};
    float3 change = {0.0f, 0.0f, 0.0f};
    for_each_near(here, reach, places, starts, ends, [&](unsigned int other, float3 way) {
        const float far = length(way), near = 1.0f - far / reach;
        if (!(far > 0.0f)) return;
        // Slope and curvature of kernels with the volume spacing^3: 45 / (pi reach^4) near^2, and 45 / (pi reach^5) near.
        const float slope = 45.0f / (PI * 8.0f * reach) * near * near;
        const float curve = 45.0f / (PI * 8.0f * reach * reach) * near;
        change -= way * (slope * (ways[k].w + ways[other].w) / far);
        const float3 faster = float3{ways[other].x, ways[other].y, ways[other].z} - way_here;
        change += faster * (2.0f * thick * curve / (places[k].w + places[other].w));
    });
    Particle particle = particle_at(particles, order[k]);
    particle.velocity += (change - float3{0.0f, gravity, 0.0f}) * time_step;
    particle.position += particle.velocity * time_step;
    particle.age += time_step;
    auto keep = [&](float& place, float& way, float low, float high) {
        const bool is_low = place < low, is_out = is_low || place > high;
        if (is_out && (way < 0.0f) == is_low) way *= -bounce;
        place = fminf(fmaxf(place, low), high);
    };
    keep(particle.position.x, particle.velocity.x, -half_width, half_width);
    keep(particle.position.y, particle.velocity.y, floor_height, 1e30f);
    keep(particle.position.z, particle.velocity.z, -half_depth, half_depth);
    put_place(particles, order[k], particle);
    put_velocity(particles, order[k], particle);
}
