"""Reads tables of numbers from files, and encodes tables as the bytes of a file."""

import csv
import io
import json
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from warploom.api import open_file, read_bytes
from warploom.blocks.data.table_pieces import DELIMITERS, TableFile, check_suffix, load_arrow, open_table
from warploom.engine.diagnostics import PatchError, cut

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, DataType, Table

Array = np.ndarray[Any, Any]

#: The number of read tables that are kept, so that editing a patch does not read their files again.
CACHED_TABLES = 4
#: Element types of a table in a patch.
TYPES = {"f32": np.float32, "f64": np.float64, "s32": np.int32, "s64": np.int64}
#: What reading a damaged file may raise; the library has subclasses of these for what it can't read.
_READ_ERRORS = (ValueError, OSError, MemoryError, OverflowError, RuntimeError, TypeError, LookupError)
#: Up to here, f32 holds every whole number.
_WHOLE_F32 = 1 << 24


class NamedTable(NamedTuple):
    """The names of columns, and their numbers, shape (rows, columns), read-only."""

    names: tuple[str, ...]
    numbers: Array


def load_table(path: Path, columns: str, element_type: str, first_row: int = 0, most_rows: int = 0) -> Array:
    """Return the numbers of `read_table`."""
    return read_table(path, columns, element_type, first_row, most_rows).numbers


def read_table(path: Path, columns: str, element_type: str, first_row: int = 0, most_rows: int = 0) -> NamedTable:
    """Return the names of columns in a file, and their numbers.

    The file's suffix is one of SUFFIXES. `columns` are names with commas between them; "" stands for all columns of
    numbers. Booleans become 0 and 1, times become seconds since 1970 (UTC) or since midnight, and missing numbers NaN.
    `most_rows` rows are taken from `first_row` on; 0 takes all. Other rows are not read, as far as the format allows. A
    PatchError names the file and the column that can't be read.
    """
    try:
        if not (first_row or most_rows):
            return _whole(read_bytes(path), path.suffix.lower(), columns, element_type)
        with open_file(path) as file:
            rows = RowsOfTable(file, path.suffix.lower(), columns, element_type)
            return _some(rows, first_row, most_rows or None)
    except _READ_ERRORS as problem:
        raise table_problem(path, problem) from problem


def table_problem(path: Path, problem: Exception) -> PatchError:
    """Return the error that names a file, for one that reading it raised."""
    if isinstance(problem, FileNotFoundError):
        return PatchError(f"table must exist, got {path}; choose another file, or put it there")
    if isinstance(problem, OSError) and problem.errno:
        return PatchError(f"table {path} must be readable, got: {problem.strerror or problem}")
    reason = cut(str(problem).split("\n")[0] or "more than memory holds", 300)
    return PatchError(f"table {path} must be a readable table of numbers, got: {reason}")


# Cached by contents, so that a file is read again only if these have changed.
@lru_cache(CACHED_TABLES)
def _whole(held: bytes, suffix: str, columns: str, element_type: str) -> NamedTable:
    return _some(RowsOfTable(io.BytesIO(held), suffix, columns, element_type, is_whole=True), 0, None)


def _some(rows: "RowsOfTable", first: int, count: int | None) -> NamedTable:
    numbers = rows.read(first, count)
    if not len(numbers):
        raise ValueError(f"no rows from row {first} on")
    return NamedTable(rows.columns, numbers)


class RowsOfTable:
    """The rows of numbers in an open file, whose name ends in `suffix`; for the other arguments, see `load_table`.

    ValueError says why a table can't be read.
    """

    def __init__(self, file: BinaryIO, suffix: str, columns: str, element_type: str, *, is_whole: bool = False) -> None:
        self._table = open_table(file, suffix, is_whole=is_whole)
        self._names, self._type = _chosen(self._table, columns), np.dtype(TYPES[element_type])

    @property
    def count(self) -> int | None:
        """The number of rows; None for a text that has not been read to its end."""
        return self._table.rows

    @property
    def layout(self) -> tuple["np.dtype[Any]", tuple[int, ...]]:
        """The element type, and the shape of a row."""
        return self._type, (len(self._names),)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for _, name in self._names)

    def read(self, first: int, count: int | None) -> Array:
        """Return `count` rows from row `first` on, or all, read-only; fewer where the table ends."""
        table = self._table.table(first, count, [name for name, _ in self._names])
        numbers = np.empty((table.num_rows, len(self._names)), self._type)
        for place, (_, name) in enumerate(self._names):
            numbers[:, place] = _column(table.column(place), name, self._type)
        numbers.flags.writeable = False
        return numbers


def _chosen(table: TableFile, columns: str) -> list[tuple[str, str]]:
    """Return the names of columns in the file, and without the spaces around them."""
    if columns.strip():
        table.look_for(names_in(columns))
    known = table.schema.names
    plain = [name.strip() for name in known]
    if columns.strip():
        wanted = names_in(columns)
    else:
        wanted = [name for name, field in zip(plain, table.schema, strict=True) if _is_number(field.type)]
        table.check_texts()
        if not wanted:
            raise ValueError("no columns of numbers")
    places, counts = {name: place for place, name in enumerate(plain)}, Counter(plain)
    for name in wanted:
        if counts[name] != 1:
            what = "no column" if name not in plain else "several columns"
            raise ValueError(f"{what} called {name!r}; there are {', '.join(plain)}")
    return [(known[places[name]], name) for name in wanted]


def names_in(columns: str) -> list[str]:
    """Return the names in a list with commas between them; a name with a comma is in quotation marks."""
    return [name.strip() for name in next(csv.reader([columns], skipinitialspace=True))]


