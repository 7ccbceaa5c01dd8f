"""Directions, names and types of a kernel's parameters are read from its code, and never guessed."""

import re
from pathlib import Path

import pytest

from warploom.engine.kernel_sources.cuda.nvrtc import CompileCache
from warploom.engine.kernel_sources.describe import describe_kernels, source_parameter_names
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.kernel_sources.manifest import KernelManifest, read_manifest, write_manifest

PTX_HEAD = ".version 7.8\n.target sm_75\n.address_size 64\n"


def describe(folder: Path, body: str, architecture: str = "compute_75", name: str = "k.cu") -> KernelManifest:
    """Describe the one kernel of a file with this text."""
    (folder / name).write_text(body)
    (manifest,) = describe_kernels(load_image(folder / name, architecture, CompileCache(folder / "cache")))
    return manifest


def directions(manifest: KernelManifest) -> dict[str, str]:
    """Return the directions by parameter name."""
    return {parameter.name: parameter.direction for parameter in manifest.parameters}


@pytest.mark.parametrize("architecture", ["compute_75", "compute_90", "sm_100"])
def test_directions_follow_loads_stores_and_atomics(tmp_path: Path, architecture: str) -> None:
    """Directions of parameters follow loads, stores and atomics, through index arithmetic, in both PTX dialects."""
    manifest = describe(
        tmp_path,
        'extern "C" __global__ void k(const float* x, float* y, float* z, int* counter, int n, long stride) {\n'
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i >= n) return;\n"
        "    y[i] += x[i * stride];\n"
        "    z[i - 1] = x[i];\n"
        "    atomicAdd(counter, 1);\n"
        "}\n",
        architecture,
    )
    assert directions(manifest) == {"x": "in", "y": "inout", "z": "out", "counter": "inout", "n": "in", "stride": "in"}
    assert [p.is_pointer for p in manifest.parameters] == [True, True, True, True, False, False]
    assert manifest.needs_review is False


@pytest.mark.parametrize("path", sorted(KERNELS_FOLDER.glob("*.cu")), ids=lambda path: path.stem)
def test_what_the_library_declares_const_is_read_and_all_else_is_written(path: Path) -> None:
    """In the library's kernels, const pointers are only read, and the others are written."""
    image = load_image(path, "sm_90")  # compiled once, also for `tests/blocks/test_kernels.py`
    found = {manifest.name: manifest for manifest in describe_kernels(image)}
    for name, text in re.findall(r"__global__[^;{]*?\b(\w+)\(([^)]*)\)\s*{", path.read_text()):
        declared = [parameter.split("//")[0].strip() for parameter in re.split(r",(?:\s*//.*)?", text)]
        described = found.pop(name).parameters
        assert len(described) == len(declared)
        for parameter, written in zip(described, declared, strict=True):
            assert bool(parameter.is_pointer) is ("*" in written), written
            expected = ("in",) if written.startswith("const ") else ("out", "inout")
            assert "*" not in written or parameter.direction in expected, written
    assert not found


def test_a_pointer_chosen_at_run_time_counts_for_both(tmp_path: Path) -> None:
    """A pointer that is chosen at run time counts as a write to each of the candidates."""
    manifest = describe(
        tmp_path,
        'extern "C" __global__ void k(float* a, float* b, const float* x, int which) {\n'
        "    float* target = which ? a : b;\n"
        "    target[threadIdx.x] = x[threadIdx.x];\n"
        "}\n",
    )
    assert directions(manifest) == {"a": "out", "b": "out", "x": "in", "which": "in"}


def test_a_pointer_that_goes_elsewhere_is_unknown(tmp_path: Path) -> None:
    """A pointer that is stored, returned, or passed to an unknown function has an unknown direction."""
    manifest = describe(
        tmp_path,
        "typedef float (*Pick)(const float*);\n"
        "__device__ float first(const float* p) { return p[0]; }\n"
        "__device__ float second(const float* p) { return p[1]; }\n"
        "__device__ Pick picks[2] = {first, second};\n"
        "__device__ __noinline__ float* returned(float* p, int i) { return i ? p : p + 1; }\n"
        'extern "C" __global__ void k(const float* passed, float** table, float* stored, float* out, float* back) {\n'
        "    table[threadIdx.x] = stored;\n"
        "    stored[0] = 1;\n"
        "    out[threadIdx.x] = picks[threadIdx.x & 1](passed);\n"
        "    returned(back, threadIdx.x)[0] = 1;\n"
        "}\n",
    )
    unknown = dict.fromkeys(("passed", "stored", "back"), "unknown")
    assert directions(manifest) == {**unknown, "table": "out", "out": "out"}
    assert manifest.needs_review is True


