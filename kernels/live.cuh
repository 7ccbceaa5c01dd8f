// Windows of live sound: `size` samples, of which the last ones are new in this frame. Blocks compute the new samples,
// and keep the others from frame to frame (blocks/synthesis/live.py).
#pragma once

// The number of new samples. Without `live`, the window is a whole sound, and all of them are new.
__device__ inline int new_samples(const int* added, int live, int size) {
    return live ? min(max(*added, 0), size) : size;
}

// Numbers that move from one frame's values to those of the next, so that sound has no steps.
constexpr int GLIDES = 3;

struct Glide {
    float from[GLIDES], to[GLIDES];
    int begun;
};

// The part of the way at a sample, counted from the first new one.
__device__ inline float way(int sample, int added) { return static_cast<float>(sample) / static_cast<float>(added); }
