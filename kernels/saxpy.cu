// out = a * x + y, element by element.
extern "C" __global__ void saxpy(
    const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ out, float a, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    out[i] = a * x[i] + y[i];
}
