// The smaller and the larger of two numbers: a NaN stays, and -0 is below 0.
#pragma once

__device__ inline double smaller(double a, double b) {
    if (a != a || b != b) return a + b;
    return a < b || (a == b && signbit(a)) ? a : b;
}

__device__ inline double larger(double a, double b) {
    if (a != a || b != b) return a + b;
    return a > b || (a == b && signbit(b)) ? a : b;
}
