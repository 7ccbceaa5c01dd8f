"""Every kernel of the library compiles for both dialects of PTX and for a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.kernel_sources.image import KERNELS_FOLDER
from engine.kernel_sources.nvrtc import compile_cuda

FILES = sorted(KERNELS_FOLDER.glob("*.cu"))


@pytest.mark.parametrize("architecture", ["compute_75", "sm_90"])
@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_kernel_file_compiles_without_warnings(path: Path, architecture: str) -> None:
    """NVRTC has no warnings for any file."""
    compiled = compile_cuda(path.read_text(), path, architecture, [KERNELS_FOLDER])
    assert compiled.log == ""
    assert ".entry" in compiled.ptx
    assert (compiled.cubin is not None) == architecture.startswith("sm_")
