"""Libraries that Python has no bindings for: where they are found, and calls of them by ctypes."""

from __future__ import annotations

import ctypes
from typing import Any

from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib

from warploom.engine.libraries.call import LibraryError


class StatusError(Exception):
    """A library's function returned an error."""


class NativeLibrary:
    """A library of NVIDIA's, from its wheel or from where the system has it.

    Pointers, sizes and doubles are passed as ctypes objects, and 32-bit numbers as they are.
    """

    def __init__(self, name: str, wheel: str) -> None:
        """Load the library. Raise LibraryError, which names the wheel, when there is none."""
        try:
            found = load_nvidia_dynamic_lib(name)
        except DynamicLibNotFoundError:
            text = f"lib{name} must be installed to do this on CUDA, got none"
            raise LibraryError(text, f"pip install {wheel}, or run on the host") from None
        self._functions = ctypes.CDLL(found.abs_path)

    def call(self, function: str, *arguments: Any) -> None:
        """Call a function. Raise StatusError if it doesn't return 0."""
        status = getattr(self._functions, function)(*arguments)
        if status:
            raise StatusError(f"{function} returned {self.status_text(status)}")

    def status_text(self, status: int) -> str:
        """Return the text of a status."""
        return str(status)

    def text(self, function: str, *arguments: Any) -> str:
        """Return the text from a function that returns a C string."""
        asked = getattr(self._functions, function)
        asked.restype = ctypes.c_char_p
        return (asked(*arguments) or b"").decode()
