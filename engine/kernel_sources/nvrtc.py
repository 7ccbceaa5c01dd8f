"""CUDA C++ to PTX and CUBIN, with NVRTC: it needs no GPU and no CUDA toolkit."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from engine.diagnostics import KernelError
from engine.kernel_sources.compile_errors import compile_error
from engine.kernel_sources.standard_headers import DIGEST, HEADERS
from engine.kernel_sources.toolkit_headers import toolkit_include_folders

# Helper functions in a kernel file need no __device__; line information costs nothing at run time. What was compiled
# with other headers is not the same.
OPTIONS = ("--std=c++17", "-lineinfo", "-default-device", f"-DWARPLOOM_HEADERS=0x{DIGEST}")


@dataclass(frozen=True)
class CompiledSource:
    """One compile's results; `cubin` is None for a virtual architecture ("compute_75"), `log` holds the warnings."""

    ptx: str
    cubin: bytes | None
    log: str


@cache
def _nvrtc() -> Any:
    try:
        library = importlib.import_module("cuda.bindings.nvrtc")
        library.nvrtcVersion()  # the first call is what loads the shared library
    except (ImportError, RuntimeError) as reason:
        raise KernelError(
            "NVRTC, the CUDA C++ compiler, must be installed to use .cu kernels: "
            f"pip install cuda-python nvidia-cuda-nvrtc ({reason})"
        ) from None
    return library


def nvrtc_version() -> tuple[int, int]:
    """Return NVRTC's version, such as (13, 5); KernelError when it is not installed."""
    _, major, minor = _nvrtc().nvrtcVersion()
    return major, minor


@cache
def toolkit_folders() -> tuple[Path, ...]:
    """Return the folders that hold the toolkit headers this NVRTC goes with."""
    return toolkit_include_folders(_nvrtc(), nvrtc_version())


def compile_cuda(source: str, path: Path, architecture: str, include_folders: Sequence[Path]) -> CompiledSource:
    """Compile CUDA C++ for "compute_XX" (PTX) or "sm_XX" (CUBIN and PTX).

    `path` names the source in messages and line information; it need not exist. Raises KernelError with the
    compiler's errors and the file and line of the first.
    """
    nvrtc = _nvrtc()
    options = [f"--gpu-architecture={architecture}", *OPTIONS, *(f"-I{folder}" for folder in include_folders)]
    names, texts = ([item.encode() for item in items] for items in (HEADERS, HEADERS.values()))
    created, program = nvrtc.nvrtcCreateProgram(source.encode(), os.fsencode(path), len(names), texts, names)
    _check(nvrtc, created, "nvrtcCreateProgram")
    try:
        (result,) = nvrtc.nvrtcCompileProgram(program, len(options), [os.fsencode(option) for option in options])
        log = _fetch(nvrtc, program, "ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
        if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise compile_error(log, path)
        ptx = _fetch(nvrtc, program, "PTX").rstrip(b"\0").decode()
        cubin = None if architecture.startswith("compute_") else _fetch(nvrtc, program, "CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return CompiledSource(ptx, cubin, log)


def _fetch(nvrtc: Any, program: Any, what: str) -> bytes:
    result, size = getattr(nvrtc, f"nvrtcGet{what}Size")(program)
    _check(nvrtc, result, f"nvrtcGet{what}Size")
    data = bytearray(size)
    (result,) = getattr(nvrtc, f"nvrtcGet{what}")(program, data)
    _check(nvrtc, result, f"nvrtcGet{what}")
    return bytes(data)


def _check(nvrtc: Any, result: Any, call: str) -> None:
    if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise KernelError(f"{call} must succeed, got {result.name}")
