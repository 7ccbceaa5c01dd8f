"""The library's kernels compile, and structs that Python and CUDA C++ share have one layout."""

import re
from functools import cache
from pathlib import Path

import pytest

from warploom.blocks.color.palettes import PALETTES
from warploom.blocks.particles.camera import Camera
from warploom.blocks.particles.particle import Particle
from warploom.engine.compiler.frame import Frame
from warploom.engine.device.cuda.cubin import parameter_counts, waiting_kernels
from warploom.engine.device.device import HOST_ARCHITECTURE
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.cuda.compiling import compile_source
from warploom.engine.kernel_sources.cuda.nvrtc import CompileCache, CompiledSource, compile_cuda, compile_kernels
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.kernel_sources.sources import CudaFile
from warploom.engine.ptx import read_signatures
from warploom.engine.types import DType

FILES = sorted(KERNELS_FOLDER.glob("*.cu"))


@cache
def _compiled(path: Path, architecture: str) -> CompiledSource:
    return compile_source(CudaFile(str(path)), path.read_text(), architecture, CompileCache(), compile_kernels)


@pytest.mark.parametrize(
    ("path", "architecture"),
    [*((path, "sm_90") for path in FILES), *((path, HOST_ARCHITECTURE) for path in FILES[::16])],
    ids=lambda given: getattr(given, "name", given),
)
def test_kernel_file_compiles_without_warnings(path: Path, architecture: str) -> None:
    """NVRTC compiles each file without a warning for a GPU, and some for the host, which has the same architecture."""
    compiled = _compiled(path, architecture)
    assert compiled.log == ""
    assert ".entry" in compiled.ptx
    assert (compiled.cubin is not None) == architecture.startswith("sm_")


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_every_kernel_begins_with_a_wait(path: Path) -> None:
    """Every kernel begins with a wait for earlier ones, and has as many parameters in the CUBIN as in the PTX."""
    compiled = _compiled(path, "sm_90")
    assert compiled.cubin is not None
    names = {line.split(".entry ")[1].split("(")[0] for line in compiled.ptx.splitlines() if ".entry " in line}
    assert waiting_kernels(compiled.cubin) == names
    declared = {name: len(signature.parameters) for name, signature in read_signatures(compiled.ptx).items()}
    assert parameter_counts(compiled.cubin) == declared


SHARED = [(Particle, "particle.cuh"), (Camera, "camera.cuh"), (Frame, "frame.cuh")]


def _assertions(struct: DType, header: str, shift: int = 0) -> str:
    name = struct.__name__
    offsets = {field: struct.numpy.fields[field][1] for field in struct.fields}  # type: ignore[index]  # has fields
    lines = [f'#include "{header}"', f"static_assert(sizeof({name}) == {struct.size_bytes + shift});"]
    lines += [f"static_assert(__INTADDR__(&(({name}*)0)->{field}) == {at});" for field, at in offsets.items()]
    lines += [
        f"static_assert(sizeof({name}::{field}) == {dtype.size_bytes});" for field, dtype in struct.fields.items()
    ]
    return "\n".join([*lines, 'extern "C" __global__ void nothing() {}'])


@pytest.mark.parametrize(("struct", "header"), SHARED, ids=[struct.__name__ for struct, _ in SHARED])
def test_struct_has_the_layout_of_its_header(struct: DType, header: str) -> None:
    """The CUDA compiler gives a struct the size, offsets and sizes of fields that it has in Python."""
    compile_cuda(_assertions(struct, header), Path("layout.cu"), HOST_ARCHITECTURE, [KERNELS_FOLDER])


def test_a_wrong_layout_would_be_seen() -> None:
    """The comparison of layouts fails for a struct that is four bytes off."""
    with pytest.raises(KernelError, match="static assertion"):
        compile_cuda(_assertions(Particle, "particle.cuh", 4), Path("layout.cu"), HOST_ARCHITECTURE, [KERNELS_FOLDER])


def test_a_particle_is_32_bytes() -> None:
    """A particle has 32 bytes, so that two fill a cache line of 64."""
    assert Particle.size_bytes == 32


def test_palettes_have_the_same_colours_in_both_languages() -> None:
    """The header's palettes have Python's colours and numbers."""
    text = (KERNELS_FOLDER / "palette.cuh").read_text()
    found = {}
    for name, body in re.findall(r"// (\w+)\n\s*return (\{.*\});", text):
        numbers = [float(number) for number in re.findall(r"[\d.]+(?=f)", body)]
        found[name] = tuple(zip(*[iter(numbers)] * 3, strict=True))
    assert found == PALETTES
    numbered = re.findall(r"index == (\d)\)  // (\w+)", text)
    assert numbered == [(str(at), name) for at, name in enumerate(PALETTES) if at]
