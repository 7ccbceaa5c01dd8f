// Helpers of a sparse product on the device: they check a matrix in CSR form, so that nothing outside it is read.

// `word` reports the first wrong offset or column (`engine/libraries/sparse.py`): the largest number stands for the
// first one, and offsets come before columns. 0 if none is wrong.
constexpr unsigned BAD_OFFSET = 0x80000000u, MOST = 0x7fffffffu;

// Records errors in `word`, which must be 0 before, and copies the columns; a wrong column becomes 0.
extern "C" __global__ void check_matrix(
    unsigned* word, int* safe_columns, const int* offsets, const int* columns, int rows, int entries, int width)
{
    const unsigned step = gridDim.x * blockDim.x, most = max(rows + 1, entries);
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < most; i += step) {
        if (i <= unsigned(rows)) {
            const int offset = offsets[i], least = i == 0 ? 0 : offsets[i - 1];
            const bool is_wrong = (i == 0 ? offset != 0 : offset < least) || (i == unsigned(rows) && offset != entries);
            if (is_wrong)
                atomicMax(word, BAD_OFFSET | (MOST - i));
        }
        if (i < unsigned(entries)) {
            const bool is_there = unsigned(columns[i]) < unsigned(width);
            if (!is_there)
                atomicMax(word, MOST - i);
            safe_columns[i] = is_there ? columns[i] : 0;
        }
    }
}

// Copies the offsets; if one is wrong, all entries are put into the last row.
extern "C" __global__ void copy_offsets(int* safe_offsets, const unsigned* word, const int* offsets, int rows, int entries)
{
    const bool is_wrong = *word & BAD_OFFSET;
    const unsigned step = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i <= unsigned(rows); i += step)
        safe_offsets[i] = !is_wrong ? offsets[i] : i == unsigned(rows) ? entries : 0;
}

template <typename T>
__device__ inline void fill_with_nan(T* out, unsigned long long size)
{
    const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += step)
        out[i] = T(__int_as_float(0x7fffffff));
}

// Fills the product of a wrong matrix with NaN. `width` is 4 or 8 bytes.
extern "C" __global__ void end_product(void* out, const unsigned* word, unsigned long long size, int width)
{
    if (*word == 0)
        return;
    if (width == 4)
        fill_with_nan(static_cast<float*>(out), size);
    else
        fill_with_nan(static_cast<double*>(out), size);
}
