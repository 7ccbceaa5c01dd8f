// Random numbers by Philox. The counter consists of the number's place, the frame and the distribution; the key
// consists of the block's seed and the patch's. Each thread makes the numbers of one counter.
#include "frame.cuh"
#include "philox.cuh"

enum Distribution : unsigned int { UNIFORM, NORMAL, INTEGERS };

__device__ inline uint4 words_at(int place, const Frame* frame, bool changing, int seed, Distribution distribution) {
    const uint4 counter = {static_cast<unsigned int>(place), 0u, changing ? frame->index : 0u, distribution};
    return philox(counter, {static_cast<unsigned int>(seed), frame->seed});
}

// In [low, high), from the upper 24 bits of a word.
extern "C" __global__ void uniform_numbers(
    float* __restrict__ out, const Frame* __restrict__ frame, bool changing, int seed, float low, float high, int count) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x, first = 4 * thread;
    if (first >= count) return;
    const uint4 words = words_at(thread, frame, changing, seed, UNIFORM);
    const unsigned int word[4] = {words.x, words.y, words.z, words.w};
    const float range = __fadd_rn(high, -low);
    for (int i = 0; i < 4; ++i)
        if (first + i < count) out[first + i] = __fmaf_rn(range, uniform(word[i]), low);
}

extern "C" __global__ void normal_numbers(
    float* __restrict__ out,
    const Frame* __restrict__ frame,
    bool changing,
    int seed,
    float mean,
    float deviation,
    int count) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x, first = 4 * thread;
    if (first >= count) return;
    const uint4 words = words_at(thread, frame, changing, seed, NORMAL);
    const float2 a = normal_pair(words.x, words.y), b = normal_pair(words.z, words.w);
    const float number[4] = {a.x, a.y, b.x, b.y};
    for (int i = 0; i < 4; ++i)
        if (first + i < count) out[first + i] = __fmaf_rn(deviation, number[i], mean);
}

// In [low, high), from 64 bits per number, so that no number is more likely than another by more than 2^-32. For an
// empty range, the result is `low`.
extern "C" __global__ void whole_numbers(
    int* __restrict__ out, const Frame* __restrict__ frame, bool changing, int seed, int low, int high, int count) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x, first = 2 * thread;
    if (first >= count) return;
    const uint4 words = words_at(thread, frame, changing, seed, INTEGERS);
    const unsigned long long word[2] = {
        static_cast<unsigned long long>(words.x) << 32 | words.y, static_cast<unsigned long long>(words.z) << 32 | words.w};
    const unsigned int range = high > low ? static_cast<unsigned int>(high) - static_cast<unsigned int>(low) : 0u;
    for (int i = 0; i < 2; ++i)
        if (first + i < count)
            out[first + i] = static_cast<int>(static_cast<unsigned int>(low) + static_cast<unsigned int>(__umul64hi(word[i], range)));
}
