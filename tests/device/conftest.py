"""Fixtures with a host device, and CUDA C++ compiled to PTX for it."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from cuda.bindings import nvrtc

from tests.device.whole_translation import WholeTranslationHost
from tests.fuzzing import FACTOR
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.modules import cache as kernel_cache


@cache
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


#: The two PTX dialects that NVRTC can write.
DIALECTS = ("compute_75", "compute_100")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `dialect` to the tests that take it: in `make fuzz` each of the two dialects, else that of the test's file.

    Half of the files have each dialect, since to compile a file's kernels for the optimiser takes seconds.
    """
    marks = [mark for mark in metafunc.definition.iter_markers("parametrize") if mark.args[0] == "dialect"]
    if "dialect" in metafunc.fixturenames and not marks:
        own = DIALECTS[crc32(metafunc.module.__name__.encode()) % 2]
        metafunc.parametrize("dialect", DIALECTS if FACTOR > 1 else [own])


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep compiled kernels of tests out of the user's cache."""
    folder = tmp_path_factory.mktemp("host-kernels")
    patch = pytest.MonkeyPatch()
    patch.setattr(kernel_cache, "folder", lambda: folder)
    yield
    patch.undo()


@pytest.fixture(scope="session")
def optimised_host() -> Iterator[HostDevice]:
    """A host device with two workers on every machine, which runs only optimised kernels."""
    device = HostDevice(cores=2, quick_first=False)
    yield device
    device.close()


@pytest.fixture(scope="session")
def host(optimised_host: HostDevice) -> HostDevice:
    """The device of `run` and `apply`; some files and folders use `quick_host` instead."""
    return optimised_host


@pytest.fixture(scope="session")
def quick_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostDevice]:
    """A host device with quickly compiled code, which takes a ninth of the time to compile; optimised in `make fuzz`.

    The code is translated as for the optimiser. `test_recorded_gpu_values` runs a quarter of all forms in optimised
    code, in `make fuzz` all, and `test_quick` compares both kinds of code.
    """
    device = WholeTranslationHost(tmp_path_factory.mktemp("whole"), quick_first=FACTOR == 1)
    yield device
    device.close()


@pytest.fixture
def apply(host: HostDevice) -> Callable[..., np.ndarray[Any, Any]]:
    """Run PTX lines on every element: `apply("add.f32 %d, %a, %b;", "f32", "f32", a, b)`.

    `%a`, `%b` and `%c` are registers with an element of each array, and have the second type and those after it. `%d`
    is the result, of the first type. `%p` and `%q` are predicates.
    """

    def call(lines: str, result: str, *types_and_arrays: object) -> np.ndarray[Any, Any]:
        types = [item for item in types_and_arrays if isinstance(item, str)]
        arrays = [item for item in types_and_arrays if isinstance(item, np.ndarray)]
        sizes = {kind: int(kind.lstrip("busf")) // 8 for kind in (result, *types)}
        registers = {kind: f"b{8 * size}" if kind[0] == "b" or size == 1 else kind for kind, size in sizes.items()}
        registers = {kind: "b16" if sizes[kind] <= 2 else name for kind, name in registers.items()}
        body = [f".reg .{registers[result]} %d;", ".reg .pred %p, %q;", ".reg .b32 %i, %t<4>;", ".reg .b64 %x<8>;"]
        body += ["mov.u32 %i, %tid.x;"]
        for index, kind in enumerate(types):
            name = "abc"[index]
            body += [f".reg .{registers[kind]} %{name};", f"ld.param.u64 %x0, [p{index}];"]
            body += [f"mad.wide.u32 %x1, %i, {sizes[kind]}, %x0;"]
            body += [f"ld.global.{'b16' if kind == 'f16' else kind} %{name}, [%x1];"]
        stored = "b16" if result == "f16" else result
        body += [lines, "ld.param.u64 %x0, [out];", f"mad.wide.u32 %x1, %i, {sizes[result]}, %x0;"]
        body += [f"st.global.{stored} [%x1], %d;", "ret;"]
        params = ", ".join([*(f".param .u64 p{index}" for index in range(len(types))), ".param .u64 out"])
        ptx = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(" + params + ") {\n"
        kernel = host.load_module(ptx + "\n".join(body) + "\n}").kernel("k")
        dtype = np.dtype({"b": "u", "u": "u", "s": "i", "f": "f"}[result[0]] + str(sizes[result]))
        buffers = [host.upload(array) for array in (*arrays, np.zeros(len(arrays[0]), dtype))]
        host.launch(kernel, (1,), (len(arrays[0]),), buffers)
        values = buffers[-1].download()
        for buffer in buffers:
            buffer.free()
        return values

    return call


@pytest.fixture(scope="session")
def cuda_ptx() -> Callable[..., str]:
    """Compile CUDA C++ to PTX: `cuda_ptx(source, architecture, *options)`."""
    return compile_cuda


Run = Callable[..., list[np.ndarray[Any, Any]]]


@pytest.fixture
def run(host: HostDevice) -> Run:
    """Compile and launch a kernel, and return its arrays afterwards: `run(source, name, grid, thread_block, *args)`.

    `source` is CUDA C++, or PTX if it starts with `.version`. Arrays in `args` become buffers.
    """
    return _runner(host)


@pytest.fixture
def run_optimised(optimised_host: HostDevice) -> Run:
    """Like `run`, but always with optimised code, whatever `host` is."""
    return _runner(optimised_host)


def _runner(host: HostDevice) -> Run:
    def call(
        source: str,
        name: str,
        grid: object,
        block: object,
        *args: object,
        shared_bytes: int = 0,
        dialect: str = "compute_75",
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
