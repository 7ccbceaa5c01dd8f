"""Where toolkit headers come from when NVRTC brings none."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.diagnostics import KernelError
from engine.kernel_sources.nvrtc import toolkit_include_folders


def test_an_older_nvrtc_uses_the_installed_toolkit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Found by CUDA_HOME or CUDA_PATH; without either there is nothing to add."""
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert toolkit_include_folders(SimpleNamespace(), (13, 0)) == (
        tmp_path / "include",
        tmp_path / "include" / "cccl",
    )


def test_headers_that_cannot_be_unpacked_say_why() -> None:
    """The compiler's own reason is passed on."""
    results = SimpleNamespace(NVRTC_SUCCESS=0)
    nvrtc = SimpleNamespace(nvrtcResult=results, nvrtcInstallBundledHeaders=lambda folder, flags: (8, b"disk full"))
    with pytest.raises(KernelError, match=r"toolkit headers must be unpacked into .*, got disk full"):
        toolkit_include_folders(nvrtc, (13, 5))
