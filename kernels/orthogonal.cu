// Singular values by one-sided Jacobi rotations, from columns that another method brought close to orthogonal: each
// matrix by one thread block.
//
// Matrices lie one after another, column by column. The thread blocks have whole warps, and at most 1024 threads.
// ELEMENTS is the type of elements: RealElements or ComplexElements of float or double.
#ifndef ELEMENTS
#define ELEMENTS RealElements<float>
#endif

constexpr int MOST_COLUMNS = 512, MOST_SWEEPS = 40;

template <typename T>
struct Complex {
    T x, y;
};

template <typename Real>
struct RealElements {
    using Value = Real;
    using Part = Real;
    static __device__ Part magnitude2(Value a) { return a * a; }
    // The product of the conjugate of a with b.
    static __device__ Value inner(Value a, Value b) { return a * b; }
    static __device__ Value add(Value a, Value b) { return a + b; }
    static __device__ Value multiply(Value a, Value b) { return a * b; }
    static __device__ Value scale(Value a, Part by) { return a * by; }
    static __device__ Value conjugate(Value a) { return a; }
    static __device__ Part largest_part(Value a) { return a < 0 ? -a : a; }
    static __device__ Value of(Part a) { return a; }
    static __device__ Part real(Value a) { return a; }
    static __device__ Value from_lane(Value a, int mask) { return __shfl_xor_sync(0xffffffffu, a, mask); }
};

