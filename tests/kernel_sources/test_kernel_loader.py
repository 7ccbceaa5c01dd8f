"""A kernel file becomes an image, and each mistake in it is reported with its place."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.cuda import compiling, library, nvrtc
from warploom.engine.kernel_sources.cuda.nvrtc import CompileCache, CompiledSource
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.kernel_sources.loader import find_kernel, load_image
from warploom.engine.kernel_sources.texts import read_source
from warploom.engine.processes.pool import run

SCALE = """#include "factor.cuh"
extern "C" __global__ void scale(float* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= FACTOR;
}
"""
PTX = """.version 7.8
.target sm_75
.address_size 64
.visible .entry fill(.param .u64 data, .param .f32 value)
{
    .reg .b64 %rd<3>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [data];
    ld.param.f32 %f1, [value];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.f32 [%rd2], %f1;
    ret;
}
"""


@pytest.fixture
def cache(tmp_path: Path) -> CompileCache:
    """A cache for this test."""
    return CompileCache(tmp_path / "cache")


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    """A CUDA C++ kernel with a header of its own."""
    (tmp_path / "factor.cuh").write_text("#define FACTOR 2.0f\n")
    path = tmp_path / "scale.cu"
    path.write_text(SCALE)
    return path


def compiles(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the architecture of each compile that is not answered by the cache."""
    done: list[str] = []

    def run_and_note(function: Callable[..., CompiledSource], *arguments: Any) -> CompiledSource:
        done.append(arguments[2])
        return run(function, *arguments)

    monkeypatch.setattr(compiling, "run", run_and_note)
    return done


def test_a_cuda_file_becomes_an_image(scale: Path, cache: CompileCache) -> None:
    """The signature has the parameters' sizes in order, and the image lists the file and its header as read."""
    image = load_image(scale, "sm_90", cache)
    assert list(image.signatures) == ["scale"]
    assert [p.size_bytes for p in image.signature("scale").parameters] == [8, 4]
    assert {scale, scale.with_name("factor.cuh")} <= image.reading.files
    assert image.payload("sm_90") == image.cubin
    assert image.payload("compute_75") == image.ptx


