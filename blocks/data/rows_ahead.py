"""Reads pieces of a file that is larger than memory, ahead of the frames that show them."""

from abc import abstractmethod
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO, Protocol

import numpy as np

from warploom.api import LiveBlock, Moment, Value, param, value_port
from warploom.engine.diagnostics import PatchError

Array = np.ndarray[Any, Any]

#: Pieces that are read ahead, counting the one that is shown.
AHEAD = 4
#: Bytes that are read beyond a piece, so that pieces that overlap or are small read the file less often.
_MORE = 1 << 20


class Rows(Protocol):
    """The rows of an open file."""

    @property
    def count(self) -> int | None:
        """The number of rows; None before they are known."""

    @property
    def layout(self) -> tuple["np.dtype[Any]", tuple[int, ...]]:
        """The element type, and the shape of a row."""

    def read(self, first: int, count: int | None) -> Array:
        """Return `count` rows from row `first` on; fewer where they end, after which `count` is known."""


@dataclass(frozen=True)
class Piece:
    """Rows from row `first` on, and the number of all rows if it is known; `asked` is the row that was asked for."""

    asked: int
    first: int
    rows: Array
    count: int | None


class RowsAhead:
    """Reads pieces of `size` rows on a thread of its own. Its methods are for one other thread.

    `open_rows` is called on the thread of the reader, and the file is closed there.
    """

    def __init__(self, open_rows: Callable[[], tuple[BinaryIO, Rows]], size: int) -> None:
        self._size = size
        self._thread = ThreadPoolExecutor(1, "warploom-rows")
        self._opened = self._thread.submit(open_rows)
        #: By the first row, and whether the rows begin again after the last one.
        self._futures: dict[tuple[int, bool], Future[Piece]] = {}
        #: Rows that were read last, and the number of the first one.
        self._held: tuple[int, Array] = 0, np.empty(0)

    def piece(self, first: int, step: int, *, loop: bool, wait: bool) -> Piece | None:
        """Return the piece from a row on, or one that was asked for before and is newer than what was returned.

        None means that none is there yet, and that `wait` is false. With `loop`, row 0 follows the last row; otherwise
        the last piece ends with the last row, and 0 fills up a file that has fewer rows than a piece. The next pieces
        in the direction of `step` are read, too. What reading raises is raised here.
        """
        keys = [(first + number * step, loop) for number in range(AHEAD if step else 1) if first + number * step >= 0]
        late = None
        for key in [key for key in self._futures if key not in keys]:
            if self._futures[key].cancel():
                del self._futures[key]
            elif self._futures[key].done():
                late = self._futures.pop(key)
        for key in keys:
            if key not in self._futures:
                self._futures[key] = self._thread.submit(self._read, *key)
        wanted = self._futures[keys[0]]
        if wait or wanted.done():
            return wanted.result()
        return late.result() if late is not None else None

    def close(self) -> None:
        """Stop reading, and close the file, without waiting."""
        for future in self._futures.values():
            future.cancel()
        self._thread.submit(self._close)
        self._thread.shutdown(wait=False)

    def _close(self) -> None:
        if self._opened.exception() is None:
            self._opened.result()[0].close()

    # On the thread

    def _read(self, asked: int, loop: bool) -> Piece:
        _, rows = self._opened.result()
        first, found = asked, self._rows(asked, self._size)
        if len(found) < self._size:
            count = rows.count
            if not count:
                raise ValueError("no rows")
            first = first % count if loop else min(first, max(count - self._size, 0))
            parts = [self._rows(first, self._size)]
            while loop and (missing := self._size - sum(map(len, parts))) > 0:
                parts.append(self._rows(0, missing))
            padding = np.zeros((self._size - sum(map(len, parts)), *found.shape[1:]), found.dtype)
            found = np.concatenate([*parts, padding])
        return Piece(asked, first, found, rows.count)

    def _rows(self, first: int, count: int) -> Array:
        """Return rows, or those of them that there are."""
        _, rows = self._opened.result()
        begin, held = self._held
        end = first + count if rows.count is None else min(first + count, max(first, rows.count))
        if not (begin <= first and end <= begin + len(held)):
            dtype, shape = rows.layout
            more = _MORE // max(dtype.itemsize * prod(shape), 1)
            try:
                held = rows.read(first, count + more)
            except ValueError:  # perhaps further rows can't be read
                held = rows.read(first, count)
            begin, self._held = first, (first, held)
        return held[first - begin : first - begin + count]


class PieceBlock(LiveBlock, abstract=True):
    """A block that shows the pieces of a file; it says which, and what is done with them."""

    first: Value[int] = value_port(doc="Number of the first one that is shown, from 0.")
    count: Value[int] = value_port(doc="Number of all in the file; 0 while the end of a text has not been read.")
    is_new: Value[bool] = value_port(doc="True in frames that show others than before.")
    loop: bool = param(True, doc="Go on with the first one after the last one; otherwise stop at the last ones.")

    @abstractmethod
    def opener(self) -> Callable[[], tuple[BinaryIO, Rows]]:
        """Return what opens the file, on another thread."""

    @abstractmethod
    def problem(self, problem: Exception) -> PatchError:
        """Return the error for one that reading the file raised."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of rows of a piece."""

    @abstractmethod
    def wanted(self, now: Moment) -> int:
        """Return the first row of this frame."""

    @abstractmethod
    def show(self, rows: Array) -> None:
        """Give a piece to the outputs."""

    def start(self) -> None:
        """Begin to read, on a thread of its own."""
        self._reader = RowsAhead(self.opener(), self.size)
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
        """Give the piece of this frame, if it is another one."""
        first = self.wanted(now)
        if self._wanted is not None and first != self._wanted:
            self._step = first - self._wanted
        self._wanted, self.is_new = first, False
        if self._shown == (first, self.loop):
            return
        try:
            piece = self._reader.piece(first, self._step, loop=self.loop, wait=self.waits)
        except Exception as problem:
            raise self.problem(problem) from problem
        if piece is None:
            return
        self._shown, self.count = (piece.asked, self.loop), piece.count or 0
        if self._piece is None or self._piece.first != piece.first:
            self.show(piece.rows)
            self._piece, self.first, self.is_new = piece, piece.first, True

    def close(self) -> None:
        """Close the file."""
        self._reader.close()
