"""The CUDA toolkit's headers (cuda_fp16.h, cooperative_groups.h, cub), which NVRTC carries inside itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from platformdirs import user_cache_dir

from engine.diagnostics import KernelError

_KEEP_WHAT_IS_THERE = 1  # NVRTC_INSTALL_HEADERS_SKIP_IF_EXISTS


def toolkit_include_folders(nvrtc: Any, version: tuple[int, int]) -> tuple[Path, ...]:
    """Return the folders to search for toolkit headers; unpacks them (26 MB) the first time they are asked for.

    NVRTC before 13.5 brings no headers; then an installed toolkit's are used, found by CUDA_HOME or CUDA_PATH.
    """
    install = getattr(nvrtc, "nvrtcInstallBundledHeaders", None)
    if install is None or version < (13, 5):
        homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
        return tuple(folder for home in homes for folder in (Path(home) / "include", Path(home) / "include" / "cccl"))
    folder = Path(user_cache_dir("warploom")) / f"toolkit-headers-{version[0]}.{version[1]}"
    result, log = install(os.fsencode(folder), _KEEP_WHAT_IS_THERE)
    if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        detail = log.decode(errors="replace") if isinstance(log, bytes) else result.name
        raise KernelError(f"toolkit headers must be unpacked into {folder}, got {detail}")
    return folder, folder / "cccl"
