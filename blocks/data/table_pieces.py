"""Opens files of tables, and reads some of their rows without the rest of the file."""

import io
import json
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from warploom.engine.diagnostics import PatchError, cut

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema, Table

Array = np.ndarray[Any, Any]

#: How names of tables end.
SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".json", ".jsonl", ".ndjson", ".arrow", ".feather")
DELIMITERS = {".tsv": "\t", ".csv": ",", ".txt": ","}
#: Bytes of a text that are looked at together, and the most bytes of a row.
BLOCK, MOST_IN_ROW = 1 << 20, 1 << 26
#: How much of a file is looked at to see whether it is a text, and what it is instead by its first bytes.
_HEAD = 4096
_ARCHIVES = {
    b"PK\x03\x04": "a ZIP archive or spreadsheet; unpack it, or save the sheet as CSV",
    b"\x1f\x8b": "a file that gzip compressed; unpack it",
}
#: Rows of a Parquet file that are decoded together.
_BATCH = 1 << 14
_MISSING = "package pyarrow must be installed to use tables, got none; type: pip install 'warploom[data]'"


def load_arrow() -> Any:
    """Return the library of tables. Raise PatchError when it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise PatchError(_MISSING) from None
    return pyarrow


def check_suffix(suffix: str) -> None:
    """Raise ValueError if no table has a name that ends in `suffix`."""
    if suffix not in SUFFIXES:
        raise ValueError(f"a name that ends in {suffix or 'nothing'}; tables end in {', '.join(SUFFIXES)}")


class TableFile(ABC):
    """An open file of a table. ValueError and OSError of the library propagate.

    `schema` has the names and types of the columns. In a text these are the types of the first rows, so those of later
    rows may differ.
    """

    schema: "Schema"
    #: The number of rows; None for a text that has not been read to its end.
    rows: int | None

    @abstractmethod
    def table(self, first: int, count: int | None, names: Sequence[str]) -> "Table":
        """Return `count` rows from row `first` on, or all, with some columns; fewer where the table ends."""

    def look_for(self, names: Sequence[str]) -> None:
        """Add those of some columns to the schema that only later rows have."""
        return  # in most formats, all rows have the same columns

    def check_texts(self) -> None:
        """Raise ValueError for a column that is a text only because some of its numbers can't be read."""
        return  # most formats say which columns are texts


def open_table(file: BinaryIO, suffix: str, *, is_whole: bool = False) -> TableFile:
    """Return the table in a file that can seek, whose name ends in `suffix`. Raise ValueError if there is none.

    `is_whole` says that all rows will be read. JSON lines then have the columns of all rows, not only of the first.
    """
    check_suffix(suffix)
    load_arrow()
    if suffix == ".parquet":
        return _ParquetTable(file)
    head = file.read(_HEAD)
    file.seek(0)
    if suffix in (".arrow", ".feather"):
        return _ArrowTable(file) if head[:6] == b"ARROW1" else _WholeTable(_old_arrow(file, head))
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        file = io.BytesIO(file.read().decode("utf-16").encode())
    elif b"\0" in head or head.startswith(tuple(_ARCHIVES)):
        what = next((what for mark, what in _ARCHIVES.items() if head.startswith(mark)), "bytes that are no text")
        raise ValueError(what)
    if suffix in DELIMITERS:
        return _DelimitedText(file, DELIMITERS[suffix])
    if suffix == ".json" and (table := _one_json(file)) is not None:
        return _WholeTable(table)
    return _WholeTable(_parsed_lines(file.read().removeprefix(b"\xef\xbb\xbf"))) if is_whole else _JsonLines(file)


class _WholeTable(TableFile):
    """A table whose format has no pieces."""

    def __init__(self, table: "Table") -> None:
        self._table, self.schema, self.rows = table, table.schema, table.num_rows

    def table(self, first: int, count: int | None, names: Sequence[str]) -> "Table":
        return self._table.slice(first, count).select(list(names))


class _BatchedTable(TableFile):
    """A table whose file has batches of rows."""

    def table(self, first: int, count: int | None, names: Sequence[str]) -> "Table":
        arrow = load_arrow()
        schema = arrow.schema([self.schema.field(name) for name in names])
        found, skipped, wanted = [], 0, count
        for begin, batch in self._batches(first, names):
            skipped = max(0, first - begin)
            part = batch.slice(skipped, wanted).select(list(names))
            found.append(part)
            if wanted is not None and (wanted := wanted - part.num_rows) <= 0:
                break
        return arrow.Table.from_batches(found, schema)

    @abstractmethod
    def _batches(self, first: int, names: Sequence[str]) -> "Iterator[tuple[int, RecordBatch]]":
        """Yield batches in order, each with the number of its first row; those before row `first` may be left out."""


