"""Reads tables of numbers from files, and encodes tables as the bytes of a file."""

import io
import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.api import read_bytes
from engine.diagnostics import PatchError, cut

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, Table

Array = np.ndarray[Any, Any]

#: The number of read tables that are kept, so that editing a patch does not read their files again.
CACHED_TABLES = 4
#: Element types of a table in a patch.
TYPES = {"f32": np.float32, "f64": np.float64, "s32": np.int32, "s64": np.int64}
#: How names of tables end.
SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".json", ".jsonl", ".ndjson", ".arrow", ".feather")
_DELIMITERS = {".tsv": "\t", ".csv": ",", ".txt": ","}
_MISSING = "package pyarrow must be installed to use tables, got none; type: pip install 'warploom[data]'"


def load_table(path: Path, columns: str, element_type: str, first_row: int = 0, most_rows: int = 0) -> Array:
    """Return numbers of a table in a file as an array of shape (rows, columns), read-only.

    The file's suffix is one of SUFFIXES. `columns` are names with commas between them; "" stands for all columns of
    numbers. Booleans become 0 and 1, times become seconds since 1970 (UTC), and missing numbers NaN. `most_rows` rows
    are taken from `first_row` on; 0 takes all. A PatchError names the file and the column that can't be read.
    """
    try:
        held = read_bytes(path)
    except FileNotFoundError:
        raise PatchError(f"table must exist, got {path}; choose another file, or put it there") from None
    except OSError as problem:
        raise PatchError(f"table {path} must be readable, got: {problem.strerror or problem}") from problem
    try:
        return _numbers(held, path.suffix.lower(), columns, element_type, first_row, most_rows)
    except (ValueError, OSError, MemoryError, OverflowError) as problem:
        reason = cut(str(problem).split("\n")[0] or "more than memory holds", 300)
        raise PatchError(f"table {path} must be a readable table of numbers, got: {reason}") from problem


# Cached by contents, so that a file is read again only if these have changed.
@lru_cache(CACHED_TABLES)
def _numbers(held: bytes, suffix: str, columns: str, element_type: str, first_row: int, most_rows: int) -> Array:
    table = read_table(held, suffix)
    table = table.slice(first_row, most_rows or None)
    names = [name.strip() for name in columns.split(",")] if columns.strip() else _columns_of_numbers(table)
    known = table.column_names
    for name in names:
        if known.count(name) != 1:
            what = "no column" if name not in known else "several columns"
            raise ValueError(f"{what} called {name!r}; there are {', '.join(known)}")
    if not names or not table.num_rows:
        raise ValueError("no columns of numbers" if not names else f"no rows from row {first_row} on")
    numbers = np.empty((table.num_rows, len(names)), TYPES[element_type])
    for place, name in enumerate(names):
        numbers[:, place] = _column(table.column(name), name, numbers.dtype)
    numbers.flags.writeable = False
    return numbers


def read_table(held: bytes, suffix: str) -> "Table":
    """Return the table in the bytes of a file whose name ends in `suffix`. Raise ValueError if there is none."""
    if suffix not in SUFFIXES:
        raise ValueError(f"a name that ends in {suffix or 'nothing'}; tables end in {', '.join(SUFFIXES)}")
    arrow = _arrow()
    if suffix in _DELIMITERS:
        from pyarrow import csv

        # Read as missing, as the library does, a column of nothing but NaN would have no type.
        missing = [word for word in csv.ConvertOptions().null_values if word.lstrip("-").lower() != "nan"]
        return csv.read_csv(
            io.BytesIO(held),
            parse_options=csv.ParseOptions(delimiter=_DELIMITERS[suffix]),
            convert_options=csv.ConvertOptions(null_values=missing),
        )
    if suffix == ".parquet":
        from pyarrow import parquet

        return parquet.read_table(io.BytesIO(held))
    if suffix in (".arrow", ".feather"):
        from pyarrow import feather

        return feather.read_table(io.BytesIO(held))
    if suffix == ".json" and held.lstrip()[:1] == b"[":  # one list; the library reads an object a line
        rows = json.loads(held)
        if not all(isinstance(row, dict) for row in rows):
            raise ValueError("a list of something other than objects")
        return arrow.Table.from_pylist(rows)
    from pyarrow import json as lines

    return lines.read_json(io.BytesIO(held))


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise PatchError(_MISSING) from None
    return pyarrow


