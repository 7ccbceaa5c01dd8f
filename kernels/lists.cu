// Elements that are picked from lists, and runs of equal elements in sorted ones. `ends[i]` is how many elements up to
// element i are picked, or begin a run.
#include "elements.cuh"
#include "extremes.cuh"

__device__ inline void put_zeros(void* out, unsigned int type, size_t i) {
    unsigned char* bytes = static_cast<unsigned char*>(out) + i * (type & ELEMENT_SIZE);
    for (unsigned int byte = 0; byte < (type & ELEMENT_SIZE); ++byte) bytes[byte] = 0;
}

__device__ inline bool is_picked(const unsigned int* ends, int i) { return ends[i] != (i ? ends[i - 1] : 0u); }

// Copies the picked elements to the front of `out`, and writes where they were; behind them are zeros. One thread per element.
extern "C" __global__ void pick(
    const void* x,
    unsigned int type,
    const unsigned int* __restrict__ ends,
    void* out,
    unsigned int* out_counter,
    unsigned int* positions,
    unsigned int* positions_counter,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    if (i == count - 1) *out_counter = *positions_counter = ends[i];
    if (static_cast<unsigned int>(i) >= ends[count - 1]) {
        put_zeros(out, type, i);
        positions[i] = 0;
    }
    if (!is_picked(ends, i)) return;
    const unsigned int at = ends[i] - 1u;
    move_element(out, at, x, i, type);
    positions[at] = static_cast<unsigned int>(i);
}

// True if two numbers are equal: -0 equals 0, and NaN itself.
__device__ inline bool is_equal(const void* x, unsigned int type, size_t a, size_t b) {
    if (!(type & ELEMENT_FLOAT)) return whole_at(x, type, a) == whole_at(x, type, b);
    const double left = number_at(x, type, a), right = number_at(x, type, b);
    return left == right || (left != left && right != right);
}

// Writes 1 for each element that differs from the one before it in the given order, and 0 for others. One thread per
// element.
extern "C" __global__ void mark_runs(
    const void* x,
    unsigned int type,
    const unsigned int* __restrict__ order,
    unsigned char* __restrict__ marks,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    marks[i] = i == 0 || !is_equal(x, type, order[i], order[i - 1]);
}

// Writes the first element of each run, with zeros behind them, and where each begins; one more begins at the end. One
// thread per element.
extern "C" __global__ void find_runs(
    const void* x,
    unsigned int type,
    const unsigned int* __restrict__ order,
    const unsigned int* __restrict__ ends,
    void* out,
    unsigned int* counter,
    unsigned int* starts,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    if (i == count - 1) {
        *counter = ends[i];
        starts[ends[i]] = static_cast<unsigned int>(count);
    }
    if (static_cast<unsigned int>(i) >= ends[count - 1]) put_zeros(out, type, i);
    if (!is_picked(ends, i)) return;
    const unsigned int at = ends[i] - 1u;
    move_element(out, at, x, order[i], type);
    starts[at] = static_cast<unsigned int>(i);
}

// Writes the length of each run, and zeros behind them. One thread for each that there may be.
extern "C" __global__ void measure_runs(
    const unsigned int* __restrict__ starts,
    const unsigned int* __restrict__ runs,
    unsigned int* __restrict__ lengths,
    unsigned int* counter,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    if (i == 0) *counter = *runs;
    lengths[i] = i < static_cast<int>(*runs) ? starts[i + 1] - starts[i] : 0;
}

// The operations, in the order of blocks/lists/reduce_by_key.py.
enum Operation { SUM, MEAN, SMALLEST, LARGEST };

__device__ inline double combined(int operation, double a, double b) {
    return operation == SMALLEST ? smaller(a, b) : operation == LARGEST ? larger(a, b) : a + b;
}

// Reduces x, in the given order, in pieces of `piece` elements. `heads` gets the result of the elements before the first
// run that begins in the piece, `totals` that of each such run within the piece. One thread per piece.
extern "C" __global__ void reduce_pieces(
    const void* x,
    unsigned int type,
    const unsigned int* __restrict__ order,
    const unsigned int* __restrict__ ends,
    double* __restrict__ heads,
    double* __restrict__ totals,
    int operation,
    int piece,
    int size,
    int count) {
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) return;
    const int first = p * piece, last = min(size, first + piece);
    double* target = heads + p;
    double total = 0.0;
    for (int i = first; i < last; ++i) {
        const double value = number_at(x, type, order[i]);
        if (is_picked(ends, i)) {
            if (i > first) *target = total;
            target = totals + ends[i] - 1;
            total = value;
        } else {
            total = i > first ? combined(operation, total, value) : value;
        }
    }
    *target = total;
}

// Adds to each run the heads of the pieces in which it goes on; behind the results are zeros. One thread for each run
// that there may be.
extern "C" __global__ void combine_pieces(
    const double* __restrict__ heads,
    const double* __restrict__ totals,
    const unsigned int* __restrict__ starts,
    const unsigned int* __restrict__ runs,
    float* __restrict__ out,
    unsigned int* counter,
    int operation,
    int piece,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    if (i == 0) *counter = *runs;
    if (i >= static_cast<int>(*runs)) {
        out[i] = 0.0f;
        return;
    }
    const int begin = static_cast<int>(starts[i]), end = static_cast<int>(starts[i + 1]);
    double total = totals[i];
    for (int p = begin / piece + 1; p <= (end - 1) / piece; ++p) total = combined(operation, total, heads[p]);
    out[i] = static_cast<float>(operation == MEAN ? total / (end - begin) : total);
}
