"""A host device, and CUDA C++ compiled to PTX for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cuda.bindings import nvrtc

from engine.device.host import HostDevice, cache

#: The two PTX dialects that NVRTC writes.
DIALECTS = ("compute_75", "compute_100")


def compile_cuda(source: str, architecture: str = "compute_75", *options: str) -> str:
    """Return the PTX of CUDA C++."""
    error, program = nvrtc.nvrtcCreateProgram(source.encode(), b"test.cu", 0, [], [])
    assert int(error) == 0
    flags = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17", *(item.encode() for item in options)]
    (error,) = nvrtc.nvrtcCompileProgram(program, len(flags), flags)
    if int(error):
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        raise AssertionError(log.decode())
    _, size = nvrtc.nvrtcGetPTXSize(program)
    ptx = b" " * size
    nvrtc.nvrtcGetPTX(program, ptx)
    nvrtc.nvrtcDestroyProgram(program)
    return ptx.decode().rstrip("\0")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep compiled kernels of the tests apart from the user's."""
    folder = tmp_path_factory.mktemp("host-kernels")
    patch = pytest.MonkeyPatch()
    patch.setattr(cache, "folder", lambda: folder)
    yield
    patch.undo()


@pytest.fixture(scope="session")
def host() -> Iterator[HostDevice]:
    """A host device with two workers, whatever the computer has."""
    device = HostDevice(cores=2)
    yield device
    device.close()


Run = Callable[..., list[np.ndarray[Any, Any]]]


@pytest.fixture(scope="session")
def run(host: HostDevice) -> Run:
    """Compile, launch and return the arrays afterwards: `run(source, name, grid, thread_block, *args)`.

    `source` is CUDA C++, or PTX when it starts with `.version`; array arguments become buffers.
    """

    def call(
        source: str, name: str, grid: object, block: object, *args: object, shared_bytes: int = 0, dialect: str = "compute_75"
    ) -> list[np.ndarray[Any, Any]]:
        ptx = source if source.lstrip().startswith(".version") else compile_cuda(source, dialect)
        kernel = host.load_module(ptx).kernel(name)
        grids, blocks = ((item,) if isinstance(item, int) else item for item in (grid, block))
        given = [host.upload(item) if isinstance(item, np.ndarray) else item for item in args]
        host.launch(kernel, grids, blocks, given, shared_bytes=shared_bytes)  # type: ignore[arg-type]
        out = []
        for item in given:
            if hasattr(item, "download"):
                out.append(item.download())
                item.free()
        return out

    return call
