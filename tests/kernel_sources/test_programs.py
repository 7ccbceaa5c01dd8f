"""Files of CUDA programs: the device's part is taken, and the host's left out."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from warploom import Engine, Patch
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_blocks.kernel_block import KernelBlock
from warploom.engine.kernel_sources.device_part import take
from warploom.engine.kernel_sources.device_part.take import Taken
from warploom.engine.kernel_sources.loader import load_image

MIXED = Path(__file__).parent / "programs" / "mixed.cu"


def part_of(path: Path) -> tuple[list[str], Taken]:
    """Return a file's entry points and what was taken of it."""
    image = load_image(path, "compute_90")
    assert image.part is not None
    return sorted(image.signatures), image.part


def error_of(tmp_path: Path, text: str, entry: str = "") -> KernelError:
    """Return the error of a block with a program's text as its file."""
    path = tmp_path / "program.cu"
    path.write_text(text)
    block = default_catalogue().require("kernel.file")
    assert issubclass(block, KernelBlock)
    values = {name: spec.default for name, spec in block.parameters.items()}
    with pytest.raises(KernelError) as caught:
        block.interface({**values, "file": str(path), "entry": entry})
    return caught.value


def test_a_program_has_its_kernels_under_their_names() -> None:
    """Kernels have plain names, templates those of the launches, and what was left out is named with its line."""
    entries, part = part_of(MIXED)
    assert entries == [
        *("place", "place_2", "stretch_double_2_SIDE", "stretch_float_2_SIDE", "stretch_int", "weigh")
    ]  # fmt: skip
    assert part.labels == {
        "stretch_float_2_SIDE": "stretch<float, 2*SIDE>",
        "stretch_double_2_SIDE": "stretch<double, 2*SIDE>",
        "stretch_int": "stretch<int>",
    }
    assert part.variables == ("taps", "gain", "count")
    left_out = [(21, "Results"), (22, "results"), (24, "Image"), (26, "print"), (68, "launch"), (74, "main")]
    assert list(part.skipped) == left_out


def test_kernels_may_begin_a_file(tmp_path: Path) -> None:
    """A template or a kernel with a C++ name may be on the first line, also of a header."""
    (tmp_path / "near.h").write_text("template <class T> __global__ void near(T* x) { x[0] = 1; }\n")
    text = "template <class T> __global__ void fill(T* x) { x[0] = 2; }\n"
    launches = "void run() { near<int><<<1, 1>>>(0); fill<int><<<1, 1>>>(0); }\n"
    (tmp_path / "a.cu").write_text(f'{text}#include "near.h"\n{launches}')
    assert part_of(tmp_path / "a.cu")[0] == ["fill_int", "near_int"]
    (tmp_path / "b.cu").write_text("__global__ void plain(int* x) { x[0] = 2; }\n")
    assert part_of(tmp_path / "b.cu")[0] == ["plain"]


def test_kernels_of_a_program_compute_what_they_do_in_it(device: Device) -> None:
    """Variables of the file are parameters and ports, and so are the numbers in structs."""
    rows = 101
    x = np.linspace(-2, 2, rows, dtype=np.float32)
    taps = np.array([1, 2, 3], np.float32)
    patch = Patch()
    nodes = {}
    for entry in ("weigh", "stretch<float, 2*SIDE>", "place", "stretch<float, 3>"):
        nodes[entry] = patch.add("kernel.file", file=str(MIXED), entry=entry)
    data, counts = patch.add("io.array", data=x), patch.add("io.array", data=np.array([7], np.uint32))
    copied = patch.add("buffer.copy")
    patch.connect(counts["out"], copied["x"])
    for entry in ("weigh", "stretch<float, 2*SIDE>", "stretch<float, 3>"):
        patch.connect(data["out"], nodes[entry]["x"])
    patch.connect(patch.add("io.array", data=taps)["out"], nodes["weigh"]["taps"])
    patch.connect(copied["out"], nodes["weigh"]["count"])
    patch.set(nodes["weigh"], over="out")
    patch.set(nodes["place"], rule_scale=2.0, rule_offset=0.5, by=(0.75, 0.5), size=rows)
    i = np.arange(rows)
    with Engine(patch, device) as engine:
        engine.step()
        weighed = x * taps[i % 3] * np.float32(0.5) + np.where(i % 2, 20, 10)
        np.testing.assert_allclose(engine.read(nodes["weigh"]["out"]), weighed, atol=1e-5)
        assert np.asarray(engine.read(nodes["weigh"]["count_out"])).tolist() == [7 + rows]
        np.testing.assert_array_equal(engine.read(nodes["stretch<float, 2*SIDE>"]["out"]), x * 8)
        np.testing.assert_array_equal(engine.read(nodes["stretch<float, 3>"]["out"]), x * 3)
        np.testing.assert_array_equal(engine.read(nodes["place"]["out"]), (2 * i + 0.5 + 0.25).astype(np.float32))
        patch.set(nodes["weigh"], gain=2.0)
        assert engine.step().update_level.name == "HOT"
        weighed = x * taps[i % 3] * 2 + np.where(i % 2, 20, 10)
        np.testing.assert_allclose(engine.read(nodes["weigh"]["out"]), weighed, atol=1e-5)


