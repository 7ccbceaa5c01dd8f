// A sentinel's check: how many elements of a buffer are NaN, infinite or out of range, and which of them is first.
#include "elements.cuh"

// The most axes; a buffer with more is not checked.
constexpr int AXES = 8;
constexpr unsigned int CHECK_NAN = 1u, CHECK_INFINITY = 2u;
// The kinds of numbers; the kind of an element is the greatest kind of its numbers.
constexpr unsigned int SOUND = 0, OUTSIDE = 1, INFINITE = 2, NOT_A_NUMBER = 3;

// All zeros at the start of a frame. `first` is the complement of an index, so that it only grows. If a loop runs the
// check several times in a frame, all fields are about the first `turn`, counted from 1, with a wrong element.
struct Found {
    unsigned long long nans, infinities, outside, elements, first;
    double value;  // the first wrong number of the first wrong element
    unsigned long long turn, turns;
};

__device__ inline double infinity() { return __longlong_as_double(0x7FF0000000000000ll); }

struct Rule {
    unsigned int flags;
    double minimum, maximum;

    __device__ unsigned int kind(double value, bool has_range) const {
        if (value != value) return flags & CHECK_NAN ? NOT_A_NUMBER : SOUND;
        if (fabs(value) == infinity() && flags & CHECK_INFINITY) return INFINITE;
        return has_range && (value < minimum || value > maximum) ? OUTSIDE : SOUND;
    }
};

// The numbers in a buffer, whose type `number` and positions are only known at launch.
struct Buffer {
    const void* data;
    unsigned int bytes, number, numbers;  // of an element; `numbers` is 0 if they can't be checked
    unsigned long long sizes[AXES], strides[AXES];

    __device__ unsigned long long size() const {
        unsigned long long size = 1;
        for (int axis = 0; axis < AXES; ++axis) size *= sizes[axis];
        return size;
    }

    // The numbers of an element that the range is about: not the alpha of an image, which is usually 1 everywhere. An
    // image is a buffer with two axes whose elements have four numbers.
    __device__ unsigned int ranged() const {
        unsigned long long others = 1;
        for (int axis = 0; axis < AXES - 2; ++axis) others *= sizes[axis];
        return numbers == 4 && others == 1 && sizes[AXES - 2] > 1 ? 3 : numbers;
    }

    // True when elements are contiguous.
    __device__ bool is_dense() const {
        unsigned long long stride = 1;
        bool is_dense = true;
        for (int axis = AXES - 1; axis >= 0; --axis) {
            is_dense = is_dense && (sizes[axis] == 1 || strides[axis] == stride);
            stride *= sizes[axis];
        }
        return is_dense;
    }

    __device__ double at(unsigned long long element, unsigned int n, bool is_dense) const {
        unsigned long long place = is_dense ? element : 0;
        for (int axis = AXES - 1; axis >= 0 && !is_dense; --axis) {
            place += element % sizes[axis] * strides[axis];
            element /= sizes[axis];
        }
        return number_at(static_cast<const unsigned char*>(data) + place * bytes, number, n);
    }
};

// Whether any number of a thread's elements is outside `low` to `high`, for contiguous elements of `numbers` numbers
// each, or any of the numbers after the first `ranged` is not finite. After this quick check, few threads have to look
// closely.
template <unsigned int TYPE, typename Number>
__device__ __forceinline__ bool has_suspects(
    const void* data, unsigned int numbers, unsigned int ranged, unsigned long long first, unsigned long long count,
    unsigned long long step, Number low, Number high)
{
    unsigned int found = 0;
    for (unsigned long long i = first * numbers; i < count * numbers; i += step * numbers)
        for (unsigned int n = 0; n < numbers; ++n) {
            const Number value = static_cast<Number>(number_at(data, TYPE, i + n));  // exact: `Number` holds the type
            found += n < ranged ? !(value >= low && value <= high) : value - value != Number(0);
        }
    return found;
}

