"""Kernels of a patch that isn't trusted include only files of its folder, of the person's and of CUDA."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from warploom.engine.diagnostics import CompileError, KernelError, Mend
from warploom.engine.kernel_sources.cuda.compiling import find_includes
from warploom.engine.kernel_sources.cuda.library import toolkit_folders
from warploom.engine.kernel_sources.cuda.nvrtc import CompileCache, compile_cuda
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.kernel_sources.python.trust import trusted_folders
from warploom.engine.kernel_sources.sources import CudaFile, CudaOptions, CudaText, KernelSource
from warploom.engine.ptx import PtxSyntaxError, parse
from warploom.engine.readings import Reading

KERNEL = 'extern "C" __global__ void k(float* out) { out[0] = 1; }\n'
#: The word in the files that must not be read.
SECRET = "SECRET_WORD"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A patch's folder with links and a pipe, beside another folder and one with trusted blocks."""
    root = tmp_path_factory.mktemp("reach").resolve()
    folder, other, own = root / "patch", root / "other", root / "own"
    for made in (folder / "sub", other, own):
        made.mkdir(parents=True)
    (other / "secret.h").write_text(f"{SECRET} here\n")
    (other / "k.cu").write_text(KERNEL)
    (folder / "near.h").write_text("#define NEAR 1\n")
    (folder / "sub" / "deep.h").write_text('#include "../near.h"\n')
    (own / "own.h").write_text("#define OWN 1\n")
    (folder / "link.h").symlink_to(other / "secret.h")
    (folder / "linked").symlink_to(other)
    (folder / "inside.h").symlink_to("near.h")
    os.mkfifo(other / "pipe.h")
    trusted_folders.add(own)
    yield folder
    trusted_folders.discard(own)


def load(source: KernelSource, reach: Path | None, cache: Path) -> None:
    """Compile a source of a patch in the folder `reach`, or of a trusted one."""
    with Reading(reach).under_way():
        load_image(source, "compute_90", CompileCache(cache))


HEADERS = [
    "near.h", "sub/deep.h", "inside.h", "../patch/near.h", "{place}/near.h", "../own/own.h", "{root}/own/own.h",
    "../other/secret.h", "{root}/other/secret.h", "link.h", "linked/secret.h", "sub/../../other/secret.h",
    "../other/pipe.h", "{root}/other/pipe.h", "secret.h", "pipe.h", "/etc/passwd", "cuda_fp16.h", "none.h",
]  # fmt: skip
#: Spellings of one include; the compiler takes some of them only with the standard c++14.
WAYS = [
    '#include "{}"', "#include <{}>", '%:include "{}"', '??=include "{}"', '#inc\\\nlude "{}"',
    '#/**/include/*\n*/"{}"',
    '\f#\v include "{}"', '#define H "{}"\n#include H', "#define S(x) <x>\n#include S({})", '#include_next "{}"',
    '#if __has_include("{}")\n#error THERE\n#endif', '#define H "{}"\n#if __has_include(H)\n#error THERE\n#endif',
    '#line 7 "{}"\nint x = ;', '_Pragma("GCC dependency \\"{}\\"")', '#\rinclude "{}"', '#embed "{}"', '#import "{}"',
    '#define STR(x) #x\n__device__ char text[] = STR(\n#include "{}"\n);', "#include H",
]  # fmt: skip


