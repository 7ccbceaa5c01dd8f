// A helper of inverse transforms to real numbers by cuFFT, whose result is undefined for other half spectra.

template <typename T>
struct Complex {
    T x, y;
};

// Element [i, j, k] of a signal lies at ((i * step_i + j) * step_j + k) * stride.
template <typename T>
__device__ inline void make_signals_hermitian(
    Complex<T>* spectrum, unsigned long long signals, unsigned long long distance, unsigned size_i, unsigned size_j,
    unsigned step_i, unsigned step_j, unsigned stride, const unsigned (&columns)[2])
{
    const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    const unsigned long long each = (unsigned long long)size_i * size_j, most = 2 * signals * each;
    for (unsigned long long at = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; at < most; at += step) {
        const unsigned i = at / 2 % each / size_j, j = at / 2 % size_j, k = columns[at % 2];
        const unsigned mirrored_i = i == 0 ? 0 : size_i - i, mirrored_j = j == 0 ? 0 : size_j - j;
        const bool is_first = i < mirrored_i || (i == mirrored_i && j <= mirrored_j);
        if (!is_first || (at % 2 == 1 && k == columns[0]))
            continue;
        Complex<T>* const signal = spectrum + at / 2 / each * distance;
        Complex<T>& one = signal[(((unsigned long long)i * step_i + j) * step_j + k) * stride];
        Complex<T>& other = signal[(((unsigned long long)mirrored_i * step_i + mirrored_j) * step_j + k) * stride];
        const T real = one.x / 2 + other.x / 2, imaginary = one.y / 2 - other.y / 2;
        one = {real, imaginary};
        other = {real, &one == &other ? 0 : -imaginary};
    }
}

// Replaces the first column and the column `last`, whose mirror images are in the half spectrum as well, by their
// Hermitian parts. The rest of these columns has no effect on the real part of the result. `width` is 4 or 8 bytes.
extern "C" __global__ void make_hermitian(
    void* spectrum, unsigned long long signals, unsigned long long distance, unsigned size_i, unsigned size_j,
    unsigned step_i, unsigned step_j, unsigned stride, unsigned last, int width)
{
    const unsigned columns[2] = {0, last};
    if (width == 4)
        make_signals_hermitian(
            static_cast<Complex<float>*>(spectrum), signals, distance, size_i, size_j, step_i, step_j, stride, columns);
    else
        make_signals_hermitian(
            static_cast<Complex<double>*>(spectrum), signals, distance, size_i, size_j, step_i, step_j, stride, columns);
}
