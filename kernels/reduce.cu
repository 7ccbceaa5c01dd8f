// Reductions. First each thread block reduces its share, then one thread block reduces their results; the order is always
// the same, and so is the sum.
#include "elements.cuh"

constexpr int THREADS = 256;

struct Sum {
    static __device__ double none() { return 0.0; }
    static __device__ double both(double a, double b) { return a + b; }
};

struct Largest {
    static __device__ double none() { return -__longlong_as_double(0x7FF0000000000000ll); }
    static __device__ double both(double a, double b) { return b > a || b != b ? b : a; }  // NaN stays, as in numpy
};

struct Smallest {
    static __device__ double none() { return __longlong_as_double(0x7FF0000000000000ll); }
    static __device__ double both(double a, double b) { return b < a || b != b ? b : a; }
};

// The result of one thread block, in its first thread.
template <typename Operation> __device__ double reduce_block(double value) {
    __shared__ double values[THREADS];
    values[threadIdx.x] = value;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            values[threadIdx.x] = Operation::both(values[threadIdx.x], values[threadIdx.x + half]);
    }
    return values[0];
}

template <typename Operation>
__device__ void reduce_share(const void* x, unsigned int type, double* parts, int count, int share) {
    const long long start = static_cast<long long>(blockIdx.x) * share;
    const long long end = min(start + share, static_cast<long long>(count));
    double value = Operation::none();
    for (long long i = start + threadIdx.x; i < end; i += THREADS)
        value = Operation::both(value, number_at(x, type, i));
    value = reduce_block<Operation>(value);
    if (threadIdx.x == 0) parts[blockIdx.x] = value;
}

template <typename Operation> __device__ void reduce_parts(const double* parts, float* out, int count) {
    double value = Operation::none();
    for (int i = threadIdx.x; i < count; i += THREADS) value = Operation::both(value, parts[i]);
    value = reduce_block<Operation>(value);
    if (threadIdx.x == 0) *out = static_cast<float>(value);
}

extern "C" __global__ void sum_share(const void* x, unsigned int type, double* parts, int count, int share) {
    reduce_share<Sum>(x, type, parts, count, share);
}

extern "C" __global__ void sum_parts(const double* parts, float* out, int count) { reduce_parts<Sum>(parts, out, count); }

extern "C" __global__ void largest_share(const void* x, unsigned int type, double* parts, int count, int share) {
    reduce_share<Largest>(x, type, parts, count, share);
}

extern "C" __global__ void largest_parts(const double* parts, float* out, int count) {
    reduce_parts<Largest>(parts, out, count);
}

extern "C" __global__ void smallest_share(const void* x, unsigned int type, double* parts, int count, int share) {
    reduce_share<Smallest>(x, type, parts, count, share);
}

extern "C" __global__ void smallest_parts(const double* parts, float* out, int count) {
    reduce_parts<Smallest>(parts, out, count);
}

// How many elements are not 0; `out` begins with 0.
extern "C" __global__ void count_true(const void* x, unsigned int type, unsigned int* out, int count) {
    __shared__ unsigned int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count && is_true(x, type, i)) atomicAdd(&found, 1u);
    __syncthreads();
    if (threadIdx.x == 0 && found > 0) atomicAdd(out, found);
}
