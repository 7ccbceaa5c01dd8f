"""Toolkit headers are found even if NVRTC brings none."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.cuda.library import toolkit_include_folders


def test_an_older_nvrtc_uses_the_installed_toolkit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An NVRTC without headers uses those of the toolkit in CUDA_HOME or CUDA_PATH, if one of them is set."""
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert toolkit_include_folders(SimpleNamespace(), (13, 0)) == (
        tmp_path / "include",
        tmp_path / "include" / "cccl",
    )


def test_headers_that_cannot_be_unpacked_say_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A failure to unpack headers is an error with its reason, and no incomplete folder is left."""
    monkeypatch.setattr("warploom.engine.kernel_sources.cuda.library.user_cache_dir", lambda name: str(tmp_path / name))
    results = SimpleNamespace(NVRTC_SUCCESS=0)
    nvrtc = SimpleNamespace(nvrtcResult=results, nvrtcInstallBundledHeaders=lambda folder, flags: (8, b"disk full"))
    with pytest.raises(KernelError, match=r"toolkit headers must be unpacked into .*, got disk full"):
        toolkit_include_folders(nvrtc, (13, 5))
    assert list((tmp_path / "warploom").iterdir()) == []


def test_two_processes_may_unpack_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If two processes unpack at once, the second uses the first one's headers, and the folder is complete."""
    monkeypatch.setattr("warploom.engine.kernel_sources.cuda.library.user_cache_dir", lambda name: str(tmp_path / name))

    def install(folder: bytes, flags: int) -> tuple[int, bytes]:
        for complete in (tmp_path / "warploom" / "toolkit-headers-13.5", Path(folder.decode())):
            complete.mkdir(parents=True)
            (complete / "cuda_fp16.h").touch()
        return 0, b""

    nvrtc = SimpleNamespace(nvrtcResult=SimpleNamespace(NVRTC_SUCCESS=0), nvrtcInstallBundledHeaders=install)
    folder, _ = toolkit_include_folders(nvrtc, (13, 5))
    assert (folder / "cuda_fp16.h").is_file()
    assert list((tmp_path / "warploom").iterdir()) == [folder]
