// Gathers particles in an append buffer, ends their lives, and shows where they are.
#include "append.cuh"
#include "particle.cuh"
#include "warploom/vector.h"

// The quantities are numbered as in blocks/particles/select.py.
__device__ inline bool is_in_range(const Particle& particle, int quantity, float low, float high) {
    float value = sqrtf(dot(particle.velocity, particle.velocity));
    if (quantity == 1) value = particle.position.y;
    if (quantity == 2) value = particle.age / particle.life;
    if (quantity == 3) value = sqrtf(dot(particle.position, particle.position));
    return value >= low && value < high;
}

// One thread per particle.
extern "C" __global__ void select_particles(
    const Particle* __restrict__ particles,
    Particle* __restrict__ selected,
    unsigned int* __restrict__ counter,
    unsigned int capacity,
    int quantity,
    float low,
    float high,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const Particle particle = particle_at(particles, i);
    if (is_alive(particle) && is_in_range(particle, quantity, low, high)) append(selected, counter, capacity, particle);
}

// One thread per particle: those in the range reach the end of their lives.
extern "C" __global__ void kill_particles(
    Particle* __restrict__ particles, int quantity, float low, float high, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const Particle particle = particle_at(particles, i);
    if (is_alive(particle) && is_in_range(particle, quantity, low, high)) particles[i].age = particle.life;
}

// One thread per particle: its position and velocity; the fourth number is 1 for a living particle, else 0.
extern "C" __global__ void particle_points(
    const Particle* __restrict__ particles, float4* __restrict__ points, float4* __restrict__ velocities, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const Particle particle = particle_at(particles, i);
    const float lives = is_alive(particle) ? 1.0f : 0.0f;
    const float3 at = particle.position, to = particle.velocity;
    points[i] = {at.x, at.y, at.z, lives};
    velocities[i] = {to.x, to.y, to.z, lives};
}
