// Kernels on buffers of any element type: choices, and copies of elements to other places.
#include "elements.cuh"

// True when an axis has no gaps: two neighbouring positions are `dense` elements apart.
__device__ inline bool is_dense(unsigned int size, long long stride, long long dense) { return size == 1 || stride == dense; }

// Copies contiguous memory by N words for each thread; neighbouring threads copy neighbouring words.
template <typename Word, int N>
__device__ inline void copy_dense(
    const void* __restrict__ source, void* __restrict__ out, unsigned int thread, unsigned int threads, size_t bytes) {
    const size_t words = bytes / sizeof(Word);
    Word held[N];
#pragma unroll
    for (size_t k = 0, at = thread; k < N; ++k, at += threads)
        if (at < words) held[k] = static_cast<const Word*>(source)[at];
#pragma unroll
    for (size_t k = 0, at = thread; k < N; ++k, at += threads)
        if (at < words) static_cast<Word*>(out)[at] = held[k];
    const size_t rest = words * sizeof(Word) + thread;
    if (rest < bytes) static_cast<unsigned char*>(out)[rest] = static_cast<const unsigned char*>(source)[rest];
}

// Copies a strided buffer of up to four axes to a contiguous one; strides are in elements, and axis 0 is the
// last one. One thread for four elements.
extern "C" __global__ void copy_strided(
    const void* __restrict__ source,
    void* __restrict__ out,
    unsigned int type,
    unsigned int size2,
    unsigned int size1,
    unsigned int size0,
    long long stride3,
    long long stride2,
    long long stride1,
    long long stride0,
    unsigned int count) {
    const unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    const unsigned int rows = size0 * size1, planes = rows * size2, size = type & ELEMENT_SIZE;
    const bool has_gaps = !is_dense(size0, stride0, 1) || !is_dense(size1, stride1, size0) ||
                          !is_dense(size2, stride2, rows) || !is_dense(count / planes, stride3, planes);
    const bool is_aligned = (reinterpret_cast<size_t>(source) | reinterpret_cast<size_t>(out)) % sizeof(uint4) == 0;
    if (!has_gaps && is_aligned) {
        const size_t bytes = static_cast<size_t>(count) * size;
        switch (size) {
            case 1: return copy_dense<unsigned int, 1>(source, out, thread, threads, bytes);
            case 2: return copy_dense<uint2, 1>(source, out, thread, threads, bytes);
            case 4: return copy_dense<uint4, 1>(source, out, thread, threads, bytes);
            case 8: return copy_dense<uint4, 2>(source, out, thread, threads, bytes);
            case 16: return copy_dense<uint4, 4>(source, out, thread, threads, bytes);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const unsigned int i = thread + k * threads;
        if (i >= count) return;
        // Divisions cost more than everything else, so contiguous buffers are copied without them.
        long long from = i;
        if (has_gaps)
            from = i / planes * stride3 + i % planes / rows * stride2 + i % rows / size0 * stride1 + i % size0 * stride0;
        copy_element(static_cast<unsigned char*>(out) + static_cast<size_t>(i) * size, element_at(source, type, from), size);
    }
}

constexpr unsigned int EACH = 4;  // elements of a thread

// True if both addresses are multiples of an element's size, a power of two.
__device__ inline bool are_aligned(unsigned int size, const void* a, const void* b) {
    return ((reinterpret_cast<size_t>(a) | reinterpret_cast<size_t>(b)) & (size - 1)) == 0;
}

// Neighbours that are loaded and stored at once.
template <typename Word> struct alignas(EACH * sizeof(Word)) Neighbours {
    Word each[EACH];
};

// The places of a thread's elements, and work on each: neighbours, or a thread block's width apart, so that neighbouring
// threads have neighbours.
template <bool NEIGHBOURS, typename Work> __device__ inline void by_place(unsigned int count, Work work) {
    const unsigned int block = blockIdx.x * EACH * blockDim.x;
    const unsigned int first = NEIGHBOURS ? block + threadIdx.x * EACH : block + threadIdx.x;
#pragma unroll
    for (unsigned int k = 0, i = first; k < EACH; ++k, i += NEIGHBOURS ? 1 : blockDim.x)
        if (i < count) work(k, i);
}

// Whether each of a thread's elements is taken from `a`, by a condition whose elements are words, of which only the bits
// `counting` count.
template <bool NEIGHBOURS, typename Word>
__device__ inline void test_words(
    bool (&is_a)[EACH], const void* condition, unsigned long long counting, unsigned int first, unsigned int step,
    unsigned int count) {
    const Word* const words = static_cast<const Word*>(condition);
    const unsigned int four = blockIdx.x * blockDim.x + threadIdx.x;
    if (NEIGHBOURS && step == 1 && four < count / EACH && are_aligned(EACH * sizeof(Word), words + first, words + first)) {
        const Neighbours<Word> held = reinterpret_cast<const Neighbours<Word>*>(words + first)[four];
#pragma unroll
        for (unsigned int k = 0; k < EACH; ++k) is_a[k] = (held.each[k] & static_cast<Word>(counting)) != 0;
        return;
    }
    by_place<NEIGHBOURS>(count, [&](unsigned int k, unsigned int i) {
        is_a[k] = (words[first + i * step] & static_cast<Word>(counting)) != 0;
    });
}

template <bool NEIGHBOURS, typename Word>
__device__ inline void choose_words(const bool (&is_a)[EACH], const void* a, const void* b, void* out, unsigned int count) {
    const unsigned int four = blockIdx.x * blockDim.x + threadIdx.x;
    if (NEIGHBOURS && four < count / EACH) {
        Neighbours<Word> held{}, from_b{};
        if (is_a[0] || is_a[1] || is_a[2] || is_a[3]) held = static_cast<const Neighbours<Word>*>(a)[four];
        if (!(is_a[0] && is_a[1] && is_a[2] && is_a[3])) from_b = static_cast<const Neighbours<Word>*>(b)[four];
#pragma unroll
        for (unsigned int k = 0; k < EACH; ++k)
            if (!is_a[k]) held.each[k] = from_b.each[k];
        static_cast<Neighbours<Word>*>(out)[four] = held;
        return;
    }
    Word held[EACH];
    by_place<NEIGHBOURS>(count, [&](unsigned int k, unsigned int i) { held[k] = static_cast<const Word*>(is_a[k] ? a : b)[i]; });
    by_place<NEIGHBOURS>(count, [&](unsigned int k, unsigned int i) { static_cast<Word*>(out)[i] = held[k]; });
}

template <bool NEIGHBOURS>
__device__ inline void choose_each(
    const void* condition, unsigned int condition_type, unsigned int first, unsigned int step, const void* a,
    const void* b, void* out, unsigned int type, unsigned int count) {
    const unsigned int size = type & ELEMENT_SIZE, condition_size = condition_type & ELEMENT_SIZE;
    const unsigned long long counting = without_signs(condition_type);
    bool is_a[EACH] = {};
    switch (are_aligned(condition_size, condition, condition) ? condition_size : 0) {
        case 1: test_words<NEIGHBOURS, unsigned char>(is_a, condition, counting, first, step, count); break;
        case 2: test_words<NEIGHBOURS, unsigned short>(is_a, condition, counting, first, step, count); break;
        case 4: test_words<NEIGHBOURS, unsigned int>(is_a, condition, counting, first, step, count); break;
        case 8: test_words<NEIGHBOURS, unsigned long long>(is_a, condition, counting, first, step, count); break;
        default:
            by_place<NEIGHBOURS>(count, [&](unsigned int k, unsigned int i) {
                is_a[k] = is_true(condition, condition_type, first + i * step);
            });
    }
    switch (are_aligned(size, a, b) && are_aligned(size, a, out) ? size : 0) {
        case 1: return choose_words<NEIGHBOURS, unsigned char>(is_a, a, b, out, count);
        case 2: return choose_words<NEIGHBOURS, unsigned short>(is_a, a, b, out, count);
        case 4: return choose_words<NEIGHBOURS, unsigned int>(is_a, a, b, out, count);
        case 8: return choose_words<false, uint2>(is_a, a, b, out, count);  // never neighbours
        case 16: return choose_words<false, uint4>(is_a, a, b, out, count);
    }
    by_place<NEIGHBOURS>(count, [&](unsigned int k, unsigned int i) {
        copy_element(static_cast<unsigned char*>(out) + static_cast<size_t>(i) * size, element_at(is_a[k] ? a : b, type, i), size);
    });
}

// out[i] = a[i] where element `first` + i * `step` of the condition isn't 0, else b[i].
extern "C" __global__ void choose(
    const void* __restrict__ condition,
    unsigned int condition_type,
    unsigned int first,
    unsigned int step,
    const void* __restrict__ a,
    const void* __restrict__ b,
    void* __restrict__ out,
    unsigned int type,
    unsigned int count) {
#ifndef WARPLOOM_CPU  // which computes neighbouring threads at once
    const unsigned int size = type & ELEMENT_SIZE;
    if (size <= 4 && (size & (size - 1)) == 0 && are_aligned(EACH * size, a, b) && are_aligned(EACH * size, a, out))
        return choose_each<true>(condition, condition_type, first, step, a, b, out, type, count);
#endif
    choose_each<false>(condition, condition_type, first, step, a, b, out, type, count);
}

template <typename Word, typename Place>
__device__ inline void move_words(Place place, const void* x, void* out, unsigned int count) {
    const unsigned int first = blockIdx.x * EACH * blockDim.x + threadIdx.x;
    Word held[EACH];
#pragma unroll
    for (unsigned int k = 0, i = first; k < EACH; ++k, i += blockDim.x)
        if (i < count) held[k] = static_cast<const Word*>(x)[i];
#pragma unroll
    for (unsigned int k = 0, i = first; k < EACH; ++k, i += blockDim.x)
        if (i < count) static_cast<Word*>(out)[place(i)] = held[k];
}

// Copies each element i to place(i).
template <typename Place>
__device__ inline void move_elements(Place place, const void* x, void* out, unsigned int type, unsigned int count) {
    const unsigned int size = type & ELEMENT_SIZE;
    switch (are_aligned(size, x, out) ? size : 0) {
        case 1: return move_words<unsigned char>(place, x, out, count);
        case 2: return move_words<unsigned short>(place, x, out, count);
        case 4: return move_words<unsigned int>(place, x, out, count);
        case 8: return move_words<uint2>(place, x, out, count);
        case 16: return move_words<uint4>(place, x, out, count);
    }
    for (unsigned int k = 0, i = blockIdx.x * EACH * blockDim.x + threadIdx.x; k < EACH; ++k, i += blockDim.x)
        if (i < count)
            copy_element(static_cast<unsigned char*>(out) + place(i) * size, element_at(x, type, i), size);
}

// Copies rows of `width` elements to the places of a larger buffer where they begin: `start` in each row of `pitch`
// elements.
extern "C" __global__ void copy_rows(
    const void* __restrict__ x,
    void* __restrict__ out,
    unsigned int type,
    unsigned int width,
    unsigned int pitch,
    unsigned int start,
    unsigned int count) {
    const auto place = [=](unsigned int i) -> size_t {
        if (count <= width) return static_cast<size_t>(start) + i;  // divisions cost most
        return static_cast<size_t>(i / width) * pitch + start + i % width;
    };
    move_elements(place, x, out, type, count);
}

// Rotates each of the last three axes, so that position 0 moves by a number of positions; axis 0 is the last axis.
extern "C" __global__ void turn_axes(
    const void* __restrict__ x,
    void* __restrict__ out,
    unsigned int type,
    unsigned int size2,
    unsigned int size1,
    unsigned int size0,
    unsigned int turn2,
    unsigned int turn1,
    unsigned int turn0,
    unsigned int count) {
    const auto place = [=](unsigned int i) {
        // Divisions cost more than everything else, and most buffers have few axes.
        const unsigned int row = count > size0 ? i / size0 : 0, plane = count > size0 * size1 ? row / size1 : 0;
        const unsigned int block = count > size0 * size1 * size2 ? plane / size2 : 0;
        const unsigned int x0 = i - row * size0 + turn0, x1 = row - plane * size1 + turn1;
        const unsigned int x2 = plane - block * size2 + turn2;
        const size_t to_plane = static_cast<size_t>(block) * size2 + (x2 < size2 ? x2 : x2 - size2);
        const size_t to_row = to_plane * size1 + (x1 < size1 ? x1 : x1 - size1);
        return to_row * size0 + (x0 < size0 ? x0 : x0 - size0);
    };
    move_elements(place, x, out, type, count);
}

// A component of each vector of floats, or with `part` 4 its length; 0 if the vector has no such component.
extern "C" __global__ void take_component(
    const float* __restrict__ x, unsigned int type, float* __restrict__ out, int part, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int parts = static_cast<int>(type & ELEMENT_SIZE) / 4;
    const float* vector = x + static_cast<size_t>(i) * parts;
    float found = part < parts ? vector[part] : 0.0f;
    if (part == 4) {
        float square = 0.0f;
        for (int k = 0; k < parts; ++k) square += vector[k] * vector[k];
        found = sqrtf(square);
    }
    out[i] = found;
}
