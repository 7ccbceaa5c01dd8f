// Levels of a sound's bands.
#include "frame.cuh"

// A sound of `channels` rows of `size` samples, mixed and weighted: most in the last eighth, so that a new sound shows at
// once. The weights are halves of two Hann windows; their mean is 1, the mean of their squares 3/2.
extern "C" __global__ void weigh_newest(const float* __restrict__ x, float* __restrict__ out, int channels, int size) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    float sum = 0.0f;
    for (int channel = 0; channel < channels; channel++) sum += x[static_cast<size_t>(channel) * size + i];
    const int top = size - size / 8;
    const float part = i < top ? (i + 0.5f) / top : (size - i - 0.5f) / (size - top);
    const float rise = sinpif(0.5f * part);
    out[i] = 2.0f * rise * rise * sum / channels;
}

// The level of each band in the spectrum of `size` samples: the amplitude of a sine with the power of all frequencies between its edges, which are a
// geometric series. With a `range` in decibels, the level is 1 at amplitude 1, and 0 below the range. It moves to a higher
// level in the time `rise`, and to a lower one in the time `fall`.
extern "C" __global__ void band_levels(
    const float2* __restrict__ spectrum,
    float* __restrict__ out,
    const Frame* __restrict__ frame,
    float low,
    float high,
    float range,
    float rise,
    float fall,
    int rate,
    int size,
    int count) {
    const int band = blockIdx.x * blockDim.x + threadIdx.x;
    if (band >= count) return;
    const int bins = size / 2 + 1;
    const float bins_per_hertz = static_cast<float>(size) / rate;
    const float octaves = log2f(high / low) / count;
    const float from = fminf(low * exp2f(octaves * band) * bins_per_hertz + 0.5f, bins);
    const float to = fminf(low * exp2f(octaves * (band + 1)) * bins_per_hertz + 0.5f, bins);
    float power = 0.0f;
    for (int bin = static_cast<int>(from); bin < min(static_cast<int>(ceilf(to)), bins); bin++) {
        const float2 value = spectrum[bin];
        const float part = fminf(to, bin + 1.0f) - fmaxf(from, bin);
        power += part * (value.x * value.x + value.y * value.y);
    }
    float level = sqrtf(power * (4.0f / 1.5f));
    if (!(level <= 3.4e38f)) level = 0.0f;  // NaN in the sound must not stay in the state
    if (range > 0.0f) level = level > 0.0f ? fminf(fmaxf(1.0f + 20.0f * log10f(level) / range, 0.0f), 1.0f) : 0.0f;
    const float before = out[band], time = level > before ? rise : fall;
    // 1 - expf(...) would keep few digits of the small step towards a level that takes a minute.
    const float moved = time > 1e-6f ? -expm1f(-frame->time_step / time) : 1.0f;
    out[band] = frame->time_step > 0.0f ? fmaf(moved, level, before - moved * before) : before;
}
