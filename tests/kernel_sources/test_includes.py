"""Included files are searched as the compiler searches for them."""

import os
from pathlib import Path

import pytest

from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.cuda.compiling import find_includes


def test_includes_are_followed_through_headers_and_cycles(tmp_path: Path) -> None:
    """Each file is listed once, even when two headers include each other."""
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    (tmp_path / "a.cuh").write_text('#include "b.cuh"\n')
    (tmp_path / "b.cuh").write_text('  #  include "a.cuh"\n#include <shared.h>\n')
    (kernels / "shared.h").write_text("#pragma once\n")
    includes = find_includes('#include "a.cuh"\n', tmp_path / "k.cu", [kernels])
    assert list(includes.files) == [tmp_path / "a.cuh", tmp_path / "b.cuh", kernels / "shared.h"]
    assert includes.missing == ()


def test_quotes_look_beside_the_including_file_first(tmp_path: Path) -> None:
    """A header includes its neighbour, not a file of that name in an include folder."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.h").write_text('#include "value.h"')
    (tmp_path / "sub" / "value.h").write_text("")
    (tmp_path / "value.h").write_text("")
    includes = find_includes('#include "sub/a.h"', tmp_path / "k.cu", [tmp_path])
    assert list(includes.files) == [tmp_path / "sub" / "a.h", tmp_path / "sub" / "value.h"]


def test_angle_brackets_do_not_look_beside_the_file(tmp_path: Path) -> None:
    """An include in angle brackets is looked up only in include folders."""
    (tmp_path / "value.h").write_text("")
    assert find_includes("#include <value.h>", tmp_path / "k.cu", []).missing == ("value.h",)


def test_names_that_no_folder_has_are_missing(tmp_path: Path) -> None:
    """Missing headers, such as those of the toolkit, are each listed once."""
    source = "#include <cuda_fp16.h>\n#include <cuda_fp16.h>\n#include <cub/cub.cuh>\n"
    assert find_includes(source, tmp_path / "k.cu", [tmp_path]).missing == ("cuda_fp16.h", "cub/cub.cuh")


def test_a_header_that_is_no_file_is_refused(tmp_path: Path) -> None:
    """The compiler would wait for a pipe for ever; one in the second folder doesn't matter if the first has a file."""
    os.mkfifo(tmp_path / "pipe.h")
    with pytest.raises(KernelError, match=r"header must be a file, got .*pipe\.h, which is not one"):
        find_includes('#include "pipe.h"', tmp_path / "k.cu", [])
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "pipe.h").write_text("")
    found = find_includes("#include <pipe.h>", tmp_path / "k.cu", [tmp_path / "first", tmp_path])
    assert list(found.files) == [tmp_path / "first" / "pipe.h"]
