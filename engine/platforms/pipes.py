"""Pipes to other processes, and the standard output of native code."""

import ctypes
import os
import select
import sys
import time
from typing import IO

_POLL_S = 0.001
_LINE_BUFFERED = 1  # _IOLBF of C on POSIX systems
_UNBUFFERED = 4  # _IONBF of Windows, which has no lines


class Readable:
    """Tells when there is something to read in a pipe."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._file = pipe.fileno()
        if sys.platform != "win32":
            self._poll = select.poll()
            self._poll.register(self._file, select.POLLIN)

    def wait(self, seconds: float) -> bool:
        """Wait for bytes or the end of the pipe; return False when neither came in time."""
        if sys.platform != "win32":
            return bool(self._poll.poll(1000 * seconds))
        until_s = time.monotonic() + seconds
        while not self._has_some():
            if time.monotonic() >= until_s:
                return False
            time.sleep(_POLL_S)
        return True

    def _has_some(self) -> bool:
        if sys.platform == "win32":
            import _winapi
            import msvcrt

            try:
                return _winapi.PeekNamedPipe(msvcrt.get_osfhandle(self._file))[0] != 0
            except OSError:  # the other end is closed, so reading gives the end
                return True
        return True


def stop_blocking(file: int) -> None:
    """Have writes to a full pipe fail instead of waiting; Windows needs that for no signal."""
    if sys.platform != "win32":
        os.set_blocking(file, False)


def print_at_once() -> None:
    """Write the lines that native code prints at once, also if standard output is a pipe."""
    if sys.platform == "win32":
        library = ctypes.CDLL("ucrtbase")
        library.__acrt_iob_func.restype = ctypes.c_void_p
        library.setvbuf(ctypes.c_void_p(library.__acrt_iob_func(1)), None, _UNBUFFERED, ctypes.c_size_t(0))
    else:
        library = ctypes.CDLL(None)
        stream = ctypes.c_void_p.in_dll(library, "__stdoutp" if sys.platform == "darwin" else "stdout")
        library.setvbuf(stream, None, _LINE_BUFFERED, ctypes.c_size_t(0))