def _columns_of_numbers(table: "Table") -> list[str]:
    types = _arrow().types
    return [f.name for f in table.schema if types.is_primitive(f.type) and not types.is_duration(f.type)]


def _column(column: "ChunkedArray", name: str, dtype: np.dtype[Any]) -> Array:
    """Return one column as numbers of a type."""
    arrow = _arrow()
    kind = column.type
    if arrow.types.is_date(kind) or arrow.types.is_timestamp(kind):
        column = column.cast(arrow.timestamp("us")).cast(arrow.int64()).cast(arrow.float64())
        column = arrow.compute.divide(column, 1e6)
    elif arrow.types.is_boolean(kind):
        column = column.cast(arrow.uint8())
    elif arrow.types.is_null(kind):
        column = column.cast(arrow.float64())
    elif not (arrow.types.is_integer(kind) or arrow.types.is_floating(kind) or arrow.types.is_decimal(kind)):
        raise ValueError(f"column {name!r} of {kind}, which are no numbers; leave it out of the columns")
    if column.null_count and dtype.kind != "f":
        raise ValueError(f"column {name!r} with missing numbers, which only f32 and f64 can hold, as NaN")
    if arrow.types.is_decimal(column.type):
        column = column.cast(arrow.float64())
    values = column.to_numpy()
    if dtype.kind == "i" and values.size:
        whole = np.iinfo(dtype)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError(f"column {name!r} with NaN or infinity, which only f32 and f64 can hold")
        if values.min() < whole.min or values.max() > whole.max:
            raise ValueError(f"column {name!r} with numbers that {dtype} can't hold; choose a wider type")
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(dtype)


def encode_table(numbers: Array, suffix: str, columns: str) -> bytes:
    """Return the contents of a file of a table whose name ends in `suffix`.

    `numbers` has the shape (rows,) or (rows, columns); `columns` are names with commas between them, and "" stands for
    x0, x1 and so on. Raise ValueError if they don't match or there is no such format.
    """
    numbers = numbers[:, np.newaxis] if numbers.ndim == 1 else numbers
    if numbers.ndim != 2:
        raise ValueError(f"an array of shape {list(numbers.shape)}, which is no table; save it as .npy")
    names = [name.strip() for name in columns.split(",")] if columns.strip() else []
    names = names or [f"x{place}" for place in range(numbers.shape[1])]
    if len(names) != numbers.shape[1] or len(set(names)) < len(names):
        raise ValueError(f"{len(set(names))} different names for {numbers.shape[1]} columns")
    if suffix not in SUFFIXES:
        raise ValueError(f"a name that ends in {suffix or 'nothing'}; tables end in {', '.join(SUFFIXES)}")
    arrow = _arrow()
    table = arrow.table({name: np.ascontiguousarray(numbers[:, place]) for place, name in enumerate(names)})
    out = io.BytesIO()
    if suffix in _DELIMITERS:
        from pyarrow import csv

        csv.write_csv(table, out, csv.WriteOptions(delimiter=_DELIMITERS[suffix]))
    elif suffix == ".parquet":
        from pyarrow import parquet

        parquet.write_table(table, out)
    elif suffix in (".arrow", ".feather"):
        from pyarrow import feather

        feather.write_feather(table, out, compression="uncompressed")
    else:
        rows = [{k: v if v == v and abs(v) != np.inf else None for k, v in row.items()} for row in table.to_pylist()]
        lines = [json.dumps(row) for row in rows]
        text = "[\n" + ",\n".join(lines) + "\n]\n" if suffix == ".json" else "".join(f"{line}\n" for line in lines)
        out.write(text.encode())
    return out.getvalue()
