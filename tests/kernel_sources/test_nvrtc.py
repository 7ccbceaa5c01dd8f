"""CUDA C++ becomes PTX and CUBIN, and a mistake becomes an error with its place."""

import subprocess
import sys
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from warploom.engine.device.device import HOST_ARCHITECTURE
from warploom.engine.device.host.device import HostDevice
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.cuda import library, nvrtc
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.kernel_sources.loader import load_image

FILE = Path("/folder with spaces/scale.cu")
SCALE = """
extern "C" __global__ void scale(float* data, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= factor;
}
"""


def test_a_virtual_architecture_gives_ptx_only() -> None:
    """compute_75 gives PTX but no CUBIN."""
    compiled = compile_cuda(SCALE, FILE, "compute_75", [])
    assert compiled.cubin is None
    assert ".target sm_75" in compiled.ptx
    assert ".entry scale(" in compiled.ptx
    assert "\0" not in compiled.ptx


def test_integers_of_128_bits_compute_on_the_host() -> None:
    """The upper half of a product of two 64-bit numbers equals Python's."""
    text = """extern "C" __global__ void upper(const unsigned long long* x, unsigned long long* out) {
        out[threadIdx.x] = (unsigned __int128)x[threadIdx.x] * x[threadIdx.x + 1] >> 64;
    }"""
    x = np.random.default_rng(3).integers(0, 2**64, 9, dtype=np.uint64)
    with closing(HostDevice()) as device:
        module = device.load_module(compile_cuda(text, FILE, HOST_ARCHITECTURE, []).ptx)
        given, out = device.upload(x), device.upload(np.zeros(8, np.uint64))
        device.launch(module.kernel("upper"), grid=(1,), thread_block=(8,), args=[given, out])
        device.synchronize()
        assert out.download().tolist() == [int(a) * int(b) >> 64 for a, b in pairwise(x)]
        given.free()
        out.free()


def test_a_real_architecture_gives_cubin_and_ptx_from_one_compile() -> None:
    """A CUBIN is an ELF file, and the PTX of the same compile names the same architecture."""
    compiled = compile_cuda(SCALE, FILE, "sm_90", [])
    assert compiled.cubin is not None
    assert compiled.cubin[:4] == b"\x7fELF"
    assert ".target sm_90" in compiled.ptx


def test_line_information_names_the_file() -> None:
    """The PTX has the path of the source file in its line information."""
    assert str(FILE) in compile_cuda(SCALE, FILE, "compute_75", []).ptx


def test_helpers_need_no_device_qualifier() -> None:
    """A plain function in a kernel file is a device function."""
    source = "float twice(float x) { return 2 * x; }\n" + SCALE.replace("*= factor", "= twice(data[i])")
    assert ".entry scale(" in compile_cuda(source, FILE, "compute_75", []).ptx


def test_an_error_has_the_message_file_and_line_of_the_first_mistake() -> None:
    """Neither earlier warnings nor later mistakes hide the first error."""
    source = SCALE.replace("int i =", "int unused; int i =").replace("*= factor", "*= faktor").replace("i < n", "i < m")
    with pytest.raises(KernelError) as caught:
        compile_cuda(source, FILE, "compute_75", [])
    text = str(caught.value)
    assert caught.value.file == str(FILE)
    assert caught.value.line == 4
    assert text.startswith("scale.cu must compile, got 2 errors:\nscale.cu(4): identifier")
    assert 'identifier "faktor" is undefined' in text
    assert "if (i < m) data[i] *= faktor;" in text
    assert "unused" not in text
    assert "detected in the compilation" not in text


def test_an_error_in_a_header_has_the_headers_line(tmp_path: Path) -> None:
    """An error in a header has the header's file and line, not the line of the include."""
    header = tmp_path / "half.cuh"
    header.write_text("inline float half_of(float x) {\n    return x / two;\n}\n")
    with pytest.raises(KernelError) as caught:
        compile_cuda('#include "half.cuh"\n' + SCALE, FILE, "compute_75", [tmp_path])
    assert caught.value.file == str(header)
    assert caught.value.line == 2
    assert str(caught.value).startswith("scale.cu must compile, got 1 error:\nhalf.cuh(2): ")


def test_a_missing_header_is_an_error_with_its_line() -> None:
    """The error for a missing header has the line of the include."""
    with pytest.raises(KernelError, match=r'cannot open source file "nowhere\.h"') as caught:
        compile_cuda('\n#include "nowhere.h"\n' + SCALE, FILE, "compute_75", [])
    assert caught.value.line == 2


def test_many_mistakes_are_counted_but_not_all_listed() -> None:
    """Only the first of many mistakes are listed; the others are counted."""
    source = 'extern "C" __global__ void k() {\n' + "".join(f"a{i} = 0;\n" for i in range(9)) + "}"
    with pytest.raises(KernelError) as caught:
        compile_cuda(source, FILE, "compute_75", [])
    text = str(caught.value)
    assert text.startswith("scale.cu must compile, got 9 errors:")
    assert '"a4"' in text
    assert '"a5"' not in text
    assert text.endswith("and 4 more")


def test_warnings_go_to_the_log() -> None:
    """A kernel with a warning compiles, and the warning is in the log."""
    compiled = compile_cuda(SCALE.replace("int i =", "int unused; int i ="), FILE, "compute_75", [])
    assert ".entry scale" in compiled.ptx
    assert 'variable "unused" was declared but never referenced' in compiled.log
    assert compile_cuda(SCALE, FILE, "compute_75", []).log == ""


def test_an_unknown_architecture_is_explained() -> None:
    """An unknown architecture is an error with the compiler's reason, and without a line of the source."""
    with pytest.raises(KernelError, match=r"scale\.cu must compile, got: .*architecture") as caught:
        compile_cuda(SCALE, FILE, "sm_1", [])
    assert caught.value.line is None


def test_a_missing_compiler_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without NVRTC, the error says what to install."""
    library.nvrtc_library.cache_clear()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "cuda.bindings.nvrtc", None)
        with pytest.raises(KernelError, match="pip install cuda-python nvidia-cuda-nvrtc"):
            compile_cuda(SCALE, FILE, "compute_75", [])


def test_the_version_is_that_of_the_library() -> None:
    """The package's version is the version that NVRTC reports."""
    assert library.nvrtc_version() == tuple(library.nvrtc_library().nvrtcVersion()[1:])


def test_a_kernel_in_the_cache_is_loaded_without_the_compiler(tmp_path: Path) -> None:
    """A kernel from the cache is loaded without loading NVRTC."""
    source, cache = tmp_path / "scale.cu", nvrtc.CompileCache(tmp_path / "cache")
    source.write_text("#include <cuda_fp16.h>\n" + SCALE)
    load_image(source, "compute_75", cache)
    script = (
        "import sys; from pathlib import Path; from warploom.engine.kernel_sources.loader import load_image\n"
        "from warploom.engine.kernel_sources.cuda.nvrtc import CompileCache\n"
        f"image = load_image(Path({str(source)!r}), 'compute_75', CompileCache(Path({str(cache.folder)!r})))\n"
        "print(*image.signatures, 'cuda.bindings.nvrtc' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["scale", "False"]
