// Escape-time fractals, a few iterations at a time. Each operation is rounded separately (no fused multiply-add), so
// that every device computes the same counts.

// A point is (z real, z imaginary, c real, c imaginary). The middle of the grid is the given centre; `step` is the
// distance between neighbouring points.
extern "C" __global__ void begin_points(
    float4* __restrict__ points,
    unsigned int* __restrict__ counts,
    float real,
    float imaginary,
    float span,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float step = span / width;
    const size_t i = static_cast<size_t>(y) * width + x;
    const float right = (x - 0.5f * (width - 1)) * step, up = (0.5f * (height - 1) - y) * step;
    points[i] = {0.0f, 0.0f, real + right, imaginary + up};
    counts[i] = 0;
}

// Sets z to z * z + c, `steps` times or until |z| > 2; `counts` holds the iterations so far, at most `most`. `active`
// is the number of points that continue.
extern "C" __global__ void mandelbrot_step(
    float4* __restrict__ points,
    unsigned int* __restrict__ counts,
    unsigned int* __restrict__ active,
    int steps,
    int most,
    int count) {
    __shared__ unsigned int going;
    if (threadIdx.x == 0) going = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        float4 point = points[i];
        const unsigned int done = counts[i], end = min(done + steps, static_cast<unsigned int>(most));
        unsigned int turn = done;
        bool inside = true;
        for (;;) {
            const float xx = __fmul_rn(point.x, point.x), yy = __fmul_rn(point.y, point.y);
            inside = __fadd_rn(xx, yy) <= 4.0f;
            if (!inside || turn >= end) break;
            const float xy = __fmul_rn(point.x, point.y);
            point.x = __fadd_rn(__fsub_rn(xx, yy), point.z);
            point.y = __fadd_rn(__fadd_rn(xy, xy), point.w);
            ++turn;
        }
        if (turn > done) {
            points[i] = point;
            counts[i] = turn;
        }
        if (inside && turn < most) atomicAdd(&going, 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0 && going > 0) atomicAdd(active, going);
}
