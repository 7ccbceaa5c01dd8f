// Slime mould: agents that leave a trail and follow it (Jones, "Characteristics of pattern formation and evolution in
// approximations of Physarum transport networks", 2010).
#include "frame.cuh"
#include "warploom/random.h"
#include "warploom/vector.h"

// The layout of Agent in blocks/field/slime_mould.py.
struct Agent {
    float x, y;           // pixels, from the corner of the field
    float heading;        // radians, clockwise from the right, since y goes down
    unsigned int random;  // state of its random sequence; 0 before birth
};

__device__ inline bool flip(Agent& agent) { return (agent.random = hash(agent.random)) & 1u; }
__device__ inline float turn_anywhere(Agent& agent) {
    return uniform(agent.random = hash(agent.random)) * 6.28318531f;
}

// The trail and the food where a sensor lies; beyond the edge is nothing.
__device__ inline float sensed(
    const float* __restrict__ trail, const float* __restrict__ food, float x, float y, int width, int height) {
    const int column = static_cast<int>(floorf(x)), row = static_cast<int>(floorf(y));
    if (column < 0 || row < 0 || column >= width || row >= height) return -1.0f;
    const size_t i = static_cast<size_t>(row) * width + column;
    return trail[i] + (food ? food[i] : 0.0f);
}

// Lets each agent turn towards the strongest of three places ahead, go a step, and count in the pixel where it arrives.
extern "C" __global__ void move_slime(
    Agent* __restrict__ agents,
    unsigned int* __restrict__ arrivals,
    const float* __restrict__ trail,
    const float* __restrict__ food,
    const Frame* __restrict__ frame,
    float speed,
    float sense,
    float sense_angle,
    float turn,
    int is_disc,
    int seed,
    int count,
    int width,
    int height) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Agent agent = agents[i];
    if (agent.random == 0) {
        Random random(hash(i) ^ hash(seed + frame->seed * 0x9E3779B9u));
        const float2 in_disc = random.inside2() * (0.3f * min(width, height));
        const float2 anywhere = {random.next() * width, random.next() * height};  // below the size, also when rounded
        const float2 place = is_disc ? float2{0.5f * width, 0.5f * height} + in_disc : anywhere;
        agent = {place.x, place.y, 6.28318531f * random.next(), random.state | 1u};
    }
    const float aside = sense_angle * 0.01745329252f, by = turn * 0.01745329252f;
    float found[3];
    for (int side = 0; side < 3; ++side) {
        float sine, cosine;
        sincosf(agent.heading + (side - 1) * aside, &sine, &cosine);
        found[side] = sensed(trail, food, agent.x + sense * cosine, agent.y + sense * sine, width, height);
    }
    if (found[1] < found[0] && found[1] < found[2])
        agent.heading += flip(agent) ? by : -by;
    else if (found[0] > found[1] && found[0] > found[2])
        agent.heading -= by;
    else if (found[2] > found[1] && found[2] > found[0])
        agent.heading += by;
    float sine, cosine;
    sincosf(agent.heading, &sine, &cosine);
    const float x = agent.x + speed * cosine, y = agent.y + speed * sine;
    if (x >= 0.0f && y >= 0.0f && x < width && y < height) {
        agent.x = x;
        agent.y = y;
    } else {
        agent.heading = turn_anywhere(agent);  // at the edge it stays for a step and looks elsewhere
    }
    if (agent.random == 0) agent.random = 1;
    agents[i] = agent;
    atomicAdd(&arrivals[static_cast<size_t>(agent.y) * width + static_cast<size_t>(agent.x)], 1u);
}

// The trail of the next step: blurred over 3 x 3 pixels by a share, with what the arrivals leave, and then faded.
extern "C" __global__ void spread_trail(
    const float* __restrict__ trail,
    const unsigned int* __restrict__ arrivals,
    float* __restrict__ next,
    float deposit,
    float spread,
    float decay,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int dy = -1; dy <= 1; ++dy) {
        const float* row = trail + static_cast<size_t>(min(max(y + dy, 0), height - 1)) * width;
        sum += row[max(x - 1, 0)] + row[x] + row[min(x + 1, width - 1)];
    }
    const size_t i = static_cast<size_t>(y) * width + x;
    const float here = trail[i];
    next[i] = (here + (sum * (1.0f / 9.0f) - here) * spread + deposit * arrivals[i]) * (1.0f - decay);
}
