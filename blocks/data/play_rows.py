from collections.abc import Callable
from functools import partial
from math import floor
from pathlib import Path
from typing import BinaryIO

import numpy as np

from warploom.api import BlockBuilder, Moment, Out, any_type, dtype_of, open_file, param, port
from warploom.blocks.data.array_files import READ_ERRORS, RowsOfArray, array_problem
from warploom.blocks.data.rows_ahead import Array, PieceBlock, Rows
from warploom.blocks.data.table_files import TYPES, RowsOfTable, table_problem
from warploom.engine.diagnostics import Incomplete, PatchError

#: Choices of what selects the first row.
SELECTIONS = ("time", "row")
#: How names of arrays end.
ARRAYS = (".npy", ".npz", ".safetensors")


class PlayRows(
    PieceBlock,
    id="data.play_rows",
    tags=("csv", "parquet", "json", "numpy", "npy", "table", "array", "file", "open", "stream", "batches", "large"),
):
    """Goes through the rows of a table or array, which may be larger than memory.

    `out` has `rows` rows from a row on. By "time", the first row is the time multiplied by the rate; by "row", it is
    set or driven. Reads the files of Load Table and Load Array; the rows of an array are the items of its first axis,
    with the array's element type. Pieces are read ahead on another thread, and only they are in memory, except of JSON
    lists and Arrow streams. While the patch plays, a piece that isn't read in time is shown as soon as it is.
    """

    out: Out[any_type] = port(
        shape="[rows]", dtype="given", doc="The rows, shape [rows, columns], or [rows] and a row's shape."
    )
    file: Path = param("", files="open rows", doc="The file; a relative path starts at the patch's folder.")
    columns: str = param("", doc='Names of columns, with commas between them, as a, "b, c"; empty for all of numbers.')
    type: str = param("f32", choices=tuple(TYPES), doc="Element type of the rows of a table.")
    member: str = param("", doc="Name of an array in a file of several; empty for the only one.")
    rows: int = param(100, min=1, max=1_000_000_000, structural=True, doc="Number of rows that are shown together.")
    by: str = param("time", choices=SELECTIONS, doc="What selects the first row.")
    rate: float = param(100.0, min=0, max=1e9, unit="1/s", doc="By time: rows a second.")
    row: int = param(0, min=0, max=1_000_000_000, doc="By row: number of the first row from 0.")

    def describe(self, build: BlockBuilder) -> None:
        """Let each update give a piece."""
        if not str(self.file):
            raise Incomplete("file", "name a table or an array")
        try:
            file, rows = self.opener()()
            file.close()
            dtype, shape = rows.layout
            if isinstance(rows, RowsOfTable):
                build.name_columns(self.out, rows.columns)
            build.define(self.out, dtype=dtype_of(np.empty(0, dtype)), shape=str([self.rows, *shape]))
        except (*READ_ERRORS, TypeError) as problem:
            raise self.problem(problem) from problem
        build.feed(self.out)

    @property
    def size(self) -> int:
        """The number of rows that are shown together."""
        return self.rows

    def opener(self) -> Callable[[], tuple[BinaryIO, Rows]]:
        """Return what opens the table or array."""
        return partial(_open_rows, Path(self.file), self.columns, self.type, self.member)

    def problem(self, problem: Exception) -> PatchError:
        """Return the error that names the file."""
        if isinstance(problem, PatchError):
            return problem
        path = Path(self.file)
        return (array_problem if path.suffix.lower() in ARRAYS else table_problem)(path, problem)

    def wanted(self, now: Moment) -> int:
        """Return the first row, by time or as it is set."""
        return floor(now.time_s * self.rate + 1e-6) if self.by == "time" else self.row

    def show(self, rows: Array) -> None:
        """Give the rows."""
        self.give("out", rows)


def _open_rows(path: Path, columns: str, element_type: str, member: str) -> tuple[BinaryIO, Rows]:
    file = open_file(path)
    try:
        suffix = path.suffix.lower()
        if suffix in ARRAYS:
            return file, RowsOfArray(file, member)
        return file, RowsOfTable(file, suffix, columns, element_type)
    except BaseException:
        file.close()
        raise
