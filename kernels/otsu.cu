// A level that divides an image into dark and bright (Otsu, "A threshold selection method from gray-level histograms",
// 1979): the one for which the means of both sides differ most, weighted by their sizes.
#include "warploom/color.h"

#define BINS 256  // equals BINS in automatic_threshold.py

// Counts the luminances between 0 and 1; those beyond count in the first and the last bin, and NaN in the first.
extern "C" __global__ void count_lights(
    const float4* __restrict__ image, unsigned int* __restrict__ bins, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) atomicAdd(&bins[static_cast<int>(saturate(luminance(image[i])) * (BINS - 1) + 0.5f)], 1u);
}

// Run by a single thread. Sums are of whole numbers up to 2^40, which a double holds exactly.
extern "C" __global__ void find_level(const unsigned int* __restrict__ bins, float* __restrict__ level) {
    double all = 0.0, weighted = 0.0;
    for (int k = 0; k < BINS; ++k) all += bins[k], weighted += static_cast<double>(k) * bins[k];
    double below = 0.0, sum = 0.0, best = -1.0;
    int first = 0, last = 0;
    for (int k = 0; k < BINS - 1; ++k) {
        below += bins[k];
        sum += static_cast<double>(k) * bins[k];
        if (below == 0.0 || below == all) continue;
        const double apart = weighted * below - sum * all;
        const double found = apart * apart / (below * (all - below));
        if (found > best) best = found, first = k;
        if (found == best) last = k;
    }
    // In a gap without pixels all levels are as good: the middle of it is the farthest from both sides.
    *level = (0.5f * (first + last) + 0.5f) / (BINS - 1);
}

extern "C" __global__ void divide_lights(
    const float4* __restrict__ image, const float* __restrict__ level, float4* __restrict__ out, float shift, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float bright = luminance(image[i]) >= *level + shift ? 1.0f : 0.0f;
    out[i] = {bright, bright, bright, image[i].w};
}
