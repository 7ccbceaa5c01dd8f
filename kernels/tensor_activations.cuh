// Activation functions, equal to those in the table of element-wise operations.
#pragma once
#include "tensor.cuh"

template <typename N> __device__ inline N identity(N x) { return x; }
template <typename N> __device__ inline N relu(N x) { return x < 0 ? N(0) : x; }
template <typename N> __device__ inline N crelu(N x) { return x < 0 ? N(0) : x > 1 ? N(1) : x; }
template <typename N> __device__ inline N screlu(N x) { return crelu(x) * crelu(x); }
template <typename N> __device__ inline N sqr_relu(N x) { return relu(x) * relu(x); }
template <typename N> __device__ inline N sigmoid(N x) {
    const N small = exp(-fabs(x));
    return (x < 0 ? small : N(1)) / (small + 1);
}
