// Kernels that count their launches in out[0], and fail in a certain one.

extern "C" __global__ void far(float* out, float at)
{
    if (out[0]++ >= at)
        out[1000000000000ll] = 1;
}

extern "C" __global__ void askew(float* out, float at)
{
    if (out[0]++ >= at)
        *reinterpret_cast<float*>(reinterpret_cast<char*>(out) + 1) = 1;
}

extern "C" __global__ void endless(volatile float* out, float at)
{
    for (out[0] = out[0] + 1; out[0] > at;)
        out[1] = out[0];
}

extern "C" __global__ void asserting(float* out, float at)
{
    assert(out[0]++ < at);
}

extern "C" __global__ void trapping(float* out, float at)
{
    if (out[0]++ >= at)
        __trap();
}