def _is_number(kind: "DataType") -> bool:
    types = load_arrow().types
    has_number = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_date)
    return any(is_so(kind) for is_so in (*has_number, types.is_timestamp, types.is_time))


def _column(column: "ChunkedArray", name: str, dtype: np.dtype[Any]) -> Array:
    """Return one column as numbers of a type."""
    arrow = load_arrow()
    kind = column.type
    types = arrow.types
    if types.is_temporal(kind) and not (types.is_duration(kind) or types.is_interval(kind)):
        column = _seconds(column)
    elif types.is_boolean(kind):
        column = column.cast(arrow.uint8())
    elif types.is_decimal(kind):
        column = column.cast(arrow.int64() if dtype.kind == "i" and kind.scale <= 0 else arrow.float64())
    elif types.is_null(kind):
        column = column.cast(arrow.float64())
    elif not (types.is_integer(kind) or types.is_floating(kind)):
        raise ValueError(f"column {name!r} of {kind}, which are no numbers; leave it out of the columns")
    if column.null_count and dtype.kind != "f":
        raise ValueError(f"column {name!r} with missing numbers, which only f32 and f64 can hold, as NaN")
    values = column.to_numpy()
    if dtype == np.float32 and values.size and (types.is_temporal(kind) or types.is_integer(kind)):
        _check_rounding(values, name, is_whole=types.is_integer(kind))
    if dtype.kind == "i" and values.size:
        whole = np.iinfo(dtype)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError(f"column {name!r} with NaN or infinity, which only f32 and f64 can hold")
        if values.min() < whole.min or values.max() >= whole.max + 1:
            raise ValueError(f"column {name!r} with numbers that {dtype} can't hold; choose a wider type")
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(dtype)


def _check_rounding(values: Array, name: str, *, is_whole: bool) -> None:
    """Raise ValueError if f32 makes different numbers of a column equal, also of rows that are far apart."""
    if is_whole and np.fmin.reduce(values) >= -_WHOLE_F32 and np.fmax.reduce(values) <= _WHOLE_F32:
        return
    different = np.unique(values)
    rounded = different.astype(np.float32)
    merged = np.flatnonzero(rounded[1:] == rounded[:-1])
    if merged.size:
        two = " and ".join(f"{value:.17g}" for value in different[merged[0] : merged[0] + 2])
        raise ValueError(f"column {name!r} in which f32 rounds {two} to one number; choose f64")


def _seconds(column: "ChunkedArray") -> Any:
    """Return seconds since 1970 (UTC) or since midnight, as f64."""
    arrow = load_arrow()
    kind = column.type
    is_short = arrow.types.is_date32(kind) or arrow.types.is_time32(kind)
    counts = column.cast(arrow.int32() if is_short else arrow.int64()).cast(arrow.int64())
    compute = arrow.compute
    if arrow.types.is_date32(kind):
        return compute.multiply(counts, 86400).cast(arrow.float64())
    unit = "ms" if arrow.types.is_date64(kind) else kind.unit
    in_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    whole = compute.divide(counts, in_second)  # nanoseconds since 1970 have more digits than f64
    rest = compute.subtract(counts, compute.multiply(whole, in_second)).cast(arrow.float64())
    return compute.add(whole.cast(arrow.float64()), compute.divide(rest, float(in_second)))


def encode_table(numbers: Array, suffix: str, columns: str, *known: str) -> bytes:
    """Return the contents of a file of a table whose name ends in `suffix`.

    `numbers` has the shape (rows,) or (rows, columns); `columns` are names with commas between them, and "" stands for
    the `known` ones, or x0, x1 and so on. Raise ValueError if they don't match or there is no such format.
    """
    check_suffix(suffix)
    table = as_table(numbers, columns, known)
    out = io.BytesIO()
    if suffix in DELIMITERS:
        from pyarrow import csv as texts

        texts.write_csv(table, out, texts.WriteOptions(delimiter=DELIMITERS[suffix]))
    elif suffix == ".parquet":
        from pyarrow import parquet

        parquet.write_table(table, out)
    elif suffix in (".arrow", ".feather"):
        from pyarrow import feather

        feather.write_feather(table, out, compression="uncompressed")
    else:
        text = json_lines(table)
        out.write((f"[\n{text[:-1].replace(chr(10), f',{chr(10)}')}\n]\n" if suffix == ".json" else text).encode())
    return out.getvalue()


def as_table(numbers: Array, columns: str, known: Sequence[str] = ()) -> "Table":
    """Return numbers as a table of the library, which shares their memory; for the arguments, see `encode_table`."""
    numbers = numbers[:, np.newaxis] if numbers.ndim == 1 else numbers
    if numbers.ndim != 2:
        raise ValueError(f"an array of shape {list(numbers.shape)}, which is no table; save it as .npy")
    names = names_in(columns) if columns.strip() else list(known or (f"x{n}" for n in range(numbers.shape[1])))
    if len(names) != numbers.shape[1] or len(set(names)) < len(names):
        raise ValueError(f"{len(set(names))} different names for {numbers.shape[1]} columns")
    table: Table = load_arrow().table([np.ascontiguousarray(column) for column in numbers.T], names)
    return table


def json_lines(table: "Table") -> str:
    """Return an object on a line for each row; NaN and infinity become null."""
    rows = [{k: v if v == v and abs(v) != np.inf else None for k, v in row.items()} for row in table.to_pylist()]
    return "".join(f"{json.dumps(row)}\n" for row in rows)
