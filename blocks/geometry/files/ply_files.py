"""Reads some points of a binary PLY file without the rest of it."""

from functools import cached_property
from typing import Any, BinaryIO

import numpy as np

from warploom.blocks.geometry.files.scan_files import ScanPart
from warploom.blocks.io.colour_spaces import srgb_to_linear

Array = np.ndarray[Any, Any]

#: numpy's names of the types of numbers, and of the orders of bytes.
TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"}
TYPES |= {"float": "f4", "double": "f8", "float32": "f4", "float64": "f8"}
TYPES |= {f"{sign}int{bits}": f"{sign or 'i'}{bits // 8}" for sign in ("", "u") for bits in (8, 16, 32)}
ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">"}
_COLOURS = ("red", "green", "blue", "alpha")
#: The longest header, and the points that are looked at together for the bounding box.
_MOST_HEADER, _LOOKED_AT = 1 << 16, 1 << 20
#: Points that are looked at to tell colours of 8 bits from those of 16.
_CHECKED = 10_000


class PlyPoints:
    """The points of an open file, with the attributes and methods of `Scan`. Raise ValueError for damage and texts."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        lines, self._begin = _header(file)
        order, fields, self.count, is_open = "", list[tuple[str, str]](), 0, False
        for words in lines:
            match words:
                case ["format", name, _]:
                    order = ORDERS.get(name, "")
                case ["element", "vertex", count]:
                    self.count, is_open = int(count), True
                case ["element", *_]:
                    if not is_open:
                        raise ValueError(f"{words[1:2]} before its points")
                    is_open = False
                case ["property", "list", *_] if is_open:
                    raise ValueError("points with lists of numbers")
                case ["property", kind, name] if is_open:
                    if kind not in TYPES:
                        raise ValueError(f"numbers of type {kind}")
                    fields.append((name, order + TYPES[kind]))
        if not order:
            raise ValueError(
                "points as text, which must be loaded at once; use Load Points, or save them as binary PLY"
            )
        if not {"x", "y", "z"} <= {name for name, _ in fields} or self.count < 1:
            raise ValueError("no points")
        self._row = np.dtype(fields)
        room = (file.seek(0, 2) - self._begin) // self._row.itemsize
        if self.count > room:
            raise ValueError(f"{self.count} points in a file that has room for {room}")
        self.attributes = sorted(name for name, _ in fields)
        head = self._rows(0, _CHECKED)
        self._brightest = max((head[name].max() for name in _COLOURS if name in self.attributes), default=0)

    @property
    def low(self) -> Array:
        """The lower corner of the bounding box; below, the upper one. The first look reads all points."""
        return self._box[0]

    @property
    def high(self) -> Array:
        """The upper corner."""
        return self._box[1]

    def read(self, first: int, most: int, names: list[str] | None = None) -> ScanPart:
        """Return `most` points from point `first` on, or those that there are; `names` are the attributes, or all."""
        rows = self._rows(first, most)
        colours = np.ones((len(rows), 4), np.float32)
        named = [(place, rows[name]) for place, name in enumerate(_COLOURS) if name in self.attributes]
        self._brightest = max([self._brightest, *(stored.max(initial=0) for _, stored in named)])
        for place, stored in named:
            largest = 1 if stored.dtype.kind == "f" else 255 if self._brightest <= 255 else 65535
            colours[:, place] = stored.astype(np.float64) / largest
        if "red" in self.attributes:
            colours[:, :3] = srgb_to_linear(colours[:, :3])
        wanted = self.attributes if names is None else names
        return ScanPart(_positions(rows), colours, {name: rows[name].astype(np.float32) for name in wanted})

    @cached_property
    def _box(self) -> tuple[Array, Array]:
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for first in range(0, self.count, _LOOKED_AT):
            points = _positions(self._rows(first, _LOOKED_AT))
            points = points[np.isfinite(points).all(axis=1)]
            low, high = np.minimum(low, points.min(0, initial=np.inf)), np.maximum(high, points.max(0, initial=-np.inf))
        return low, high

    def _rows(self, first: int, most: int) -> Array:
        size = self._row.itemsize
        self._file.seek(self._begin + first * size)
        held = self._file.read(max(min(most, self.count - first), 0) * size)
        return np.frombuffer(held[: len(held) // size * size], self._row)


def _positions(rows: Array) -> Array:
    return np.stack([rows[axis].astype(np.float64) for axis in "xyz"], axis=1)


def _header(file: BinaryIO) -> tuple[list[list[str]], int]:
    """Return the words of the header's lines, and where the points begin."""
    file.seek(0)
    head = file.read(_MOST_HEADER)
    end = head.find(b"end_header")
    end = head.find(b"\n", end) + 1 if end >= 0 else 0
    if head[:3] != b"ply" or not end:
        raise ValueError("no PLY")
    return [line.split() for line in head[:end].decode("latin-1").splitlines()], end