__device__ bool has_suspects(
    const Buffer& buffer, const Rule& rule, unsigned long long first, unsigned long long count, unsigned long long step)
{
    constexpr unsigned int F16 = 2 | ELEMENT_FLOAT, F32 = 4 | ELEMENT_FLOAT, F64 = 8 | ELEMENT_FLOAT;
    const unsigned int numbers = buffer.numbers, ranged = buffer.ranged();
    const double most = rule.flags & CHECK_INFINITY ? 1.7976931348623157e308 : infinity();
    const double low = max(rule.minimum, -most), high = min(rule.maximum, most);
    const float least = __double2float_ru(low), greatest = __double2float_rd(high);
    if (buffer.number == F32 && numbers == 1)  // the usual case; without an inner loop, a CPU takes half the time
        return has_suspects<F32>(buffer.data, 1, 1, first, count, step, least, greatest);
    switch (buffer.number) {
        case F16: return has_suspects<F16>(buffer.data, numbers, ranged, first, count, step, least, greatest);
        case F32: return has_suspects<F32>(buffer.data, numbers, ranged, first, count, step, least, greatest);
        case F64: return has_suspects<F64>(buffer.data, numbers, ranged, first, count, step, low, high);
        default: return true;
    }
}

// The buffer described by the parameters of a kernel below.
#define THE_BUFFER \
    {data, element & ELEMENT_SIZE, number, number ? (element & ELEMENT_SIZE) / (number & ELEMENT_SIZE) : 0, \
     {size0, size1, size2, size3, size4, size5, size6, size7}, \
     {stride0, stride1, stride2, stride3, stride4, stride5, stride6, stride7}}

// Each thread checks whole elements: `element` and `number` describe an element and the numbers in it; a `number` of 0
// can't be checked. With `live`, only the first `*live` elements count.
extern "C" __global__ void check_elements(
    const void* data, unsigned int element, unsigned int number,
    unsigned long long size0, unsigned long long size1, unsigned long long size2, unsigned long long size3,
    unsigned long long size4, unsigned long long size5, unsigned long long size6, unsigned long long size7,
    unsigned long long stride0, unsigned long long stride1, unsigned long long stride2, unsigned long long stride3,
    unsigned long long stride4, unsigned long long stride5, unsigned long long stride6, unsigned long long stride7,
    unsigned long long count, const unsigned int* live,
    unsigned int flags, double minimum, double maximum, Found* found)
{
    if (found->turn) return;  // an earlier turn of this frame has found a wrong element
    const Buffer buffer = THE_BUFFER;
    const Rule rule = {flags, minimum, maximum};
    if (!buffer.numbers || buffer.size() != count) count = 0;
    if (live) count = min(count, static_cast<unsigned long long>(*live));
    const unsigned long long start = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
    const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    if (start == 0) found->elements = count;
    if (!(number & ELEMENT_FLOAT) && minimum == -infinity() && maximum == infinity()) return;
    const bool is_dense = buffer.is_dense();
    if (is_dense && !has_suspects(buffer, rule, start, count, step)) return;
    const unsigned int ranged = buffer.ranged();
    unsigned long long nans = 0, infinities = 0, outside = 0, first = 0;
#pragma unroll 1
    for (unsigned long long i = start; i < count; i += step) {
        unsigned int worst = SOUND;
#pragma unroll 1
        for (unsigned int n = 0; n < buffer.numbers; ++n)
            worst = max(worst, rule.kind(buffer.at(i, n, is_dense), n < ranged));
        nans += worst == NOT_A_NUMBER;
        infinities += worst == INFINITE;
        outside += worst == OUTSIDE;
        if (worst != SOUND) first = max(first, ~i);
    }
    if (nans) atomicAdd(&found->nans, nans);
    if (infinities) atomicAdd(&found->infinities, infinities);
    if (outside) atomicAdd(&found->outside, outside);
    if (first > *static_cast<volatile unsigned long long*>(&found->first)) atomicMax(&found->first, first);
}

// Counts the turn, and looks up the first wrong number; run by one thread after the kernel above.
extern "C" __global__ void end_check(
    const void* data, unsigned int element, unsigned int number,
    unsigned long long size0, unsigned long long size1, unsigned long long size2, unsigned long long size3,
    unsigned long long size4, unsigned long long size5, unsigned long long size6, unsigned long long size7,
    unsigned long long stride0, unsigned long long stride1, unsigned long long stride2, unsigned long long stride3,
    unsigned long long stride4, unsigned long long stride5, unsigned long long stride6, unsigned long long stride7,
    unsigned int flags, double minimum, double maximum, Found* found)
{
    if (found->turn) return;
    ++found->turns;
    if (!found->first) return;
    const Buffer buffer = THE_BUFFER;
    const Rule rule = {flags, minimum, maximum};
    const bool is_dense = buffer.is_dense();
    found->turn = found->turns;
#pragma unroll 1
    for (unsigned int n = 0; n < buffer.numbers; ++n) {
        found->value = buffer.at(~found->first, n, is_dense);
        if (rule.kind(found->value, n < buffer.ranged()) != SOUND) return;
    }
}