@settings(max_examples=many(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(WAYS), st.sampled_from(HEADERS)), min_size=1, max_size=2),
    st.sampled_from(["c++14", "c++17", "c++20"]),
    st.booleans(),
    st.sampled_from(["", "{root}/other", "{root}/own", "linked"]),
)
def test_no_spelling_reaches_another_folder(
    place: Path, tmp_path: Path, lines: list[tuple[str, str]], standard: str, in_file: bool, folder: str
) -> None:
    """Whatever a source writes, no file of another folder is read, and the compiler learns of none that is there."""
    names = {"place": place, "root": place.parent}
    text = "".join(way.replace("{}", header.format(**names)) + "\n" for way, header in lines) + KERNEL
    options = CudaOptions(
        standard=standard,
        include_folders=(str(place / folder.format(**names)),) if folder else (),
        defines={"H": f'"{lines[0][1].format(**names)}"'},
    )
    (place / "k.cu").write_text(text)
    source = CudaFile(str(place / "k.cu"), options) if in_file else CudaText(text, options)
    reading = Reading(place)
    try:
        with reading.under_way():
            image = load_image(source, "compute_90", CompileCache(tmp_path))
    except KernelError as problem:
        assert SECRET not in str(problem)
        assert "root:" not in str(problem)
        file = Path(problem.file or place)
        assert file.is_relative_to(place) or file.is_relative_to(place.parent / "own")
        if "THERE" in str(problem):
            near = ("near.h", "deep.h", "inside.h", "own.h", "cuda_fp16.h")
            assert any(Path(header).name in near for _, header in lines)
    else:
        assert SECRET not in image.ptx
    other = place.parent / "other"
    assert not any(path.resolve().is_relative_to(other) for path in reading.looked_at)


@pytest.mark.parametrize("header", ["{root}/other/secret.h", "../other/secret.h", "link.h", "/etc/passwd", "/none.h"])
def test_a_header_out_of_reach_asks_for_trust(place: Path, tmp_path: Path, header: str) -> None:
    """The error has the line, the name and the remedy, and says nothing about whether there is such a file."""
    name = header.format(root=place.parent)
    (place / "k.cu").write_text(f'\n#include "{name}"\n{KERNEL}')
    with pytest.raises(CompileError, match=rf"header must lie in the patch's folder, .*, got {name}$") as problem:
        load(CudaFile(str(place / "k.cu")), place, tmp_path)
    found = problem.value
    assert (found.file, found.line, found.mend, found.found) == (str(place / "k.cu"), 2, Mend.TRUST, name)


def test_a_trusted_patch_includes_any_file(place: Path, tmp_path: Path) -> None:
    """A trusted patch may include a file elsewhere, and name it by a macro, also after it was refused."""
    (place.parent / "other" / "number.h").write_text("#define NUMBER 3\n")
    source = CudaText(f'#define H "{place.parent}/other/number.h"\n#include H\n{KERNEL.replace("= 1", "= NUMBER")}')
    with pytest.raises(CompileError, match="header must lie in"):
        load(source, place, tmp_path)
    load(source, None, tmp_path)
    with pytest.raises(CompileError, match="header must lie in"):
        load(source, place, tmp_path)


def test_a_misspelled_header_asks_for_no_trust(place: Path, tmp_path: Path) -> None:
    """A header that is missing in all folders within reach is an ordinary error with the line of the source."""
    with pytest.raises(CompileError, match=r'cannot open source file "naer\.h"\n') as problem:
        load(CudaText(f'#include "naer.h"\n{KERNEL}'), place, tmp_path)
    assert problem.value.mend is None
    assert "Too many" not in str(problem.value)


def test_a_kernel_file_elsewhere_includes_what_lies_beside_it(place: Path, tmp_path: Path) -> None:
    """A kernel file that the patch names in another folder has the headers beside it, but not the patch's secrets."""
    other = place.parent / "other"
    (other / "beside.h").write_text("")
    assert find_includes('#include "beside.h"', other / "k.cu", [], place).files
    assert not find_includes('#include "../own2/beside.h"', other / "k.cu", [], place).files


def test_the_toolkits_headers_need_no_file() -> None:
    """A compiler that opens no file compiles to the same PTX, with headers that include others beside them."""
    text = "#include <cuda_fp16.h>\n#include <mma.h>\n" + KERNEL.replace("= 1", "= __half2float(__float2half(2.0f))")
    open_, closed = (compile_cuda(text, Path("k"), "compute_90", toolkit_folders(), is_closed=c) for c in (False, True))
    assert closed.ptx == open_.ptx


@pytest.mark.parametrize("line", ['#include "/etc/passwd"', "#  include <x>", '.include "/etc/passwd"'])
def test_ptx_includes_no_file(line: str) -> None:
    """PTX that includes a file is refused, since a driver might follow it."""
    with pytest.raises(PtxSyntaxError):
        parse(f".version 7.8\n.target sm_90\n.address_size 64\n{line}\n.visible .entry k() {{ ret; }}")
