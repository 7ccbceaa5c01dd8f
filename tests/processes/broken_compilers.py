"""Compilers that fail, to be put in the place of real ones before a worker process gets the job."""

from __future__ import annotations

import os
import signal
import time
from typing import Any, NoReturn
from unittest.mock import patch

from engine.device.host.modules.build import translate
from engine.device.host.translate import module
from engine.diagnostics import KernelError


def refuse_all(*_: Any, **__: Any) -> NoReturn:
    """Fail as a translator with a mistake of its own does."""
    raise AssertionError("a register is left")


def with_a_bug(ptx: str, processor: tuple[str, str]) -> NoReturn:
    """Translate by a translator that has a mistake."""
    with patch.object(module, "translate_kernel", refuse_all):
        translate(ptx, processor)
    raise AssertionError("the translator must have failed")


def too_large(*_: Any) -> NoReturn:
    """Refuse a kernel."""
    raise KernelError("too large")


def hang(*_: Any) -> NoReturn:
    """Compile for ever."""
    while True:
        time.sleep(60)


def crash(*_: Any) -> NoReturn:
    """Do what LLVM does with text that it can't stand."""
    os.kill(os.getpid(), signal.SIGSEGV)
    hang()


def eat_memory(*_: Any) -> NoReturn:
    """Come to the end that the system gives to processes without memory."""
    os.kill(os.getpid(), signal.SIGKILL)
    hang()
