// Sums of vectors by keys, always in the same order: entries are sorted by key, and those with the same key are added
// up. There are groups of `count` entries with keys below `size`; other keys, such as -1, are ignored. ELEMENT is the
// element type, and KEY the type of the keys.
#include "tensor.cuh"

#ifndef KEY
#define KEY int
#endif

using Number = NumberOf<ELEMENT>;

// The number of lower lanes with the same key, and whether this lane is the last one with the key.
__device__ inline void find_peers(int key, int lane, int& before, bool& is_last, int& peers) {
    before = peers = 0;
    for (int other = 0; other < 32; ++other) {
        const bool is_same = __shfl_sync(0xFFFFFFFFu, key, other) == key;
        before += is_same && other < lane;
        peers += is_same;
    }
    is_last = before == peers - 1;
}

__device__ inline int key_of(const KEY* keys, size_t at, int size) {
    const KEY key = keys[at];
    return key >= 0 && key < size ? static_cast<int>(key) : -1;
}

// A warp counts the keys of `share` entries: counts [groups, shares, size], which must be 0. Launched with 32 threads.
extern "C" __global__ void count_keys(const KEY* __restrict__ keys, int* counts, int count, int size, int share) {
    const int shares = (count + share - 1) / share, group = blockIdx.x / shares, part = blockIdx.x % shares;
    const int lane = threadIdx.x, end = min(count, (part + 1) * share);
    int* own = counts + static_cast<size_t>(blockIdx.x) * size;
    for (int first = part * share; first < end; first += 32) {
        const int at = first + lane;
        const int key = at < end ? key_of(keys, static_cast<size_t>(group) * count + at, size) : -1;
        if (key >= 0) atomicAdd(own + key, 1);
    }
}

// Each thread replaces the counts of a key by the number of its entries before each share. Their total goes to starts
// [groups, size + 1].
extern "C" __global__ void add_shares(int* __restrict__ counts, int* __restrict__ starts, int groups, int size, int shares) {
    const size_t at = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x, group = at / size;
    const int key = at - group * size;
    if (group >= groups) return;
    int* own = counts + group * shares * size + key;
    int sum = 0, part = 0;
    for (; part + 8 <= shares; part += 8) {
        int found[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) found[i] = own[static_cast<size_t>(part + i) * size];
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            own[static_cast<size_t>(part + i) * size] = sum;
            sum += found[i];
        }
    }
    for (; part < shares; ++part) {
        const int found = own[static_cast<size_t>(part) * size];
        own[static_cast<size_t>(part) * size] = sum;
        sum += found;
    }
    starts[group * (size + 1) + key] = sum;
}

// A warp turns the number of entries of each key in a group into the key's first entry. Launched with 32 threads.
extern "C" __global__ void add_keys(int* starts, int size) {
    int* own = starts + static_cast<size_t>(blockIdx.x) * (size + 1);
    const int lane = threadIdx.x;
    int before = 0;
    for (int first = 0; first < size; first += 32) {
        const int at = first + lane, found = at < size ? own[at] : 0;
        int sum = found;
        for (int away = 1; away < 32; away *= 2) {
            const int other = __shfl_up_sync(0xFFFFFFFFu, sum, away);
            if (lane >= away) sum += other;
        }
        if (at < size) own[at] = before + sum - found;
        before += __shfl_sync(0xFFFFFFFFu, sum, 31);
    }
    if (lane == 0) own[size] = before;
}

// A warp puts `share` entries into their places, [groups, count]: their keys, and the numbers of their vectors, which
// are e / per * outer + e % per * inner for entry e. Launched with 32 threads.
extern "C" __global__ void place_entries(
    const KEY* __restrict__ keys, int* counts, const int* __restrict__ starts, int* __restrict__ sorted,
    int* __restrict__ vectors, int count, int size, int share, int per, int outer, int inner) {
    const int shares = (count + share - 1) / share, group = blockIdx.x / shares, part = blockIdx.x % shares;
    const int lane = threadIdx.x, end = min(count, (part + 1) * share);
    int* own = counts + static_cast<size_t>(blockIdx.x) * size;
    for (int first = part * share; first < end; first += 32) {
        const int at = first + lane;
        const int key = at < end ? key_of(keys, static_cast<size_t>(group) * count + at, size) : -1;
        int before, peers;
        bool is_last;
        find_peers(key, lane, before, is_last, peers);
        const int place = key >= 0 ? own[key] : 0;
        __syncwarp();
        if (key >= 0) {
            const size_t to = static_cast<size_t>(group) * count + starts[static_cast<size_t>(group) * (size + 1) + key] + place + before;
            sorted[to] = key;
            vectors[to] = at / per * outer + at % per * inner;
            if (is_last) own[key] = place + peers;
        }
        __syncwarp();
    }
}

// The place of a result, by group, front, key and column.
struct Places {
    long long group, front, key, column;
};

