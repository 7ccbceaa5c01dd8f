// Kernels of the blocks in small_blocks.py.

extern "C" __global__ void bump(float* x, float amount, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += amount;
}

extern "C" __global__ void make(float* out, float value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = value;
}

extern "C" __global__ void make_four(float4* out, float value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = make_float4(value, value + 1, value + 2, value + 3);
}

extern "C" __global__ void pour(const float* x, float least, float* out, unsigned* counter, unsigned capacity, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] >= least) {
        unsigned place = atomicAdd(counter, 1u);
        if (place < capacity)
            out[place] = x[i];
    }
}

struct Pair {
    float first;
    unsigned second;
};

extern "C" __global__ void make_pairs(Pair* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = {0.5f * i, static_cast<unsigned>(i)};
}
