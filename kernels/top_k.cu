// The first k elements in an order, found without sorting the others: the code of the last of them is found digit by
// digit, and the elements up to it are collected in the order of their positions.
#include "codes.cuh"

constexpr int THREADS = 256, EACH = 8, TILE = THREADS * EACH;
constexpr int DIGIT = 11, DIGITS = 1 << DIGIT, SHARE = DIGITS / THREADS;

// The digits of a code known so far, and how many elements with these belong to the first k.
struct Last {
    unsigned long long code;
    unsigned int rank;
};

// The lowest bit of digit `number`, and the one above it; the first digit is the highest. Elements of few bytes have few.
__device__ inline int above(unsigned int type, int number) {
    return 8 * static_cast<int>(type & ELEMENT_SIZE) - number * DIGIT;
}
__device__ inline int below(unsigned int type, int number) { return max(above(type, number + 1), 0); }

template <typename Word, typename Code, typename Place>
__device__ inline void load_words(Code (&held)[EACH], const void* x, unsigned int count, Place place) {
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        if (place(k) < count) held[k] = static_cast<const Word*>(x)[place(k)];
}

template <typename Code, typename Place, typename Take>
__device__ inline void take_codes_of(const void* x, unsigned int type, bool descending, unsigned int count, Place place, Take take) {
    Code held[EACH];
    switch (type & ELEMENT_SIZE) {
        case 1: load_words<unsigned char>(held, x, count, place); break;
        case 2: load_words<unsigned short>(held, x, count, place); break;
        default: load_words<Code>(held, x, count, place);
    }
    const Coder<Code> code_of(type, true, descending);
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        if (place(k) < count) take(code_of(held[k]), k);
}

// Calls take(code, k) for element k of this thread, which is the element at place(k).
template <typename Place, typename Take>
__device__ inline void take_codes(const void* x, unsigned int type, bool descending, unsigned int count, Place place, Take take) {
    if ((type & ELEMENT_SIZE) == sizeof(unsigned long long))
        take_codes_of<unsigned long long>(x, type, descending, count, place, take);
    else
        take_codes_of<unsigned int>(x, type, descending, count, place, take);
}

// Counts the digits of elements whose digits before are those of the last one. A thread block counts some tiles.
extern "C" __global__ void __launch_bounds__(THREADS, 4) count_digits(
    const void* __restrict__ x, unsigned int type, bool descending, const Last* __restrict__ last,
    unsigned int* __restrict__ counts, int number, unsigned int tiles, unsigned int count) {
    __shared__ unsigned int found[DIGITS];
    const int high = above(type, number), low = below(type, number);
    if (high <= 0) return;
    const unsigned int thread = threadIdx.x;
    const unsigned long long known = number > 0 ? last->code >> high : 0;
    for (int i = thread; i < DIGITS; i += THREADS) found[i] = 0;
    __syncthreads();
    for (unsigned int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const auto place = [=](int k) { return tile * TILE + k * THREADS + thread; };
        take_codes(x, type, descending, count, place, [&](auto code, int) {
            if (number == 0 || code >> high == static_cast<decltype(code)>(known)) atomicAdd(&found[code >> low & (DIGITS - 1)], 1u);
        });
    }
    __syncthreads();
    for (int i = thread; i < DIGITS; i += THREADS)
        if (found[i] > 0) atomicAdd(&counts[i], found[i]);
}

// Finds the next digit of the last element, and clears the counts. One thread block.
extern "C" __global__ void __launch_bounds__(THREADS) choose_digit(
    Last* __restrict__ last, unsigned int* __restrict__ counts, unsigned int type, int number, unsigned int k) {
    __shared__ unsigned int sums[THREADS];
    if (above(type, number) <= 0) return;
    const int thread = threadIdx.x;
    const unsigned int rank = number > 0 ? last->rank : k;
    unsigned int own[SHARE], sum = 0, before = 0;
#pragma unroll
    for (int i = 0; i < SHARE; ++i) sum += own[i] = counts[thread * SHARE + i];
    sums[thread] = sum;
    __syncthreads();
    for (int i = 0; i < thread; ++i) before += sums[i];
#pragma unroll
    for (int i = 0; i < SHARE; ++i) {
        counts[thread * SHARE + i] = 0;
        if (before < rank && rank <= before + own[i]) {
            const unsigned long long digit = thread * SHARE + i;
            last->code = (number > 0 ? last->code : 0) | digit << below(type, number);
            last->rank = rank - before;
        }
        before += own[i];
    }
}

