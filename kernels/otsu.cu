// A level that divides an image into dark and bright (Otsu, "A threshold selection method from gray-level histograms",
// 1979): the one for which the means of both sides differ most, weighted by their sizes.
#include "warploom/color.h"
#include "warploom/pixel.h"

#define BINS 256  // equals BINS in automatic_threshold.py

// Counts the luminances between 0 and 1; those beyond count in the first and the last bin, and NaN in the first.
extern "C" __global__ void count_lights(
    const PIXEL* __restrict__ image, unsigned int* __restrict__ bins, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) atomicAdd(&bins[static_cast<int>(saturate(luminance(image[i])) * (BINS - 1) + 0.5f)], 1u);
}

// Run by a single thread.
extern "C" __global__ void find_level(const unsigned int* __restrict__ bins, float* __restrict__ level) {
    unsigned long long all = 0, weighted = 0, below = 0, sum = 0;
    for (int k = 0; k < BINS; ++k) {
        all += bins[k];
        weighted += static_cast<unsigned long long>(k) * bins[k];
    }
    double best = -1.0, best_parts = 1.0;
    int first = 0, last = 0;
    for (int k = 0; k < BINS - 1; ++k) {
        below += bins[k];
        sum += static_cast<unsigned long long>(k) * bins[k];
        if (below == 0 || below == all) continue;
        const double apart = static_cast<double>(weighted) * below - static_cast<double>(sum) * all;
        const double found = apart * apart, parts = static_cast<double>(below) * (all - below);  // their quotient counts
        if (found * best_parts > best * parts) best = found, best_parts = parts, first = k;
        if (found * best_parts == best * parts) last = k;
    }
    // In a gap without pixels all levels are as good: the middle of it is the farthest from both sides.
    *level = (0.5f * (first + last) + 0.5f) / (BINS - 1);
}

extern "C" __global__ void divide_lights(
    const PIXEL* __restrict__ image, const float* __restrict__ level, PIXEL* __restrict__ out, float shift, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float bright = luminance(image[i]) >= *level + shift ? 1.0f : 0.0f;
    out[i] = {bright, bright, bright, float4(image[i]).w};
}
