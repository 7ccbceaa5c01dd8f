"""Writes rows of numbers to files of tables and arrays, a part at a time."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from warploom.blocks.data.table_files import as_table, json_lines
from warploom.blocks.data.table_pieces import DELIMITERS
from warploom.blocks.io.part_writer import Array, PartWriter
from warploom.engine.diagnostics import PatchError

#: How names of recorded files end.
RECORDED = (".csv", ".tsv", ".txt", ".parquet", ".jsonl", ".ndjson", ".arrow", ".feather", ".npy")
#: Bytes of rows that are written together: a row group of Parquet, a batch of Arrow.
_TOGETHER = 4 << 20


class RowWriter(PartWriter):
    """Writes rows to a file whose suffix is one of RECORDED; for `columns`, see `encode_table`.

    All parts must have the element type and the rows' shape of `first`. Raise PatchError if the file can't hold them.
    """

    def __init__(
        self,
        path: Path,
        columns: str,
        first: Array,
        done: Callable[[Path], None] = lambda _: None,
        known: tuple[str, ...] = (),
    ) -> None:
        self._columns, self._known, self.dtype, self.row = columns, known, first.dtype, first.shape[1:]
        try:
            self._schema = None if path.suffix.lower() == ".npy" else as_table(first[:0], columns, known).schema
        except ValueError as problem:
            raise PatchError(f"file {path} must be able to hold the rows, got {problem}") from problem
        super().__init__(path, done)

    def encode(self, partial: Path, parts: Iterator[Array]) -> None:
        """Write all parts."""
        with ExitStack() as closing:
            write = self._writer(partial, closing)
            for rows in _together(parts):
                write(rows)

    def _writer(self, path: Path, closing: ExitStack) -> Callable[[Array], Any]:
        """Return what writes rows to an open file."""
        suffix = path.suffix.lower()
        if suffix == ".npy":
            return closing.enter_context(_ArrayFile(path, self.dtype, self.row)).write
        if suffix in (".jsonl", ".ndjson"):
            text = closing.enter_context(path.open("w", encoding="utf-8", newline=""))
            return lambda rows: text.write(json_lines(as_table(rows, self._columns, self._known)))
        writer: Any
        if suffix in DELIMITERS:
            from pyarrow import csv

            writer = csv.CSVWriter(path, self._schema, write_options=csv.WriteOptions(delimiter=DELIMITERS[suffix]))
        elif suffix == ".parquet":
            from pyarrow import parquet

            writer = parquet.ParquetWriter(path, self._schema)
        else:
            from pyarrow import ipc

            writer = ipc.new_file(path, self._schema)
        closing.enter_context(writer)
        return lambda rows: writer.write_table(as_table(rows, self._columns, self._known))


class _ArrayFile:
    """An NPY file that grows along its first axis; its header has the final shape once it is closed."""

    def __init__(self, path: Path, dtype: "np.dtype[Any]", row: tuple[int, ...]) -> None:
        self._path, self._dtype, self._row, self._count = path, dtype, row, 0

    def __enter__(self) -> "_ArrayFile":
        self._file = self._path.open("wb")
        self._write_header()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.seek(0)
        self._write_header()  # of the same length: the library leaves room for a first axis that grows
        self._file.close()

    def _write_header(self) -> None:
        shape = (self._count, *self._row)
        description = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, description)

    def write(self, rows: Array) -> None:
        self._file.write(rows.tobytes())
        self._count += len(rows)


def _together(parts: Iterator[Array]) -> Iterator[Array]:
    """Yield the rows of all parts, many at a time."""
    held: list[Array] = []
    for part in parts:
        held.append(part)
        if sum(each.nbytes for each in held) >= _TOGETHER:
            yield np.concatenate(held)
            held.clear()
    if held:
        yield np.concatenate(held)
