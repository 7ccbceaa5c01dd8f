"""Reads arrays from files of numpy, and some of their rows without the rest of the file."""

import io
import zlib
from functools import lru_cache
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO
from zipfile import BadZipFile, ZipFile

import numpy as np

from warploom.api import open_file, read_bytes
from warploom.engine.diagnostics import PatchError, cut

Array = np.ndarray[Any, Any]

#: The number of read arrays that are kept, so that editing a patch does not read their files again.
CACHED_ARRAYS = 4
#: The most bytes of a header.
_MOST_HEADER = 1 << 16
_DAMAGE = (EOFError, SyntaxError, TokenError, BadZipFile, zlib.error)
#: What reading a damaged file may raise; RuntimeError is for an archive with a password or an unknown compression.
READ_ERRORS = (OSError, ValueError, MemoryError, RuntimeError, *_DAMAGE)


def load_array(path: Path, member: str = "", first_row: int = 0, most_rows: int = 0) -> Array:
    """Return the array in an NPY file, or an array in an NPZ archive, read-only, in the byte order of the machine.

    `most_rows` items of the first axis are taken from `first_row` on; 0 takes all. Other rows are not read, except that
    a compressed archive is decompressed up to there. A PatchError names the file when it can't be read.
    """
    try:
        if not (first_row or most_rows):
            return _whole(read_bytes(path), member)
        with open_file(path) as file:
            array = RowsOfArray(file, member).read(first_row, most_rows or None)
            if not len(array):
                raise ValueError(f"no rows from row {first_row} on")
            return array
    except READ_ERRORS as problem:
        raise array_problem(path, problem) from problem


def array_problem(path: Path, problem: Exception) -> PatchError:
    """Return the error that names a file, for one that reading it raised."""
    if isinstance(problem, FileNotFoundError):
        return PatchError(f"array file must exist, got {path}; choose another file, or put it there")
    reason = cut(str(problem).split("\n")[0] or "more than memory holds", 300)
    return PatchError(f"array file {path} must be a readable array of numbers, got: {reason}")


# Cached by contents, so that a file is read again only if these have changed.
@lru_cache(CACHED_ARRAYS)
def _whole(held: bytes, member: str) -> Array:
    return RowsOfArray(io.BytesIO(held), member).all()


class RowsOfArray:
    """The items of the first axis of the array in an open NPY file, or of a member of an NPZ archive.

    ValueError says why it can't be read.
    """

    def __init__(self, file: BinaryIO, member: str = "") -> None:
        head = file.read(6)
        file.seek(0)
        if head[:2] == b"PK":
            archive = ZipFile(file)
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            if member not in names and not (len(names) == 1 and not member):
                raise ValueError(f"no member {member!r}; there are {', '.join(names) or 'none'}")
            self._file: Any = archive.open(archive.namelist()[names.index(member) if member else 0])
        elif head != b"\x93NUMPY":
            raise ValueError("no NPY or NPZ file")
        elif member:
            raise ValueError(f"one array, which has no member {member!r}")
        else:
            self._file = file
        form = np.lib.format
        version = form.read_magic(self._file)
        read_header = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
        self.shape, self._columns_first, self._stored = read_header(self._file, max_header_size=_MOST_HEADER)
        if self._stored.hasobject or self._stored.names is not None:
            raise ValueError(f"elements of type {self._stored}, which are no numbers")
        self._begin = self._file.tell()

    @property
    def count(self) -> int:
        """The number of items of the first axis."""
        return self.shape[0] if self.shape else 0

    @property
    def layout(self) -> tuple["np.dtype[Any]", tuple[int, ...]]:
        """The element type, and the shape of an item."""
        return self._stored.newbyteorder("="), self.shape[1:]

    def all(self) -> Array:
        """Return the array."""
        flat = self._elements(0, prod(self.shape))
        return self._finished(flat.reshape(self.shape[::-1]).T if self._columns_first else flat.reshape(self.shape))

    def read(self, first: int, count: int | None) -> Array:
        """Return `count` items from item `first` on, or all, read-only; fewer where the array ends."""
        if not self.shape:
            raise ValueError("a single number, which has no rows")
        rest = max(self.count - first, 0)
        count = rest if count is None else min(count, rest)
        width = prod(self.shape[1:])
        if not self._columns_first:
            return self._finished(self._elements(first * width, count * width).reshape(count, *self.shape[1:]))
        columns = [self._elements(first + column * self.count, count) for column in range(width)]
        return self._finished(np.concatenate(columns).reshape(*self.shape[:0:-1], count).T)

    def _elements(self, first: int, count: int) -> Array:
        """Return elements in the order in which they are stored."""
        size = self._stored.itemsize
        self._file.seek(self._begin + first * size)
        held = self._file.read(count * size)
        if len(held) < count * size:
            raise ValueError(f"a file that ends after {len(held)} of {count * size} bytes")
        return np.frombuffer(held, self._stored)

    def _finished(self, array: Array) -> Array:
        array = np.ascontiguousarray(array, self.layout[0]).reshape(array.shape)
        array.flags.writeable = False
        return array