class _ParquetTable(_BatchedTable):
    def __init__(self, file: BinaryIO) -> None:
        from pyarrow import parquet

        self._file = parquet.ParquetFile(file)
        self.schema, self.rows = self._file.schema_arrow, self._file.metadata.num_rows

    def _batches(self, first: int, names: Sequence[str]) -> "Iterator[tuple[int, RecordBatch]]":
        begin = 0
        for group in range(self._file.num_row_groups):
            rows = self._file.metadata.row_group(group).num_rows
            if begin + rows > first:
                at = begin
                for batch in self._file.iter_batches(_BATCH, row_groups=[group], columns=list(names)):
                    if at + batch.num_rows > first:
                        yield at, batch
                    at += batch.num_rows
            begin += rows


class _ArrowTable(_BatchedTable):
    """A file of Arrow's IPC format. It is read, not mapped: a mapped file that shrinks would end the process."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.rows = file, None
        self.schema = self._reader([]).schema
        # A batch's number of rows is known once a column of it is read.
        self._counter = self._reader(sorted(self.schema.names, key=lambda n: _width(self.schema.field(n).type))[:1])
        #: The numbers of the first rows of the batches that were counted, and of the next one.
        self._begins = [0]

    def _reader(self, names: Sequence[str]) -> Any:
        from pyarrow import ipc

        places = [self.schema.get_field_index(name) for name in names]
        self._file.seek(0)
        return ipc.open_file(self._file, options=ipc.IpcReadOptions(included_fields=places))

    def _batches(self, first: int, names: Sequence[str]) -> "Iterator[tuple[int, RecordBatch]]":
        reader = self._reader(names)
        for number in range(bisect_right(self._begins, first) - 1, reader.num_record_batches):
            if number == len(self._begins) - 1:
                self._begins.append(self._begins[number] + self._counter.get_batch(number).num_rows)
            if self._begins[number + 1] > first:
                yield self._begins[number], reader.get_batch(number)
        self.rows = self._begins[-1]


def _width(kind: Any) -> int:
    try:
        return int(kind.bit_width)
    except ValueError:  # such as text
        return 1 << 20


def _old_arrow(file: BinaryIO, head: bytes) -> "Table":
    from pyarrow import feather, ipc

    if head[:4] == b"FEA1":
        return feather.read_table(file)
    return ipc.open_stream(file).read_all()


def _one_json(file: BinaryIO) -> "Table | None":
    """Return the table in a file that is one JSON value; None, with the file at its begin, if it has several lines."""
    line = file.readline(MOST_IN_ROW).removeprefix(b"\xef\xbb\xbf").strip()
    is_alone = not file.read(BLOCK).strip()
    file.seek(0)
    if line[:1] == b"{" and line[-1:] == b"}" and not is_alone:
        return None
    held = json.loads(file.read().removeprefix(b"\xef\xbb\xbf"))
    if isinstance(held, dict):
        lengths = {len(column) if isinstance(column, list) else -1 for column in held.values()}
        return _table_of(held if len(lengths) == 1 and -1 not in lengths else {k: [v] for k, v in held.items()})
    if isinstance(held, list) and held and all(isinstance(row, list) and len(row) == len(held[0]) for row in held):
        return _table_of({f"x{place}": list(column) for place, column in enumerate(zip(*held, strict=True))})
    if not isinstance(held, list) or not all(isinstance(row, dict) for row in held):
        raise ValueError("a list of something other than objects, or rows of the same length")
    names = dict.fromkeys(name for row in held for name in row)  # the library would take those of the first row
    return _table_of({name: [row.get(name) for row in held] for name in names})


def _table_of(columns: dict[str, list[Any]]) -> "Table":
    table: Table = load_arrow().table(columns)
    return table


class _TextTable(TableFile):
    """A table of which each row is a line, from a place in the file on; empty lines are no rows.

    The text is looked through by blocks, and the numbers of the rows with which they begin are kept. So a piece that
    follows another one costs only its own bytes, and a piece far ahead one pass over the text before it.
    """

    #: Matches values in which a line feed ends no row.
    quoted: re.Pattern[bytes] | None = None

    def __init__(self, file: BinaryIO, begin: int) -> None:
        self._file, self.rows = file, None
        #: The numbers and places of the rows with which blocks begin; the last block may not have been looked at.
        self._begins, self._places = [0], [begin]
        #: The block that was looked at last, by its place.
        self._block = _Block(-1, np.empty(0, np.int64), 0)
        first = self._look(0)
        self.schema = self._parse(self._bytes(begin, first.end)).schema

    def table(self, first: int, count: int | None, names: Sequence[str]) -> "Table":
        begin = self._place(first)
        held = self._bytes(begin, self._place(first + count)) if count is not None else self._bytes(begin, None)
        if not held.strip(b"\r\n"):
            return load_arrow().table([[]] * len(names), list(names))
        found = self._parse(held, names)
        if count is not None and found.num_rows != (rows := min(first + count, self.rows or first + count) - first):
            raise ValueError(f"{found.num_rows} rows in {rows} lines from row {first} on")
        return found

    @abstractmethod
    def _parse(self, held: bytes, names: Sequence[str] | None = None) -> "Table":
        """Return the table in some lines, with some columns or all."""

    def _place(self, row: int) -> int:
        """Return where a row begins; the end of the text for a row that it doesn't have."""
        while self.rows is None and row >= self._begins[-1]:
            self._look(len(self._begins) - 1)
        number = bisect_right(self._begins, row) - 1
        block = self._look(number)
        if self.rows is not None and row >= self.rows:
            return block.end
        if row - self._begins[number] >= len(block.rows):
            raise ValueError("a text that became shorter while it was read")
        return int(block.rows[row - self._begins[number]])

    def _look(self, number: int) -> "_Block":
        place = self._places[number]
        if self._block.begin != place:
            self._block = _look(self._file, place, self.quoted)
        if number == len(self._begins) - 1 and self.rows is None:
            after = self._begins[number] + len(self._block.rows)
            if self._block.is_last:
                self.rows = after
            else:
                self._begins.append(after)
                self._places.append(self._block.end)
        return self._block

    def _bytes(self, begin: int, end: int | None) -> bytes:
        self._file.seek(begin)
        return self._file.read() if end is None else self._file.read(end - begin)


