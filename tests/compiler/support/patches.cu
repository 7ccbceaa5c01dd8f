// Kernels of the blocks that random patches are made of: integers, so that every result is exact. Matrices are given
// by their first element and two strides.

struct Frame { unsigned index; float time, time_step; unsigned seed; };

extern "C" __global__ void fresh(unsigned* out, unsigned size, unsigned seed, const Frame* frame)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size)
        out[i] = (i + 1) * 2654435761u + seed * 40503u + frame->index * 977u;
}

extern "C" __global__ void blend(const unsigned* x, unsigned x0, unsigned x1, const unsigned* y, unsigned rows,
                                 unsigned columns, unsigned y0, unsigned y1, unsigned* out, unsigned width,
                                 unsigned size, unsigned a)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size)
        return;
    unsigned r = i / width, c = i % width;
    out[i] = x[r * x0 + c * x1] * a + y[(r % rows) * y0 + (c % columns) * y1];
}

extern "C" __global__ void scale(unsigned* x, unsigned x0, unsigned x1, unsigned width, unsigned size, unsigned a)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) {
        unsigned& value = x[i / width * x0 + i % width * x1];
        value = value * a + i;
    }
}

extern "C" __global__ void absorb(unsigned* x, unsigned x0, unsigned x1, unsigned width, unsigned size,
                                  const unsigned* y, unsigned rows, unsigned columns, unsigned y0, unsigned y1)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size)
        return;
    unsigned r = i / width, c = i % width;
    unsigned& value = x[r * x0 + c * x1];
    value = value * 3 + y[(r % rows) * y0 + (c % columns) * y1];
}

extern "C" __global__ void mix(const unsigned* x, unsigned* work, unsigned* out, unsigned size)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) {
        work[i] += x[i] ^ 0x5bd1e995u;
        out[i] = x[i] * 7 + 1;
    }
}

extern "C" __global__ void unmix(const unsigned* work, unsigned* out, unsigned size)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size)
        out[i] += work[size - 1 - i];
}

extern "C" __global__ void total(const unsigned* x, unsigned x0, unsigned x1, unsigned rows, unsigned columns,
                                 unsigned* out)
{
    unsigned sum = 0;
    for (unsigned r = 0; r < rows; r++)
        for (unsigned c = 0; c < columns; c++)
            sum += x[r * x0 + c * x1];
    out[0] = sum;
}

extern "C" __global__ void is_rare(const unsigned* x, unsigned size, unsigned* out, unsigned modulus)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < size; i++)
        sum += x[i];
    out[0] = sum % modulus == 0;
}

extern "C" __global__ void count_down(unsigned* x) { x[0] = x[0] % 4 ? x[0] % 4 - 1 : 0; }

extern "C" __global__ void keep(const unsigned* x, unsigned* out, unsigned size)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size)
        out[i] = out[i] * 5 + x[i];
}

extern "C" __global__ void choose(const unsigned* x, unsigned size, unsigned* out, unsigned* counter,
                                  unsigned capacity, unsigned modulus)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size || x[i] % modulus)
        return;
    unsigned place = atomicAdd(counter, 1u);
    if (place < capacity)
        out[place] = x[i];
}

extern "C" __global__ void sum_first(const unsigned* x, const unsigned* count, unsigned* out)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < count[0]; i++)
        sum += x[i];
    out[0] = sum;
}