// Each thread adds up COUNT columns of the vectors of `piece` entries in order; vector v of a group and a front begins
// at group * group_step + front * front_step + v * width. If all entries of a key lie in the piece, its sum is
// complete. Other sums go to parts [groups, fronts, pieces, 2, width]: first that of a key that continues from the
// piece before, then that of a key that continues in the next piece.
template <int COUNT>
__device__ void sum_columns(
    const ELEMENT* __restrict__ x, const int* __restrict__ starts, const int* __restrict__ sorted,
    const int* __restrict__ vectors, ELEMENT* __restrict__ out, Number* __restrict__ parts, int count, int size,
    int fronts, int width, int piece, int key_groups, long long group_step, long long front_step, Places to) {
    constexpr int AHEAD = 8;
    const int threads = width / COUNT, tiles = (threads + blockDim.x - 1) / blockDim.x;
    const int pieces = (count + piece - 1) / piece, thread = blockIdx.x % tiles * blockDim.x + threadIdx.x;
    const int number_of = blockIdx.x / tiles % pieces;
    const int front = blockIdx.x / tiles / pieces % fronts, group = blockIdx.x / tiles / pieces / fronts;
    if (thread >= threads) return;
    const int column = thread * COUNT, key_group = key_groups == 1 ? 0 : group;
    const int* own_starts = starts + static_cast<size_t>(key_group) * (size + 1);
    const int* own_sorted = sorted + static_cast<size_t>(key_group) * count;
    const int* own_vectors = vectors + static_cast<size_t>(key_group) * count;
    const int begin = number_of * piece, end = min(own_starts[size], begin + piece);
    const ELEMENT* own = x + group * group_step + front * front_step + column;
    Number* own_parts = parts + ((static_cast<size_t>(group) * fronts + front) * pieces + number_of) * 2 * width + column;
    ELEMENT* target = out + group * to.group + front * to.front + column * to.column;
    int at = begin;
    while (at < end) {
        const int key = own_sorted[at], stop = min(end, own_starts[key + 1]);
        Number sum[COUNT] = {};
        for (; at + AHEAD <= stop; at += AHEAD) {
            Several<ELEMENT, COUNT> found[AHEAD];
#pragma unroll
            for (int i = 0; i < AHEAD; ++i)
                found[i] = load_several<ELEMENT, COUNT>(own + static_cast<size_t>(own_vectors[at + i]) * width);
#pragma unroll
            for (int i = 0; i < AHEAD; ++i)
#pragma unroll
                for (int k = 0; k < COUNT; ++k) sum[k] += number(found[i].at[k]);
        }
        for (; at < stop; ++at) {
            const ELEMENT* found = own + static_cast<size_t>(own_vectors[at]) * width;
#pragma unroll
            for (int k = 0; k < COUNT; ++k) sum[k] += number(found[k]);
        }
        const bool is_continued = own_starts[key] < begin, goes_on = own_starts[key + 1] > begin + piece;
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            if (is_continued)
                own_parts[k] = sum[k];
            else if (goes_on)
                own_parts[width + k] = sum[k];
            else
                target[key * to.key + k * to.column] = Stored<ELEMENT>::of(sum[k]);
        }
    }
}

extern "C" __global__ void sum_pieces(
    const ELEMENT* __restrict__ x, const int* __restrict__ starts, const int* __restrict__ sorted,
    const int* __restrict__ vectors, ELEMENT* __restrict__ out, Number* __restrict__ parts, int count, int size,
    int fronts, int width, int piece, int key_groups, long long group_step, long long front_step, long long out_group,
    long long out_front, long long out_key, long long out_column) {
    const Places to = {out_group, out_front, out_key, out_column};
    sum_columns<1>(x, starts, sorted, vectors, out, parts, count, size, fronts, width, piece, key_groups, group_step,
                   front_step, to);
}

// For a width that is a multiple of 4.
extern "C" __global__ void sum_pieces_by_four(
    const ELEMENT* __restrict__ x, const int* __restrict__ starts, const int* __restrict__ sorted,
    const int* __restrict__ vectors, ELEMENT* __restrict__ out, Number* __restrict__ parts, int count, int size,
    int fronts, int width, int piece, int key_groups, long long group_step, long long front_step, long long out_group,
    long long out_front, long long out_key, long long out_column) {
    const Places to = {out_group, out_front, out_key, out_column};
    sum_columns<4>(x, starts, sorted, vectors, out, parts, count, size, fronts, width, piece, key_groups, group_step,
                   front_step, to);
}

// Each thread completes a key's sum in one column: 0 without entries, or the total of the parts from several pieces.
extern "C" __global__ void finish_pieces(
    const int* __restrict__ starts, const Number* __restrict__ parts, ELEMENT* __restrict__ out, int groups, int count,
    int size, int fronts, int width, int piece, int key_groups, long long out_group, long long out_front,
    long long out_key, long long out_column) {
    const long long at = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    const int column = at % width, key = at / width % size, front = at / width / size % fronts;
    const long long group = at / width / size / fronts;
    if (group >= groups) return;
    const int* own_starts = starts + (key_groups == 1 ? 0 : group) * (size + 1);
    const int begin = own_starts[key], end = own_starts[key + 1], pieces = (count + piece - 1) / piece;
    Number sum = 0;
    if (begin < end) {
        const int first = begin / piece, last = (end - 1) / piece;
        if (first == last) return;
        const Number* own = parts + ((group * fronts + front) * pieces) * 2 * width + column;
        sum = own[(static_cast<size_t>(first) * 2 + 1) * width];
        for (int number_of = first + 1; number_of <= last; ++number_of)
            sum += own[static_cast<size_t>(number_of) * 2 * width];
    }
    out[group * out_group + front * out_front + key * out_key + column * out_column] = Stored<ELEMENT>::of(sum);
}
