"""Reads all elements of a PLY file, and writes points and triangles as one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warploom.blocks.geometry.files.ply_files import ORDERS, TYPES
from warploom.engine.diagnostics import cut

Array = np.ndarray[Any, Any]


@dataclass
class PlyElement:
    """Rows of the same properties, such as the points or the faces."""

    name: str
    count: int
    #: The type, the type of the count of a list, and the name of each property.
    kinds: list[tuple[str, str, str]]
    #: A number for each row, by name.
    values: dict[str, Array] = field(default_factory=dict)
    #: How many numbers the list of each row has, and all of them, by name.
    lists: dict[str, tuple[Array, Array]] = field(default_factory=dict)


@dataclass
class PlyContents:
    """The contents of a PLY file. `order` is that of its bytes, empty for a text."""

    order: str
    comments: list[str]
    elements: list[PlyElement] = field(default_factory=list)

    def element(self, name: str) -> PlyElement | None:
        return next((element for element in self.elements if element.name == name), None)

    def check(self) -> None:
        """Raise ValueError unless there are points, and all types are known."""
        for element in self.elements:
            types = {word for kind, counted, _ in element.kinds for word in (kind, counted) if word}
            if unknown := sorted(types - TYPES.keys()):
                raise ValueError(f"numbers of the unknown type {unknown[0]} in {element.name}")
        vertex = self.element("vertex")
        if vertex is None or not {"x", "y", "z"} <= {name for _, counted, name in vertex.kinds if not counted}:
            raise ValueError("no points with x, y and z")

    def read(self, body: bytes) -> None:
        """Read the rows of all elements. Raise ValueError for damage."""
        units = np.frombuffer(body, np.uint8) if self.order else as_numbers(body.split())
        at = 0
        for element in self.elements:
            at = self._read_rows(element, units, at)
        if not self.order and at < len(units):  # rows with more numbers than the header names would be misread
            raise ValueError(f"{len(units)} numbers instead of {at}")

    def _read_rows(self, element: PlyElement, units: Array, at: int) -> int:
        """Read rows from a place on, and return the place of the next element."""
        lengths = self._lengths(element, units, at)
        fields = list[tuple[str, str, tuple[int, ...]]]()
        for (kind, counted, name), length in zip(element.kinds, lengths, strict=True):
            fields += [(f"{name}/count", self._code(counted), ())] if counted else []
            fields.append((name, self._code(kind), (length,)))
        row = np.dtype(fields)
        end = at + element.count * row.itemsize // units.itemsize
        has_lists = any(counted for _, counted, _ in element.kinds)
        if end > len(units) and not has_lists:
            raise ValueError(f"{element.count} rows of {element.name} in a file that ends before")
        rows = units[at:end].view(row) if row.itemsize > 0 and end <= len(units) else None
        if rows is None or not all(
            (rows[f"{name}/count"] == length).all()
            for (_, counted, name), length in zip(element.kinds, lengths, strict=True)
            if counted
        ):
            return self._walk(element, units, at) if has_lists else end
        for (kind, counted, name), length in zip(element.kinds, lengths, strict=True):
            taken = np.ascontiguousarray(rows[name].reshape(-1), self.order + TYPES[kind])
            if counted:
                element.lists[name] = np.full(element.count, length), taken
            else:
                element.values[name] = taken
        return end

    def _lengths(self, element: PlyElement, units: Array, at: int) -> list[int]:
        """Return the number of numbers of each property in the first row."""
        lengths = []
        for kind, counted, _ in element.kinds:
            length = self._count(units, at, counted) if counted and element.count else 1
            lengths.append(length)
            at += self._size(counted) + length * self._size(kind)
        return lengths

    def _walk(self, element: PlyElement, units: Array, at: int) -> int:
        """Read rows whose lists have different lengths."""
        sizes = [(self._size(kind), counted, self._size(counted)) for kind, counted, _ in element.kinds]
        places, counts = list[int](), list[int]()
        for _ in range(element.count):
            for size, counted, head in sizes:
                length = self._count(units, at, counted) if counted else 1
                places.append(at + head)
                counts.append(length)
                at += head + length * size
        if at > len(units):
            raise ValueError(f"{element.count} rows of {element.name} in a file that ends before")
        for column, (kind, counted, name) in enumerate(element.kinds):
            size, begins, lengths = self._size(kind), places[column :: len(sizes)], counts[column :: len(sizes)]
            within = np.arange(sum(lengths)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            found = units[(np.repeat(begins, lengths) + size * within)[:, np.newaxis] + np.arange(size)]
            taken = np.ascontiguousarray(found).reshape(-1).view(self._code(kind)).astype(self.order + TYPES[kind])
            if counted:
                element.lists[name] = np.array(lengths), taken
            else:
                element.values[name] = taken
        return at

    def _count(self, units: Array, at: int, kind: str) -> int:
        """Return the length of the list at a place."""
        if at + self._size(kind) > len(units):
            raise ValueError("a list behind the end of the file")
        count = int(units[at : at + self._size(kind)].view(self._code(kind))[0])
        if not 0 <= count <= len(units):
            raise ValueError(f"a list of {count} numbers")
        return count

    def _code(self, kind: str) -> str:
        """Return numpy's name of the type in which numbers are held: those of a text are all f8."""
        return self.order + TYPES[kind] if self.order else "f8"

    def _size(self, kind: str) -> int:
        """Return how many bytes, or numbers of a text, a number takes."""
        return 0 if not kind else np.dtype(TYPES[kind]).itemsize if self.order else 1

    def written(self, triangles: Array, polygons: Array, others: dict[str, Array]) -> bytes:
        """Return the points and some triangles as a file of bytes; `others` are numbers of each polygon."""
        vertex = self.element("vertex")
        assert vertex is not None
        order = self.order or "<"
        format_name = next(name for name, known in ORDERS.items() if known == order)
        kinds = {name: order + TYPES[kind] for kind, _, name in vertex.kinds if name in vertex.values}
        rows = np.empty(vertex.count, list(kinds.items()))
        for name in kinds:
            rows[name] = vertex.values[name]
        count, corners = "its count", "its corners"  # a property's name has no spaces
        faces = np.empty(
            len(triangles), [(count, "u1"), (corners, order + "i4", 3), *((n, v.dtype) for n, v in others.items())]
        )
        faces[count], faces[corners] = 3, triangles
        for name, values in others.items():
            faces[name] = values[polygons]
        names = {code: kind for kind, code in reversed(TYPES.items())}
        lines = ["ply", f"format {format_name} 1.0", *self.comments, f"element vertex {vertex.count}"]
        lines += [f"property {kind} {name}" for kind, _, name in vertex.kinds if name in kinds]
        lines += [f"element face {len(faces)}", "property list uchar int vertex_indices"]
        lines += [f"property {names[values.dtype.str[1:]]} {name}" for name, values in others.items()]
        return "\n".join([*lines, "end_header", ""]).encode() + rows.tobytes() + faces.tobytes()


def as_numbers(words: Sequence[bytes]) -> Array:
    """Return the numbers that words of a text stand for, as f64. ValueError has the first word that is none."""
    try:
        return np.array(words, np.float64)
    except ValueError:
        for word in words:
            try:
                float(word)
            except ValueError:
                raise ValueError(f"{cut(word.decode(errors='replace'), 20)} for a number") from None
        raise