@dataclass(frozen=True)
class _Block:
    """A part of a text: where it begins and ends, and where its rows begin."""

    begin: int
    rows: Array
    end: int
    is_last: bool = False


def _look(file: BinaryIO, place: int, quoted: re.Pattern[bytes] | None) -> _Block:
    """Return the whole rows in the next BLOCK bytes from a place where a row begins, or one longer row."""
    size = BLOCK
    while True:
        file.seek(place)
        held = file.read(size)
        rows = place + _row_begins(held, quoted)
        if len(held) < size:
            return _Block(place, rows, place + len(held), is_last=True)
        if len(rows) > 1:  # the last one may be cut off
            return _Block(place, rows[:-1], int(rows[-1]))
        if size >= MOST_IN_ROW:
            raise ValueError(f"a row of more than {MOST_IN_ROW >> 20} MB; quotation marks may be missing")
        size *= 8


def _after_mark(file: BinaryIO) -> int:
    """Return where a text in UTF-8 begins: after the byte-order mark, if there is one."""
    file.seek(0)
    return 3 if file.read(3) == b"\xef\xbb\xbf" else 0


def _row_begins(held: bytes, quoted: re.Pattern[bytes] | None) -> Array:
    """Return where rows begin: at the first byte of a line that is not empty, outside of quotation marks."""
    text = np.frombuffer(held, np.uint8)
    ends = (text == 10) | (text == 13)
    if quoted is not None and b'"' in held and (np.cumsum(text == 34)[ends] % 2).any():
        for value in quoted.finditer(held):
            ends[value.start() : value.end()] = False
    is_begin = ~ends
    is_begin[1:] &= ends[:-1]
    return np.flatnonzero(is_begin)


