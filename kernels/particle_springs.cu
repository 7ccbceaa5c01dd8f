// Springs between particles. Forces add up in whole numbers, so their sum is the same in any order of threads, and what
// one end gets is exactly what the other one loses.
#include "frame.cuh"
#include "particle.cuh"
#include "warploom/vector.h"

#define UNIT 1048576.0f  // steps in a metre per second
#define MOST_SHARE 0.25f  // of a spring's stretch that a step may take back: stable for eight springs at a particle

// One thread per spring, which is a pair of particles, or a side of a triangle. The length at rest is that in the first
// frame, which may be 0. It is kept as a negative number, in older states as a positive one: all bits are 0 for a spring
// that has none yet.
extern "C" __global__ void pull_springs(
    const Particle* __restrict__ particles,
    const int* __restrict__ edges,
    float* __restrict__ lengths,
    unsigned long long* __restrict__ changes,
    const Frame* __restrict__ frame,
    float stiffness,
    float damping,
    float stretch,
    int corners,
    int particle_count,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count || (corners == 2 && i % 2 == 1)) return;
    const int next = i % corners == corners - 1 ? i - corners + 1 : i + 1;
    const int a = edges[i], b = edges[next];
    if (a < 0 || b < 0 || a >= particle_count || b >= particle_count || a == b) return;
    const Particle one = particle_at(particles, a), other = particle_at(particles, b);
    if (!is_alive(one) || !is_alive(other)) return;
    const float3 way = other.position - one.position;
    const float far = length(way);
    if (!(far < 1e30f)) return;
    if (__float_as_uint(lengths[i]) == 0) lengths[i] = -far;
    if (far == 0.0f) return;
    const float time_step = fmaxf(frame->time_step, 1e-9f);
    const float pull = fminf(stiffness * time_step, MOST_SHARE / time_step) * (far - stretch * fabsf(lengths[i]));
    const float drag = fminf(damping * time_step, MOST_SHARE) * dot(other.velocity - one.velocity, way) / far;
    const float3 change = way * ((pull + drag) / far);
    const float parts[3] = {change.x, change.y, change.z};
    for (int k = 0; k < 3; ++k) {
        const long long step = static_cast<long long>(fminf(fmaxf(parts[k], -1e6f), 1e6f) * UNIT);
        atomicAdd(&changes[3 * static_cast<size_t>(a) + k], static_cast<unsigned long long>(step));
        atomicAdd(&changes[3 * static_cast<size_t>(b) + k], static_cast<unsigned long long>(-step));
    }
}

// One thread per particle, which takes on what its springs do.
extern "C" __global__ void take_changes(
    Particle* __restrict__ particles, const unsigned long long* __restrict__ changes, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Particle particle = particle_at(particles, i);
    if (!is_alive(particle)) return;
    float parts[3];
    for (int k = 0; k < 3; ++k)
        parts[k] = static_cast<float>(static_cast<long long>(changes[3 * static_cast<size_t>(i) + k])) * (1.0f / UNIT);
    particle.velocity += float3{parts[0], parts[1], parts[2]};
    put_velocity(particles, i, particle);
}
