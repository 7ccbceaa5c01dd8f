// Kernels on buffers of any element type: select, and copies of strided buffers.
#include "elements.cuh"

// True when an axis has no gaps: two neighbouring positions are `dense` elements apart.
__device__ inline bool is_dense(int size, long long stride, long long dense) { return size == 1 || stride == dense; }

// Copies a strided buffer of up to four axes to a contiguous one; strides are in elements, and axis 0 is the
// last one. One thread per element.
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
    // Divisions cost more than everything else, so contiguous buffers are copied without them.
    if (!is_dense(size0, stride0, 1) || !is_dense(size1, stride1, size0) || !is_dense(size2, stride2, rows) ||
        !is_dense(count / planes, stride3, planes))
        from = i / planes * stride3 + i % planes / rows * stride2 + i % rows / size0 * stride1 + i % size0 * stride0;
    const unsigned int size = type & ELEMENT_SIZE;
    copy_element(static_cast<unsigned char*>(out) + static_cast<size_t>(i) * size, element_at(source, type, from), size);
}

// One thread per element.
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

// out[i] = a[i] where the mask isn't 0, else b[i]. One thread per element.
extern "C" __global__ void where(
    const void* mask,
    unsigned int mask_type,
    const void* a,
    const void* b,
    void* out,
    unsigned int type,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const void* chosen = is_true(mask, mask_type, i) ? a : b;
    const unsigned int size = type & ELEMENT_SIZE;
    copy_element(static_cast<unsigned char*>(out) + static_cast<size_t>(i) * size, element_at(chosen, type, i), size);
}

// Copies rows of `width` elements to the places of a larger buffer where they begin: `start` in each row of `pitch`
// elements. One thread per element.
extern "C" __global__ void copy_rows(
    const void* x,
    void* out,
    unsigned int type,
    int width,
    int pitch,
    int start,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const unsigned int size = type & ELEMENT_SIZE;
    const size_t to = static_cast<size_t>(i / width) * pitch + start + i % width;
    copy_element(static_cast<unsigned char*>(out) + to * size, element_at(x, type, i), size);
}
