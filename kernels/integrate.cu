// Moves particles by one time step and increases their age.
#include "frame.cuh"
#include "particle.cuh"
#include "warploom/vector.h"

extern "C" __global__ void integrate_particles(
    Particle* __restrict__ particles,
    const Frame* __restrict__ frame,
    float floor_height,
    float bounce,
    float friction,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Particle particle = particle_at(particles, i);
    if (!is_alive(particle)) return;
    const float time_step = frame->time_step;
    particle.age += time_step;
    particle.position = particle.position + particle.velocity * time_step;
    const float below = floor_height - particle.position.y;
    if (below > 0.0f && particle.velocity.y < 0.0f) {
        particle.position.y = floor_height + below * bounce;
        particle.velocity.x *= 1.0f - friction;
        particle.velocity.y *= -bounce;
        particle.velocity.z *= 1.0f - friction;
        put_velocity(particles, i, particle);
    }
    put_place(particles, i, particle);
}
