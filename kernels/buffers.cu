// Kernels on buffers of any element type: select, constant, convert, positions, copies of strided buffers.
#include "elements.cuh"

// True when an axis has no gaps: `dense` elements lie between two of its positions.
__device__ inline bool is_dense(int size, long long stride, long long dense) { return size == 1 || stride == dense; }

// Copies a strided buffer of up to four axes to a contiguous one; strides are in elements, and axis 0 is the
// last one. One thread an element.
extern "C" __global__ void copy_strided(
    const void* source,
    void* out,
    unsigned int type,
    int size2,
    int size1,
    int size0,
    long long stride3,
    long long stride2,
    long long stride1,
    long long stride0,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int rows = size0 * size1, planes = rows * size2;
    long long from = i;
    // Divisions cost more than all the rest, so contiguous buffers are copied without.
    if (!is_dense(size0, stride0, 1) || !is_dense(size1, stride1, size0) || !is_dense(size2, stride2, rows) ||
        !is_dense(count / planes, stride3, planes))
        from = i / planes * stride3 + i % planes / rows * stride2 + i % rows / size0 * stride1 + i % size0 * stride0;
    const unsigned int size = type & ELEMENT_SIZE;
    copy_element(static_cast<unsigned char*>(out) + static_cast<size_t>(i) * size, element_at(source, type, from), size);
}

// One thread an element.
extern "C" __global__ void select(
    const void* condition,
    unsigned int condition_type,
    int element,
    const void* a,
    const void* b,
    void* out,
    unsigned int type,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const void* chosen = is_true(condition, condition_type, element) ? a : b;
    const unsigned int size = type & ELEMENT_SIZE;
    copy_element(static_cast<unsigned char*>(out) + static_cast<size_t>(i) * size, element_at(chosen, type, i), size);
}

extern "C" __global__ void constant(void* out, unsigned int type, double value, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) put_number(out, type, i, value);
}

extern "C" __global__ void convert(const void* x, unsigned int x_type, void* out, unsigned int type, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    // A double would lose the lowest bits of 64-bit whole numbers; those wrap around, as in C.
    if ((x_type | type) & (ELEMENT_FLOAT | ELEMENT_BOOLEAN))
        put_number(out, type, i, number_at(x, x_type, i));
    else
        put_whole(out, type, i, whole_at(x, x_type, i));
}

// `inner` consecutive elements share a position along the axis, which has `size` positions.
extern "C" __global__ void positions(unsigned int* __restrict__ out, int size, int inner, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = i / inner % size;
}

// One thread an element; `y` may be missing, and `value` then takes its place. The operations are numbered as in
// blocks/math/compare.py.
extern "C" __global__ void compare(
    const void* x,
    unsigned int x_type,
    const void* y,
    unsigned int y_type,
    bool* __restrict__ out,
    double value,
    int operation,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const double left = number_at(x, x_type, i);
    const double right = y ? number_at(y, y_type, i) : value;
    switch (operation) {
        case 0: out[i] = left < right; break;
        case 1: out[i] = left <= right; break;
        case 2: out[i] = left == right; break;
        case 3: out[i] = left != right; break;
        case 4: out[i] = left >= right; break;
        default: out[i] = left > right;
    }
}
