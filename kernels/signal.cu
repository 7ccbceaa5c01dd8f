// Signals and their spectra: frames and windows before a transform, and pictures of its result.
#include "elements.cuh"

// A sum of cosines over one period of `size` elements, divided by its mean if `unit` is set; the higher cosines are
// computed from the first. A single element has weight 1. For very few elements, the mean is not a0.
extern "C" __global__ void window_weights(
    float* __restrict__ weights, float a0, float a1, float a2, float a3, float a4, bool unit, int size) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    const float c1 = cospif(2.0f * static_cast<float>(i) / static_cast<float>(size));
    const float c2 = 2.0f * c1 * c1 - 1.0f, c3 = 2.0f * c1 * c2 - c1, c4 = 2.0f * c2 * c2 - 1.0f;
    const float weight = a0 - a1 * c1 + a2 * c2 - a3 * c3 + a4 * c4;
    const float mean = a0 + (size == 2 ? a2 + a4 : size == 3 ? -a3 : size == 4 ? a4 : 0.0f);
    weights[i] = size == 1 ? 1.0f : unit ? weight / mean : weight;
}

// The last axis has `size` elements.
extern "C" __global__ void weigh(
    const float* __restrict__ x, const float* __restrict__ weights, float* __restrict__ out, int size, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = x[i] * weights[i % size];
}

// Frames of `size` elements whose starts are `hop` elements apart; the first is at `start`. Outside the signal, its
// value is 0, or it repeats if it is a `loop`. One thread per element: `size` x `count`.
extern "C" __global__ void cut_frames(
    const float* __restrict__ x,
    const float* __restrict__ weights,
    float* __restrict__ out,
    int start,
    bool loop,
    int hop,
    int size,
    int length,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, frame = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= size || frame >= count) return;
    long long place = static_cast<long long>(start) + static_cast<long long>(frame) * hop + i;
    if (loop) {
        place %= length;
        if (place < 0) place += length;
    }
    out[static_cast<size_t>(frame) * size + i] = place >= 0 && place < length ? x[place] * weights[i] : 0.0f;
}

// The size of complex numbers, with a `scale` numbered as in blocks/spectrum/magnitude.py: the magnitude, its square, or
// decibels, not below `lowest`.
extern "C" __global__ void magnitude(
    const void* __restrict__ x, unsigned int type, float* __restrict__ out, int scale, float lowest, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float size, level = lowest;
    if ((type & ELEMENT_SIZE) == 16) {
        const double2 number = static_cast<const double2*>(x)[i];
        const double exact = hypot(number.x, number.y);  // may be outside the range of f32, unlike its decibels
        size = static_cast<float>(exact);
        if (scale == 2) level = static_cast<float>(20.0 * log10(exact));
    } else {
        const float2 number = static_cast<const float2*>(x)[i];
        size = hypotf(number.x, number.y);
        if (scale == 2) level = 20.0f * log10f(size);
    }
    if (scale == 1) size *= size;
    if (scale == 2) size = level < lowest ? lowest : level;  // NaN stays NaN
    out[i] = size;
}

// The position in a spectrum of a height in a spectrogram; both begin with the lowest frequency.
__device__ inline float frequency_at(float height, float octaves, int bins) {
    return (bins - 1) * (octaves > 0.0f ? exp2f(octaves * (height - 1.0f)) : height);
}

// Spectra as the columns of a picture, low frequencies below. A pixel shows the highest of the values that fall into
// it, or an interpolated value.
extern "C" __global__ void lay_out_spectra(
    const float* __restrict__ x, float* __restrict__ out, float octaves, int bins, int width, int height) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) return;
    const float* spectrum = x + static_cast<size_t>(column) * bins;
    const float from = frequency_at(static_cast<float>(height - 1 - row) / height, octaves, bins);
    const float to = frequency_at(static_cast<float>(height - row) / height, octaves, bins);
    float value;
    if (to - from > 1.0f) {
        const int last = min(static_cast<int>(to), bins - 1);
        int bin = static_cast<int>(ceilf(from));
        value = spectrum[bin];
        while (++bin <= last) value = fmaxf(value, spectrum[bin]);
    } else {
        const float middle = 0.5f * (from + to);
        const int bin = static_cast<int>(middle);
        const float below = spectrum[bin], above = spectrum[min(bin + 1, bins - 1)];
        value = below + (above - below) * (middle - bin);
    }
    out[static_cast<size_t>(row) * width + column] = value;
}

// Samples at another rate: `up` for each `down`. `weights` has the low-pass filter of each of `up` phases, `taps` long,
// the weight of the newest sample first; `half` is the place of its middle.
extern "C" __global__ void resample(
    const float* __restrict__ x, const float* __restrict__ weights, float* __restrict__ out, int up, int down,
    int taps, int half, int size, int out_size, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int row = i / out_size;
    const long long place = static_cast<long long>(i - row * out_size) * down + half;
    const int newest = static_cast<int>(place / up);
    const float* weight = weights + (place - static_cast<long long>(newest) * up) * taps;
    const float* samples = x + static_cast<size_t>(row) * size;
    float sum = 0.0f;
    for (int k = max(newest - size + 1, 0); k < min(taps, newest + 1); ++k) sum += weight[k] * samples[newest - k];
    out[i] = sum;
}

// Adds up overlapping frames of `size` elements whose starts are `hop` elements apart, times the window, divided by the
// sum of its squares: so frames that were cut with this window give the signal. It is 0 where no window reaches.
extern "C" __global__ void overlap_frames(
    const float* __restrict__ frames, const float* __restrict__ weights, float* __restrict__ out, int hop, int size,
    int frame_count, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float sum = 0.0f, squares = 0.0f;
    for (int frame = i < size ? 0 : (i - size) / hop + 1; frame < frame_count && frame * hop <= i; ++frame) {
        const float weight = weights[i - frame * hop];
        sum += weight * frames[static_cast<size_t>(frame) * size + (i - frame * hop)];
        squares += weight * weight;
    }
    out[i] = squares > 1e-10f ? sum / squares : 0.0f;
}
