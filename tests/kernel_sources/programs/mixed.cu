// A program with host code of every kind around its kernels.
#include <cstdio>
#include <iostream>
#include <map>
#include <vector>

#include <cuda_runtime.h>
#include <helper_cuda.h>

#include "mixed.cuh"

#define CHECK(call) do { if ((call) != cudaSuccess) { fprintf(stderr, "failed\n"); exit(1); } } while (0)
#define BLOCK 64

__constant__ float taps[3];
__constant__ real gain = 0.5f;
__device__ unsigned int count;
__device__ unsigned int total = 5;  // state that the host neither sets nor reads
static __constant__ float table[2] = {10.0f, 20.0f};

typedef std::map<int, std::vector<float>> Results;
static Results results;

struct Image {
    std::vector<float> pixels;
    void print() { std::cout << pixels.size() << std::endl; }
};

float plus_table(float x, int i) { return x + table[i % 2]; }  // a helper without __device__

__device__ float tap(int i) { return taps[i] * gain; }

#ifdef NOT_DEFINED
__constant__ float ghost;
__global__ void never(float* out) { out[0] = ghost; }
#endif

// Weigh each element.
static __global__ void weigh(float* out, const float* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = plus_table(x[i] * tap(i % 3), i);
    atomicAdd(&count, 1u);
    atomicAdd(&total, 1u);
}

namespace shapes {
template <typename T, int N = 2>
__global__ void stretch(T* out, const T* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * T(N);
}
}  // namespace shapes

__global__ void place(float* out, Rule rule, float2 by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = rule.scale * i + rule.offset + by.x - by.y;
}

__global__ void place(int* out, int n)  // another one of the same name
{
    if (threadIdx.x == 0) out[0] = n;
}

template <typename T> void launch(T* out, const T* x, int n)
{
    constexpr int twice = 2 * SIDE;
    shapes::stretch<T, twice><<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(out, x, n);
}

int main(int argc, char** argv)
{
    Image image;
    float host[3] = {1, 2, 3}, *out, *x;
    CHECK(cudaMemcpyToSymbol(taps, host, sizeof(host)));
    CHECK(cudaMalloc(&out, 4));
    weigh<<<1, BLOCK>>>(out, x, 1);
    CHECK(cudaMemcpyFromSymbol(&argc, count, sizeof(count)));
    launch<float>(out, x, 1);
    launch((double*)0, (double*)0, 1);
    shapes::stretch<<<1, 1>>>((int*)out, (int*)x, 1);
    std::cout << "done" << std::endl;
    return 0;
}
