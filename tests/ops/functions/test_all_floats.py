"""Functions of one argument over all floats, and of two over many; it takes a GPU a second or two."""

from pathlib import Path

import numpy as np
import pytest

from tests.ops.functions.running import compiled
from warploom.engine.device.open import open_device
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.ops.functions import FUNCTIONS

_SIZE = 1 << 24
_PAIRS = 1 << 30
#: Functions that CUDA's library calls or defines differently.
_LIBRARY = {
    "rsqrt": "1 / sqrt(x)",
    "round": "rint(x)",
    "round_away": "round(x)",
    "fract": "x - floor(x)",
    "mod": "floored(x, y)",
}
_SOURCE = r"""
extern "C" __global__ void all_floats(float* x, unsigned first) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = __uint_as_float(first + i);
}

// Any bits, numbers of medium size, and numbers near 1 beside large ones.
extern "C" __global__ void pairs(float* x, float* y, unsigned first) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long bits = first + i;
    for (int round = 0; round < 3; round++) {
        bits = (bits + 0x9E3779B97F4A7C15ull) * 0xBF58476D1CE4E5B9ull;
        bits ^= bits >> 29;
    }
    unsigned a = bits >> 32, b = bits;
    float u = (a >> 8) * 0x1p-24f, v = (b >> 8) * 0x1p-24f;
    float signs = (a & 1 ? -1 : 1), other = (b & 1 ? -1 : 1);
    switch (i % 3) {
        case 0: x[i] = __uint_as_float(a); y[i] = __uint_as_float(b); break;
        case 1: x[i] = signs * exp2f(20 * u - 12); y[i] = other * exp2f(20 * v - 12); break;
        case 2: x[i] = signs * (0.99f + 0.02f * u); y[i] = other * exp2f(40 * v - 20);
    }
}

__device__ double floored(double x, double y) {
    double rest = fmod(x, y);
    return rest == 0 ? copysign(0.0, y) : (rest < 0) != (y < 0) ? rest + y : rest;
}

// In units in the last place; a NaN, infinity or zero for another number, or a zero of the other sign, is a million.
__device__ float error(float result, double wanted) {
    if (isnan(wanted) || isnan(result)) return isnan(wanted) && isnan(result) ? 0 : 1e6f;
    if (isinf(wanted)) return result == wanted ? 0 : 1e6f;
    if (wanted == 0 || result == 0) {
        if (signbit(result) != signbit(wanted) || (wanted == 0 && result != 0)) return 1e6f;
    }
    double end = 0x1p128, found = isinf(result) ? copysign(end, result) : result;
    wanted = fmin(fmax(wanted, -end), end);
    int exponent = max(min(ilogb(wanted), 127), -126);
    return fmin(fabs(found - wanted) * exp2(23.0 - exponent), 1e6);
}

#define COMPARE(name, expression)                                                                          \
    extern "C" __global__ void compare_##name(const float* xs, const float* ys, const float* results,      \
                                              unsigned long long* worst) {                                 \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                                \
        double x = xs[i], y = ys[i];                                                                       \
        unsigned long long found = (unsigned long long)__float_as_uint(error(results[i], expression)) << 32 | i; \
        for (int step = 16; step; step /= 2) found = max(found, __shfl_xor_sync(~0u, found, step));        \
        if (threadIdx.x % 32 == 0 && found > *worst) atomicMax(worst, found);                              \
    }
"""


@pytest.mark.gpu
def test_no_float_has_a_larger_error_than_the_table_states() -> None:
    """For 2^32 floats, or 2^30 pairs of floats, no error exceeds the table's."""
    calls = {name: f"{name}(x)" if f.arity == 1 else f"{name}(x, y)" for name, f in FUNCTIONS.items()} | _LIBRARY
    comparisons = "".join(f"COMPARE({name}, ({call}))\n" for name, call in calls.items())
    device = open_device("cuda:0")
    image = compile_cuda(_SOURCE + comparisons, Path("all_floats.cu"), device.info.architecture, [])
    assert image.cubin is not None
    library, module = device.load_module(image.cubin), device.load_module(compiled(tuple(FUNCTIONS), "f32")[0])
    x, y, results = (device.upload(np.zeros(_SIZE, np.float32)) for _ in range(3))
    worst = device.upload(np.zeros(1, np.uint64))
    launch = {"grid": (_SIZE // 256,), "thread_block": (256,)}
    errors = {}
    for name, function in FUNCTIONS.items():
        fill, arguments = ("pairs", [x, y]) if function.arity == 2 else ("all_floats", [x])
        for first in range(0, _PAIRS if function.arity == 2 else 1 << 32, _SIZE):
            device.launch(library.kernel(fill), **launch, args=[*arguments, np.uint32(first)])
            device.launch(module.kernel(f"{name}_f32"), **launch, args=[*arguments, results, np.int32(_SIZE)])
            device.launch(library.kernel(f"compare_{name}"), **launch, args=[x, y, results, worst])
        found = int(worst.download()[0])
        errors[name] = float(np.uint32(found >> 32).view(np.float32))
        worst.upload(np.zeros(1, np.uint64))
    device.close()
    assert {name: error for name, error in errors.items() if error > FUNCTIONS[name].ulp} == {}, errors
