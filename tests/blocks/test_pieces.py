"""Pieces of files: they equal the same part of the whole, and the rest of the file is not read."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch as replaced

import laspy
import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather, ipc, parquet

from tests.fuzzing import many
from warploom.blocks.data import table_pieces
from warploom.blocks.data.array_files import RowsOfArray, load_array
from warploom.blocks.data.table_files import RowsOfTable, load_table
from warploom.blocks.geometry.files.shape_files import CLOUDS, encode_points, load_shape
from warploom.engine.diagnostics import PatchError

Array = np.ndarray[Any, Any]
ROWS = 60_000
NUMBERS = np.random.default_rng(5).integers(-1000, 1000, (ROWS, 3)) / 8


class _Counting(io.FileIO):
    """A file that counts the bytes that are read."""

    taken = 0

    def read(self, size: int | None = -1, /) -> Any:
        held = super().read(-1 if size is None else size)
        self.taken += len(held or b"")
        return held


def _arrow_table() -> pyarrow.Table:
    return pyarrow.table({f"x{place}": NUMBERS[:, place] for place in range(3)})


def _write_stream(path: Path) -> None:
    with ipc.new_stream(path, _arrow_table().schema) as writer:
        writer.write_table(_arrow_table(), max_chunksize=1000)


def _write_arrow(path: Path) -> None:
    with ipc.new_file(path, _arrow_table().schema) as writer:
        writer.write_table(_arrow_table(), max_chunksize=1000)


def _write_csv(path: Path) -> None:
    np.savetxt(path, NUMBERS, fmt="%.17g", delimiter=",", header="x0,x1,x2", comments="")


def _write_lines(path: Path) -> None:
    path.write_text("".join(json.dumps({f"x{k}": v for k, v in enumerate(row)}) + "\n" for row in NUMBERS.tolist()))


#: How each file is written; the most that a piece near its end takes to read, as a share of the file, and the next one.
FORMATS: dict[str, tuple[Callable[[Path], Any], float, float]] = {
    "groups.parquet": (lambda path: parquet.write_table(_arrow_table(), path, row_group_size=2000), 0.15, 0.1),
    "batches.arrow": (_write_arrow, 0.4, 0.1),
    "packed.feather": (lambda path: feather.write_feather(_arrow_table(), path, "lz4", chunksize=1000), 0.5, 0.2),
    "text.csv": (_write_csv, 1.3, 0.2),
    "lines.jsonl": (_write_lines, 1.3, 0.2),
    "stream.arrow": (_write_stream, 1.1, 0),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_piece_of_a_table_leaves_the_rest_unread(tmp_path: Path, name: str) -> None:
    """A piece far ahead reads what the format needs to find it; the next one reads little more than itself."""
    write, most, most_next = FORMATS[name]
    write(tmp_path / name)
    size = (tmp_path / name).stat().st_size
    with replaced.object(table_pieces, "BLOCK", 1 << 14), _Counting(tmp_path / name) as file:
        rows = RowsOfTable(file, Path(name).suffix, "x2,x0", "f64")
        np.testing.assert_array_equal(rows.read(50_123, 500), NUMBERS[50_123:50_623, [2, 0]])
        first, file.taken = file.taken, 0
        np.testing.assert_array_equal(rows.read(50_623, 500), NUMBERS[50_623:51_123, [2, 0]])
        assert first <= most * size and file.taken <= most_next * size, (first / size, file.taken / size)
        np.testing.assert_array_equal(rows.read(ROWS - 3, 500), NUMBERS[ROWS - 3 :, [2, 0]])
        assert rows.count == ROWS
        assert rows.read(ROWS, 1).shape == (0, 2)
    np.testing.assert_array_equal(load_table(tmp_path / name, "", "f64", 7), NUMBERS[7:])
    with pytest.raises(PatchError, match=f"no rows from row {ROWS} on"):
        load_table(tmp_path / name, "", "f64", ROWS)
    np.testing.assert_array_equal(load_table(tmp_path / name, "x1", "f32", 0, 1), NUMBERS[:1, 1:2])


_TEXTS = st.sampled_from(["w", "a,b", "l\nm", 'q"x', "", "\r\n\r\n"])
_VALUES = st.one_of(st.floats(), st.integers(-(2**31), 2**31), st.just(""))


@settings(max_examples=many(40), deadline=None)
@given(
    st.lists(st.tuples(_VALUES, _VALUES, _TEXTS), min_size=1, max_size=40),
    st.lists(st.sampled_from(["a", "x,y", 'q"u', "é", " sp ", "l\nf"]), min_size=2, max_size=2, unique=True),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from([16, 60, 1 << 20]),
    st.booleans(),
    st.data(),
)
def test_pieces_of_a_text_are_its_rows(
    lines: list[Any], names: list[str], end: str, quoting: Any, block: int, has_mark: bool, data: st.DataObject
) -> None:
    """Rows are those of Python's own reader: with line feeds in quotation marks, empty lines, any names."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=end, quoting=quoting)
    writer.writerow([*names, "text"])
    for line in lines:
        writer.writerow(line)
        out.write(data.draw(st.sampled_from(["", "", end])))
    text = out.getvalue()[: -len(end) if data.draw(st.booleans()) and out.getvalue().endswith(end) else None]
    expected = np.array([[np.nan if value == "" else float(value) for value in line[:2]] for line in lines])
    chosen = ",".join('"' + name.strip().replace('"', '""') + '"' for name in names)
    with replaced.object(table_pieces, "BLOCK", block):
        rows = RowsOfTable(io.BytesIO(b"\xef\xbb\xbf" * has_mark + text.encode()), ".csv", chosen, "f64")
        for _ in range(3):
            first, count = data.draw(st.integers(0, len(lines) - 1)), data.draw(st.sampled_from([1, 2, 1000]))
            np.testing.assert_array_equal(rows.read(first, count), expected[first : first + count])
        np.testing.assert_array_equal(rows.read(0, None), expected)
        assert rows.read(len(lines), 1).shape == (0, 2)
        assert rows.count == len(lines)


