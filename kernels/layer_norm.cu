// Normalises rows, for networks.
#include "elements.cuh"

constexpr int THREADS = 256;

// Returns, in each thread, the sum of all threads' numbers.
__device__ double sum_of_threads(double value) {
    __shared__ double sums[THREADS];
    const unsigned int thread = threadIdx.x;
    __syncthreads();  // the earlier sums may still be read
    sums[thread] = value;
    for (unsigned int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (thread < half) sums[thread] += sums[thread + half];
    }
    __syncthreads();
    return sums[0];
}

// Each thread block takes one row of `size` numbers of a type: (x - mean) / sqrt(variance + epsilon) * scale + bias.
// `scale` and `bias` hold an element per column; if null, they count as 1 and 0. Launched with 256 threads.
extern "C" __global__ void layer_norm(
    const void* __restrict__ x,
    const void* __restrict__ scale,
    const void* __restrict__ bias,
    void* __restrict__ out,
    unsigned int type,
    float epsilon,
    int size) {
    const size_t start = static_cast<size_t>(blockIdx.x) * size;
    double sum = 0.0;
    for (int i = threadIdx.x; i < size; i += THREADS) sum += number_at(x, type, start + i);
    const double mean = sum_of_threads(sum) / size;
    double squares = 0.0;
    for (int i = threadIdx.x; i < size; i += THREADS) {
        const double away = number_at(x, type, start + i) - mean;
        squares += away * away;
    }
    const double factor = 1.0 / sqrt(sum_of_threads(squares) / size + epsilon);
    for (int i = threadIdx.x; i < size; i += THREADS) {
        double value = (number_at(x, type, start + i) - mean) * factor;
        if (scale) value *= number_at(scale, type, i);
        if (bias) value += number_at(bias, type, i);
        put_number(out, type, start + i, value);
    }
}
