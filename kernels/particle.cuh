// One particle, with the layout of blocks/particles/particle.py. All zeros mean that the place was never used.
#pragma once

struct Particle {
    float3 position;  // metres, y is up
    float age;        // seconds since birth
    float3 velocity;  // metres per second
    float life;       // total life in seconds; 0 if the place was never used
};

__device__ inline bool is_alive(const Particle& particle) { return particle.age < particle.life; }

// Particles lie in two parts of 16 bytes: the place with the age, and the velocity with the life. Threads read and write
// each part at once if the buffer is aligned, as those of the engine are.
__device__ inline bool has_parts(const Particle* particles) { return reinterpret_cast<size_t>(particles) % sizeof(float4) == 0; }

__device__ inline Particle particle_at(const Particle* particles, size_t i) {
    if (!has_parts(particles)) return particles[i];
    const float4* parts = reinterpret_cast<const float4*>(particles + i);
    const float4 place = parts[0], motion = parts[1];
    return {{place.x, place.y, place.z}, place.w, {motion.x, motion.y, motion.z}, motion.w};
}

__device__ inline void put_place(Particle* particles, size_t i, const Particle& particle) {
    const float3 at = particle.position;
    if (has_parts(particles))
        reinterpret_cast<float4*>(particles + i)[0] = {at.x, at.y, at.z, particle.age};
    else
        particles[i].position = at, particles[i].age = particle.age;
}

__device__ inline void put_velocity(Particle* particles, size_t i, const Particle& particle) {
    const float3 way = particle.velocity;
    if (has_parts(particles))
        reinterpret_cast<float4*>(particles + i)[1] = {way.x, way.y, way.z, particle.life};
    else
        particles[i].velocity = way;
}
