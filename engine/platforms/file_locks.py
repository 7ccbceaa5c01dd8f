"""Locks of open files between processes. A lock ends when the file is closed, or its process ends."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: Windows locks bytes, and lets no other process read or write them, so this one is far behind any contents.
_BYTE = 1 << 40


def lock(file: int) -> None:
    """Lock a file, and wait until another process has released it. Raise OSError where the file system has no locks."""
    if sys.platform == "win32":
        import msvcrt

        with _at_byte(file):
            while True:
                try:
                    msvcrt.locking(file, msvcrt.LK_LOCK, 1)
                    break
                except OSError as problem:  # it waits for ten seconds
                    if not _is_taken(problem):
                        raise
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)


def try_lock(file: int) -> bool:
    """Lock a file, and return whether that was possible at once. Raise OSError where the file system has no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            with _at_byte(file):
                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if not _is_taken(problem):
            raise
        return False
    return True


def _is_taken(problem: OSError) -> bool:
    return problem.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK)


@contextmanager
def _at_byte(file: int) -> Iterator[None]:
    before = os.lseek(file, 0, os.SEEK_CUR)
    os.lseek(file, _BYTE, os.SEEK_SET)
    try:
        yield
    finally:
        os.lseek(file, before, os.SEEK_SET)
