// What blocks of live sound share: older samples, and numbers that glide.
#include "live.cuh"

// Moves the samples of the last window's end to the beginning of this one. Windows are rows of `size` samples.
extern "C" __global__ void move_window(
    const float* __restrict__ before, float* __restrict__ out, const int* __restrict__ added, int size, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int news = new_samples(added, true, size), sample = i % size;
    if (sample < size - news) out[i] = before[i + news];
}

// Lets numbers glide from where they are to new values. They stay where they are in a frame without new samples.
extern "C" __global__ void glide(
    Glide* state, const int* __restrict__ added, int live, float a, float b, float c) {
    const float to[GLIDES] = {a, b, c};
    const bool moves = live && state->begun, waits = moves && *added <= 0;
    if (waits) return;
    for (int k = 0; k < GLIDES; ++k) {
        state->from[k] = moves ? state->to[k] : to[k];
        state->to[k] = to[k];
    }
    state->begun = 1;
}
