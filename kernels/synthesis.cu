// Sound that is made and changed sample by sample: oscillators, envelopes, echoes, weighted sums; and its pitch.
#include "live.cuh"
#include "slide.cuh"

// What a wave with corners needs near one, so that it has few frequencies above half the rate (polyBLEP and polyBLAMP,
// two samples wide). `t` is the phase after the corner, from 0 to 1, and `step` that of one sample. V. Valimaki, J.
// Pekonen and J. Nam, Perceptually informed synthesis of bandlimited classical waveforms (2012).
__device__ inline float jump_at(float t, float step) {
    const float after = t / step, before = (1.0f - t) / step;
    return after < 1.0f ? -(1.0f - after) * (1.0f - after) : before < 1.0f ? (1.0f - before) * (1.0f - before) : 0.0f;
}

__device__ inline float bend_at(float t, float step) {
    const float near = 1.0f - fminf(t, 1.0f - t) / step;
    return near > 0.0f ? near * near * near * (1.0f / 3.0f) : 0.0f;
}

__device__ inline float turned(float t, float by) { return t + by < 1.0f ? t + by : t + by - 1.0f; }

// Waves are numbered as in blocks/synthesis/oscillator.py. A sine needs `step` for nothing.
__device__ float wave_at(int wave, float t, float step, float width) {
    if (wave == 0) return sinpif(2.0f * t);
    if (wave == 1) return 2.0f * t - 1.0f - jump_at(t, step);
    if (wave == 2) return (t < width ? 1.0f : -1.0f) + jump_at(t, step) - jump_at(turned(t, 1.0f - width), step);
    return 1.0f - 4.0f * fabsf(t - 0.5f) + 4.0f * step * (bend_at(t, step) - bend_at(turned(t, 0.5f), step));
}

// The new samples of a wave whose frequency, level and width glide. The phase is their sum in closed form.
extern "C" __global__ void oscillate(
    float* __restrict__ out, const double* __restrict__ phase, const Glide* __restrict__ glide,
    const int* __restrict__ added, int wave, int rate, int size) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int news = new_samples(added, true, size), sample = i - (size - news);
    if (i >= size || sample < 0) return;
    const double from = glide->from[0], to = glide->to[0];
    const double turns = *phase + sample * (from + (to - from) * sample / (2.0 * news)) / rate;
    const float t = fminf(static_cast<float>(turns - floor(turns)), 0x1.fffffep-1f), part = way(sample, news);
    const float step = fminf(static_cast<float>(from + (to - from) * part) / rate, 0.5f);
    const float level = glide->from[1] + part * (glide->to[1] - glide->from[1]);
    const float width = glide->from[2] + part * (glide->to[2] - glide->from[2]);
    out[i] = level * wave_at(wave, t, step, fminf(fmaxf(width, step), 1.0f - step));
}

extern "C" __global__ void advance_phase(
    double* phase, const Glide* __restrict__ glide, const int* __restrict__ added, int rate, int size) {
    const double turns = *phase + new_samples(added, true, size) * (0.5 * glide->from[0] + 0.5 * glide->to[0]) / rate;
    *phase = turns - floor(turns);
}

// An envelope: how high it is, and whether it still rises.
struct Stage {
    float level;
    int rises, held;
};

// How far an exponential has gone after a time; it is 99 % after `whole`.
__device__ inline float gone(float time, float whole) { return whole > 0.0f ? -expm1f(-4.6051702f * time / whole) : 1.0f; }

// The level at a time after the last frame.
__device__ Stage stage_at(Stage stage, bool gate, float time, float attack, float decay, float sustain, float release) {
    if (!gate) return {stage.level * (1.0f - gone(time, release)), 0, 0};
    if (!stage.held) stage.rises = 1;
    stage.held = 1;
    if (stage.rises) {
        const float rise = (1.0f - stage.level) * attack;  // the time to the top
        if (time < rise) return {stage.level + time / attack, 1, 1};
        time -= rise;
        stage.level = 1.0f;
        stage.rises = 0;
    }
    stage.level += (sustain - stage.level) * gone(time, decay);
    return stage;
}

// Channels are rows of `size` samples.
extern "C" __global__ void shape_sound(
    const float* __restrict__ x, float* __restrict__ out, const Stage* __restrict__ stage,
    const int* __restrict__ added, bool gate, float attack, float decay, float sustain, float release, int rate,
    int size, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int sample = i % size - (size - new_samples(added, true, size));
    if (sample < 0) return;
    const float time = static_cast<float>(sample + 1) / static_cast<float>(rate);
    out[i] = x[i] * stage_at(*stage, gate, time, attack, decay, sustain, release).level;
}

extern "C" __global__ void advance_stage(
    Stage* stage, const int* __restrict__ added, bool gate, float attack, float decay, float sustain, float release,
    int rate, int size) {
    const int news = new_samples(added, true, size);
    if (news > 0) *stage = stage_at(*stage, gate, static_cast<float>(news) / static_cast<float>(rate), attack, decay, sustain, release);
}

