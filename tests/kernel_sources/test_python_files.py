"""Kernels in Python files are listed without running the files, and run from exactly the text that was read."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from warploom.engine.catalogue.block_files import holds_only_kernels
from warploom.engine.catalogue.catalogue import forget_blocks, trust_blocks
from warploom.engine.device.host.device import HostDevice
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.loader import find_source, load_image
from warploom.engine.kernel_sources.python.entry_points import renamed, with_static_shared, without_unused
from warploom.engine.kernel_sources.python.files import kernels_in, local_modules
from warploom.engine.kernel_sources.python.run_file import PythonText, running
from warploom.engine.kernel_sources.python.trust import UntrustedKernel, trusted_folders
from warploom.engine.kernel_sources.sources import PythonKernel, PythonOptions

PTX = """.version 8.0
.target sm_75
.address_size 64
.extern .shared .align 16 .b8 global_smem[];
.visible .entry _ZN4workB1(
    .param .u64 .ptr .global .align 1 _ZN4workB1_param_0,
    .param .f32 _ZN4workB1_param_1,
    .param .u32 _ZN4workB1_param_2,
    .param .u64 _ZN4workB1_param_3,
    .param .u64 _ZN4workB1_param_10
)
{
    .reg .b64 %rd<3>;
    .reg .f32 %f<3>;
    ld.param.u64 %rd1, [_ZN4workB1_param_0];
    ld.param.f32 %f1, [_ZN4workB1_param_10];
    mov.u64 %rd2, global_smem;
    st.shared.f32 [%rd2+12], %f1;
    ld.shared.f32 %f2, [%rd2+12];
    st.global.f32 [%rd1], %f2;
    ret;
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder whose Python files are trusted."""
    trusted_folders.add(tmp_path)
    yield tmp_path
    trusted_folders.discard(tmp_path)


@pytest.mark.parametrize(
    ("text", "kernels"),
    [
        ("import triton\n@triton.jit\ndef a(x): pass", {"a": "triton"}),
        ("import triton as t\n@t.jit(debug=True)\ndef a(x): pass", {"a": "triton"}),
        ("from triton import jit as j\n@j\ndef a(x): pass\n@j\ndef b(x): a(x)", {"b": "triton"}),
        ("import triton\n@triton.autotune([], key=[])\n@triton.jit\ndef a(x): pass", {"a": "triton"}),
        ("from numba import cuda\n@cuda.jit('void(int32)')\ndef a(x): pass", {"a": "numba"}),
        ("import numba.cuda\n@numba.cuda.jit\ndef a(x): pass", {"a": "numba"}),
        ("from numba import cuda\n@cuda.jit(device=True)\ndef a(x): pass", {}),
        ("from numba import jit, njit\n@jit\ndef a(x): pass\n@njit\ndef b(x): pass", {}),
        ("def a(x): pass\nclass B:\n    pass\nraise SystemExit", {}),
    ],
)
def test_kernels_are_found_in_the_text(text: str, kernels: dict[str, str]) -> None:
    """Kernels are recognised by their decorators under any imported name; functions that they call aren't listed."""
    assert kernels_in(text, Path("k.py")) == kernels


def test_wrong_python_has_its_line() -> None:
    """A mistake in a Python file is reported with its line, without running the file."""
    with pytest.raises(KernelError, match=r"^k\.py must be Python, got ") as refused:
        kernels_in("import triton\n\ndef a(:\n", Path("k.py"))
    assert (refused.value.file, refused.value.line) == ("k.py", 3)


def test_modules_beside_a_file_are_found(tmp_path: Path) -> None:
    """Modules beside a file are found if the file imports them, directly or not, but installed ones are left out."""
    (tmp_path / "part").mkdir()
    texts = {"a": "import b\nfrom part.inner import x\nimport numpy", "b": "from c import y\nimport a", "c": "y = 1"}
    for name, text in {**texts, "part/__init__": "", "part/inner": "x = 1", "part/other": "", "d": ""}.items():
        (tmp_path / f"{name}.py").write_text(text)
    found = local_modules(texts["a"], tmp_path / "a.py")
    assert {name: path.relative_to(tmp_path).as_posix() for name, path in found.items()} == {
        "b": "b.py", "c": "c.py", "part": "part/__init__.py", "part.inner": "part/inner.py",
    }  # fmt: skip


def test_a_file_runs_as_it_was_read(tmp_path: Path) -> None:
    """A file runs with the text that was read before, and neither it nor its modules stay in `sys.modules`."""
    path, helper = tmp_path / "kernels.py", tmp_path / "json.py"
    for place in (path, helper):
        place.write_text("raise ValueError('another version')")
    file = PythonText(str(path), "import json\nvalue = json.number + 1", {"json": (str(helper), "number = 41")})
    before = dict(sys.modules)
    with running(file) as module:
        assert module.value == 42
    assert dict(sys.modules) == before


@pytest.mark.parametrize(
    ("text", "message", "name", "line"),
    [
        ("x = 1\ny = x / 0\n", "k.py must run, got ZeroDivisionError: division by zero", "k.py", 2),
        ("import sys\nsys.exit(3)\n", "k.py must run, got SystemExit: 3", "k.py", 2),
        ("import nowhere\n", "k.py must run, got ModuleNotFoundError: No module named 'nowhere'", "k.py", 1),
        ("import helper\nhelper.fail()\n", "k.py must run, got KeyError: 'gone'", "helper.py", 3),
    ],
)  # fmt: skip
def test_what_a_file_raises_is_told_with_its_place(
    tmp_path: Path, text: str, message: str, name: str, line: int
) -> None:
    """An exception of a file is reported at the innermost line in one of the files."""
    helper = (str(tmp_path / "helper.py"), "def fail():\n    it = {}\n    it['gone']\n")
    with (
        pytest.raises(KernelError) as refused,
        running(PythonText(str(tmp_path / "k.py"), text, {"helper": helper})),
    ):
        pass
    assert str(refused.value) == message
    assert (refused.value.file, refused.value.line) == (str(tmp_path / name), line)


def test_ptx_of_a_python_compiler_becomes_a_plain_kernel() -> None:
    """PTX of a Python compiler becomes a kernel with a readable name, own shared memory and no unread parameters."""
    plain, left = without_unused(renamed(PTX, "_ZN4workB1", "work"), "work", keep=[0, 2])
    assert left == [0, 2, 4]
    plain = with_static_shared(plain, "global_smem", 16)
    device = HostDevice(cores=1, quick_first=False)
    try:
        kernel = device.load_module(plain).kernel("work")
        buffer = device.upload(np.zeros(1, np.float32))
        bits = int(np.float32(2.5).view(np.uint32))
        device.launch(kernel, (1,), (1,), [buffer, np.uint32(7), np.uint64(bits)])
        assert buffer.download().tolist() == [2.5]
    finally:
        device.close()


def test_a_python_kernel_runs_only_from_a_trusted_folder(tmp_path: Path) -> None:
    """A Python kernel runs only from a trusted folder, until trust is withdrawn; symbolic links are followed.

    Hidden files are left out, since nobody was asked about them.
    """
    blocks, other = tmp_path / "blocks", tmp_path / "other"
    for place in (blocks, other, blocks / ".more", blocks / "__pycache__"):
        place.mkdir()
        (place / "k.py").write_text("import triton\n@triton.jit\ndef work(x): pass\n")
    (blocks / "link.py").symlink_to(other / "k.py")

    def is_refused(path: Path) -> bool:
        try:
            load_image(PythonKernel(str(path), "nobody"), "compute_90")
        except UntrustedKernel as refused:
            assert str(refused) == (
                f"kernel file {path.name} must lie in a folder of blocks that is trusted, got {path.resolve().parent}"
            )
            return True
        except KernelError as wrong:
            assert "kernel nobody must be one of work in k.py" in str(wrong)
        return False

    places = [other / "k.py", blocks / "link.py", blocks / ".more" / "k.py", blocks / "__pycache__" / "k.py"]
    paths = [blocks / "k.py", *places]
    assert [is_refused(path) for path in paths] == [True] * 5
    assert trust_blocks(blocks) == []
    assert [is_refused(path) for path in paths] == [False, True, True, True, True]
    forget_blocks(blocks)
    assert [is_refused(path) for path in paths] == [True] * 5


def test_files_of_kernels_are_no_block_files() -> None:
    """A file that contains only kernels is no block file, but one with kernels and blocks is."""
    kernels = "import triton\n@triton.jit\ndef work(x): pass\n"
    assert holds_only_kernels(kernels.encode())
    assert not holds_only_kernels(f"from warploom.api import Block\n{kernels}".encode())
    assert not holds_only_kernels(b"def helper(): pass")


def test_a_python_file_is_a_source_for_each_kernel(folder: Path) -> None:
    """A kernel in a Python file is found by its name, which may be left out if the file has only one kernel."""
    (folder / "one.py").write_text("import triton\n@triton.jit\ndef work(x): pass\n")
    (folder / "two.py").write_text("import triton\n@triton.jit\ndef a(x): pass\n@triton.jit\ndef b(x): pass\n")
    assert find_source("one.py", [folder]) == PythonKernel(str(folder / "one.py"), "work")
    assert find_source("two", [folder], "b") == PythonKernel(str(folder / "two.py"), "b")
    with pytest.raises(KernelError, match=r"^kernel of two\.py must be chosen by its name, one of a, b$"):
        find_source("two.py", [folder])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"constants": {"BLOCK": None}}, "constants of a kernel must be values by the name of a parameter, got "),
        ({"types": {"x": 1}}, "types of a kernel must be texts by the name of a parameter, got {'x': 1}"),
        ({"num_warps": 3}, "num_warps of a kernel must be a power of two up to 32, got 3"),
        ({"num_stages": 99}, "num_stages of a kernel must be at most 16, got 99"),
    ],
)
def test_a_wrong_option_of_a_python_kernel_is_one_message(options: dict[str, object], message: str) -> None:
    """A wrong option raises one KernelError when the options are made."""
    with pytest.raises(KernelError) as refused:
        PythonOptions(**options)  # type: ignore[arg-type] # wrong on purpose
    assert str(refused.value).startswith(message)
