"""NVTX: ranges and marks that a profiler such as Nsight Systems shows beside its own measurements.

A profiler that starts a process names its library in NVTX_INJECTION64_PATH. The protocol by which that library hands
over its functions is written here after NVIDIA's `nvtxDetail/nvtxTypes.h` and `nvtxInit.h` (version 3) in C. Without a
profiler nothing is loaded.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_log = logging.getLogger(__name__)
_VARIABLE = "NVTX_INJECTION64_PATH"
_ENTRY = "InitializeInjectionNvtx2"
_CALLBACKS, _VERSION_INFO, _VERSION = 1, 3, 3
#: How many functions each module of NVTX has, with an empty place 0.
_SIZES = {1: 16, 2: 9, 3: 15, 4: 7, 5: 16, 6: 7}
_CORE = 1
_MARK, _PUSH, _POP = 2, 9, 11

_GetTable = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))
_SetVersion = ctypes.CFUNCTYPE(None, ctypes.c_uint32)
_GetExport = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
_Text = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)
_Nothing = ctypes.CFUNCTYPE(ctypes.c_int)


class _Callbacks(ctypes.Structure):
    _fields_ = (("size", ctypes.c_size_t), ("get_table", _GetTable))


class _VersionInfo(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("version", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("set_version", _SetVersion),
    )


class Nvtx:
    """A profiler's functions; missing ones do nothing."""

    def __init__(self, library: ctypes.CDLL) -> None:
        """Ask a profiler's library for its functions. Raise OSError if it refuses."""
        self._slots = {module: (ctypes.c_void_p * size)() for module, size in _SIZES.items()}
        self._tables = {module: _table(slots) for module, slots in self._slots.items()}
        self._callbacks = _Callbacks(ctypes.sizeof(_Callbacks), _GetTable(self._get_table))
        self._version = _VersionInfo(ctypes.sizeof(_VersionInfo), _VERSION, 0, _SetVersion(lambda version: None))
        exports = {_CALLBACKS: self._callbacks, _VERSION_INFO: self._version}
        places = {number: ctypes.addressof(table) for number, table in exports.items()}
        self._get_export = _GetExport(places.get)  # the library may call it later as well
        initialize = getattr(library, _ENTRY)
        initialize.argtypes, initialize.restype = [_GetExport], ctypes.c_int
        if not initialize(self._get_export):
            raise OSError(f"{_ENTRY} refused")
        mark, push, pop = (self._slots[_CORE][at] for at in (_MARK, _PUSH, _POP))
        self._mark = _Text(mark) if mark else None
        self._push = _Text(push) if push else None
        self._pop = _Nothing(pop) if pop else None

    def mark(self, text: str) -> None:
        """Mark this moment on the calling thread."""
        if self._mark is not None:
            self._mark(text.encode())

    @contextmanager
    def range(self, text: str) -> Iterator[None]:
        """Show the work inside the context as a range of the calling thread."""
        if self._push is None or self._pop is None:
            yield
            return
        self._push(text.encode())
        try:
            yield
        finally:
            self._pop()

    def _get_table(self, module: int, table: Any, size: Any) -> int:
        if module not in self._tables:
            return 0
        if table:
            table[0] = ctypes.addressof(self._tables[module])
        if size:
            size[0] = _SIZES[module]
        return 1


def _table(slots: ctypes.Array[ctypes.c_void_p]) -> ctypes.Array[ctypes.c_void_p]:
    """Return the places of a module's functions, with nothing at 0 and at the end."""
    width, begin = ctypes.sizeof(ctypes.c_void_p), ctypes.addressof(slots)
    return (ctypes.c_void_p * (len(slots) + 1))(None, *(begin + at * width for at in range(1, len(slots))), None)


@cache
def attached_profiler() -> Nvtx | None:
    """Return the functions of the profiler that started this process; None without one."""
    path = os.environ.get(_VARIABLE)
    if not path:
        return None
    try:
        return Nvtx(ctypes.CDLL(path))
    except (OSError, AttributeError) as problem:
        _log.warning("%s must name a profiler's library, got %s: %s", _VARIABLE, path, problem)
        return None
