// Arithmetic on every element of f32 buffers. `count` is the number of elements.

extern "C" __global__ void add(
    const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    out[i] = x[i] + y[i];
}

extern "C" __global__ void multiply(
    const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    out[i] = x[i] * y[i];
}

extern "C" __global__ void scale_offset(
    const float* __restrict__ x, float* __restrict__ out, float scale, float offset, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    out[i] = scale * x[i] + offset;
}

extern "C" __global__ void fill(float* __restrict__ out, float value, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    out[i] = value;
}