template <typename Real>
struct ComplexElements {
    using Value = Complex<Real>;
    using Part = Real;
    static __device__ Part magnitude2(Value a) { return a.x * a.x + a.y * a.y; }
    static __device__ Value inner(Value a, Value b) { return {a.x * b.x + a.y * b.y, a.x * b.y - a.y * b.x}; }
    static __device__ Value add(Value a, Value b) { return {a.x + b.x, a.y + b.y}; }
    static __device__ Value multiply(Value a, Value b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
    static __device__ Value scale(Value a, Part by) { return {a.x * by, a.y * by}; }
    static __device__ Value conjugate(Value a) { return {a.x, -a.y}; }
    static __device__ Part largest_part(Value a)
    {
        const Part x = a.x < 0 ? -a.x : a.x, y = a.y < 0 ? -a.y : a.y;
        return x > y || x != x ? x : y;
    }
    static __device__ Value of(Part a) { return {a, Part(0)}; }
    static __device__ Part real(Value a) { return a.x; }
    static __device__ Value from_lane(Value a, int mask)
    {
        return {__shfl_xor_sync(0xffffffffu, a.x, mask), __shfl_xor_sync(0xffffffffu, a.y, mask)};
    }
};

template <typename E>
__device__ inline typename E::Value warp_sum(typename E::Value value)
{
    for (int mask = 16; mask > 0; mask /= 2)
        value = E::add(value, E::from_lane(value, mask));
    return value;
}

// The inner product of two columns, in every lane of the warp that calls this.
template <typename E>
__device__ __noinline__ typename E::Value warp_inner(const typename E::Value* a, const typename E::Value* b, int rows)
{
    typename E::Value sum = E::of(0);
    for (int row = threadIdx.x % 32; row < rows; row += 32)
        sum = E::add(sum, E::inner(a[row], b[row]));
    return warp_sum<E>(sum);
}

template <typename T>
__device__ constexpr T precision()
{
    return sizeof(T) == 4 ? T(1.1920929e-7) : T(2.220446049250313e-16);
}

// The power of two below a number, or the smallest normal one.
__device__ inline float power_of_two(float number)
{
    return __int_as_float(max(__float_as_int(number) & 0x7f800000, 0x00800000));
}

__device__ inline double power_of_two(double number)
{
    return __longlong_as_double(max(__double_as_longlong(number) & 0x7ff0000000000000ll, 0x0010000000000000ll));
}

template <typename T>
__device__ inline T largest_of_block(T value, T* shared)
{
    __syncthreads();
    for (int mask = 16; mask > 0; mask /= 2) {
        const T other = __shfl_xor_sync(0xffffffffu, value, mask);
        value = other > value || other != other ? other : value;
    }
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = value;
    __syncthreads();
    T largest = shared[0];
    for (int warp = 1; warp < blockDim.x / 32; ++warp)
        largest = shared[warp] > largest || shared[warp] != shared[warp] ? shared[warp] : largest;
    return largest;
}

// Returns the row whose elements have the smallest sum of squares: the columns reach this row's axis the least.
template <typename E>
__device__ inline int emptiest_row(const typename E::Value* u, int rows, int columns, typename E::Part* shared)
{
    using Part = typename E::Part;
    __shared__ int row_found;
    Part most = -2;
    int mine = 0;
    for (int row = threadIdx.x; row < rows; row += blockDim.x) {
        Part left = 1;
        for (int k = 0; k < columns; ++k)
            left -= E::magnitude2(u[(long long)k * rows + row]);
        if (left > most) {
            most = left;
            mine = row;
        }
    }
    const Part largest = largest_of_block(most, shared);
    if (threadIdx.x == 0)
        row_found = rows - 1;
    __syncthreads();
    if (most == largest)
        atomicMin(&row_found, mine);
    __syncthreads();
    return row_found;
}

// Makes column `columns` of u a unit vector that is orthogonal to the unit columns before it. A column that is
// orthogonal already, up to rounding, stays as it is; a column of which only rounding errors are left becomes an
// arbitrary one. `coefficients` is shared memory.
template <typename E>
__device__ inline void make_orthogonal(
    typename E::Value* u, int columns, int rows, typename E::Value* coefficients, typename E::Part* shared)
{
    using Part = typename E::Part;
    typename E::Value* const x = u + (long long)columns * rows;
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const Part most = 16 * rows * precision<Part>() * precision<Part>();
    __shared__ int is_off;
    for (int pass = 0; pass < 6; ++pass) {
        __syncthreads();
        if (threadIdx.x == 0)
            is_off = 0;
        __syncthreads();
        for (int k = warp; k <= columns; k += warps) {
            const typename E::Value along = warp_inner<E>(u + (long long)k * rows, x, rows);
            coefficients[k] = along;
            if (!(E::magnitude2(E::add(along, E::of(k == columns ? -1 : 0))) <= most))
                is_off = 1;
        }
        __syncthreads();
        if (!is_off)
            return;
        for (int row = threadIdx.x; row < rows; row += blockDim.x) {
            typename E::Value sum = x[row];
            for (int k = 0; k < columns; ++k)
                sum = E::add(sum, E::scale(E::multiply(u[(long long)k * rows + row], coefficients[k]), -1));
            x[row] = sum;
        }
        __syncthreads();
        const Part length2 = E::real(warp_inner<E>(x, x, rows)), length = sqrt(length2);
        const bool is_lost = !(length2 > most * E::real(coefficients[columns])) || length - length != 0;
        const int unit = is_lost ? emptiest_row<E>(u, rows, columns, shared) : -1;
        __syncthreads();
        for (int row = threadIdx.x; row < rows; row += blockDim.x)
            x[row] = is_lost ? E::of(row == unit) : E::scale(x[row], 1 / length);
    }
}

// Makes the columns of square matrices orthonormal, each with those before it. Orthonormal ones stay as they are.
extern "C" __global__ __launch_bounds__(1024) void orthonormalize(ELEMENTS::Value* vectors, int rows, int count)
{
    __shared__ ELEMENTS::Value coefficients[MOST_COLUMNS];
    __shared__ ELEMENTS::Part shared[32];
    for (long long matrix = blockIdx.x; matrix < count; matrix += gridDim.x)
        for (int column = 0; column < rows; ++column)
            make_orthogonal<ELEMENTS>(vectors + matrix * rows * rows, column, rows, coefficients, shared);
}

// Scales matrices before they are decomposed: the largest element becomes about 1, so that squares don't overflow, and
// a matrix that is not finite becomes zero, so that no routine meets NaN. A Hermitian matrix, of which the lower half
// is read, is then replaced by `shift` times the identity minus the matrix. This has the same eigenvectors, and its
// singular values are `shift` minus the eigenvalues, and above 0. Stores two numbers for each matrix: the factor by
// which singular values are multiplied in the end, which is NaN if the matrix was not finite, and `shift`, which is 0
// if it is not Hermitian.
extern "C" __global__ __launch_bounds__(1024) void scale_matrices(
    ELEMENTS::Value* matrices, ELEMENTS::Part* scales, int rows, int columns, int is_hermitian, int count)
{
    using E = ELEMENTS;
    using Part = E::Part;
    __shared__ Part shared[32];
    const long long size = (long long)rows * columns;
    for (long long matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
        E::Value* const a = matrices + matrix * size;
        Part largest = 0;
        for (long long i = threadIdx.x; i < size; i += blockDim.x) {
            const int row = i % rows, column = i / rows;
            if (is_hermitian && row < column)
                continue;
            if (is_hermitian && row == column)
                a[i] = E::of(E::real(a[i]));
            else if (is_hermitian)
                a[column + (long long)row * rows] = E::conjugate(a[i]);
            const Part here = E::largest_part(a[i]);
            largest = here > largest || here != here ? here : largest;
        }
        largest = largest_of_block(largest, shared);
        const bool is_finite = largest - largest == 0;
        const Part unit = is_finite ? power_of_two(largest) : Part(1);
        Part longest = 0;
        for (int column = threadIdx.x; is_hermitian && column < columns; column += blockDim.x) {
            Part sum = 0;
            for (int row = 0; row < rows; ++row)
                sum += sqrt(E::magnitude2(E::scale(a[row + (long long)column * rows], 1 / unit)));
            longest = sum > longest ? sum : longest;
        }
        longest = largest_of_block(longest, shared);
        const Part shift = is_hermitian ? Part(1.5) * (is_finite && longest > 0 ? longest : 1) : Part(0);
        for (long long i = threadIdx.x; i < size; i += blockDim.x) {
            const Part on_diagonal = i % rows == i / rows ? shift : Part(0);
            const E::Value scaled = is_finite ? E::scale(a[i], is_hermitian ? -1 / unit : 1 / unit) : E::of(0);
            a[i] = E::add(scaled, E::of(on_diagonal));
        }
        if (threadIdx.x == 0) {
            scales[2 * matrix] = is_finite ? unit : largest - largest;
            scales[2 * matrix + 1] = shift;
        }
        __syncthreads();
    }
}

// Rotates columns p and q of a, and of v, so that those of a become orthogonal; returns whether they were not. One warp.
template <typename E>
__device__ inline bool rotate(
    typename E::Value* a, typename E::Value* v, int rows, int columns, int p, int q, typename E::Part negligible)
{
    using Value = typename E::Value;
    using Part = typename E::Part;
    Value *const ap = a + (long long)p * rows, *const aq = a + (long long)q * rows;
    Part p2 = 0, q2 = 0;
    Value inner = E::of(0);
#pragma unroll 4
    for (int row = threadIdx.x % 32; row < rows; row += 32) {
        const Value left = ap[row], right = aq[row];
        p2 += E::magnitude2(left);
        q2 += E::magnitude2(right);
        inner = E::add(inner, E::inner(left, right));
    }
    p2 = E::real(warp_sum<E>(E::of(p2)));
    q2 = E::real(warp_sum<E>(E::of(q2)));
    inner = warp_sum<E>(inner);
    const Part size = sqrt(E::magnitude2(inner));
    if (p2 <= negligible || q2 <= negligible || size <= sqrt(Part(rows)) * precision<Part>() * sqrt(p2) * sqrt(q2))
        return false;
    const Part half = (q2 - p2) / (2 * size);
    const Part tangent = (half < 0 ? -1 : 1) / ((half < 0 ? -half : half) + sqrt(1 + half * half));
    const Part cosine = 1 / sqrt(1 + tangent * tangent), sine = cosine * tangent;
    // A small angle adds little to a column, so that little is rounded away.
    const Part shrink = -sine * (sine / (1 + cosine));
    const Value turned = E::scale(inner, sine / size), back = E::scale(E::conjugate(turned), -1);
    Value *const vp = v + (long long)p * columns, *const vq = v + (long long)q * columns;
#pragma unroll 4
    for (int i = threadIdx.x % 32; i < rows + columns; i += 32) {
        Value* const left = i < rows ? ap + i : vp + (i - rows);
        Value* const right = i < rows ? aq + i : vq + (i - rows);
        const Value x = *left, y = *right;
        *left = E::add(x, E::add(E::multiply(y, back), E::scale(x, shrink)));
        *right = E::add(y, E::add(E::multiply(x, turned), E::scale(y, shrink)));
    }
    __syncwarp();
    return true;
}

template <typename E>
__device__ inline void decompose(
    typename E::Value* a, typename E::Value* w, typename E::Value* u, typename E::Part* s, typename E::Value* v, int* code,
    int rows, int columns, typename E::Part unit, typename E::Part shift)
{
    using Value = typename E::Value;
    using Part = typename E::Part;
    __shared__ Part shared[32], lengths[MOST_COLUMNS];
    __shared__ Value coefficients[MOST_COLUMNS];
    __shared__ int has_rotated;
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32;

    // Each round of a sweep rotates pairs of columns that have none in common, as in a tournament.
    Part negligible = 0;
    int sweep = 0;
    for (bool goes_on = true; goes_on && sweep < MOST_SWEEPS; ++sweep) {
        Part length2 = 0;
        for (int k = warp; k < columns; k += warps) {
            const Part here = E::real(warp_inner<E>(a + (long long)k * rows, a + (long long)k * rows, rows));
            length2 = here > length2 ? here : length2;
        }
        negligible = largest_of_block(length2, shared) * precision<Part>() * precision<Part>();
        if (threadIdx.x == 0)
            has_rotated = 0;
        __syncthreads();
        const int players = columns + columns % 2, rounds = players - 1;
        for (int round = 0; round < rounds; ++round) {
            for (int pair = warp; pair < players / 2; pair += warps) {
                const int one = pair == 0 ? players - 1 : (round + pair) % rounds, other = (round + rounds - pair) % rounds;
                const int p = one < other ? one : other, q = one < other ? other : one;
                if (q < columns && rotate<E>(a, w, rows, columns, p, q, negligible))
                    has_rotated = 1;
            }
            __syncthreads();
        }
        goes_on = has_rotated;
        __syncthreads();
    }

    for (int k = warp; k < columns; k += warps)
        lengths[k] = sqrt(E::real(warp_inner<E>(a + (long long)k * rows, a + (long long)k * rows, rows)));
    __syncthreads();
    const bool is_finite = unit == unit;
    int missing = 0;
    for (int k = 0; k < columns; ++k) {
        int rank = 0;
        for (int other = 0; other < columns; ++other)
            rank += lengths[other] > lengths[k] || (lengths[other] == lengths[k] && other < k);
        const bool is_missing = lengths[k] * lengths[k] <= negligible;
        missing += is_missing;
        for (int i = threadIdx.x; i < columns; i += blockDim.x)
            v[(long long)rank * columns + i] = is_finite ? w[(long long)k * columns + i] : E::of(unit);
        for (int i = threadIdx.x; i < rows; i += blockDim.x)
            u[(long long)rank * rows + i] = is_missing ? E::of(0) : E::scale(a[(long long)k * rows + i], 1 / lengths[k]);
        if (threadIdx.x == 0)
            s[rank] = (shift > 0 ? shift - lengths[k] : lengths[k]) * unit;
    }
    __syncthreads();
    // Left vectors of negligible singular values: arbitrary ones that complete the basis.
    for (int rank = columns - missing; rank < columns; ++rank)
        make_orthogonal<E>(u, rank, rows, coefficients, shared);
    __syncthreads();
    for (long long i = threadIdx.x; i < (long long)rows * columns && !is_finite; i += blockDim.x)
        u[i] = E::of(unit);
    if (threadIdx.x == 0)
        *code = is_finite && sweep < MOST_SWEEPS ? 0 : 1;
    __syncthreads();
}

// Decomposes matrices with at least as many rows as columns, and at most MOST_COLUMNS, that `scale_matrices` made fit:
// original = u diag(s) v^H, with s in descending order; of a Hermitian one, s has the eigenvalues in ascending order, and
// v the eigenvectors. Takes the product of each with orthonormal columns w, and overwrites both. A code is 1 if the
// original is not finite, or if the rotations don't end.
extern "C" __global__ __launch_bounds__(1024) void singular_values(
    ELEMENTS::Value* a, ELEMENTS::Value* w, ELEMENTS::Value* u, ELEMENTS::Part* s, ELEMENTS::Value* v,
    const ELEMENTS::Part* scales, int* codes, int rows, int columns, int count)
{
    for (long long matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
        const long long whole = matrix * rows * columns, square = matrix * columns * columns;
        decompose<ELEMENTS>(
            a + whole, w + square, u + whole, s + matrix * columns, v + square, codes + matrix, rows, columns,
            scales[2 * matrix], scales[2 * matrix + 1]);
    }
}
