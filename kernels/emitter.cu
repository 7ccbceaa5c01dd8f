// Emits particles into a ring buffer: particle number n goes to slot n % count, where it replaces number n - count. Of
// more births in a frame than there are slots, the last ones stay.
#include "frame.cuh"
#include "particle.cuh"
#include "warploom/random.h"
#include "warploom/vector.h"

struct Nozzle {
    float radius;  // of the disc that particles leave from
    float height;  // of that disc
    int jets;      // evenly around the axis
    float turn;    // of the jets around the axis, degrees per second
    float lean;    // of the jets away from the axis, degrees
    float spread;  // half angle of each jet's cone, degrees
    float speed;   // along the jet, metres per second
    float swirl;   // speed around the axis at the disc's rim, metres per second
};

// `turned` is how often the jets have turned around the axis.
__device__ inline Particle born(const Nozzle& nozzle, float life, long long number, double turned, unsigned int key) {
    Random random(key);
    // A square root spreads points evenly over a disc's area, and directions evenly over a cone.
    const float place = sqrtf(random.next());
    float place_sin, place_cos;
    sincospif(2.0f * random.next(), &place_sin, &place_cos);
    const float tilt = sqrtf(random.next()) * nozzle.spread / 180.0f;
    float tilt_sin, tilt_cos;
    sincospif(tilt, &tilt_sin, &tilt_cos);
    float turn_sin, turn_cos;
    sincospif(2.0f * random.next(), &turn_sin, &turn_cos);

    // The jet's own axes: it leans outwards from the vertical, at its place around the circle.
    const double turns = static_cast<double>(number % nozzle.jets) / nozzle.jets + turned;
    float jet_sin, jet_cos, lean_sin, lean_cos;
    sincospif(2.0f * static_cast<float>(turns - floor(turns)), &jet_sin, &jet_cos);
    sincospif(nozzle.lean / 180.0f, &lean_sin, &lean_cos);
    const float3 along = {lean_sin * jet_cos, lean_cos, lean_sin * jet_sin};
    const float3 outward = {lean_cos * jet_cos, -lean_sin, lean_cos * jet_sin};
    const float3 sideways = {-jet_sin, 0.0f, jet_cos};

    const float speed = nozzle.speed * (0.9f + 0.2f * random.next());
    const float around = nozzle.swirl * place;
    Particle particle;
    particle.position = {nozzle.radius * place * place_cos, nozzle.height, nozzle.radius * place * place_sin};
    particle.velocity =
        (along * tilt_cos + outward * (tilt_sin * turn_cos) + sideways * (tilt_sin * turn_sin)) * speed +
        float3{-place_sin, 0.0f, place_cos} * around;
    particle.age = 0.0f;
    particle.life = life * (0.6f + 0.4f * random.next());
    return particle;
}

// What goes on from frame to frame, however long frames are, and while the rate and the jets' speed change: the births
// that are due, of which the last one may be partly, and how often the jets have turned.
struct Emission {
    double due, turned;
};

// The births up to the end of this frame, of which `due` were due before. A rate that is no number emits nothing.
__device__ inline double due_after(double due, float rate, float time_step) {
    const double more = static_cast<double>(rate) * time_step;
    return more > 0.0 ? due + more : due;
}

// One thread per slot. Numbers ceil(due) up to ceil(due_after(...)) are emitted in this frame, each in place of the
// oldest. One frame's end is exactly the next one's start, so rounding never skips a number or emits it twice.
extern "C" __global__ void emit_particles(
    Particle* __restrict__ particles,
    const Emission* __restrict__ state,
    const Frame* __restrict__ frame,
    float rate,
    float life,
    float radius,
    float height,
    int jets,
    float turn,
    float lean,
    float spread,
    float speed,
    float swirl,
    int seed,
    int count) {
    // Whole numbers of 64 bits cost most, so one thread computes what all need.
    __shared__ long long first, end;
    __shared__ int last_slot;
    if (threadIdx.x == 0) {
        first = static_cast<long long>(ceil(state->due));
        end = static_cast<long long>(ceil(due_after(state->due, rate, frame->time_step)));
        last_slot = static_cast<int>((end + count - 1) % count);
    }
    __syncthreads();
    const int slot = blockIdx.x * blockDim.x + threadIdx.x;
    if (slot >= count) return;
    const int steps = slot <= last_slot ? last_slot - slot : last_slot - slot + count;
    const long long number = end - 1 - steps;
    if (number < first) return;

    const unsigned int key = hash(static_cast<unsigned int>(number)) ^ hash(seed + frame->seed * 0x9E3779B9u);
    // The particle starts within the frame, not at its beginning. Integration adds a whole time step, so subtract the
    // excess: otherwise particles would leave in puffs, one per frame.
    const double too_early = (number - state->due) / rate;
    const Nozzle nozzle = {radius, height, jets, turn, lean, spread, speed, swirl};
    Particle particle = born(nozzle, life, number, state->turned + turn * too_early / 360.0, key);
    particle.age = -static_cast<float>(too_early);
    particle.position = particle.position + particle.velocity * particle.age;
    put_place(particles, slot, particle);
    put_velocity(particles, slot, particle);
}

// Counts the births of this frame and turns the jets; run by a single thread, after emit_particles. Neither pointer is
// __restrict__, since the frame would be loaded before the kernel has waited for earlier ones.
extern "C" __global__ void end_emission(Emission* state, const Frame* frame, float rate, float turn) {
    const double turned = state->turned + static_cast<double>(turn) * frame->time_step / 360.0;
    state->due = due_after(state->due, rate, frame->time_step);
    if (isfinite(turned)) state->turned = turned - floor(turned);
}