// Echoes. `line` is a ring of the samples that were sent into the delay, for each channel; `at` is the place of the
// first new one. A thread has every `delay`-th sample, so that what it has sent into the delay comes out next.
extern "C" __global__ void echo(
    const float* __restrict__ x, float* __restrict__ out, float* line, const int* __restrict__ at,
    const int* __restrict__ added, int live, float seconds, float feedback, float mix, int rate, int size, int length,
    int longest, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int channel = i / longest, first = i - channel * longest, news = new_samples(added, live, size);
    const int delay = min(max(__float2int_rn(seconds * rate), 1), longest);
    if (first >= delay) return;
    const size_t begin = static_cast<size_t>(channel) * size + (size - news);
    float* ring = line + static_cast<size_t>(channel) * length;
    int to = (*at + first) % length;
    float old = ring[to >= delay ? to - delay : to - delay + length];
    for (int sample = first; sample < news; sample += delay) {
        const float sent = x[begin + sample], fed = sent + feedback * old;
        out[begin + sample] = sent + mix * (old - sent);
        ring[to] = old = isfinite(fed) ? fed : 0.0f;  // NaN must not stay
        to = to + delay < length ? to + delay : to + delay - length;
    }
}

extern "C" __global__ void advance_line(int* at, const int* __restrict__ added, int live, int size, int length) {
    if (live) *at = (*at + new_samples(added, true, size)) % length;
}

// Sums of the samples up to each one, times `taps` weights: the first weight is that of the sample itself. Before its
// beginning, a row of `size` samples is 0. A thread computes RUN sums.
extern "C" __global__ void weigh_samples(
    const float* __restrict__ x, const float* __restrict__ weights, float* __restrict__ out, int taps, int size,
    int runs, int count) {
    constexpr int RUN = 4;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int row = i / runs, first = (i - row * runs) * RUN;
    const float* samples = x + static_cast<size_t>(row) * size;
    float sums[RUN] = {};
    const auto load = [=](int k) {
        const int at = first - (taps - 1) + k;
        return at >= 0 && at < size ? samples[at] : 0.0f;
    };
    slide(sums, taps, load, [=](float& sum, float sample, int k) { sum += weights[taps - 1 - k] * sample; });
    for (int k = 0; k < RUN && first + k < size; ++k) out[static_cast<size_t>(row) * size + first + k] = sums[k];
}

// How much a sound differs from itself, later by each of some lags: the squares of the differences of its newest samples,
// of all channels together. A thread block has a lag.
extern "C" __global__ void __launch_bounds__(128) compare_lags(
    const float* __restrict__ x, float* __restrict__ differences, int channels, int size, int lags) {
    __shared__ float sums[128];
    const int lag = blockIdx.x, thread = threadIdx.x, length = min(size - (lags - 1), 2 * lags);
    const float* newest = x + (size - length - (lags - 1));
    float sum = 0.0f;
    for (int j = thread; j < length; j += 128) {
        float difference = 0.0f;
        for (int channel = 0; channel < channels; ++channel) {
            const float* samples = newest + static_cast<size_t>(channel) * size;
            difference += samples[j] - samples[j + lag];
        }
        sum += difference * difference;
    }
    sums[thread] = sum;
    for (int step = 64; step > 0; step /= 2) {
        __syncthreads();
        if (thread < step) sums[thread] += sums[thread + step];
    }
    if (thread == 0) differences[lag] = sums[0];
}

// The pitch of a sound by its differences (YIN; A. de Cheveigne and H. Kawahara, 2002): that of the first lag at which
// it differs far less than on average at shorter lags, or else that of the lag at which it differs least.
extern "C" __global__ void find_pitch(
    const float* __restrict__ differences, float* __restrict__ frequency, float* __restrict__ confidence, float high,
    float threshold, int rate, int lags) {
    const int shortest = max(static_cast<int>(rate / high), 1);
    float total = 0.0f, least = 1.0f;
    int best = 0;
    bool is_found = false;
    for (int lag = 1; lag + 1 < lags; ++lag) {
        total += differences[lag];
        const float share = total > 0.0f ? differences[lag] * lag / total : 1.0f;
        if (lag < shortest) continue;
        if (share < least) {
            least = share;
            best = lag;
        } else if (is_found) {
            break;  // after the first valley
        }
        is_found = is_found || share < threshold;
    }
    float lag = best;
    if (best > 0) {  // the lowest point of a parabola through three differences
        const float a = differences[best - 1], b = differences[best], c = differences[best + 1];
        const float bend = a - 2.0f * b + c;
        if (bend > 0.0f) lag += fminf(fmaxf(0.5f * (a - c) / bend, -0.5f), 0.5f);
    }
    *frequency = best > 0 ? rate / lag : 0.0f;
    *confidence = best > 0 ? fminf(fmaxf(1.0f - least, 0.0f), 1.0f) : 0.0f;
}
