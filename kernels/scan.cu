// Running sums and products of floats, combined in f64 and always in the same order, which CUB doesn't promise: first
// the total of each tile of elements, then the totals before each tile, then the elements of each tile.
#include "elements.cuh"

constexpr int THREADS = 256, EACH = 16, TILE = THREADS * EACH;

__device__ inline double combined(int is_product, double a, double b) { return is_product ? a * b : a + b; }

// The place of an element of a tile in shared memory; the gaps keep threads in different banks.
__device__ inline int place(int element) { return element + element / EACH; }

// Reads a tile into shared memory; elements beyond the end change nothing.
__device__ inline void read_tile(
    double* held, const void* x, unsigned int type, int is_product, unsigned long long start, unsigned long long count) {
    for (int element = threadIdx.x; element < TILE; element += THREADS) {
        const unsigned long long i = start + element;
        held[place(element)] = i < count ? number_at(x, type, i) : is_product ? 1.0 : 0.0;
    }
    __syncthreads();
}

// Combines each element of a tile with all before it, and returns the total in each thread.
__device__ double scan_tile(double* held, int is_product) {
    __shared__ double totals[THREADS];
    const int thread = threadIdx.x, first = thread * EACH;
    double total = held[place(first)];
    for (int k = 1; k < EACH; ++k) held[place(first + k)] = total = combined(is_product, total, held[place(first + k)]);
    totals[thread] = total;
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2) {
        if (thread >= step) total = combined(is_product, totals[thread - step], total);
        __syncthreads();
        totals[thread] = total;
        __syncthreads();
    }
    if (thread > 0)
        for (int k = 0; k < EACH; ++k)
            held[place(first + k)] = combined(is_product, totals[thread - 1], held[place(first + k)]);
    total = totals[THREADS - 1];
    __syncthreads();
    return total;
}

// Writes the total of each tile. The thread blocks loop over the tiles.
extern "C" __global__ void total_tiles(
    const void* __restrict__ x, unsigned int type, double* __restrict__ totals, int is_product, unsigned long long count) {
    __shared__ double held[TILE + THREADS];
    for (unsigned long long tile = blockIdx.x; tile * TILE < count; tile += gridDim.x) {
        read_tile(held, x, type, is_product, tile * TILE, count);
        const double total = scan_tile(held, is_product);
        if (threadIdx.x == 0) totals[tile] = total;
    }
}

// Replaces each total by that of all tiles before it, and the first by that of none. Launched with one thread block.
extern "C" __global__ void scan_totals(double* totals, int is_product, unsigned long long count) {
    __shared__ double held[TILE + THREADS];
    double before = is_product ? 1.0 : 0.0;
    for (unsigned long long start = 0; start < count; start += TILE) {
        read_tile(held, totals, ELEMENT_FLOAT | 8, is_product, start, count);
        const double total = scan_tile(held, is_product);
        for (int element = threadIdx.x; element < TILE && start + element < count; element += THREADS)
            totals[start + element] = element ? combined(is_product, before, held[place(element - 1)]) : before;
        before = combined(is_product, before, total);
        __syncthreads();
    }
}

// Writes the running totals. The thread blocks loop over the tiles.
extern "C" __global__ void scan_tiles(
    const void* __restrict__ x,
    const double* __restrict__ totals,
    void* __restrict__ out,
    unsigned int type,
    int is_product,
    int exclusive,
    unsigned long long count) {
    __shared__ double held[TILE + THREADS];
    for (unsigned long long tile = blockIdx.x; tile * TILE < count; tile += gridDim.x) {
        read_tile(held, x, type, is_product, tile * TILE, count);
        scan_tile(held, is_product);
        for (int element = threadIdx.x; element < TILE; element += THREADS) {
            const unsigned long long i = tile * TILE + element;
            const int last = element - exclusive;  // the last element that counts, if it is in this tile
            if (i >= count) break;
            const double total = last < 0 ? totals[tile] : tile ? combined(is_product, totals[tile], held[place(last)]) : held[place(last)];
            put_number(out, type, i, total);
        }
        __syncthreads();
    }
}
