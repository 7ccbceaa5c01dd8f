"""CUDA C++ whose kernels begin with a wait, and what a CUBIN reports of its kernels: their waits and parameters."""

import random
from pathlib import Path

import pytest

from tests.fuzzing import seeds
from warploom.engine.device.cuda.cubin import parameter_counts, waiting_kernels
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.kernel_sources.cuda.waiting import WAIT, waiting_cuda


def compiled(source: str, architecture: str = "sm_90") -> frozenset[str]:
    """Return the kernels of a source that begin with a wait, according to their machine code."""
    made = compile_cuda(source, Path("k.cu"), architecture, [])
    assert made.cubin is not None
    return waiting_kernels(made.cubin)


@pytest.mark.parametrize(
    "before",
    [
        'extern "C" __global__ void k(int* p) {',
        'extern "C" __global__ __launch_bounds__(256, 2) void k(int* p)\n{',
        'extern "C" void __global__ k(int* p /* { ; */) // {\n  {',
        'extern "C" __global__ void k(int* p = {}, int q = sizeof(int[2])) {',
        "template <int N = (1 > 2)> __global__ void k(int* p) {",
        "#define GLOBAL __global__ void none() {\n__global__ void k(int* p) {",
        "#define TWO \\\n  __global__ void none() {\n__global__ void k(int* p) {",
        "__global__ void k(int* p);\n__device__ int f() { return 1; }\n__global__ void k(int* p) {",
        'const char* s = "__global__ void none() {"; __global__ void k(int* p) {',
    ],
)
def test_the_wait_is_the_first_statement_of_a_kernel(before: str) -> None:
    """The wait comes first whatever text precedes the body, and nothing else changes."""
    after = " if (p) { *p = 1; } }\n"
    assert waiting_cuda(before + after, "sm_90") == before + WAIT + after


@pytest.mark.parametrize(
    "text",
    [
        "__device__ void f(int* p) { *p = 1; }",
        "// __global__ void k() {}",
        "#define KERNEL(name) __global__ void name() {",
        "__global__ void k(int* p);",
        "int x = 1; __global__",
    ],
)
def test_texts_without_a_kernel_have_none(text: str) -> None:
    """Texts without a kernel are compiled unchanged."""
    assert waiting_cuda(text, "sm_90") is None


@pytest.mark.parametrize("architecture", ["compute_90", "sm_89", "compute_100", "sm_75"])
def test_only_gpus_that_have_the_wait_get_it(architecture: str) -> None:
    """Architectures without the wait get no changed text."""
    assert waiting_cuda("__global__ void k() {}", architecture) is None


def test_each_kernel_is_told_by_its_machine_code() -> None:
    """A kernel counts as waiting if its machine code begins with a wait, whether written by its author or inserted."""
    source = """
    #define KERNEL(name) extern "C" __global__ void name(int* p)
    extern "C" __global__ void plain(int* p) { p[threadIdx.x] += 1; }
    KERNEL(made) { p[threadIdx.x] += 1; }
    KERNEL(own) { asm volatile("griddepcontrol.wait;" ::: "memory"); p[threadIdx.x] += 1; }
    KERNEL(late) { p[threadIdx.x] += 1; asm volatile("griddepcontrol.wait;" ::: "memory"); }
    KERNEL(seldom) { if (p) asm volatile("griddepcontrol.wait;" ::: "memory"); p[threadIdx.x] += 1; }
    """
    assert compiled(source) == {"plain", "own"}


def test_kernels_whose_loads_overtake_the_wait_do_not_count() -> None:
    """A kernel with `const __restrict__` or texture reads, which the compiler moves ahead, doesn't count as waiting."""
    source = """
    extern "C" __global__ void early(const float4* __restrict__ a, float4* __restrict__ out, const int* __restrict__ n)
    {
        float4 x = a[0], y = a[1], z = a[*n];
        out[0] = make_float4(x.x + y.x, z.x, 0, 0);
        out[1] = x;
    }
    extern "C" __global__ void texture(cudaTextureObject_t t, float* out) { *out = tex2D<float>(t, 0.5f, 0.5f); }
    extern "C" __global__ void usual(const float* a, float* out) { *out = a[0] + a[1]; }
    """
    assert compiled(source) == {"usual"}


def test_mistakes_show_the_source_as_it_is() -> None:
    """Errors quote the source without the inserted wait."""
    with pytest.raises(KernelError) as refused:
        compiled('extern "C" __global__ void k(int* p) { *p = missing; }')
    assert "griddepcontrol" not in str(refused.value)
    assert "__global__ void k(int* p) { *p = missing; }" in str(refused.value)


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_100", "sm_120"])
def test_a_cubin_tells_how_many_parameters_a_kernel_has(seed: int, architecture: str) -> None:
    """A CUBIN tells the number of a kernel's parameters of any size, even in total above 4 KB, used or not."""
    chance, source, counts = (
        random.Random(seed),
        "struct Odd { char bytes[3]; }; struct Large { char bytes[4200]; };",
        {},
    )
    for number in range(8):
        kinds = chance.choices(
            ("float*", "char", "double", "Odd", "unsigned long long", "float4"), k=chance.randrange(40)
        )
        kinds += ["Large"] * (number == 7)
        parameters = ", ".join(f"{kind} p{index}" for index, kind in enumerate(kinds))
        uses = " ".join(f"*p{at} = 1;" for at, kind in enumerate(kinds) if kind == "float*" and chance.random() < 0.5)
        source += f'extern "C" __global__ void k{number}({parameters}) {{ {uses} }}\n'
        counts[f"k{number}"] = len(kinds)
    made = compile_cuda(source, Path("k.cu"), architecture, [])
    assert made.cubin is not None
    assert parameter_counts(made.cubin) == counts


def test_a_file_that_is_cut_off_is_refused() -> None:
    """A CUBIN that is cut off is refused; data that is no CUBIN has no kernels, and the driver refuses it."""
    made = compile_cuda('extern "C" __global__ void k(int* p) { *p = 1; }', Path("k.cu"), "sm_90", [])
    assert made.cubin is not None
    with pytest.raises(KernelError, match="must be a whole CUBIN"):
        waiting_kernels(made.cubin[:70])
    assert waiting_kernels(b"no CUBIN") == frozenset()
    assert parameter_counts(b"no CUBIN") == {}
