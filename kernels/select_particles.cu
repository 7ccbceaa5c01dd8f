// Gathers particles in an append buffer.
#include "append.cuh"
#include "particle.cuh"
#include "warploom/vector.h"

// One thread per particle. The quantities are numbered as in blocks/particles/select.py.
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
    if (!is_alive(particle)) return;
    float value = sqrtf(dot(particle.velocity, particle.velocity));
    if (quantity == 1) value = particle.position.y;
    if (quantity == 2) value = particle.age / particle.life;
    if (quantity == 3) value = sqrtf(dot(particle.position, particle.position));
    if (value >= low && value < high) append(selected, counter, capacity, particle);
}
