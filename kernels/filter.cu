// Filters with two poles, as a scan: a sample takes the two numbers that a filter keeps to a linear function of them,
// and such maps can be joined in any grouping. A thread has EACH samples, a thread block a tile of them: the maps of
// all tiles are joined first, then each tile is filtered from the numbers before it.
//
// The filters are those of R. Bristow-Johnson's cookbook, in the form of A. Simper (Solving the continuous SVF equations
// using trapezoidal integration, 2013), whose state stays meaningful while the frequency moves.
#include "live.cuh"

constexpr int THREADS = 32, EACH = 128, TILE = THREADS * EACH;

// (p, q) -> (a p + b q + u, c p + d q + v)
struct Map {
    double a, b, c, d, u, v;
};

__device__ inline Map then(const Map& first, const Map& next) {
    return {next.a * first.a + next.b * first.c,
            next.a * first.b + next.b * first.d,
            next.c * first.a + next.d * first.c,
            next.c * first.b + next.d * first.d,
            next.a * first.u + next.b * first.v + next.u,
            next.c * first.u + next.d * first.v + next.v};
}

// Returns the joined maps of all threads before this one, and leaves in `own` those up to this one.
__device__ Map scan_threads(Map& own) {
    __shared__ Map held[THREADS];
    const int thread = threadIdx.x;
    for (int step = 1; step < THREADS; step *= 2) {
        held[thread] = own;
        __syncthreads();
        if (thread >= step) own = then(held[thread - step], own);
        __syncthreads();
    }
    held[thread] = own;
    __syncthreads();
    const Map before = thread > 0 ? held[thread - 1] : Map{1, 0, 0, 1, 0, 0};
    __syncthreads();
    return before;
}

// What a filter keeps after a sample x is `next` with u x and v x; its output is by_p p + by_q q + by_x x.
struct Filter {
    Map next;
    double by_p, by_q, by_x;

    __device__ void keep(double& p, double& q, double x) const {
        const double before = p;
        p = next.a * p + (next.b * q + next.u * x);
        q = next.d * q + (next.c * before + next.v * x);
    }

    // The map of EACH samples that are 0.
    __device__ Map map() const {
        Map found = {next.a, next.b, next.c, next.d, 0, 0};
        for (int samples = 1; samples < EACH; samples *= 2) found = then(found, found);
        return found;
    }
};

// The filter at a sample; kinds are numbered as in blocks/synthesis/filter.py.
__device__ Filter filter_at(const Glide* state, int kind, int rate, int sample, int added) {
    const float part = way(sample, added);
    const double low = log2(static_cast<double>(state->from[0])), high = log2(static_cast<double>(state->to[0]));
    const double resonance = state->from[1] + part * (state->to[1] - state->from[1]);
    const double decibels = state->from[2] + part * (state->to[2] - state->from[2]);
    double sine, cosine;
    sincospi(fmin(exp2(low + part * (high - low)) / rate, 0.49), &sine, &cosine);
    const double size = exp10(decibels / 40), square = size * size, root = sqrt(size);
    const double g = sine / cosine * (kind == 6 ? 1 / root : kind == 7 ? root : 1);
    const double k = 1 / (kind == 5 ? resonance * size : resonance);
    const double a1 = 1 / (1 + g * (g + k)), a2 = g * a1, a3 = g * a2;
    // The output is this mixture of the sample, a band and what is low.
    const double of_x = kind == 0 || kind == 2 ? 0 : kind == 7 ? square : 1;
    const double of_band = kind == 0 ? 0 : kind == 2 ? k : kind == 4 ? -2 * k : kind == 5 ? k * (square - 1)
                         : kind == 6 ? k * (size - 1) : kind == 7 ? k * (1 - size) * size : -k;
    const double of_low = kind == 0 ? 1 : kind == 1 ? -1 : kind == 6 ? square - 1 : kind == 7 ? 1 - square : 0;
    return {{2 * a1 - 1, -2 * a2, 2 * a2, 1 - 2 * a3, 2 * a2, 2 * a3},
            of_band * a1 + of_low * a2,
            of_low * (1 - a3) - of_band * a2,
            of_x + of_band * a2 + of_low * a3};
}

// The place of a sample of a tile in shared memory; the gaps keep threads in different banks.
__device__ inline int place(int sample) { return sample + sample / EACH; }

