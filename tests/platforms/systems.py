"""Other systems, simulated: a platform's name, and stand-ins for modules of Windows that work with those of Linux."""

import fcntl
import os
import sys
from types import ModuleType

import pytest

SYSTEMS = ("linux", "darwin", "win32")


def pretend(monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    """Have code that asks for the platform get another one; missing modules of that system have stand-ins.

    What is left of Linux is taken away, so that code which uses it anyway fails.
    """
    monkeypatch.setattr(sys, "platform", system)
    if system == "win32":
        monkeypatch.setitem(sys.modules, "msvcrt", Msvcrt())
        for name in ("fcntl", "resource", "pwd", "termios"):
            monkeypatch.setitem(sys.modules, name, None)


class Msvcrt(ModuleType):
    """Locks single bytes as Windows' C library does."""

    LK_LOCK, LK_NBLCK = 1, 2

    def __init__(self) -> None:
        super().__init__("msvcrt")
        #: The places of locks, as the file position was.
        self.places: list[int] = []

    def locking(self, file: int, mode: int, size: int) -> None:
        """Lock bytes from the file's position on."""
        self.places.append(os.lseek(file, 0, os.SEEK_CUR))
        fcntl.flock(file, fcntl.LOCK_EX | (fcntl.LOCK_NB if mode == self.LK_NBLCK else 0))

    def get_osfhandle(self, file: int) -> int:
        """Return the handle of a file, which is its number here."""
        return file
