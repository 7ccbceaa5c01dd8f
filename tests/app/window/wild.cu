// Writes `reach` elements behind its buffer.
extern "C" __global__ void write_wildly(float* out, int reach) {
    out[threadIdx.x + reach] = 1.0f;
}
