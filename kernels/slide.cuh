// Windows of neighbours, which share most of their pixels: a thread computes RUN of them, so each pixel is loaded once.
#pragma once

__device__ inline int inside(int place, int size) { return min(max(place, 0), size - 1); }

// The offset of the nearest of `size` lines. A product of two whole numbers of 32 bits is one instruction.
__device__ inline long long line(int place, int size, int pitch) {
    return static_cast<long long>(inside(place, size)) * pitch;
}

// The rows of a thread block, where thread blocks share a picture: none has so few rows that most of its work would be to
// filter those above and below.
__device__ inline int segment_of(int height, int strips, int radius) {
    int parts = max(static_cast<int>(gridDim.x * gridDim.y) / strips, 1), least = max(32, 2 * radius);
#ifdef WARPLOOM_CPU
    parts = min(parts, (63 + strips) / strips);  // enough for its cores
    least = max(96, 32 + 4 * radius);
#endif
    return max(least, (height + parts - 1) / parts);
}

// Calls take(results[k], load(k + t), t) for each of the RUN results and each of the `taps` places t of a window.
template <int RUN, typename Pixel, typename Load, typename Take>
__device__ inline void slide(Pixel (&results)[RUN], int taps, Load load, Take take) {
    Pixel held[2 * RUN - 1];
#pragma unroll
    for (int k = 0; k < RUN - 1; ++k) held[k] = load(k);
    int first = 0;
    for (; first + RUN <= taps; first += RUN) {
#pragma unroll
        for (int j = 0; j < RUN; ++j) held[RUN - 1 + j] = load(first + RUN - 1 + j);  // RUN loads are under way at once
#pragma unroll
        for (int j = 0; j < RUN; ++j)
#pragma unroll
            for (int k = 0; k < RUN; ++k) take(results[k], held[j + k], first + j);
#pragma unroll
        for (int k = 0; k < RUN - 1; ++k) held[k] = held[k + RUN];
    }
#pragma unroll
    for (int j = 0; j < RUN - 1; ++j)
        if (first + j < taps) {
            held[RUN - 1 + j] = load(first + RUN - 1 + j);
#pragma unroll
            for (int k = 0; k < RUN; ++k) take(results[k], held[j + k], first + j);
        }
}

// Adds weight(t) load(k + t) to each of the RUN sums, for each of the `taps` places t of a window, which are RUN or more. It
// keeps weights instead of pixels, which would take more registers.
template <int RUN, typename Pixel, typename Load, typename Weight>
__device__ inline void weigh(Pixel (&sums)[RUN], int taps, Load load, Weight weight) {
    float weights[RUN] = {};  // of the newest pixel in each window
    const auto add = [&](int place, int first, int end) {
        const Pixel pixel = load(place);
#pragma unroll
        for (int k = 0; k < RUN; ++k)
            if (first <= k && k < end) sums[k] = sums[k] + pixel * weights[k];
    };
    const auto move = [&](float next) {
#pragma unroll
        for (int k = RUN - 1; k > 0; --k) weights[k] = weights[k - 1];
        weights[0] = next;
    };
#pragma unroll
    for (int t = 0; t < RUN - 1; ++t) {
        move(weight(t));
        add(t, 0, t + 1);
    }
#pragma unroll 8
    for (int t = RUN - 1; t < taps; ++t) {
        move(weight(t));
        add(t, 0, RUN);
    }
#pragma unroll
    for (int t = 1; t < RUN; ++t) {
        move(0.0f);
        add(taps + t - 1, t, RUN);
    }
}