#: The most of a text that is looked at to see how it is written, and a number with a comma between semicolons.
_LINES = 1 << 16
_COMMA = re.compile(rb'(?:^|;)[ \t]*"?[-+]?\d+,\d+(?:[eE][-+]?\d+)?"?[ \t]*(?:;|\r|$)', re.MULTILINE)
#: A line in which a spreadsheet names what separates columns.
_SEPARATOR = re.compile(rb"sep=(.)\s*")
#: A comment before the numbers, as numpy writes names; a column may be called #.
_COMMENT = re.compile(rb"#[ \t]+(?=[^\s,;])")
#: The most values inside each other in a line of JSON; pyarrow crashes when there are very many.
_DEEPEST = 1000
#: A number as people write it, with a mark between thousands or as a share of 100.
_WRITTEN = re.compile(r"\s*[-+\u2212]?(?:\d+|\d{1,3}(?:[,.\s'\u2019_]\d{3})+)(?:[.,]\d+)?(?:[dD][-+]?\d+)?\s*%?\s*")
#: Rows in which it is looked for numbers that make a column a text.
_LOOKED_AT = 1000
#: What stands for a missing number.
_MISSING_WORDS = frozenset(("", "#N/A", "N/A", "NA", "NULL", "null", "n/a"))
_NUMBER = re.compile(r"\s*[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf)\s*", re.IGNORECASE)


def _delimiter_of(lines: Sequence[bytes]) -> str:
    """Return what separates columns: a comma, semicolon, tab or bar, in this order, or else spaces between numbers."""
    first, second = (re.sub(rb'"[^"]*"', b"", line).decode("latin-1") for line in (lines[0], lines[:2][-1]))
    if ";" in first and _are_numbers(first.replace(",", ".").split(";")):
        return ";"
    known = [mark for mark in ",;\t|" if mark in first]
    if known:  # a name may have another mark
        return next((mark for mark in known if first.count(mark) == second.count(mark)), known[0])
    names, parts = first.split(), second.split()
    is_row = len(names) > 1 and _are_numbers(names)
    return " " if is_row or (len(names) == len(parts) > 1 and _are_numbers(parts)) else ","


def _are_numbers(parts: Sequence[str]) -> bool:
    """Return whether the parts of a line are numbers or missing, at least one a number."""
    held = [part for part in parts if part.strip() not in _MISSING_WORDS]
    return bool(held) and all(map(_NUMBER.fullmatch, held))


class _DelimitedText(_TextTable):
    """CSV or TSV in UTF-8; in Latin-1 if the first line is no UTF-8.

    The first line has the names. If it has only numbers, it is a row, and the names are x0, x1 and so on, or those in a
    comment before it. Where a comma separates decimals, programs separate the columns of a CSV by semicolons; numpy
    separates them by spaces.
    """

    def __init__(self, file: BinaryIO, delimiter: str) -> None:
        from pyarrow import csv

        begin = _after_mark(file)
        file.seek(begin)
        lines = [line for line in file.read(_LINES).splitlines() if line.strip()]
        named_mark = _SEPARATOR.fullmatch(lines[0]) if lines[1:] else None
        comments = int(named_mark is not None)
        while comments + 1 < len(lines) and _COMMENT.match(lines[comments]):
            comments += 1
        if named_mark is not None:
            delimiter = named_mark[1].decode("latin-1")
        elif delimiter == "," and lines:
            delimiter = _delimiter_of(lines[comments:])
        self._csv, self._delimiter = csv, delimiter
        mark = re.escape(delimiter.encode())
        self.quoted: re.Pattern[bytes] = re.compile(rb"(?:(?<=[\r\n" + mark + rb'])|\A)"[^"]*(?:""[^"]*)*(?:"|\Z)')
        first = _look(file, begin, self.quoted)
        if not len(first.rows):
            raise ValueError("an empty file")
        ends = [*map(int, first.rows[: comments + 2]), first.end][: comments + 2]
        file.seek(ends[comments])
        held = file.read(ends[comments + 1] - ends[comments])
        if held[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise ValueError("a text in UTF-16; save it as UTF-8")
        try:
            self._is_utf8 = bool(held.decode())
        except UnicodeDecodeError:
            self._is_utf8 = False
        self._decimal = "," if delimiter == ";" and _COMMA.search(b"\n".join(lines)) else "."
        self._names: list[str] | None = None
        self._names = self._read(held + b"\n").column_names
        if b'"' not in held and _are_numbers([name.replace(self._decimal, ".") for name in self._names]):
            count, self._names = len(self._names), None
            named = (
                self._read(_COMMENT.sub(b"", lines[comments - 1]) + b"\n").column_names
                if comments > bool(named_mark)
                else []
            )
            self._names = named if len(named) == count else [f"x{place}" for place in range(count)]
            super().__init__(file, ends[comments])
        else:
            super().__init__(file, ends[comments + 1])

    def check_texts(self) -> None:
        arrow = load_arrow()
        known = self.schema.names
        kinds = (arrow.string(), arrow.binary())  # bytes are a text that is not in UTF-8
        texts = [field.name for field in self.schema if field.type in kinds and known.count(field.name) == 1]
        for name, column in zip(texts, self.table(0, _LOOKED_AT, texts) if texts else (), strict=True):
            if column.type not in kinds and column.null_count < len(column):  # what is no number is in a later row
                raise ValueError(f"column {name.strip()!r} of numbers, but one of a later row is none; name columns")
            parts = [part if isinstance(part, str) else part.decode("latin-1") for part in column.to_pylist() if part]
            parts = [part for part in parts if part.strip()]
            others = [part for part in parts if not _NUMBER.fullmatch(part.replace(self._decimal, "."))]
            numbers = len(parts) - len(others) + sum(bool(_WRITTEN.fullmatch(part)) for part in others)
            if numbers > len(parts) / 2:
                odd = cut(repr(others[0]), 40) if others else "one of a later row"
                raise ValueError(f"column {name.strip()!r} of numbers, but {odd} is none; change it, or name columns")

    def _parse(self, held: bytes, names: Sequence[str] | None = None) -> "Table":
        if not held.strip(b"\r\n"):
            return load_arrow().table([[]] * len(self._names or ()), self._names)
        return self._read(held, names)

    def _read(self, held: bytes, names: Sequence[str] | None = None) -> "Table":
        held = held if self._is_utf8 else held.decode("latin-1").encode()
        if self._delimiter == " ":
            held = b"\n".join(b" ".join(line.split()) for line in held.splitlines()) + b"\n"
        if held.count(b'"') % 2 and any(match[0].count(b'"') % 2 for match in self.quoted.finditer(held)):
            raise ValueError("a quotation mark without a second one")
        # Read as missing, as the library does, a column of nothing but NaN would have no type.
        missing = [word for word in self._csv.ConvertOptions().null_values if word.lstrip("-").lower() != "nan"]
        return self._csv.read_csv(
            io.BytesIO(held),
            self._csv.ReadOptions(column_names=self._names, block_size=_block_size(held)),
            self._csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=b'"' in held),
            self._csv.ConvertOptions(null_values=missing, include_columns=names, decimal_point=self._decimal),
        )


