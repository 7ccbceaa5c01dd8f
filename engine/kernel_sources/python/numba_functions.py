"""Functions that numba's kernels call and that numba itself links: grid synchronisation, and reshape without a copy.

Numba takes the former from CUDA's device runtime, and the latter from a library of its own. Here they are compiled to
PTX and take the place of their declarations. Functions of halves, even the sum, stay missing: numba has them as LTO
code, which only nvJitLink reads.
"""

import re
from functools import cache
from pathlib import Path

from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda

#: A barrier is a word that each thread block adds 1 to. The first one adds what is missing to flip the highest bit.
_SOURCE = """
extern "C" __device__ unsigned long long own_cudaCGGetIntrinsicHandle(unsigned int) {
    unsigned int low, high;
    asm("mov.u32 %0, %%envreg2; mov.u32 %1, %%envreg1;" : "=r"(low), "=r"(high));
    return static_cast<unsigned long long>(high) << 32 | low;
}

extern "C" __device__ unsigned int own_cudaCGSynchronize(unsigned long long handle, unsigned int) {
    if (!handle) asm("trap;");  // the launch lets thread blocks start one after the other
    __syncthreads();
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
        volatile unsigned int* word = reinterpret_cast<unsigned int*>(handle) + 1;
        const bool is_first = (blockIdx.x | blockIdx.y | blockIdx.z) == 0;
        const unsigned int others = gridDim.x * gridDim.y * gridDim.z - 1;
        __threadfence();
        const unsigned int before = atomicAdd(const_cast<unsigned int*>(word), is_first ? 0x80000000u - others : 1u);
        while (((before ^ *word) & 0x80000000u) == 0) {}
        __threadfence();
    }
    __syncthreads();
    return 0;
}

// Strides of an array in another shape, in bytes. Returns 0 if its elements would have to be copied.
extern "C" __device__ int own_numba_attempt_nocopy_reshape(
    long long rank, const long long* dims, const long long* strides, long long new_rank, const long long* new_dims,
    long long* new_strides, long long item, int is_fortran) {
    long long sizes[32], steps[32], old_rank = 0, size = 1, new_size = 1;
    for (int i = 0; i < rank; ++i) {
        size *= dims[i];
        if (dims[i] == 1) continue;
        if (old_rank == 32) return 0;
        sizes[old_rank] = dims[i];
        steps[old_rank++] = strides[i];
    }
    for (int i = 0; i < new_rank; ++i) new_size *= new_dims[i];
    if (size != new_size || size == 0) return 0;
    // Axes of both shapes are joined from the front until they have equally many elements, run by run.
    long long first = 0, to = 0;
    while (first < old_rank && to < new_rank) {
        long long end = first + 1, new_end = to + 1, have = sizes[first], want = new_dims[to];
        while (have != want) {
            if (want < have)
                want *= new_dims[new_end++];
            else
                have *= sizes[end++];
        }
        for (long long i = first; i + 1 < end; ++i) {
            const long long outer = is_fortran ? i + 1 : i, inner = is_fortran ? i : i + 1;
            if (steps[outer] != sizes[inner] * steps[inner]) return 0;
        }
        if (is_fortran) {
            new_strides[to] = steps[first];
            for (long long i = to + 1; i < new_end; ++i) new_strides[i] = new_strides[i - 1] * new_dims[i - 1];
        } else {
            new_strides[new_end - 1] = steps[end - 1];
            for (long long i = new_end - 1; i > to; --i) new_strides[i - 1] = new_strides[i] * new_dims[i];
        }
        first = end;
        to = new_end;
    }
    // Axes of one element remain.
    long long last = to > 0 ? new_strides[to - 1] * (is_fortran ? new_dims[to - 1] : 1) : item;
    for (; to < new_rank; ++to) new_strides[to] = last;
    return 1;
}
"""
_LINES = re.compile(r"^\s*\.(?:loc|file)\b.*\n", re.MULTILINE)
_DECLARED = re.compile(r"\.extern\s+\.func\s*(?:\([^()]*\)\s*)?([\w$]+)\s*(?:\([^()]*\)\s*)?;")
_DEFINED = re.compile(r"\.visible (\.func\s+\([^()]*\)\s+([\w$]+)\(.*?\n\}\n)", re.DOTALL)


def with_functions(ptx: str) -> str:
    """Return PTX with the functions in place of their declarations."""
    known = _functions() if any(found[1] in _SOURCE for found in _DECLARED.finditer(ptx)) else {}
    return _DECLARED.sub(lambda found: known.get(found[1], found[0]), ptx)


@cache
def _functions() -> dict[str, str]:
    """Return the functions in PTX, by name."""
    flags = ("--relocatable-device-code=true",)
    ptx = compile_cuda(_SOURCE, Path("numba_functions.cu"), "compute_75", (), flags).ptx
    ptx = ptx.replace("own_", "")  # NVRTC declares functions of the device's runtime itself
    ptx = _LINES.sub("", ptx)  # they would count as those of the kernel's file
    return {found[2]: found[1] for found in _DEFINED.finditer(ptx)}
