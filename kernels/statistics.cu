// Statistics of a buffer: its smallest and largest finite number, and how many are NaN or infinite.
#include "elements.cuh"

// Starts as zeros. Keys have the order of the numbers, and `low` is the complement of the smallest, so both only grow.
struct Survey {
    unsigned long long low, high, nans, infinities, numbers, ran;
};

__device__ inline unsigned long long order_key(double value) {
    const unsigned long long bits = static_cast<unsigned long long>(__double_as_longlong(value));
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

// A plain read first, since most threads have no larger value.
__device__ inline void raise(unsigned long long* place, unsigned long long key) {
    if (key > *static_cast<volatile unsigned long long*>(place)) atomicMax(place, key);
}

// `count` numbers of one scalar type; with `live`, only the first `*live` elements of `components` numbers each.
extern "C" __global__ void survey(
    const void* data,
    unsigned int type,
    unsigned long long count,
    const unsigned int* live,
    unsigned int components,
    Survey* found) {
    if (live) count = min(count, static_cast<unsigned long long>(*live) * components);
    const unsigned long long first = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
    const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    if (first == 0) {
        found->numbers = count;
        found->ran = 1;
    }
    unsigned long long low = 0, high = 0, nans = 0, infinities = 0;
    for (unsigned long long i = first; i < count; i += step) {
        unsigned long long key;
        if (type & ELEMENT_FLOAT) {
            const double value = number_at(data, type, i);
            if (!(fabs(value) < __longlong_as_double(0x7FF0000000000000ll))) {
                if (value != value) ++nans; else ++infinities;
                continue;
            }
            key = order_key(value);
        } else {
            key = whole_at(data, type, i);
            if (type & ELEMENT_SIGNED) key ^= 1ull << 63;
        }
        low = max(low, ~key);
        high = max(high, key);
    }
    raise(&found->low, low);
    raise(&found->high, high);
    if (nans) atomicAdd(&found->nans, nans);
    if (infinities) atomicAdd(&found->infinities, infinities);
}
