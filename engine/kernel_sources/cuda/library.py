"""NVRTC as a library: finding and loading it, its version, and the headers of the CUDA toolkit."""

import importlib
import os
import posixpath
import re
import shutil
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from platformdirs import user_cache_dir

from warploom.engine.diagnostics import KernelError
from warploom.engine.version import installed_version

#: An include of a header beside the one that includes it.
_BESIDE = re.compile(r'^([ \t]*#[ \t]*include[ \t]*)"([^"\n]+)"', re.MULTILINE)
_BUNDLED_SINCE = (13, 5)
_UNPACKING, _LEFT_S = "unpacking-", 3600
_KEEP_WHAT_IS_THERE = 1  # NVRTC_INSTALL_HEADERS_SKIP_IF_EXISTS


@cache
def nvrtc_library() -> Any:
    """Return the NVRTC bindings with the shared library loaded. Raise KernelError when it is not installed."""
    try:
        library = importlib.import_module("cuda.bindings.nvrtc")
        library.nvrtcVersion()  # the first call loads the shared library
    except (ImportError, RuntimeError) as reason:
        what = "NVRTC, the CUDA C++ compiler, must be installed to use .cu kernels"
        if sys.platform == "darwin":
            raise KernelError(
                f"{what}, got macOS, for which NVIDIA has none; run the engine on a machine with Linux "
                "(--engine 'ssh HOST warploom engine'), or use op graphs and .ptx kernels"
            ) from None
        raise KernelError(f"{what}: pip install cuda-python nvidia-cuda-nvrtc ({reason})") from None
    return library


@cache
def nvrtc_version() -> tuple[int, int]:
    """Return NVRTC's version, such as (13, 5). Raise KernelError when it is not installed.

    The version comes from NVRTC's package. Loading the library takes 40 ms, which a patch whose kernels are all cached
    need not wait for.
    """
    try:
        major, minor, *_ = (installed_version("nvidia_cuda_nvrtc") or "").split(".")
        return int(major), int(minor)
    except ValueError:  # NVRTC comes from a toolkit
        _, found, part = nvrtc_library().nvrtcVersion()
        return found, part


@cache
def toolkit_folders() -> tuple[Path, ...]:
    """Return the folders of the toolkit headers that belong to this NVRTC."""
    version = nvrtc_version()
    folder = _bundled_headers(version)
    if version >= _BUNDLED_SINCE and folder.is_dir():
        return folder, folder / "cccl"
    return toolkit_include_folders(nvrtc_library(), version)


def must_unpack() -> bool:
    """True when `toolkit_folders` would unpack the headers, which takes seconds."""
    version = nvrtc_version()
    return version >= _BUNDLED_SINCE and not _bundled_headers(version).is_dir()


def toolkit_include_folders(nvrtc: Any, version: tuple[int, int]) -> tuple[Path, ...]:
    """Return the folders of the toolkit headers (cuda_fp16.h, cooperative_groups.h, cub); NVRTC unpacks 26 MB once.

    NVRTC before 13.5 has no headers. Then those of an installed toolkit are used, found by CUDA_HOME or CUDA_PATH.
    """
    install = getattr(nvrtc, "nvrtcInstallBundledHeaders", None)
    if install is None or version < _BUNDLED_SINCE:
        homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
        return tuple(folder for home in homes for folder in (Path(home) / "include", Path(home) / "include" / "cccl"))
    folder = _bundled_headers(version)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        for left in folder.parent.glob(f"{_UNPACKING}*"):  # left by a process that was killed
            if left.stat().st_mtime < time.time() - _LEFT_S:
                shutil.rmtree(left, ignore_errors=True)
        # Unpack beside the folder and rename at the end: another process may do the same, and the first one wins.
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=_UNPACKING) as temporary:
            unpacked = Path(temporary) / "headers"
            result, log = install(os.fsencode(unpacked), _KEEP_WHAT_IS_THERE)
            if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
                detail = log.decode(errors="replace") if isinstance(log, bytes) else result.name
                raise KernelError(f"toolkit headers must be unpacked into {folder}, got {detail}")
            try:
                unpacked.rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise
    return folder, folder / "cccl"


def _bundled_headers(version: tuple[int, int]) -> Path:
    return Path(user_cache_dir("warploom")) / f"toolkit-headers-{version[0]}.{version[1]}"


@cache
def toolkit_texts() -> dict[bytes, bytes]:
    """Return the toolkit's headers by the names by which sources and other headers include them.

    A header names one beside it from its own folder, which is rewritten, since the compiler does not look there.
    """
    folders, found = toolkit_folders(), dict[str, str]()
    for folder in reversed(folders):
        inner = [other for other in folders if other != folder and other.is_relative_to(folder)]
        for path in folder.rglob("*"):
            if path.is_file() and not any(map(path.is_relative_to, inner)):
                found[path.relative_to(folder).as_posix()] = path.read_text(encoding="utf-8", errors="replace")

    def placed(name: str, text: str) -> str:
        def beside(line: re.Match[str]) -> str:
            other = posixpath.normpath(posixpath.join(posixpath.dirname(name), line[2]))
            return f'{line[1]}"{other}"' if other in found else line[0]

        return _BESIDE.sub(beside, text)

    return {name.encode(): placed(name, text).encode() for name, text in found.items()}