def test_a_second_load_compiles_nothing(scale: Path, cache: CompileCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second load returns an equal image, signatures included, and compiles nothing."""
    done = compiles(monkeypatch)
    monkeypatch.setattr(nvrtc, "read_signatures", lambda _ptx: pytest.fail("PTX is read"))
    first = load_image(scale, "compute_75", cache)
    assert load_image(scale, "compute_75", CompileCache(cache.folder)) == first
    assert done == ["compute_75"]


def test_a_changed_header_compiles_again(scale: Path, cache: CompileCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed header compiles the kernel again, and the new value is in its PTX."""
    done = compiles(monkeypatch)
    load_image(scale, "compute_75", cache)
    scale.with_name("factor.cuh").write_text("#define FACTOR 3.0f\n")
    assert "0f40400000" in load_image(scale, "compute_75", cache).ptx
    assert done == ["compute_75", "compute_75"]


def test_each_architecture_is_stored_apart(scale: Path, cache: CompileCache) -> None:
    """Images for the host and for a GPU are cached separately."""
    assert load_image(scale, "compute_75", cache).cubin is None
    assert load_image(scale, "sm_90", cache).cubin is not None


def test_a_damaged_cache_compiles_again(scale: Path, cache: CompileCache) -> None:
    """If the cache is damaged, a new compile gives the same PTX."""
    first = load_image(scale, "sm_90", cache)
    for path in cache.folder.iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert load_image(scale, "sm_90", cache).ptx == first.ptx


def test_toolkit_headers_are_there_without_a_toolkit(tmp_path: Path, cache: CompileCache) -> None:
    """A kernel can include cuda_fp16.h without a toolkit, since NVRTC contains it."""
    path = tmp_path / "half.cu"
    path.write_text(
        "#include <cuda_fp16.h>\n"
        'extern "C" __global__ void widen(const __half* x, float* y) { y[threadIdx.x] = __half2float(x[0]); }\n'
    )
    assert "cvt.f32.f16" in load_image(path, "compute_75", cache).ptx


def test_kernels_may_include_from_the_library(
    tmp_path: Path, cache: CompileCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's kernel may include headers of the library, which are then listed as read."""
    library = tmp_path / "library"
    library.mkdir()
    (library / "one.cuh").write_text("#define ONE 1\n")
    monkeypatch.setattr(compiling, "KERNELS_FOLDER", library)
    path = tmp_path / "k.cu"
    path.write_text('#include "one.cuh"\nextern "C" __global__ void k(int* a) { a[0] = ONE; }\n')
    assert {path, library / "one.cuh"} <= load_image(path, "compute_75", cache).reading.files


def test_a_cuda_file_without_kernels_is_an_error(tmp_path: Path, cache: CompileCache) -> None:
    """A file without kernels is an error that shows how to declare one."""
    path = tmp_path / "empty.cu"
    path.write_text("float twice(float x) { return 2 * x; }\n")
    with pytest.raises(KernelError, match=r'empty\.cu must define a kernel \(extern "C" __global__ .*got none'):
        load_image(path, "compute_75", cache)


def test_a_wrong_entry_point_lists_the_right_ones(tmp_path: Path, cache: CompileCache) -> None:
    """For a wrong entry point, the error lists the existing ones, with a remedy for mangled names."""
    path = tmp_path / "k.cu"
    path.write_text("#define KERNEL(name) __global__ void name(int* a)\nKERNEL(blur) { a[0] = 1; }\n")
    with pytest.raises(KernelError, match=r'entry point blur must be one of _Z4blurPi in k\.cu; declare it extern "C"'):
        load_image(path, "compute_75", cache).signature("blur")


def test_a_ptx_file_loads_as_it_is(tmp_path: Path, cache: CompileCache) -> None:
    """PTX loads unchanged and without a manifest, and the path of a future manifest is listed for watching."""
    path = tmp_path / "fill.ptx"
    path.write_text(PTX)
    image = load_image(path, "sm_90", cache)
    assert (image.payload("sm_90"), image.payload("compute_75")) == (PTX, PTX)
    assert [(p.name, p.offset, p.ptx_type) for p in image.signature("fill").parameters] == [
        ("data", 0, "u64"),
        ("value", 8, "f32"),
    ]
    assert image.manifests == {}
    assert {path, tmp_path / "fill.json"} <= image.reading.files


def test_wrong_ptx_is_an_error_with_its_file(tmp_path: Path, cache: CompileCache) -> None:
    """The error for wrong PTX names the file."""
    path = tmp_path / "bad.ptx"
    path.write_text("this is not PTX\n")
    with pytest.raises(KernelError, match=r"^bad\.ptx") as caught:
        load_image(path, "compute_75", cache)
    assert caught.value.file == str(path)


def test_unreadable_files_are_kernel_errors(tmp_path: Path, cache: CompileCache) -> None:
    """A file that is missing, of an unknown kind, or not text, raises a KernelError with the reason."""
    with pytest.raises(KernelError, match=r"must be readable, got: No such file"):
        load_image(tmp_path / "gone.cu", "compute_75", cache)
    with pytest.raises(KernelError, match=r"kernel file must end in \.cu, \.ptx or \.py, got k\.txt"):
        load_image(tmp_path / "k.txt", "compute_75", cache)
    path = tmp_path / "binary.cu"
    path.write_bytes(b"// line 1\n// \xff\0\n")
    with pytest.raises(KernelError, match=r"binary\.cu must be UTF-8 text") as caught:
        load_image(path, "compute_75", cache)
    assert caught.value.line == 2


@pytest.mark.parametrize(
    "written",
    [
        b"\xef\xbb\xbf// \xc3\xa9\r\n",
        b"\xef\xbb\xbf// \xc3\xa9\n",
        b"// \xe9\r\n",
        b"// \xe9\r",
        b"\xff\xfe" + "// é\r\n".encode("utf-16-le"),
        b"\xfe\xff" + "// é\n".encode("utf-16-be"),
    ],
)
def test_files_of_other_systems_are_the_same_text(tmp_path: Path, written: bytes) -> None:
    """A byte order mark, other line breaks and Latin-1 letters, as Windows' editors write, make no difference."""
    for name in ("k.cu", "k.ptx", "k.cuh"):
        (tmp_path / name).write_bytes(written)
        assert read_source(tmp_path / name) == "// é\n"
    for name in ("k.json", "k.py"):
        (tmp_path / name).write_bytes(written)
        if b"\xe9" in written and b"\x00" not in written:
            with pytest.raises(KernelError, match="must be UTF-8 text"):
                read_source(tmp_path / name)
        else:
            assert read_source(tmp_path / name) == "// é\n"


def test_a_kernel_and_its_header_from_windows_compile(tmp_path: Path, cache: CompileCache) -> None:
    """A kernel with a byte order mark includes a header with Latin-1 comments."""
    (tmp_path / "größe.cuh").write_bytes("// Größe\r\n#define SIZE \\\r\n 7\r\n".encode("latin-1"))
    source = '#include "größe.cuh"\r\nextern "C" __global__ void k(int* out) { *out = SIZE; }\r\n'
    path = tmp_path / "k.cu"
    path.write_bytes(b"\xef\xbb\xbf" + source.encode())
    assert " 7" in load_image(path, "compute_75", cache).ptx


def test_find_kernel_takes_the_first_folder_that_has_it(tmp_path: Path) -> None:
    """A kernel is found in the first folder that has it, with or without its suffix."""
    for folder in ("mine", "theirs"):
        (tmp_path / folder / "image").mkdir(parents=True)
        (tmp_path / folder / "image" / "blur.cu").write_text("")
    search = [tmp_path / "mine", tmp_path / "theirs"]
    (tmp_path / "theirs" / "only.ptx").write_text("")
    assert find_kernel("image/blur.cu", search) == tmp_path / "mine" / "image" / "blur.cu"
    assert find_kernel("image/blur", search) == tmp_path / "mine" / "image" / "blur.cu"
    assert find_kernel("only", search) == tmp_path / "theirs" / "only.ptx"
    assert find_kernel(str(tmp_path / "theirs" / "only.ptx")) == tmp_path / "theirs" / "only.ptx"


def test_find_kernel_lists_where_it_looked(tmp_path: Path) -> None:
    """The error for a missing kernel lists the folders that were searched."""
    with pytest.raises(KernelError) as caught:
        find_kernel("nowhere.cu", [tmp_path])
    assert str(caught.value) == f"kernel nowhere.cu must be in one of {tmp_path}, {KERNELS_FOLDER}, found in none"


def test_a_name_that_no_file_can_have_is_found_nowhere(tmp_path: Path, cache: CompileCache) -> None:
    """Neither a kernel nor an include is found by an impossible name."""
    endless = "x" * 300
    with pytest.raises(KernelError, match="found in none"):
        find_kernel(endless, [tmp_path])
    path = tmp_path / "including.cu"
    path.write_text(f'#include "{endless}"\n')
    with pytest.raises(KernelError, match="must compile"):
        load_image(path, "compute_75", cache)


def test_a_mac_has_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """On macOS the error says that there is no NVRTC, and where kernels can run; elsewhere how to install it."""

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(library.importlib, "import_module", missing)
    find = library.nvrtc_library.__wrapped__
    with pytest.raises(KernelError, match="pip install cuda-python nvidia-cuda-nvrtc"):
        find()
    monkeypatch.setattr(library.sys, "platform", "darwin")
    with pytest.raises(KernelError, match="got macOS, for which NVIDIA has none; run the engine on"):
        find()