def test_texts_that_other_programs_write_are_read(tmp_path: Path) -> None:
    """Latin-1 names, a byte-order mark, spaces around names, one row or one column, and many columns."""
    path = tmp_path / "a.csv"
    for held, columns, expected in (
        ("größe, b\n1, 2\n".encode("latin-1"), "größe,b", [[1, 2]]),
        ("\ufeffx\r\n5\r\n\r\n6".encode(), "x", [[5], [6]]),
        (b"x;y\n", "", "no columns of numbers"),
        ("x,y\n1,2\n".encode("utf-16"), "", [[1, 2]]),
        (b'a,b\n1,"2\n3,4\n', "", "a quotation mark without a second one"),
        (b"a, a\n1,2\n", "a", "several columns called 'a'"),
        (",".join(f"c{k}" for k in range(2_000)).encode() + b"\n" + b"7," * 1_999 + b"8", "", [[7] * 1_999 + [8]]),
    ):
        path.write_bytes(held)
        for first, most in ((0, 0), (0, 10)):
            if isinstance(expected, str):
                with pytest.raises(PatchError, match=expected):
                    load_table(path, columns, "f32", first, most)
            else:
                np.testing.assert_array_equal(load_table(path, columns, "f32", first, most), expected)


def test_numbers_of_each_type_of_column_are_exact(tmp_path: Path) -> None:
    """Days far away, times of a day, nanoseconds, decimals and small floats are numbers; a length of time is not."""
    path, kind = tmp_path / "a.parquet", pyarrow
    days = np.array(["1582-10-15", "2200-01-01", "1970-01-02"], "M8[D]")
    table = {
        "day": days,
        "moment": pyarrow.array(
            [*(days[1:].astype("M8[ns]").view("i8") + 123456789).tolist(), -1], kind.timestamp("ns")
        ),
        "time": pyarrow.array([0, 86_399_999, 1], kind.time32("ms")),
        "half": np.float16([0.5, -65504, np.nan]),
        "big": pyarrow.array([2**53 + 1, -(2**53) - 1, 0]).cast(kind.decimal128(20)),
        "length": pyarrow.array([1, 2, 3], kind.duration("s")),
    }
    parquet.write_table(pyarrow.table(table), path)
    seconds = days.astype("M8[s]").view("i8")
    nanoseconds = np.array([*(seconds[1:] + 0.123456789), -1e-9])
    found = load_table(path, "", "f64")
    expected = [seconds, nanoseconds, [0, 86399.999, 0.001], [0.5, -65504, np.nan], [2.0**53, -(2.0**53), 0]]
    np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-15)
    np.testing.assert_array_equal(load_table(path, "big", "s64")[:, 0], [2**53 + 1, -(2**53) - 1, 0])
    with pytest.raises(PatchError, match=r"column 'length' of duration\[s\], which are no numbers"):
        load_table(path, "length", "f64")
    parquet.write_table(pyarrow.table({"x": [2.0**63]}), path)
    with pytest.raises(PatchError, match="int64 can't hold"):
        load_table(path, "", "s64")


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", ["<f4", ">i2", "?", "<c16"])
@pytest.mark.parametrize("shape", [(1023,), (31, 33), (1, 5), (5, 1, 2, 3), (33, 0)])
def test_pieces_of_an_array_are_its_rows(tmp_path: Path, order: Any, dtype: str, shape: tuple[int, ...]) -> None:
    """Items of the first axis come back from NPY and NPZ, whatever the order in the file."""
    array = np.asarray(np.random.default_rng(1).integers(0, 99, shape), dtype, order=order)
    np.save(tmp_path / "a.npy", array)
    np.savez_compressed(tmp_path / "a.npz", one=array, two=array)
    for name, member in (("a.npy", ""), ("a.npz", "two")):
        for first, most in ((0, 0), (0, 1), (shape[0] // 2, 0), (shape[0] - 1, 9), (shape[0] // 3, 2)):
            found = load_array(tmp_path / name, member, first, most)
            np.testing.assert_array_equal(found, array[first : first + most if most else None])
            assert found.dtype == array.dtype.newbyteorder("=") and not found.flags.writeable
        with pytest.raises(PatchError, match=f"no rows from row {shape[0]} on"):
            load_array(tmp_path / name, member, shape[0])


def test_a_piece_of_an_array_leaves_the_rest_unread(tmp_path: Path) -> None:
    """Ten rows at the end of a large file cost ten rows and a header; a cut file is named."""
    np.save(tmp_path / "a.npy", NUMBERS)
    with _Counting(tmp_path / "a.npy") as file:
        np.testing.assert_array_equal(RowsOfArray(file).read(ROWS - 10, 20), NUMBERS[-10:])
        assert file.taken < 10 * 24 + 300
    (tmp_path / "a.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-1])
    with pytest.raises(PatchError, match="a file that ends after 239 of 240 bytes"):
        load_array(tmp_path / "a.npy", "", ROWS - 10)
    np.save(tmp_path / "a.npy", np.float32(3))
    assert load_array(tmp_path / "a.npy").shape == ()
    with pytest.raises(PatchError, match="a single number, which has no rows"):
        load_array(tmp_path / "a.npy", "", 1)


@pytest.mark.parametrize("damage", ["name", "contents", "password"])
def test_damaged_archives_have_one_message(tmp_path: Path, damage: str) -> None:
    """Wrong sums, cut streams and passwords are named as a file that can't be read."""
    path = tmp_path / "a.npz"
    np.savez_compressed(path, one=NUMBERS[:99])
    held = bytearray(path.read_bytes())
    at = {"name": len(held) - 30, "contents": len(held) // 2, "password": 6}[damage]
    held[at : at + 2] = b"\x01\xff"
    if damage == "password":
        held[held.index(b"PK\x01\x02") + 8] = 1
    path.write_bytes(held)
    with pytest.raises(PatchError, match=r"array file .*a\.npz must be a readable array"):
        load_array(path)


@pytest.mark.parametrize("form", (0, 3, 4, 6, 7, 10))
@pytest.mark.parametrize("suffix", [".las", ".laz"])
def test_pieces_of_a_scan_keep_their_places(tmp_path: Path, suffix: str, form: int) -> None:
    """Points of each format have the places, colours and attributes that they have in the whole cloud."""
    rng, count = np.random.default_rng(form), 1023
    scan = laspy.LasData(laspy.LasHeader(point_format=form, version="1.4" if form > 3 else "1.2"))
    scan.header.scales, scan.header.offsets = [0.001] * 3, [1000, 2000, 3000]
    scan.x, scan.y, scan.z = rng.uniform(900, 3100, (3, count)).round(3)
    scan.intensity = np.arange(count)
    has_colours = "red" in scan.point_format.dimension_names
    if has_colours:
        scan.red, scan.green, scan.blue = rng.integers(0, 65536, (3, count))
        scan.red[5:9] = scan.green[5:9] = scan.blue[5:9] = 200  # dark, not of 8 bits
    scan.write(tmp_path / f"a{suffix}")
    for fit in ("as stored", "unit size"):
        whole = load_shape(tmp_path / f"a{suffix}", fit, CLOUDS)
        assert has_colours or (whole.colours == 1).all()
        for first, most in ((0, 1), (5, 4), (1022, 7), (500, 0)):
            part, end = load_shape(tmp_path / f"a{suffix}", fit, CLOUDS, first, most), first + most if most else None
            np.testing.assert_allclose(
                part.points, whole.points[first:end], rtol=0, atol=1e-6 if fit != "as stored" else 0
            )
            np.testing.assert_array_equal(part.colours, whole.colours[first:end])
            assert part.attributes.keys() == whole.attributes.keys()
            np.testing.assert_array_equal(part.attributes["intensity"], np.arange(count)[first:end])
    with pytest.raises(PatchError, match="no points from point 1023 on"):
        load_shape(tmp_path / f"a{suffix}", "as stored", CLOUDS, 1023)


def test_a_header_with_too_many_records_is_damaged(tmp_path: Path) -> None:
    """The message comes at once, not after billions of records."""
    scan = laspy.LasData(laspy.LasHeader(point_format=6, version="1.4"))
    scan.x = scan.y = scan.z = np.arange(5.0)
    for place in (100, 243):
        scan.write(tmp_path / "a.las")
        held = bytearray((tmp_path / "a.las").read_bytes())
        held[place : place + 4] = b"\xff" * 4
        (tmp_path / "a.las").write_bytes(held)
        with pytest.raises(PatchError, match="4294967295 records in a file of"):
            load_shape(tmp_path / "a.las", "as stored", CLOUDS)


def test_a_piece_of_other_clouds_is_a_part_of_the_whole(tmp_path: Path) -> None:
    """Formats without pieces have the same law."""
    cloud = np.random.default_rng(2).normal(size=(2, 33, 4)).astype(np.float32)
    (tmp_path / "a.ply").write_bytes(encode_points(cloud, ".ply"))
    whole = load_shape(tmp_path / "a.ply", "unit size", CLOUDS)
    for first, most in ((0, 1), (32, 5), (31, 1), (3, 0)):
        part = load_shape(tmp_path / "a.ply", "unit size", CLOUDS, first, most)
        np.testing.assert_array_equal(part.points, whole.points[first : first + most if most else None])
    with pytest.raises(PatchError, match="no points from point 33 on"):
        load_shape(tmp_path / "a.ply", "unit size", CLOUDS, 33, 1)
