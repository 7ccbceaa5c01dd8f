// Particles that see each other: gravity between all of them, and flocks.
//
// Sums over neighbours are of whole numbers, so they are the same in any order of threads.
#include "frame.cuh"
#include "particle.cuh"
#include "warploom/random.h"
#include "warploom/vector.h"

#define BUCKETS 65536  // lists of particles by cell; equals BUCKETS in flock.py

// A particle at a place around the origin, in the middle of a life that lasts, so that it neither dawns nor fades.
__device__ inline Particle lasting(float3 place, float size, float height, float3 way, float swirl) {
    const float from_axis = length(float2{place.x, place.z});
    const float around = from_axis > 0.0f ? swirl * rsqrtf(from_axis) : 0.0f;
    return {place * size + float3{0.0f, height, 0.0f}, 3e8f, way + float3{place.z, 0.0f, -place.x} * around, 1e9f};
}

// Both place each particle once, where its place was never used: on points, or in a shape, numbered as in
// blocks/particles/scatter.py.
extern "C" __global__ void scatter_on_points(
    Particle* __restrict__ particles,
    const float4* __restrict__ points,
    const Frame* __restrict__ frame,
    float size,
    float height,
    float speed,
    float swirl,
    int seed,
    int point_count,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count || particles[i].life > 0.0f) return;
    Random random(hash(i) ^ hash(seed + frame->seed * 0x9E3779B9u));
    const float4 point = points[i % point_count];
    particles[i] = lasting({point.x, point.y, point.z}, size, height, random.direction3() * speed, swirl);
}

extern "C" __global__ void scatter_in_shape(
    Particle* __restrict__ particles,
    const Frame* __restrict__ frame,
    int shape,
    float size,
    float height,
    float speed,
    float swirl,
    int seed,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count || particles[i].life > 0.0f) return;
    Random random(hash(i) ^ hash(seed + frame->seed * 0x9E3779B9u));
    const float3 way = random.direction3() * speed, ball = random.inside3();
    const float2 disc = random.inside2();
    const float3 box = {2.0f * random.next() - 1.0f, 2.0f * random.next() - 1.0f, 2.0f * random.next() - 1.0f};
    const float3 place = shape == 0 ? ball : shape == 1 ? float3{disc.x, 0.02f * ball.y, disc.y} : box;
    particles[i] = lasting(place, size, height, way, swirl);
}

// One thread per particle, which falls towards all others.
extern "C" __global__ void gravitate(
    Particle* __restrict__ particles,
    const Particle* __restrict__ before,
    const Frame* __restrict__ frame,
    float strength,
    float softening,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count || !is_alive(before[i])) return;
    const float3 here = before[i].position;
    float3 pull = {0.0f, 0.0f, 0.0f};
    for (int k = 0; k < count; ++k) {
        const float3 way = before[k].position - here;
        const float square = dot(way, way) + softening * softening;
        const float near = is_alive(before[k]) && square > 0.0f ? rsqrtf(square) : 0.0f;
        pull += way * (near * near * near);
    }
    particles[i].velocity = before[i].velocity + pull * (strength * frame->time_step);
}

__device__ inline int3 cell_of(float3 place, float reach) {
    const float3 cell = place * (1.0f / reach);
    return {static_cast<int>(floorf(cell.x)), static_cast<int>(floorf(cell.y)), static_cast<int>(floorf(cell.z))};
}
__device__ inline unsigned int bucket_of(int3 cell) {
    return hash(cell.x + hash(cell.y + hash(cell.z))) % BUCKETS;
}

// Puts each living particle into the list of its cell: `first` has a particle's number + 1, `next` the one after it.
extern "C" __global__ void list_cells(
    const Particle* __restrict__ particles,
    unsigned int* __restrict__ first,
    unsigned int* __restrict__ next,
    float reach,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count || !is_alive(particles[i])) return;
    next[i] = atomicExch(&first[bucket_of(cell_of(particles[i].position, reach))], i + 1u);
}

// A sum of vectors in steps of 2^-20.
struct Sum {
    long long x = 0, y = 0, z = 0;
    __device__ void add(float3 v) {
        x += static_cast<long long>(v.x * 1048576.0f);
        y += static_cast<long long>(v.y * 1048576.0f);
        z += static_cast<long long>(v.z * 1048576.0f);
    }
    __device__ float3 total() const {
        return float3{static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)} * (1.0f / 1048576.0f);
    }
};

// One thread per particle, which steers by the neighbours within its reach (Reynolds, "Flocks, herds and schools", 1987).
extern "C" __global__ void steer_flock(
    Particle* __restrict__ particles,
    const Particle* __restrict__ before,
    const unsigned int* __restrict__ first,
    const unsigned int* __restrict__ next,
    const Frame* __restrict__ frame,
    float reach,
    float align,
    float gather,
    float avoid,
    float distance,
    float cruise,
    float space,
    float height,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count || !is_alive(before[i])) return;
    const float3 here = before[i].position, velocity = before[i].velocity;
    const int3 cell = cell_of(here, reach);
    Sum ways, velocities, pushes;
    int seen = 0;
    for (int side = 0; side < 27; ++side) {
        const int3 other = {cell.x + side % 3 - 1, cell.y + side / 3 % 3 - 1, cell.z + side / 9 - 1};
        for (unsigned int k = first[bucket_of(other)]; k != 0; k = next[k - 1]) {
            const Particle neighbour = before[k - 1];
            const int3 its = cell_of(neighbour.position, reach);
            if (its.x != other.x || its.y != other.y || its.z != other.z || k - 1 == i) continue;
            const float3 way = neighbour.position - here;
            const float far = length(way);
            if (far >= reach) continue;
            ++seen;
            ways.add(way);
            velocities.add(neighbour.velocity - velocity);
            if (far < distance && far > 0.0f) pushes.add(way * ((far - distance) / (far * distance)));
        }
    }
    float3 wish = pushes.total() * avoid;
    if (seen > 0) wish += (ways.total() * gather + velocities.total() * align) * (1.0f / seen);
    const float3 home = float3{0.0f, height, 0.0f} - here;
    const float outside = length(home) - space;
    if (outside > 0.0f) wish += home * (cruise * fminf(outside, 1.0f) / length(home));
    const float speed = length(velocity);
    if (speed > 0.0f) wish += velocity * (2.0f * (cruise - speed) / speed);
    particles[i].velocity = velocity + wish * frame->time_step;
}
