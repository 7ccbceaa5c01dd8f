// Counts of elements in equal parts of a range. Each thread block counts a share in shared memory.
#include "elements.cuh"

#ifndef BINS
#define BINS 256
#endif
constexpr int THREADS = 512, LOADS = 8;  // loads of a thread that are under way at once

// The part of a range in which a number is; -1 if it is outside, or NaN. It is `guess`, rounded down, unless that is as
// close to the edge of a part as `near`: a division of f64 takes longer than all the rest.
__device__ inline int part_of(double x, float guess, float near, double low, double high) {
    const float whole = floorf(guess), beyond = guess - whole;
    if (beyond > near && beyond < 1.0f - near && guess > 0.0f && guess < BINS) return static_cast<int>(whole);
    const double place = floor((x - low) / (high - low) * BINS);
    return x >= low && x <= high ? place < BINS - 1 ? static_cast<int>(place) : BINS - 1 : -1;
}

// Adds the counts of `share` elements to `counts`, one thread block for each share.
extern "C" __global__ void __launch_bounds__(THREADS) count_parts(
    const void* __restrict__ x, unsigned int* __restrict__ counts, unsigned int type, float low, float high,
    unsigned int share, unsigned long long count) {
    __shared__ unsigned int held[BINS];
    const int thread = threadIdx.x;
    for (int bin = thread; bin < BINS; bin += THREADS) held[bin] = 0;
    __syncthreads();
    const unsigned long long first = static_cast<unsigned long long>(blockIdx.x) * share;
    const unsigned int size = count - first < share ? static_cast<unsigned int>(count - first) : share;
    const float scale = BINS / (high - low);
    // Four times the error of a guess; at 1, no guess counts.
    const float near = high > low ? 1e-6f * (BINS + fabsf(low * scale)) : 1.0f;
    const auto add = [=](double value) {
        const int part = part_of(value, (static_cast<float>(value) - low) * scale, near, low, high);
        if (part >= 0) atomicAdd(&held[part], 1u);
    };
    unsigned int at = 0;
#ifndef WARPLOOM_CPU  // which computes neighbouring threads at once
    const float4* const fours = reinterpret_cast<const float4*>(static_cast<const float*>(x) + first);
    if ((type & (ELEMENT_FLOAT | ELEMENT_SIZE)) == (ELEMENT_FLOAT | 4u) && reinterpret_cast<size_t>(fours) % sizeof(float4) == 0) {
        for (; size - at >= 8 * THREADS; at += 8 * THREADS) {
            const float4 one = fours[at / 4 + thread], two = fours[at / 4 + THREADS + thread];
            add(one.x), add(one.y), add(one.z), add(one.w);
            add(two.x), add(two.y), add(two.z), add(two.w);
        }
    }
#endif
    by_reader(x, type, [&](auto number) {
        for (; size - at >= LOADS * THREADS; at += LOADS * THREADS) {
            double values[LOADS];
#pragma unroll
            for (int k = 0; k < LOADS; ++k) values[k] = number(first + at + k * THREADS + thread);
#pragma unroll
            for (int k = 0; k < LOADS; ++k) add(values[k]);
        }
        for (; at < size; at += THREADS)
            if (at + thread < size) add(number(first + at + thread));
    });
    __syncthreads();
    for (int bin = thread; bin < BINS; bin += THREADS)
        if (held[bin] != 0) atomicAdd(&counts[bin], held[bin]);
}
