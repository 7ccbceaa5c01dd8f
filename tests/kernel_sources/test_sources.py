"""A kernel source has all that decides its code: equal sources are one kernel, and other options another kernel."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from warploom.engine.device.host.device import HostDevice
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.cuda.nvrtc import CompileCache
from warploom.engine.kernel_sources.element_types.declared import pointer_elements
from warploom.engine.kernel_sources.loader import find_source, load_image
from warploom.engine.kernel_sources.sources import CudaFile, CudaOptions, CudaText, KernelSource, PtxFile

WRITE = 'extern "C" __global__ void write(float* x) {{ x[0] = {}; }}\n'


@pytest.fixture
def cache(tmp_path: Path) -> CompileCache:
    """A cache for this test."""
    return CompileCache(tmp_path / "cache")


@pytest.fixture
def written(cache: CompileCache) -> Callable[[KernelSource], float]:
    """Return the output of the kernel `write` of a source on the host device."""

    def run(source: KernelSource) -> float:
        device = HostDevice(cores=1, quick_first=False)
        try:
            kernel = device.load_module(load_image(source, "compute_75", cache).ptx).kernel("write")
            buffer = device.upload(np.zeros(1, np.float32))
            device.launch(kernel, (1,), (1,), [buffer])
            return float(buffer.download()[0])
        finally:
            device.close()

    return run


def test_options_are_the_same_however_their_macros_are_given() -> None:
    """Macros may come in any order, as a mapping or as pairs; the options are equal and hash alike."""
    ways: list[Any] = [{"A": 1, "B": 2}, {"B": 2, "A": 1}, (("B", "2"), ("A", "1")), [["A", 1], ["B", 2]]]
    assert len({CudaText("", CudaOptions(defines=way)) for way in ways}) == 1
    assert CudaOptions(defines={"A": 1}) != CudaOptions(defines={"A": 1.0})


@pytest.mark.parametrize(
    "source",
    [
        PtxFile("a.ptx"),
        CudaFile("a.cu", CudaOptions(include_folders=("b",), use_fast_math=True)),
        CudaText("x", CudaOptions(defines={"A": 0.1, "B": -3, "C": True, "D": "a + b"}, architecture="compute_80")),
    ],
)
def test_a_source_survives_json(source: KernelSource) -> None:
    """JSON keeps the kind of a source and every option."""
    assert msgspec.json.decode(msgspec.json.encode(source), type=KernelSource) == source


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"defines": {"9": 1}}, "name of a macro of a kernel must be an identifier of C++, got '9'"),
        ({"defines": {"A": float("nan")}}, "A of a kernel must be a finite number, got nan"),
        ({"defines": {"A": "1\n2"}}, r"A of a kernel must be a number or a line of text, got '1\n2'"),
        ({"defines": {"A": None}}, "A of a kernel must be a number or a line of text, got None"),
        ({"defines": "A=1"}, "defines of a kernel must be values by the name of a macro, got 'A=1'"),
        ({"use_fast_math": 1}, "use_fast_math of a kernel must be True or False, got 1"),
        ({"standard": "c++98"}, "standard of a kernel must be one of c++14, c++17, c++20, got 'c++98'"),
        ({"include_folders": "a"}, "include_folders of a kernel must be a list of folders, got 'a'"),
        ({"include_folders": ["\0"]}, r"include_folders of a kernel must be a list of folders, got ['\x00']"),
        ({"architecture": "sm_90"}, """architecture of a kernel must be one such as "compute_80", got 'sm_90'"""),
    ],
)
def test_a_wrong_option_is_one_message(options: dict[str, Any], message: str) -> None:
    """A wrong option is reported when the options are made, before anything is compiled."""
    with pytest.raises(KernelError) as refused:
        CudaOptions(**options)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, 3), (-2, -2), (0.1, np.float32(0.1)), (1e-30, np.float32(1e-30)), (1e20, np.float32(1e20)), (True, 1),
     (np.float32(2.5), 2.5), (np.int64(7), 7), ("1.5f * 2", 3)],
)  # fmt: skip
def test_a_constant_has_its_value_in_the_kernel(
    value: Any, expected: float, written: Callable[[KernelSource], float]
) -> None:
    """A constant has its value in the kernel, and each set of values is compiled separately."""
    text = WRITE.format("VALUE")
    assert written(CudaText(text, CudaOptions(defines={"VALUE": value}))) == expected
    assert written(CudaText(text, CudaOptions(defines={"VALUE": 11}))) == 11


def test_a_float_constant_is_an_f32(cache: CompileCache) -> None:
    """With a float constant, the kernel computes in f32 only."""
    text = 'extern "C" __global__ void scale(float* x) { x[0] *= FACTOR; }\n'
    ptx = load_image(CudaText(text, CudaOptions(defines={"FACTOR": 0.1})), "compute_75", cache).ptx
    assert "mul.f32" in ptx or "mul.rn.f32" in ptx
    assert "f64" not in ptx


def test_fast_math_takes_the_approximate_instructions(cache: CompileCache) -> None:
    """Fast math uses approximate instructions, and other kernels use exact ones."""
    source = CudaText('extern "C" __global__ void root(float* x) { x[0] = sqrtf(x[0]); }\n')
    fast = msgspec.structs.replace(source, options=CudaOptions(use_fast_math=True))
    assert "sqrt.rn.f32" in load_image(source, "compute_75", cache).ptx
    assert "sqrt.approx.ftz.f32" in load_image(fast, "compute_75", cache).ptx


@pytest.mark.parametrize(("standard", "version"), [("c++14", 201402), ("c++17", 201703), ("c++20", 202002)])
def test_the_standard_is_the_one_asked_for(
    standard: str, version: int, written: Callable[[KernelSource], float]
) -> None:
    """The compiler reports the requested standard in `__cplusplus`."""
    text = WRITE.format(f"__cplusplus == {version}")
    assert written(CudaText(text, CudaOptions(standard=standard))) == 1


@pytest.mark.parametrize(("architecture", "number"), [("", 750), ("compute_80", 800), ("compute_90", 900)])
def test_a_source_may_choose_its_architecture(
    architecture: str, number: int, written: Callable[[KernelSource], float]
) -> None:
    """A source is compiled for the architecture that it chooses, or else for the device's."""
    text = WRITE.format("__CUDA_ARCH__")
    assert written(CudaText(text, CudaOptions(architecture=architecture))) == number


