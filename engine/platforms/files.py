"""Files: the flags to open them, moves over another file, and files that are only in memory."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

#: How long a move over a file waits for a program that has it open, such as a virus scanner.
_PATIENCE_S = 2.0
_POLL_S = 0.02


def reading_flags() -> int:
    """Return the flags of `os.open` to read bytes; the call never waits, even for a pipe."""
    if sys.platform == "win32":
        return os.O_RDONLY | os.O_BINARY | os.O_NOINHERIT
    return os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def appending_flags() -> int:
    """Return the flags of `os.open` to append bytes to a file, which is made if there is none."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    if sys.platform == "win32":
        return flags | os.O_BINARY  # otherwise line breaks get two characters
    return flags


def keep_permissions(file: int, path: Path) -> None:
    """Give an open file the permissions of another one; Windows takes those of the folder."""
    if sys.platform != "win32":
        os.fchmod(file, path.stat().st_mode & 0o777)


def move_over(file: IO[bytes], part: Path, path: Path) -> bool:
    """Move an open file over another one; Windows closes it first. Return False if another process has moved it.

    Raise OSError if that is impossible.
    """
    if sys.platform == "win32":
        file.close()  # an open file can't be moved there
        until_s = time.monotonic() + _PATIENCE_S
        while True:
            try:
                part.replace(path)
                return True
            except FileNotFoundError:
                return False
            except PermissionError:  # a program has one of the two open
                if time.monotonic() > until_s:
                    raise
                time.sleep(_POLL_S)
    part.replace(path)
    return True


class NamedContents:
    """Bytes that a library reads and writes as the file `name`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def write(self, data: bytes) -> None:
        """Replace the contents."""
        Path(self.name).write_bytes(data)

    def read(self) -> bytes:
        """Return the contents."""
        return Path(self.name).read_bytes()


@contextmanager
def named_contents() -> Iterator[NamedContents]:
    """Yield contents that are gone afterwards: in memory on Linux, and elsewhere in a temporary folder."""
    if sys.platform == "linux" and (descriptor := memory_file("warploom")) is not None:
        try:
            yield NamedContents(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
    else:
        import tempfile  # takes some milliseconds

        with tempfile.TemporaryDirectory(prefix="warploom-") as folder:
            yield NamedContents(str(Path(folder, "contents")))


def memory_file(name: str) -> int | None:
    """Return a descriptor of a new file in memory, which has no path; None where the system has none."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # a sandbox may forbid it, and some C libraries lack it
            return os.memfd_create(name)
    return None


def is_memory_file(descriptor: int, name: str) -> bool:
    """True for a descriptor that `memory_file` has made in this process or its parent."""
    if sys.platform == "linux":
        with suppress(OSError):
            return str(Path(f"/proc/self/fd/{descriptor}").readlink()).startswith(f"/memfd:{name}")
    return False


def can_refuse_files() -> bool:
    """True if `no_more_files` works on this system."""
    return sys.platform != "win32"


@contextmanager
def no_more_files() -> Iterator[None]:
    """Let this process open no file, where `can_refuse_files` is true."""
    if sys.platform == "win32":
        raise NotImplementedError
    else:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
