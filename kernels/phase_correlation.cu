// How one image is moved against another: the peak of the correlation of their phases (Kuglin and Hines, "The phase
// correlation image alignment method", 1975), between pixels by the ratio of its two highest numbers (Foroosh, Zerubia
// and Berthod, "Extension of phase correlation to subpixel registration", 2002).
#include "warploom/color.h"

#define THREADS 256  // equals THREADS in phase_correlation.py
#define FULL_TURN 6.28318530718f

__device__ inline float hann(int place, int size) { return 0.5f - 0.5f * cosf((place + 0.5f) * (FULL_TURN / size)); }

// The luminances of both images, which fade to 0 at the border with `fade`. NaN and infinity are 0.
extern "C" __global__ void take_lights(
    const float4* __restrict__ a,
    const float4* __restrict__ b,
    float* __restrict__ lights_a,
    float* __restrict__ lights_b,
    int fade,
    int width,
    int columns,
    int rows) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    const size_t from = static_cast<size_t>(y) * width + x, i = static_cast<size_t>(y) * columns + x;
    const float weight = fade ? hann(x, columns) * hann(y, rows) : 1.0f;
    const float light_a = luminance(a[from]), light_b = luminance(b[from]);
    lights_a[i] = isfinite(light_a) ? light_a * weight : 0.0f;
    lights_b[i] = isfinite(light_b) ? light_b * weight : 0.0f;
}

// Sets `a` to conj(a) b, with magnitude 1 where it is not noise. The brightness of all, which the fading spreads to the
// next frequencies, says nothing about the movement.
extern "C" __global__ void compare_phases(
    float2* __restrict__ a, const float2* __restrict__ b, int fade, int frequencies, int columns, int rows) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= frequencies || y >= rows) return;
    const size_t i = static_cast<size_t>(y) * frequencies + x;
    const float2 p = a[i], q = b[i];
    const float2 cross = {p.x * q.x + p.y * q.y, p.x * q.y - p.y * q.x};
    const float2 whole = b[0];  // noise is in proportion to the light of the picture
    const float noise = 1e-11f * (whole.x * whole.x + whole.y * whole.y) / (static_cast<float>(columns) * rows) + 1e-37f;
    const float size = sqrtf(cross.x * cross.x + cross.y * cross.y) + noise;
    const bool is_brightness = x <= fade && (y <= fade || rows - y <= fade);
    const float factor = is_brightness ? 0.0f : 1.0f / size;
    a[i] = {cross.x * factor, cross.y * factor};
}

// The highest number of each thread block's share, and where it is; of equal ones, the first.
extern "C" __global__ void __launch_bounds__(THREADS) find_peaks(
    const float* __restrict__ surface, float* __restrict__ peaks, int* __restrict__ places, int count) {
    __shared__ float best[THREADS];
    __shared__ int at[THREADS];
    const int me = threadIdx.x;
    float highest = -1e30f;
    int place = 0;
    for (int i = blockIdx.x * THREADS + me; i < count; i += gridDim.x * THREADS) {
        if (surface[i] > highest) highest = surface[i], place = i;
    }
    best[me] = highest;
    at[me] = place;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (me >= half) continue;
        const int other = me + half;
        if (best[other] > best[me] || (best[other] == best[me] && at[other] < at[me])) {
            best[me] = best[other];
            at[me] = at[other];
        }
    }
    if (me == 0) peaks[blockIdx.x] = best[0], places[blockIdx.x] = at[0];
}

// The distance of the peak from its highest place, towards the higher neighbour.
__device__ inline float beyond(float before, float here, float after) {
    const float next = fmaxf(before, after);
    if (!(next > 0.0f) || !(here > 0.0f)) return 0.0f;
    return next / (next + here) * (after > before ? 1.0f : -1.0f);
}

// Run by a single thread: the peak of all shares, as a movement of at most half the size.
extern "C" __global__ void find_shift(
    const float* __restrict__ surface,
    const float* __restrict__ peaks,
    const int* __restrict__ places,
    float* __restrict__ shift,
    float* __restrict__ confidence,
    int shares,
    int columns,
    int rows) {
    float highest = -1e30f;
    int place = 0;
    for (int k = 0; k < shares; ++k) {
        if (peaks[k] > highest || (peaks[k] == highest && places[k] < place)) highest = peaks[k], place = places[k];
    }
    const int x = place % columns, y = place / columns;
    const float* row = surface + static_cast<size_t>(y) * columns;
    const size_t above = static_cast<size_t>((y + rows - 1) % rows) * columns + x;
    const size_t below = static_cast<size_t>((y + 1) % rows) * columns + x;
    const float across = x + beyond(row[(x + columns - 1) % columns], highest, row[(x + 1) % columns]);
    const float down = y + beyond(surface[above], highest, surface[below]);
    const bool is_found = highest > 0.0f;
    shift[0] = is_found ? across - (across > 0.5f * columns ? columns : 0) : 0.0f;
    shift[1] = is_found ? down - (down > 0.5f * rows ? rows : 0) : 0.0f;
    *confidence = is_found ? fminf(highest, 1.0f) : 0.0f;
}
