// Forces that change particles' velocities.
#include "frame.cuh"
#include "particle.cuh"
#include "warploom/vector.h"

// A sine of period 1 made of two parabolas: smooth enough for turbulence at a fraction of the cost.
__device__ inline float wave(float x) {
    const float t = 2.0f * (x - floorf(x)) - 1.0f;
    return 4.0f * t * (fabsf(t) - 1.0f);
}

// An Arnold-Beltrami-Childress flow. No component depends on its own coordinate, so the field has no sources: like curl
// noise, it stirs particles without gathering them.
__device__ inline float3 swirls(float3 p) {
    return {
        wave(p.z) + 0.7f * wave(p.y + 0.25f),
        0.9f * wave(p.x) + wave(p.z + 0.25f),
        0.7f * wave(p.y) + 0.9f * wave(p.x + 0.25f),
    };
}

__device__ inline float3 turbulence(float3 p, float scale, float time) {
    const float3 drift = {0.11f * time, -0.17f * time, 0.13f * time};
    const float3 large = swirls(p * (1.0f / scale) + drift);
    const float3 q = {p.y, p.z, p.x};
    const float3 turned = swirls(q * (2.3f / scale) - drift);
    return large + float3{turned.z, turned.x, turned.y} * 0.5f;
}

extern "C" __global__ void apply_forces(
    Particle* __restrict__ particles,
    const Frame* __restrict__ frame,
    float gravity,
    float drag,
    float wind_x,
    float wind_z,
    float turbulence_strength,
    float turbulence_scale,
    float attraction,
    float attractor_height,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Particle particle = particle_at(particles, i);
    if (!is_alive(particle)) return;
    const float3 position = particle.position, velocity = particle.velocity;
    const float time_step = frame->time_step;

    float3 acceleration = {0.0f, gravity, 0.0f};
    if (turbulence_strength != 0.0f)
        acceleration =
            acceleration + turbulence(position, turbulence_scale, frame->time) * turbulence_strength;
    // Softened, so that a particle on the attractor is not thrown out.
    const float3 toward = float3{0.0f, attractor_height, 0.0f} - position;
    acceleration = acceleration + toward * (attraction * rsqrtf(dot(toward, toward) + 0.25f));

    // The exact solution for drag towards the air's velocity, which is stable for any drag and time step.
    const float3 air = {wind_x, 0.0f, wind_z};
    const float kept = expf(-drag * time_step);
    particle.velocity = air + (velocity + acceleration * time_step - air) * kept;
    put_velocity(particles, i, particle);
}

// Pulls particles towards a point and around an axis through it, which is upright; the strength falls to 0 at `reach`.
extern "C" __global__ void attract(
    Particle* __restrict__ particles,
    const Frame* __restrict__ frame,
    float x,
    float y,
    float z,
    float pull,
    float swirl,
    float reach,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Particle particle = particle_at(particles, i);
    if (!is_alive(particle)) return;
    const float3 way = float3{x, y, z} - particle.position;
    const float far = length(way), near = fmaxf(1.0f - far / reach, 0.0f);
    if (!(far > 0.0f)) return;
    const float3 around = {-way.z, 0.0f, way.x};
    particle.velocity += (way * pull + around * swirl) * (near * frame->time_step / far);
    put_velocity(particles, i, particle);
}

// Throws particles back that would be inside a solid, or outside of a hollow, at the end of the frame: a ball, a box or
// the half space below a height. Those that fly into it are moved so that the next frame ends where a mirror at the surface
// puts them, as near as they bounce; others end on the surface.
extern "C" __global__ void collide(
    Particle* __restrict__ particles,
    const Frame* __restrict__ frame,
    int shape,
    int is_hollow,
    float x,
    float y,
    float z,
    float size,
    float bounce,
    float friction,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Particle particle = particle_at(particles, i);
    if (!is_alive(particle)) return;
    const float3 velocity = particle.velocity;
    const float3 at = particle.position + velocity * frame->time_step - float3{x, y, z};
    // The distance to the surface, negative inside, and the direction out of the solid.
    float distance = at.y;
    float3 normal = {0.0f, 1.0f, 0.0f};
    if (shape == 0) {
        distance = length(at) - size;
        if (length(at) > 0.0f) normal = normalize(at);
    } else if (shape == 1) {
        const float3 q = {fabsf(at.x) - size, fabsf(at.y) - size, fabsf(at.z) - size};
        const float3 out = {fmaxf(q.x, 0.0f), fmaxf(q.y, 0.0f), fmaxf(q.z, 0.0f)};
        const float3 signs = {copysignf(1.0f, at.x), copysignf(1.0f, at.y), copysignf(1.0f, at.z)};
        const float largest = fmaxf(q.x, fmaxf(q.y, q.z));
        const float3 side = q.x == largest ? float3{1.0f, 0.0f, 0.0f}
                                           : q.y == largest ? float3{0.0f, 1.0f, 0.0f} : float3{0.0f, 0.0f, 1.0f};
        distance = largest > 0.0f ? length(out) : largest;
        normal = (largest > 0.0f ? normalize(out) : side) * signs;
    }
    if (is_hollow) distance = -distance, normal = -normal;
    if (!(distance < 0.0f)) return;
    const float inward = dot(velocity, normal);
    particle.position -= normal * distance;
    if (inward < 0.0f) {
        const float3 across = velocity - normal * inward;
        particle.velocity = across * (1.0f - friction) - normal * (inward * bounce);
        particle.position -= normal * (distance * bounce) + (particle.velocity - velocity) * frame->time_step;
        put_velocity(particles, i, particle);
    }
    put_place(particles, i, particle);
}
