// One particle, laid out as blocks/particles/particle.py lays it out. All zero is a particle that was never born.
#pragma once

struct Particle {
    float3 position;  // metres, y is up
    float age;        // seconds since birth
    float3 velocity;  // metres a second
    float life;       // seconds it lives in all; 0 when it was never born
};

__device__ inline bool is_alive(const Particle& particle) { return particle.age < particle.life; }
