// Batches: other rows of a data set in each run; every row is used once before any is used again.
#include "elements.cuh"
#include "frame.cuh"
#include "warploom/random.h"

// A permutation of [0, count) that a key determines: a Feistel network over the next power of 4, repeated until the
// result is in the range.
__device__ inline unsigned int permuted(unsigned int place, unsigned int count, unsigned int key) {
    unsigned int half = 1;
    while (half < 16 && (1ull << 2 * half) < count) ++half;
    const unsigned int mask = (1u << half) - 1;
    do {
        unsigned int left = place >> half, right = place & mask;
        for (unsigned int turn = 0; turn < 4; ++turn) {
            const unsigned int next = left ^ (hash(right ^ hash(key + turn)) & mask);
            left = right;
            right = next;
        }
        place = left << half | right;
    } while (place >= count);
    return place;
}

extern "C" __global__ void take_rows(
    const void* __restrict__ source,
    void* __restrict__ batch,
    unsigned int type,
    const unsigned long long* __restrict__ taken_before,
    const Frame* __restrict__ frame,
    bool is_shuffled,
    unsigned int seed,
    unsigned int rows,
    int size,
    int columns) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= static_cast<long long>(size) * columns) return;
    const unsigned long long taken = *taken_before + i / columns;
    const unsigned int round = static_cast<unsigned int>(taken / rows), place = static_cast<unsigned int>(taken % rows);
    const unsigned int row = is_shuffled ? permuted(place, rows, hash(round ^ hash(seed ^ frame->seed))) : place;
    move_element(batch, i, source, static_cast<size_t>(row) * columns + i % columns, type);
}

extern "C" __global__ void count_rows(unsigned long long* taken, int size) { *taken += size; }
