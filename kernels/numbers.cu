// Single numbers of buffers, as doubles, and as values that drive parameters of kernels.
#include "elements.cuh"

// Keeps a number that is finite; any other leaves the last one.
__device__ inline void keep(double number, double* kept) {
    if (isfinite(number)) kept[0] = number;
}

// The number at `index`, which counts back from the end if it is negative; the nearest one if there is none.
extern "C" __global__ void pick_number(const void* __restrict__ x, unsigned int type, double* __restrict__ out,
    double* __restrict__ kept, long long index, long long count) {
    if (blockIdx.x || threadIdx.x) return;
    if (index < 0) index += count;
    out[0] = number_at(x, type, static_cast<size_t>(index < 0 ? 0 : index < count ? index : count - 1));
    keep(out[0], kept);
}

extern "C" __global__ void divide_number(
    const double* __restrict__ x, double* __restrict__ out, double* __restrict__ kept, long long count) {
    if (blockIdx.x || threadIdx.x) return;
    out[0] = x[0] / static_cast<double>(count);
    keep(out[0], kept);
}

extern "C" __global__ void keep_number(const double* __restrict__ x, double* __restrict__ kept) {
    if (blockIdx.x || threadIdx.x) return;
    keep(x[0], kept);
}

// A number in every type that a kernel's parameter may have; a type that lacks it has the nearest one.
struct Number {
    double f64;
    float f32;
    unsigned short f16, bf16;
    long long s64;
    unsigned long long u64;
    int s32;
    unsigned int u32;
    short s16;
    unsigned short u16;
    signed char s8;
    unsigned char u8, boolean;
};

__device__ inline long long within(long long number, long long least, long long most) {
    return number < least ? least : number > most ? most : number;
}

// Converts a finite number for a parameter, as a value on the CPU is converted for it. `type` is that of the parameter:
// 0 float, 1 int, 2 bool. Floats lie in `low` to `high`, whole numbers in `least` to `most`.
extern "C" __global__ void convert_number(const double* __restrict__ x, Number* __restrict__ out, unsigned int type,
    double low, double high, long long least, long long most) {
    if (blockIdx.x || threadIdx.x) return;
    double number = x[0];
    long long whole;
    if (type == 2) {
        number = whole = number != 0.0;
    } else {
        if (type == 1) number = rint(number) + 0.0;  // no -0
        number = number > high ? high : number < low ? low : number;
        whole = __double2ll_rn(number);
        if (type == 1) whole = within(whole, least, most);  // bounds beyond 2^53 are no doubles
    }
    const double largest = 3.4028234663852886e38;
    const double near = number > largest ? largest : number < -largest ? -largest : number;
    unsigned int odd = __float_as_uint(__double2float_rz(near));  // rounded to odd, it is rounded again correctly
    if (static_cast<double>(__uint_as_float(odd)) != near) odd |= 1u;
    unsigned short half;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(half) : "d"(near));
    out->f64 = number;
    out->f32 = static_cast<float>(near);
    out->f16 = half;
    out->bf16 = static_cast<unsigned short>((odd + 0x7FFFu + (odd >> 16 & 1u)) >> 16);
    out->s64 = whole;
    const double half_of_u64 = 9223372036854775808.0;
    out->u64 = high > half_of_u64 && number >= half_of_u64 ? __double2ull_rn(number)
                                                           : static_cast<unsigned long long>(whole < 0 ? 0 : whole);
    out->s32 = static_cast<int>(within(whole, -2147483648LL, 2147483647LL));
    out->u32 = static_cast<unsigned int>(within(whole, 0, 4294967295LL));
    out->s16 = static_cast<short>(within(whole, -32768, 32767));
    out->u16 = static_cast<unsigned short>(within(whole, 0, 65535));
    out->s8 = static_cast<signed char>(within(whole, -128, 127));
    out->u8 = static_cast<unsigned char>(within(whole, 0, 255));
    out->boolean = whole != 0;
}
