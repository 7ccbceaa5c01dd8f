from collections.abc import Callable
from functools import partial
from math import floor
from pathlib import Path
from typing import BinaryIO

import numpy as np

from blocks.data.array_files import READ_ERRORS, RowsOfArray, array_problem
from blocks.data.rows_ahead import Piece, Rows, RowsAhead
from blocks.data.table_files import TYPES, RowsOfTable, table_problem
from engine.api import (
    BlockBuilder,
    LiveBlock,
    Moment,
    Out,
    Value,
    any_type,
    dtype_of,
    open_file,
    param,
    port,
    value_port,
)
from engine.diagnostics import Incomplete, PatchError

#: Choices of what selects the first row.
SELECTIONS = ("time", "row")
#: How names of arrays end.
ARRAYS = (".npy", ".npz")


class PlayRows(
    LiveBlock,
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
    first: Value[int] = value_port(doc="Number of the first row that is shown, from 0.")
    count: Value[int] = value_port(doc="Number of rows in the file; 0 while the end of a text has not been read.")
    is_new: Value[bool] = value_port(doc="True in frames that show other rows than before.")
    file: Path = param("", files="open rows", doc="The file; a relative path starts at the patch's folder.")
    columns: str = param("", doc='Names of columns, with commas between them, as a, "b, c"; empty for all of numbers.')
    type: str = param("f32", choices=tuple(TYPES), doc="Element type of the rows of a table.")
    member: str = param("", doc="Name of an array in an NPZ archive; empty for the only one.")
    rows: int = param(100, min=1, max=1_000_000_000, structural=True, doc="Number of rows that are shown together.")
    by: str = param("time", choices=SELECTIONS, doc="What selects the first row.")
    rate: float = param(100.0, min=0, max=1e9, unit="1/s", doc="By time: rows a second.")
    row: int = param(0, min=0, max=1_000_000_000, doc="By row: number of the first row from 0.")
    loop: bool = param(True, doc="Go on with the first row after the last one; otherwise stop at the last rows.")

    def describe(self, build: BlockBuilder) -> None:
        """Let each update give a piece."""
        if not str(self.file):
            raise Incomplete("file", "name a table or an array")
        try:
            file, rows = self._opener()()
            file.close()
            dtype, shape = rows.layout
            build.define(self.out, dtype=dtype_of(np.empty(0, dtype)), shape=str([self.rows, *shape]))
        except (*READ_ERRORS, TypeError) as problem:
            raise self._problem(problem) from problem
        build.feed(self.out)

    def _opener(self) -> Callable[[], tuple[BinaryIO, Rows]]:
        return partial(_open_rows, Path(self.file), self.columns, self.type, self.member)

    def _problem(self, problem: Exception) -> PatchError:
        if isinstance(problem, PatchError):
            return problem
        path = Path(self.file)
        return (array_problem if path.suffix.lower() in ARRAYS else table_problem)(path, problem)

    def start(self) -> None:
        """Begin to read, on a thread of its own."""
        self._reader = RowsAhead(self._opener(), self.rows)
        self.goes_on()

    def goes_on(self) -> bool:
        """Keep the file open, with the pieces that were read."""
        self._wanted: int | None = None
        self._step = 0
        self._shown: tuple[int, bool] | None = None
        self._piece: Piece | None = None
        self.first = self.count = 0
        return True

    def update(self, now: Moment) -> None:
        """Give the rows of this frame, if they are others."""
        first = floor(now.time_s * self.rate + 1e-6) if self.by == "time" else self.row
        if self._wanted is not None and first != self._wanted:
            self._step = first - self._wanted
        self._wanted, self.is_new = first, False
        if self._shown == (first, self.loop):
            return
        try:
            piece = self._reader.piece(first, self._step, loop=self.loop, wait=self.waits)
        except READ_ERRORS as problem:
            raise self._problem(problem) from problem
        if piece is None:
            return
        self._shown, self.count = (piece.asked, self.loop), piece.count or 0
        if self._piece is None or self._piece.first != piece.first:
            self.give("out", piece.rows)
            self._piece, self.first, self.is_new = piece, piece.first, True

    def close(self) -> None:
        """Close the file."""
        self._reader.close()


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
