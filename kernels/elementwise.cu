// Fills f32 buffers. `count` is the number of elements.

extern "C" __global__ void fill(float* __restrict__ out, float value, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    out[i] = value;
}