// Reads the samples of a tile; beyond the end, they are 0.
__device__ inline void read_tile(float* held, const float* x, int start, int count) {
    for (int sample = threadIdx.x; sample < TILE; sample += THREADS)
        held[place(sample)] = start + sample < count ? x[start + sample] : 0.0f;
    __syncthreads();
}

// The map of this thread's samples.
__device__ inline Map map_samples(const Filter& filter, const float* held) {
    Map own = filter.map();
    for (int k = 0; k < EACH; ++k) filter.keep(own.u, own.v, held[place(threadIdx.x * EACH + k)]);
    return own;
}

// Writes the map of each tile. Channels are rows of `size` samples, of which the last ones are filtered.
extern "C" __global__ void __launch_bounds__(THREADS) map_tiles(
    const float* __restrict__ x, Map* __restrict__ maps, const Glide* __restrict__ state,
    const int* __restrict__ added, int live, int kind, int rate, int size, int tiles) {
    __shared__ float held[TILE + THREADS];
    const int news = new_samples(added, live, size);
    if (news == 0) return;
    const int channel = blockIdx.x / tiles, start = (blockIdx.x - channel * tiles) * TILE;
    if (start >= news) return;
    read_tile(held, x + static_cast<size_t>(channel) * size + (size - news), start, news);
    Map own = map_samples(filter_at(state, kind, rate, start + threadIdx.x * EACH, news), held);
    scan_threads(own);
    if (threadIdx.x == THREADS - 1) maps[blockIdx.x] = own;
}

// Writes what the filter keeps before each tile. A thread block has a channel.
extern "C" __global__ void __launch_bounds__(THREADS) scan_maps(
    const Map* __restrict__ maps, double2* __restrict__ starts, const double2* __restrict__ kept,
    const int* __restrict__ added, int live, int size, int tiles) {
    const int news = new_samples(added, live, size), count = (news + TILE - 1) / TILE;
    const int each = (count + THREADS - 1) / THREADS, first = threadIdx.x * each, last = min(first + each, count);
    const Map* own = maps + static_cast<size_t>(blockIdx.x) * tiles;
    double2* start = starts + static_cast<size_t>(blockIdx.x) * tiles;
    Map joined = {1, 0, 0, 1, 0, 0};
    for (int tile = first; tile < last; ++tile) joined = then(joined, own[tile]);
    Map before = scan_threads(joined);
    const double2 begin = live ? kept[blockIdx.x] : make_double2(0, 0);
    for (int tile = first; tile < last; ++tile) {
        start[tile] = make_double2(before.a * begin.x + before.b * begin.y + before.u,
                                   before.c * begin.x + before.d * begin.y + before.v);
        before = then(before, own[tile]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) filter_tiles(
    const float* __restrict__ x, float* __restrict__ out, const double2* __restrict__ starts,
    double2* __restrict__ kept, const Glide* __restrict__ state, const int* __restrict__ added, int live, int kind,
    int rate, int size, int tiles) {
    __shared__ float held[TILE + THREADS];
    const int news = new_samples(added, live, size);
    if (news == 0) return;
    const int channel = blockIdx.x / tiles, start = (blockIdx.x - channel * tiles) * TILE;
    if (start >= news) return;
    const size_t offset = static_cast<size_t>(channel) * size + (size - news);
    read_tile(held, x + offset, start, news);
    const int first = threadIdx.x * EACH;
    const Filter filter = filter_at(state, kind, rate, start + first, news);
    Map own = map_samples(filter, held);
    const Map before = scan_threads(own);
    const double2 begin = starts[blockIdx.x];
    double p = before.a * begin.x + before.b * begin.y + before.u;
    double q = before.c * begin.x + before.d * begin.y + before.v;
    for (int k = 0; k < EACH; ++k) {
        float& sample = held[place(first + k)];
        const double y = filter.by_p * p + (filter.by_q * q + filter.by_x * sample);
        filter.keep(p, q, sample);
        sample = static_cast<float>(y);
        if (live && start + first + k == news - 1)  // NaN must not stay
            kept[channel] = isfinite(p) && isfinite(q) ? make_double2(p, q) : make_double2(0, 0);
    }
    __syncthreads();
    for (int sample = threadIdx.x; sample < TILE && start + sample < news; sample += THREADS)
        out[offset + start + sample] = held[place(sample)];
}