REFUSED = {
    "a host's type in a kernel": (
        "#include <vector>\nstruct Row { std::vector<float> cells; };\n\n"
        "__global__ void fill(Row* rows) { rows[0] = 1; }\nint main() { fill<<<1, 1>>>(0); }\n",
        4,
        'identifier "Row" is undefined.*Row of line 2 is left out as host code',
    ),
    "a mistake in a kernel": (
        "__global__ void fill(float* x)\n{\n    x[0] = nothing;\n}\nint main() { fill<<<1, 1>>>(0); }\n",
        3,
        'identifier "nothing" is undefined',
    ),
    "a missing header": ('#include "lost.h"\n__global__ void fill(float* x) { x[0] = 1; }\n', 1, '"lost.h"'),
    "a template that nothing launches": (
        "\ntemplate <int N> __global__ void fill(float* x) { x[0] = N; }\n",
        2,
        "template fill of program.cu.2. must have arguments",
    ),
    "a texture": (
        "\n__global__ void fill(float* x, cudaTextureObject_t image) { x[0] = tex2D<float>(image, 1, 2); }\n",
        2,
        "kernel fill must read and write buffers, got a texture or surface",
    ),
    "a texture reference": (
        "texture<float, 2> image;\n__global__ void fill(float* x) { x[0] = tex2D(image, 1, 2); }\n",
        2,
        'identifier "image" is undefined.*texture',
    ),
    "a launch in a kernel": (
        "__global__ void inner(float* x) {}\n__global__ void outer(float* x) {\n    inner<<<1, 1>>>(x);\n}\n",
        3,
        "kernel launch",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_is_named_with_its_line(tmp_path: Path, what: str) -> None:
    """The message has the line of the person's file, and what is missing there."""
    text, line, pattern = REFUSED[what]
    problem = error_of(tmp_path, text)
    assert re.search(pattern, str(problem), re.DOTALL), str(problem)
    assert (problem.line, Path(problem.file or "").name) == (line, "program.cu")


def test_a_named_instantiation_that_does_not_compile_is_an_error(tmp_path: Path) -> None:
    """The arguments that a person names are compiled, and their errors shown."""
    text = "template <class T> __global__ void fill(T* x) { x[0] = T(1).much; }\n"
    assert "must have class type" in str(error_of(tmp_path, text, "fill<float>")).replace("expression ", "")
    assert "instances" in str(error_of(tmp_path, text, "fill<float>; }"))


#: Parts of programs, most of which are not whole: brackets, conditionals and templates that nothing closes.
FRAGMENTS = [
    *("/*", "#if", "#if (", "#endif", "#else", "#elif 1", "template<", "template<int N>", "{", "}", ";", "(", ")"),
    *("\0", "// \\", "~", 'extern "C" {', "namespace {", "operator<<=", "k<<<1, 2", "__global__", "__device__"),
    *("__global__ void k(", "int main() { k<<<1, 1>>>(0); }", "__constant__ int n;"),
    "__global__ void k(int* p) { p[0] = n; }",
]


@settings(max_examples=many(200))
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12))
def test_texts_that_are_no_programs_keep_their_lines(parts: list[str]) -> None:
    """Any text is left for the compiler to refuse, with each line where it was."""
    text = "\n".join(parts)
    before, _, _ = take.take(text, {}).text.partition(f"\n{take.MARK}")
    assert before.count("\n") == text.count("\n")
