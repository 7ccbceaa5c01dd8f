// Sums of vectors by keys, always in the same order: entries are sorted by key, and those with the same key are added
// up. There are groups of `count` entries, `total` in all, with keys below `size`; other keys, such as -1, are ignored.
// The last group may have fewer entries. ELEMENT is the element type, and KEY the type of the keys.
#include "tensor.cuh"

#ifndef KEY
#define KEY int
#endif

using Number = NumberOf<ELEMENT>;

__device__ inline int key_of(const KEY* keys, size_t at, int size) {
    const KEY key = keys[at];
    return key >= 0 && key < size ? static_cast<int>(key) : -1;
}

// The entries of a share of a group: `first` up to `end`, counted in the group.
struct Share {
    int group, first, end;
};

__device__ inline Share share_of(int count, int share, long long total) {
    const int shares = (count + share - 1) / share, group = blockIdx.x / shares, part = blockIdx.x % shares;
    const long long there = total - static_cast<long long>(group) * count;
    return {group, part * share, static_cast<int>(min(there, static_cast<long long>(min(count, (part + 1) * share))))};
}

// A warp counts the keys of `share` entries: counts [groups, shares, size], which must be 0. Launched with 32 threads.
extern "C" __global__ void count_keys(
    const KEY* __restrict__ keys, int* counts, int count, int size, int share, long long total) {
    const Share own = share_of(count, share, total);
    int* counted = counts + static_cast<size_t>(blockIdx.x) * size;
    for (int first = own.first; first < own.end; first += 32) {
        const int at = first + threadIdx.x;
        const int key = at < own.end ? key_of(keys, static_cast<size_t>(own.group) * count + at, size) : -1;
        if (key >= 0) atomicAdd(counted + key, 1);
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
    int* __restrict__ vectors, int count, int size, int share, long long total, int per, int outer, int inner) {
    const Share own = share_of(count, share, total);
    const int lane = threadIdx.x;
    int* places = counts + static_cast<size_t>(blockIdx.x) * size;
    for (int first = own.first; first < own.end; first += 32) {
        const int at = first + lane;
        const int key = at < own.end ? key_of(keys, static_cast<size_t>(own.group) * count + at, size) : -1;
        const unsigned int peers = __match_any_sync(0xFFFFFFFFu, key);
        const int before = __popc(peers & ((1u << lane) - 1));
        const int place = key >= 0 ? places[key] : 0;
        __syncwarp();
        if (key >= 0) {
            const int start = starts[static_cast<size_t>(own.group) * (size + 1) + key];
            const size_t to = static_cast<size_t>(own.group) * count + start + place + before;
            sorted[to] = key;
            vectors[to] = at / per * outer + at % per * inner;
            if (peers >> lane == 1) places[key] = place + before + 1;
        }
        __syncwarp();
    }
}

// The place of a result, by group, front, key and column.
struct Places {
    long long group, front, key, column;
};

// A thread adds up COLUMNS columns, which lie THREADS apart; more than one only in thread blocks of THREADS. With
// IS_WHOLE, each thread has all of its columns.
#ifndef COLUMNS
#define COLUMNS 1
#define IS_WHOLE 0
#endif
constexpr int THREADS = 64, AHEAD = 8;

// A thread block adds up the vectors of `piece` entries in order; vector v of a group and a front begins at
// group * group_step + front * front_step + v * width. If all entries of a key lie in the piece, its sum is complete.
// Other sums go to parts [groups, fronts, pieces, 2, width]: first that of a key that continues from the piece before,
// then that of a key that continues in the next piece. All threads read the same keys and numbers.
extern "C" __global__ void sum_pieces(
    const ELEMENT* __restrict__ x, const int* __restrict__ starts, const int* __restrict__ sorted,
    const int* __restrict__ vectors, ELEMENT* __restrict__ out, Number* __restrict__ parts, int count, int size,
    int fronts, int width, int piece, int key_groups, long long group_step, long long front_step, long long out_group,
    long long out_front, long long out_key, long long out_column) {
    const int tile = blockDim.x * COLUMNS, tiles = (width + tile - 1) / tile, pieces = (count + piece - 1) / piece;
    const int number_of = blockIdx.x / tiles % pieces, front = blockIdx.x / tiles / pieces % fronts;
    const int group = blockIdx.x / tiles / pieces / fronts, column = blockIdx.x % tiles * tile + threadIdx.x;
    // A thread without columns goes on, so that those of a CPU stay together.
    const int there = IS_WHOLE ? COLUMNS : (width - column + THREADS - 1) / THREADS;
    const int key_group = key_groups == 1 ? 0 : group;
    const int* own_starts = starts + static_cast<size_t>(key_group) * (size + 1);
    const int* own_sorted = sorted + static_cast<size_t>(key_group) * count;
    const int* own_vectors = vectors + static_cast<size_t>(key_group) * count;
    const int begin = number_of * piece, end = min(own_starts[size], begin + piece);
    const ELEMENT* own = x + group * group_step + front * front_step + column;
    Number* own_parts = parts + ((static_cast<size_t>(group) * fronts + front) * pieces + number_of) * 2 * width + column;
    ELEMENT* target = out + group * out_group + front * out_front + column * out_column;
    int at = begin;
    while (at < end) {
        const int key = own_sorted[at], start = own_starts[key], after = own_starts[key + 1], stop = min(end, after);
        Number sum[COLUMNS] = {};
        for (; at < stop; at += AHEAD) {
            ELEMENT found[AHEAD][COLUMNS];
#pragma unroll
            for (int i = 0; i < AHEAD; ++i) {
                const bool is_there = at + i < stop;
                const ELEMENT* from = own + static_cast<size_t>(own_vectors[is_there ? at + i : at]) * width;
#pragma unroll
                for (int k = 0; k < COLUMNS; ++k) {
                    const ELEMENT value = k < there ? from[k * THREADS] : ELEMENT{};
                    found[i][k] = is_there ? value : ELEMENT{};
                }
            }
#pragma unroll
            for (int i = 0; i < AHEAD; ++i)
#pragma unroll
                for (int k = 0; k < COLUMNS; ++k) sum[k] += number(found[i][k]);
        }
        at = stop;
#pragma unroll
        for (int k = 0; k < COLUMNS; ++k) {
            if (k >= there) break;
            if (start < begin)
                own_parts[k * THREADS] = sum[k];
            else if (after > begin + piece)
                own_parts[width + k * THREADS] = sum[k];
            else if (out_column == 1)
                target[key * out_key + k * THREADS] = Stored<ELEMENT>::of(sum[k]);
            else
                target[key * out_key + k * THREADS * out_column] = Stored<ELEMENT>::of(sum[k]);
        }
    }
}

// A thread block completes a key's sums: 0 without entries, or the total of the parts from several pieces, and of
// `joined` groups. With several groups, complete sums are in `sums`, [groups, fronts, size, width]; without them, they
// are in their places already.
extern "C" __global__ void finish_pieces(
    const int* __restrict__ starts, const Number* __restrict__ parts, const ELEMENT* __restrict__ sums,
    ELEMENT* __restrict__ out, int joined, int count, int size, int fronts, int width, int piece, int key_groups,
    long long out_group, long long out_front, long long out_key, long long out_column) {
    const int tiles = (width + blockDim.x - 1) / blockDim.x, key = blockIdx.x / tiles % size;
    const int front = blockIdx.x / tiles / size % fronts, place = blockIdx.x / tiles / size / fronts;
    const int column = blockIdx.x % tiles * blockDim.x + threadIdx.x, pieces = (count + piece - 1) / piece;
    if (column >= width) return;
    Number total = 0;
    bool is_complete = false;
    for (int i = 0; i < joined; ++i) {
        const long long group = static_cast<long long>(place) * joined + i;
        const int* own_starts = starts + (key_groups == 1 ? 0 : group) * (size + 1);
        const int begin = own_starts[key], end = own_starts[key + 1], first = begin / piece, last = (end - 1) / piece;
        is_complete = begin < end && first == last;
        if (is_complete) {
            if (sums) total += number(sums[((group * fronts + front) * size + key) * width + column]);
        } else if (begin < end) {
            const Number* own = parts + ((group * fronts + front) * pieces + first) * 2 * width + column;
            total += own[width];
            for (int number_of = 1; number_of <= last - first; ++number_of)
                total += own[static_cast<size_t>(number_of) * 2 * width];
        }
    }
    if (is_complete && !sums) return;
    out[place * out_group + front * out_front + key * out_key + column * out_column] = Stored<ELEMENT>::of(total);
}
