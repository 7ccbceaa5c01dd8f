// Blends two images. The second may have another size: it lies at the top left, and its border pixels extend beyond it.
#include "vector.cuh"

extern "C" __global__ void mix(
    const float4* __restrict__ a,
    const float4* __restrict__ b,
    float4* __restrict__ out,
    float amount,
    int mode,
    int width,
    int height,
    int b_width,
    int b_height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const size_t i = static_cast<size_t>(y) * width + x;
    const float4 base = a[i];
    const float4 other = b[static_cast<size_t>(min(y, b_height - 1)) * b_width + min(x, b_width - 1)];
    float4 blended = other;  // mode 0
    if (mode == 1) blended = base + other;
    if (mode == 2) blended = {base.x * other.x, base.y * other.y, base.z * other.z, other.w};
    if (mode == 3) {  // screen
        blended = {
            base.x + other.x - base.x * other.x,
            base.y + other.y - base.y * other.y,
            base.z + other.z - base.z * other.z,
            other.w,
        };
    }
    if (mode == 4) {  // difference
        blended = {fabsf(base.x - other.x), fabsf(base.y - other.y), fabsf(base.z - other.z), other.w};
    }
    if (mode != 0) blended.w = base.w;
    out[i] = base + (blended - base) * amount;
}
