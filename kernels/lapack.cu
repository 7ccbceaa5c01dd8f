// Helpers of LAPACK's routines on the device: matrices column by column, and result codes in one word.

// Element types; f64 is 1.
constexpr int F32 = 0, C64 = 2, C128 = 3;
// Which part of a matrix is copied: all; the upper triangle, with zeros below it; the lower triangle with ones on the
// diagonal; nothing, for the identity. 1 is the lower triangle with zeros above it.
constexpr int ALL = 0, UPPER = 2, UNIT_LOWER = 3, IDENTITY = 4;

template <typename T>
__device__ inline void copy_element(T* target, const T* source, bool is_there, bool is_one, bool is_complex, bool conjugate)
{
    const T real = is_one ? T(1) : is_there ? source[0] : T(0);
    target[0] = real;
    if (is_complex) {
        const T imaginary = is_there && !is_one ? source[1] : T(0);
        target[1] = conjugate ? -imaginary : imaginary;
    }
}

// Copies matrices of `rows` x `columns` elements. The steps between matrices, rows and columns are in elements; `total`
// is the number of all elements. Consecutive threads take elements of consecutive rows.
extern "C" __global__ void copy_matrices(
    void* target, const void* source, long long total, int rows, int columns,
    long long target_matrix, long long target_row, long long target_column,
    long long source_matrix, long long source_row, long long source_column,
    int type, int part, int conjugate)
{
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += stride) {
        const int row = int(i % rows);
        const int column = int(i / rows % columns);
        const long long matrix = i / rows / columns;
        const long long to = matrix * target_matrix + row * target_row + column * target_column;
        const long long from = matrix * source_matrix + row * source_row + column * source_column;
        const bool is_there = part == ALL || (part == UPPER ? row <= column : part != IDENTITY && row >= column);
        const bool is_one = row == column && (part == UNIT_LOWER || part == IDENTITY);
        const bool is_complex = type == C64 || type == C128;
        const int width = is_complex ? 2 : 1;
        if (type == F32 || type == C64)
            copy_element(static_cast<float*>(target) + to * width, static_cast<const float*>(source) + from * width,
                         is_there, is_one, is_complex, conjugate != 0);
        else
            copy_element(static_cast<double*>(target) + to * width, static_cast<const double*>(source) + from * width,
                         is_there, is_one, is_complex, conjugate != 0);
    }
}

// Writes the addresses of `count` matrices, `distance` bytes apart.
extern "C" __global__ void matrix_addresses(unsigned long long* addresses, unsigned long long first, long long distance, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        addresses[i] = first + i * distance;
}

// Stores the first code above 0 in `word`, with the number of its matrix above `code_bits` bits; 0 if there is none.
// Launched as one thread block.
extern "C" __global__ void first_code(unsigned int* word, const int* codes, int count, int code_bits)
{
    __shared__ unsigned int first;
    if (threadIdx.x == 0)
        first = ~0u;
    __syncthreads();
    const unsigned int most_code = (1u << code_bits) - 1, most_index = (1u << (32 - code_bits)) - 1;
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        if (codes[i] > 0)
            atomicMin(&first, min(unsigned(i), most_index) << code_bits | min(unsigned(codes[i]), most_code));
    __syncthreads();
    if (threadIdx.x == 0)
        word[0] = first == ~0u ? 0 : first;
}

template <typename T>
__device__ inline T magnitude(const T* element, bool is_complex)
{
    return is_complex ? T(hypot(element[0], element[1])) : element[0] < T(0) ? -element[0] : element[0];
}

template <typename T>
__device__ inline int first_dependent(const T* r, int rows, int columns, bool is_complex, T precision)
{
    const int width = is_complex ? 2 : 1;
    T largest = T(0);
    for (int i = 0; i < columns; ++i) {
        const T across = magnitude(r + ((long long)i * rows + i) * width, is_complex);
        largest = across > largest ? across : largest;
    }
    for (int i = 0; i < columns; ++i)
        if (magnitude(r + ((long long)i * rows + i) * width, is_complex) <= precision * rows * largest)
            return i + 1;
    return 0;
}

// Stores, for each factored matrix (column by column), the number from 1 of the first column whose part across the
// earlier ones is lost in rounding, or 0. One thread per matrix.
extern "C" __global__ void dependent_columns(int* codes, const void* r, int rows, int columns, int count, int type)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    const bool is_complex = type == C64 || type == C128;
    const long long start = (long long)i * rows * columns * (is_complex ? 2 : 1);
    codes[i] = type == F32 || type == C64
        ? first_dependent(static_cast<const float*>(r) + start, rows, columns, is_complex, 1.1920929e-7f)
        : first_dependent(static_cast<const double*>(r) + start, rows, columns, is_complex, 2.220446049250313e-16);
}

// Turns the row exchanges of factored matrices, from 1 as in LAPACK, into the rows' order. One thread per matrix.
extern "C" __global__ void row_order(int* order, const long long* pivots, int rows, int exchanges, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    int* of_matrix = order + (long long)i * rows;
    for (int row = 0; row < rows; ++row)
        of_matrix[row] = row;
    for (int row = 0; row < exchanges; ++row) {
        const int other = int(pivots[(long long)i * exchanges + row]) - 1;
        const int kept = of_matrix[row];
        of_matrix[row] = of_matrix[other];
        of_matrix[other] = kept;
    }
}