def test_includes_of_a_text_are_found_as_for_a_file(tmp_path: Path, written: Callable[[KernelSource], float]) -> None:
    """A text's includes are found in the search folders, and before that in include folders relative to them."""
    for place, number in ((tmp_path, 1), (tmp_path / "inner", 2)):
        place.mkdir(exist_ok=True)
        (place / "number.cuh").write_text(f"#define NUMBER {number}\n")
    text = '#include "number.cuh"\n' + WRITE.format("NUMBER")
    beside = find_source(CudaText(text), [tmp_path])
    inside = find_source(CudaText(text, CudaOptions(include_folders=("inner",))), [tmp_path / "nowhere", tmp_path])
    assert written(beside) == 1
    assert written(inside) == 2


def test_an_include_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A missing include folder is refused with the places where it was looked for."""
    (tmp_path / "k.cu").write_text("")
    with pytest.raises(KernelError) as refused:
        find_source(CudaFile("k.cu", CudaOptions(include_folders=("gone",))), [tmp_path])
    assert str(refused.value) == f"include folder gone must be in one of {tmp_path}, found in none"


def test_a_mistake_in_a_text_has_its_line_and_no_file(tmp_path: Path, cache: CompileCache) -> None:
    """A mistake in a text has its line and no file; one in an included file has that file."""
    with pytest.raises(KernelError) as refused:
        load_image(CudaText("\n" + WRITE.format("nothing")), "compute_75", cache)
    assert str(refused.value).startswith(
        'kernel text must compile, got 1 error:\nkernel text(2): identifier "nothing" is undefined'
    )
    assert (refused.value.file, refused.value.line) == (None, 2)
    (tmp_path / "bad.cuh").write_text("\n\nint;;wrong\n")
    with pytest.raises(KernelError) as refused:
        load_image(find_source(CudaText('#include "bad.cuh"\n'), [tmp_path]), "compute_75", cache)
    assert (refused.value.file, refused.value.line) == (str(tmp_path / "bad.cuh"), 3)


def test_a_text_without_kernels_is_an_error(cache: CompileCache) -> None:
    """A text without kernels is an error that shows how to declare one; a wrong entry point lists the right ones."""
    with pytest.raises(KernelError, match=r'^kernel text must define a kernel \(extern "C" __global__ .*got none'):
        load_image(CudaText("float twice(float x) { return 2 * x; }\n"), "compute_75", cache)
    with pytest.raises(KernelError, match=r"^entry point blur must be one of write in kernel text$"):
        load_image(CudaText(WRITE.format(1)), "compute_75", cache).signature("blur")


def test_elements_of_a_text_are_known(cache: CompileCache) -> None:
    """Elements of a text are known by type names, or by compiling with the source's own options."""
    text = 'typedef TYPE T;\nextern "C" __global__ void k(const float* a, T* b) { b[0] = a[0]; }\n'
    image = load_image(CudaText(text, CudaOptions(defines={"TYPE": "double"})), "compute_75", cache)
    assert [item.size_bytes for item in pointer_elements(image, "k") if item] == [4, 8]


@pytest.mark.parametrize("kind", [PtxFile, CudaFile])
def test_a_file_is_a_path(kind: type[PtxFile | CudaFile], tmp_path: Path) -> None:
    """A file's path may be a Path, and is the same as its text; anything else is refused."""
    assert kind(tmp_path / "a.cu") == kind(str(tmp_path / "a.cu"))  # type: ignore[arg-type]
    for wrong in (None, 3, b"a.cu", ["a.cu"]):
        with pytest.raises(KernelError, match="file of a kernel must be a path, got "):
            kind(wrong)  # type: ignore[arg-type]