// 1 for a code before the last one, and 1 << 16 for an equal one, so that one number counts both.
template <typename Code> __device__ inline unsigned int mark_of(Code code, unsigned long long last) {
    const Code end = static_cast<Code>(last);
    return code < end ? 1u : code == end ? 1u << 16 : 0u;
}

// Counts the elements of each tile before the last one in the order, and those equal to it; shape [2, tiles].
extern "C" __global__ void __launch_bounds__(THREADS, 4) count_taken(
    const void* __restrict__ x, unsigned int type, bool descending, const Last* __restrict__ last,
    unsigned int* __restrict__ taken, unsigned int tiles, unsigned int count) {
    __shared__ unsigned int both;
    const unsigned int thread = threadIdx.x, tile = blockIdx.x;
    if (thread == 0) both = 0;
    __syncthreads();
    const unsigned long long end = last->code;
    unsigned int own = 0;
    take_codes(x, type, descending, count, [=](int k) { return tile * TILE + k * THREADS + thread; },
               [&](auto code, int) { own += mark_of(code, end); });
    if (own > 0) atomicAdd(&both, own);
    __syncthreads();
    if (thread == 0) {
        taken[tile] = both & 0xFFFFu;
        taken[tiles + tile] = both >> 16;
    }
}

// Collects the codes of the first k elements and their positions. `ends` are the running totals of `taken`.
extern "C" __global__ void __launch_bounds__(THREADS, 4) collect_taken(
    const void* __restrict__ x, unsigned int type, bool descending, const Last* __restrict__ last,
    const unsigned int* __restrict__ taken, const unsigned int* __restrict__ ends,
    unsigned long long* __restrict__ codes, unsigned int* __restrict__ positions, unsigned int tiles, unsigned int count) {
    __shared__ unsigned int sums[THREADS];
    const unsigned int thread = threadIdx.x, tile = blockIdx.x, rank = last->rank;
    const unsigned int less = taken[tile], equal = taken[tiles + tile];
    unsigned int less_before = ends[tile] - less, equal_before = ends[tiles + tile] - equal - ends[tiles - 1];
    if (less == 0 && (equal == 0 || equal_before >= rank)) return;
    const unsigned long long end = last->code;
    const auto place = [=](int k) { return tile * TILE + thread * EACH + k; };
    unsigned int own = 0;
    take_codes(x, type, descending, count, place,
               [&](auto code, int) { own += mark_of(code, end); });
    sums[thread] = own;
    __syncthreads();
    if (own == 0) return;
    for (unsigned int i = 0; i < thread; ++i) {
        less_before += sums[i] & 0xFFFFu;
        equal_before += sums[i] >> 16;
    }
    take_codes(x, type, descending, count, place, [&](auto code, int k) {
        const unsigned int mark = mark_of(code, end);
        if (mark == 1u || (mark > 1u && equal_before < rank)) {
            const unsigned int at = less_before + min(equal_before, rank);
            codes[at] = code;
            positions[at] = place(k);
        }
        less_before += mark & 0xFFFFu;
        equal_before += mark >> 16;
    });
}

// Puts the elements at these positions into an order. One thread per element.
extern "C" __global__ void take_first(
    const void* x,
    unsigned int type,
    const unsigned int* __restrict__ order,
    const unsigned int* __restrict__ found,
    void* out,
    unsigned int* __restrict__ positions,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const unsigned int position = found[order[i]];
    move_element(out, i, x, position, type);
    positions[i] = position;
}
