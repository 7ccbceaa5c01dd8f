// The codes of elements, and elements from codes: for sorting, and for running extremes. And the last steps of a sort of
// floats.
#include "codes.cuh"

__device__ inline void put_code(void* codes, int is_wide, size_t i, unsigned long long code) {
    if (is_wide)
        static_cast<unsigned long long*>(codes)[i] = code;
    else
        static_cast<unsigned int*>(codes)[i] = static_cast<unsigned int>(code);
}

// Writes the codes of elements, read as another type `as`, u64 if `is_wide` and else u32. With `positions`, which get 0,
// 1, 2 and so on, -0 has the code of 0, and all NaN have one code.
extern "C" __global__ void encode(
    const void* __restrict__ x,
    unsigned int type,
    unsigned int as,
    void* __restrict__ codes,
    int is_wide,
    int descending,
    unsigned int* __restrict__ positions,
    unsigned long long count) {
    const Coder<unsigned long long> code_of(as, positions, descending);
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < count; i += step) {
        put_code(codes, is_wide, i, code_of(whole_at(x, type & ELEMENT_SIZE, i)));
        if (positions) positions[i] = static_cast<unsigned int>(i);
    }
}

// Writes the elements that have these codes.
extern "C" __global__ void decode(
    const void* __restrict__ codes,
    int is_wide,
    void* __restrict__ out,
    unsigned int type,
    int descending,
    unsigned long long count) {
    const unsigned int bits = 8 * (type & ELEMENT_SIZE);
    const unsigned long long sign = 1ull << (bits - 1), all = ~0ull >> (64 - bits);
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < count; i += step) {
        unsigned long long code = whole_at(codes, is_wide ? 8 : 4, i);
        const bool is_float = type & ELEMENT_FLOAT, is_nan = is_float && code > infinity_code(type, sign);
        if (descending && !is_nan) code = ~code & all;
        if (is_float ? code & sign : type & ELEMENT_SIGNED)
            code ^= sign;
        else if (is_float)
            code = ~code & all;
        put_whole(out, type, i, code);
    }
}

// Where a list of floats, which is sorted but for NaN and the order of zeros, has its parts. In a list of ascending
// order, NaN with a sign come first, and others last; in one of descending order, the other way round.
struct Parts {
    unsigned long long starts[4];    // of numbers before 0, zeros, numbers after 0, and the NaN that come last
    unsigned long long first_zeros;  // the number of zeros that must come first: -0, or 0 if the order is descending
};

template <typename Word> struct Floats {
    Word sign, infinity;
    bool descending;

    __device__ Word* of(void* x) const { return static_cast<Word*>(x); }
    __device__ const Word* of(const void* x) const { return static_cast<const Word*>(x); }

    __device__ bool is_first(Word bits) const { return ((bits & sign) != 0) != descending; }

    // 0 for NaN that come first, or the number of the part.
    __device__ unsigned int part_of(Word bits) const {
        const Word magnitude = bits & ~sign;
        if (magnitude > infinity) return is_first(bits) ? 0 : 4;
        return magnitude == 0 ? 2 : is_first(bits) ? 1 : 3;
    }
};

template <typename Work> __device__ inline void by_width(int is_wide, int descending, Work work) {
    if (is_wide)
        work(Floats<unsigned long long>{1ull << 63, 0x7FFull << 52, descending != 0});
    else
        work(Floats<unsigned int>{1u << 31, 0xFFu << 23, descending != 0});
}

// Finds the starts of the parts, each with one warp, which compares 32 places in each turn.
extern "C" __global__ void find_parts(
    const void* x, int is_wide, int descending, Parts* parts, unsigned long long count) {
    const unsigned int part = threadIdx.x / 32 + 1, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) parts->first_zeros = 0;
    by_width(is_wide, descending, [=](auto floats) {
        unsigned long long low = 0, high = count;
        while (low < high) {
            const unsigned long long step = (high - low + 31) / 32, at = low + (lane + 1) * step - 1;
            const unsigned int before = __ballot_sync(~0u, at < high && floats.part_of(floats.of(x)[at]) < part);
            const unsigned int found = __popc(before);
            high = min(high, low + (found + 1) * step - 1);
            low += found * step;
        }
        if (lane == 0) parts->starts[part - 1] = low;
    });
}

extern "C" __global__ void count_zeros(
    const void* x, int is_wide, int descending, Parts* parts, unsigned long long count) {
    const unsigned long long first = parts->starts[1] + blockIdx.x * blockDim.x + threadIdx.x, end = parts->starts[2];
    by_width(is_wide, descending, [=](auto floats) {
        unsigned int found = 0;
        for (unsigned long long i = first; i < end; i += gridDim.x * blockDim.x) found += floats.is_first(floats.of(x)[i]);
        if (found != 0) atomicAdd(&parts->first_zeros, static_cast<unsigned long long>(found));
    });
}

// Reverses the list, and in the second launch all but the NaN that came first, if there are any: these are last then.
extern "C" __global__ void reverse(
    void* x, int is_wide, int descending, const Parts* parts, unsigned long long count, int is_second) {
    const unsigned long long nans = parts->starts[0], size = is_second ? count - nans : count;
    if (nans == 0) return;
    by_width(is_wide, descending, [=](auto floats) {
        for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < size / 2; i += gridDim.x * blockDim.x) {
            const auto moved = floats.of(x)[i];
            floats.of(x)[i] = floats.of(x)[size - 1 - i];
            floats.of(x)[size - 1 - i] = moved;
        }
    });
}

// Puts zeros in order, and takes the sign from NaN.
extern "C" __global__ void settle(void* x, int is_wide, int descending, const Parts* parts, unsigned long long count) {
    const unsigned long long nans = parts->starts[0], zeros = parts->starts[1] - nans;
    const unsigned long long others = parts->starts[2] - nans, last = parts->starts[3] - nans;
    const unsigned long long thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    by_width(is_wide, descending, [=](auto floats) {
        for (unsigned long long i = zeros + thread; i < others; i += threads)
            floats.of(x)[i] = (i - zeros < parts->first_zeros) != floats.descending ? floats.sign : 0;
        for (unsigned long long i = last + thread; i < count; i += threads) floats.of(x)[i] &= ~floats.sign;
    });
}