class _JsonLines(_TextTable):
    """JSON with an object on each line. A piece in which no object has some name has a column without numbers."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file, _after_mark(file))

    def look_for(self, names: Sequence[str]) -> None:
        arrow, block = load_arrow(), 1
        missing = set(names) - {field.name for field in self.schema if not arrow.types.is_null(field.type)}
        while missing and not self._look(block - 1).is_last:
            found = self._parse(self._bytes(self._places[block], self._look(block).end)).schema
            self.schema = arrow.unify_schemas([self.schema, found], promote_options="permissive")
            missing -= {field.name for field in found if not arrow.types.is_null(field.type)}
            block += 1

    def _parse(self, held: bytes, names: Sequence[str] | None = None) -> "Table":
        found = _parsed_lines(held)
        if names is None:
            return found
        for name in names:
            if name not in found.column_names:
                found = found.append_column(name, load_arrow().nulls(found.num_rows))
        return found.select(list(names))


def _parsed_lines(held: bytes) -> "Table":
    from pyarrow import json as lines

    if any(_depth(line) > _DEEPEST for line in held.split(b"\n") if len(line) > _DEEPEST):
        raise ValueError(f"a line with more than {_DEEPEST} values inside each other")
    try:
        return lines.read_json(io.BytesIO(held), lines.ReadOptions(block_size=_block_size(held)))
    except load_arrow().ArrowInvalid as problem:
        if "Column() changed" in str(problem):  # the library's words for the line itself
            raise ValueError("a line that is no JSON object") from problem
        raise


def _depth(line: bytes) -> int:
    """Return how deeply values are nested in a line of JSON. Brackets in texts are counted, too."""
    text = np.frombuffer(line, np.uint8)
    opened, closed = (np.isin(text, np.frombuffer(marks, np.uint8)) for marks in (b"[{", b"]}"))
    return int((opened.astype(np.int32) - closed).cumsum().max())


def _block_size(held: bytes) -> int:
    """Return how many bytes the library parses together, which must be more than those of the longest row."""
    ends = np.flatnonzero(np.frombuffer(held, np.uint8) == 10)
    longest = int(np.diff(ends, prepend=-1, append=len(held)).max())
    return max(min(len(held), 8 * BLOCK), longest) + 1
