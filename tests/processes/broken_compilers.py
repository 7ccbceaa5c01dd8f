"""Compilers that fail. They replace the real ones before a worker process gets the job."""

import os
import re
import signal
import time
from pathlib import Path
from typing import Any, NoReturn

from warploom.engine.device.host.modules import build
from warploom.engine.device.host.modules.build import translate
from warploom.engine.device.host.modules.cache import CachedKernel, CachedModule
from warploom.engine.diagnostics import KernelError
from warploom.engine.host_compiler import module
from warploom.engine.kernel_sources.cuda.nvrtc import CompiledSource, compile_kernels


def refuse_all(*_: Any, **__: Any) -> NoReturn:
    """Raise an AssertionError, as a translator with a bug would."""
    raise AssertionError("a register is left")


def with_a_bug(ptx: str, processor: tuple[str, str]) -> NoReturn:
    """Translate with a translator that has a bug."""
    from unittest.mock import patch  # it imports asyncio, and few of the processes come here

    with patch.object(module, "translate_kernel", refuse_all):
        translate(ptx, processor)
    raise AssertionError("the translator must have failed")


def too_large(*_: Any) -> NoReturn:
    """Refuse a kernel as too large."""
    raise KernelError("too large")


def _as_told(text: str) -> None:
    """Hang, or kill this process, if a kernel's name asks for that."""
    found = re.search(r"(HANG|CRASH|STARVE)_\w+", text)
    if found is None:
        return
    if found[1] != "HANG":
        os.kill(os.getpid(), signal.SIGSEGV if found[1] == "CRASH" else signal.SIGKILL)
    part = process_file(f"{found[0]}.part")
    part.write_text(str(os.getpid()))
    part.rename(process_file(found[0]))
    while True:
        time.sleep(60)


def process_file(name: str) -> Path:
    """Return the file that will hold the id of the process that hangs at a kernel."""
    return Path(os.environ["WARPLOOM_TESTS_HOME"]) / name


def compile_as_told(source: str, *more: Any) -> CompiledSource:
    """Compile CUDA C++, unless a kernel's name asks for a failure."""
    _as_told(source)
    return compile_kernels(source, *more)


def translate_as_told(ptx: str, processor: tuple[str, str]) -> CachedModule:
    """Translate PTX, unless a kernel's name asks for a failure."""
    _as_told(ptx)
    return translate(ptx, processor)


def optimise_for_ever(ptx: str, name: str, processor: tuple[str, str], launches: list[bytes]) -> CachedKernel:
    """Hang forever on a kernel called `scale`."""
    _as_told("HANG_optimiser" if name == "scale" else "")
    return build.optimise(ptx, name, processor, launches)
