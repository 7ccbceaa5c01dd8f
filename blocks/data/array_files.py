"""Reads arrays from files of numpy and safetensors, and some of their rows without the rest of the file."""

import io
import json
import operator
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
#: The most bytes of a header, and of that of a safetensors file.
_MOST_HEADER, _MOST_TENSORS = 1 << 16, 100 << 20
#: numpy's names of the element types of a safetensors file.
_TENSOR_TYPES = {"BOOL": "?", "BF16": "<u2", "F16": "<f2", "F32": "<f4", "F64": "<f8"}
_TENSOR_TYPES |= {
    f"{sign}{8 * size}": f"<{code}{size}" for sign, code in (("I", "i"), ("U", "u")) for size in (1, 2, 4, 8)
}
_DAMAGE = (EOFError, SyntaxError, TokenError, BadZipFile, zlib.error)
#: What reading a damaged file may raise; RuntimeError is for an archive with a password or an unknown compression.
READ_ERRORS = (OSError, ValueError, MemoryError, RuntimeError, *_DAMAGE)


def load_array(path: Path, member: str = "", first_row: int = 0, most_rows: int = 0) -> Array:
    """Return the array in an NPY file, or an array in an NPZ archive or safetensors file.

    It is read-only, in the byte order of the machine; numbers of bf16 become f32.

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
    """The items of the first axis of an array in an open file: NPY, a member of NPZ or safetensors.

    ValueError says why it can't be read.
    """

    def __init__(self, file: BinaryIO, member: str = "") -> None:
        head = file.read(9)
        file.seek(0)
        self._columns_first, self._is_bf16 = False, False
        if head[:2] == b"PK":
            archive = ZipFile(file)
            names = [name for name in archive.namelist() if name.endswith(".npy")]
            self._file: Any = archive.open(_chosen([name.removesuffix(".npy") for name in names], member) + ".npy")
        elif head[:6] != b"\x93NUMPY" and head[8:] == b"{":
            self._file = file
            self._read_tensors(member)
            return
        elif head[:6] != b"\x93NUMPY":
            raise ValueError("no NPY, NPZ or safetensors file")
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
        if min(self.shape, default=0) < 0:
            raise ValueError(f"the shape {list(self.shape)}")
        self._begin = self._file.tell()

    def _read_tensors(self, member: str) -> None:
        """Read where an array of a safetensors file lies."""
        length = int.from_bytes(self._file.read(8), "little")
        if length > _MOST_TENSORS:
            raise ValueError(f"a header of {length} bytes")
        tensors = json.loads(self._file.read(length))
        tensors.pop("__metadata__", None)
        name = _chosen(list(tensors), member)
        try:
            kind, shape, place = (tensors[name][key] for key in ("dtype", "shape", "data_offsets"))
            self._stored, self.shape = np.dtype(_TENSOR_TYPES[kind]), tuple(map(operator.index, shape))
            begin, end = map(operator.index, place)
        except (KeyError, TypeError) as problem:
            raise ValueError(
                f"an array of unknown type or place ({problem}); types are {', '.join(_TENSOR_TYPES)}"
            ) from None
        if min((*self.shape, begin)) < 0 or end - begin != prod(self.shape) * self._stored.itemsize:
            raise ValueError(f"{end - begin} bytes for {kind} of the shape {list(self.shape)}")
        self._is_bf16, self._begin = kind == "BF16", 8 + length + begin

    @property
    def count(self) -> int:
        """The number of items of the first axis."""
        return self.shape[0] if self.shape else 0

    @property
    def layout(self) -> tuple["np.dtype[Any]", tuple[int, ...]]:
        """The element type, and the shape of an item."""
        return np.dtype(np.float32) if self._is_bf16 else self._stored.newbyteorder("="), self.shape[1:]

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
        if self._is_bf16:  # the upper half of an f32
            array = (array.astype(np.uint32) << 16).view(np.float32)
        array = np.ascontiguousarray(array, self.layout[0]).reshape(array.shape)
        array.flags.writeable = False
        return array


def _chosen(names: list[str], member: str) -> str:
    """Return the name of a member, or of the only one if none is named."""
    if member not in names and not (len(names) == 1 and not member):
        raise ValueError(f"no member {member!r}; there are {cut(', '.join(names), 200) or 'none'}")
    return member or names[0]
