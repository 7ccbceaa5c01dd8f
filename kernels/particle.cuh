// One particle, with the layout of blocks/particles/particle.py. All zeros mean that the place was never used.
#pragma once

struct Particle {
    float3 position;  // metres, y is up
    float age;        // seconds since birth
    float3 velocity;  // metres per second
    float life;       // total life in seconds; 0 if the place was never used
};

__device__ inline bool is_alive(const Particle& particle) { return particle.age < particle.life; }