@pytest.mark.parametrize("architecture", ["compute_75", "compute_100"])
def test_what_a_function_does_with_a_pointer_counts(tmp_path: Path, architecture: str) -> None:
    """The use of a pointer inside called functions counts, but a pointer in a recursion is unknown."""
    manifest = describe(
        tmp_path,
        "__device__ __noinline__ float pick(const float* p, int i) { return p[i]; }\n"
        "__device__ __noinline__ void put(float* p, float value) { p[threadIdx.x] = value; }\n"
        "__device__ __noinline__ void move(float* to, const float* from, int i) { put(to + i, pick(from, i)); }\n"
        "__device__ __noinline__ int deep(int* p, int n) { return n ? deep(p + 1, n - 1) + deep(p, n / 2) : p[0]; }\n"
        'extern "C" __global__ void k(float* a, float* b, float* c, float* d, int* e, int* out) {\n'
        "    move(a, b, threadIdx.x);\n    move(c, c, threadIdx.x);\n    put(d, pick(a, 3));\n"
        "    out[0] = deep(e, threadIdx.x);\n"
        "}\n",
        architecture,
    )
    assert directions(manifest) == {"a": "inout", "b": "in", "c": "inout", "d": "out", "e": "unknown", "out": "out"}


def test_asynchronous_copies_read_their_source(tmp_path: Path) -> None:
    """The source of `cp.async` is an input."""
    manifest = describe(
        tmp_path,
        PTX_HEAD.replace("sm_75", "sm_80")
        + ".visible .entry k(.param .u64 source, .param .u64 unused)\n{\n"
        + "    .shared .align 16 .b8 tile[16];\n    .reg .b32 %r<2>;\n    .reg .b64 %rd<2>;\n"
        + "    ld.param.u64 %rd1, [source];\n    mov.u32 %r1, tile;\n"
        + "    cp.async.ca.shared.global [%r1], [%rd1], 16;\n    ret;\n}\n",
        name="k.ptx",
    )
    assert directions(manifest) == {"source": "in", "unused": "in"}
    assert [p.is_pointer for p in manifest.parameters] == [True, False]


def test_types_and_limits_are_those_of_the_ptx(tmp_path: Path) -> None:
    """Accesses decide element types, and launch bounds and shared memory are those that the PTX declares."""
    manifest = describe(
        tmp_path,
        'extern "C" __global__ void __launch_bounds__(128) k(const unsigned char* x, double* y, float f) {\n'
        "    __shared__ double tile[100];\n    tile[threadIdx.x % 100] = x[threadIdx.x];\n    __syncthreads();\n"
        "    y[threadIdx.x] = tile[(threadIdx.x * 7) % 100] * f;\n"
        "}\n",
    )
    assert [(p.ptx_type, p.element_type, p.alignment) for p in manifest.parameters] == [
        ("u64", "u8", 8),
        ("u64", "f64", 8),
        ("f32", None, 4),
    ]
    assert (manifest.name, manifest.max_threads, manifest.shared_memory_static) == ("k", 128, 800)
    assert (manifest.target_sm, manifest.uses_dynamic_shared, manifest.generated) == ("sm_75", False, True)


def test_a_described_ptx_loads_with_its_manifest(tmp_path: Path) -> None:
    """A manifest that was written beside its PTX is read back by the loader."""
    body = PTX_HEAD + ".visible .entry k(.param .u64 data)\n{\n    ret;\n}\n"
    manifest = describe(tmp_path, body, name="k.ptx")
    write_manifest(tmp_path / "k.json", manifest)
    assert read_manifest(tmp_path / "k.json") == manifest
    assert load_image(tmp_path / "k.ptx", "compute_75").manifests == {"k": manifest}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("__global__ void k(float* a, int n) {}", ["a", "n"]),
        (
            "__global__ void other(int q) {}\n__global__ void k(const float *__restrict__ a /* , b */, int n) {}",
            ["a", "n"],
        ),
        ("__global__ void __launch_bounds__(64) k(\n  float a[],  // first\n  Pair pair)\n{}", ["a", "pair"]),
        ("__global__ void k() {}", []),
        ("void k(int a) {}", []),
        ("__global__ void kk(int a) {}", []),
    ],
)
def test_names_come_from_the_source(source: str, names: list[str]) -> None:
    """Parameter names are found in the source despite comments, qualifiers and other kernels."""
    assert source_parameter_names(source, "k") == names


def test_names_of_the_ptx_are_used_where_the_source_hides_them(tmp_path: Path) -> None:
    """If a macro hides the parameters, each gets the name that the PTX has for it."""
    manifest = describe(tmp_path, '#define ARGS int* a, int b\nextern "C" __global__ void k(ARGS) { a[0] = b; }\n')
    assert directions(manifest) == {"k_param_0": "out", "k_param_1": "in"}
