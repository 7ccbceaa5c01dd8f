"""Arrays and tables in files: what is loaded, what is saved, and the messages about files that can't be read."""

import csv
import datetime
import json
import random
import sqlite3
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pyarrow
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from tests.blocks.running import apply, problems, run
from tests.fuzzing import many
from warploom import Engine, Patch, UpdateLevel
from warploom.blocks.data import table_files
from warploom.blocks.data.array_files import load_array
from warploom.blocks.data.table_files import TYPES, encode_table, load_table, read_table
from warploom.blocks.data.table_pieces import SUFFIXES
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.contents import NodeRef

ROWS = [("a", 1, 0.5, "true", "2020-01-02"), ("b", -7, 1e-30, "false", "1969-12-31"), ("c", 2**31 - 1, "", "true", "")]
NAMES = ("name", "count", "share", "flag", "day")
DAY_S = 86400


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([NAMES, *ROWS])
    return path


def test_columns_of_numbers_are_loaded_in_order(table: Path) -> None:
    """Words are left out; truth becomes 0 and 1, days become seconds, a missing number NaN."""
    days = [DAY_S * (datetime.date(2020, 1, 2) - datetime.date(1970, 1, 1)).days, -DAY_S, np.nan]
    expected = [[1, 0.5, 1, days[0]], [-7, 1e-30, 0, days[1]], [2**31 - 1, np.nan, 1, days[2]]]
    np.testing.assert_array_equal(load_table(table, "", "f64"), expected)
    found = load_table(table, " share ,count", "f32", first_row=1, most_rows=1)
    assert (found.dtype, found.shape, found.flags.writeable) == (np.float32, (1, 2), False)
    np.testing.assert_array_equal(found, np.float32([[1e-30, -7]]))


@pytest.mark.parametrize(
    ("columns", "element_type", "first_row", "message"),
    [
        ("name", "f32", 0, "column 'name' of string, which are no numbers"),
        ("speed", "f32", 0, "no column called 'speed'; there are name, count, share, flag, day"),
        ("share", "s32", 0, "column 'share' with missing numbers, which only f32 and f64 can hold"),
        ("day", "s32", 0, "missing numbers"),
        ("count", "f32", 3, "no rows from row 3 on"),
    ],
)
def test_a_column_that_cannot_be_numbers_is_named(
    table: Path, columns: str, element_type: str, first_row: int, message: str
) -> None:
    """The message names the file, the column and the reason."""
    with pytest.raises(PatchError, match=f"{table.name} .*{message}"):
        load_table(table, columns, element_type, first_row)


def test_numbers_too_large_for_the_type_are_refused(tmp_path: Path) -> None:
    """A number never wraps around."""
    (tmp_path / "a.csv").write_text(f"x\n{2**31}\n")
    np.testing.assert_array_equal(load_table(tmp_path / "a.csv", "", "s64"), [[2**31]])
    with pytest.raises(PatchError, match="int32 can't hold; choose a wider type"):
        load_table(tmp_path / "a.csv", "", "s32")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x00\xff" * 50,
        b"[1, 2]",
        b"PAR1",
        b"x,y\n1\n2,3,4\n",
        b'[{"a": {"b": 1}}]',
        b"[" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    ],
    ids=range(8),
)
def test_damaged_tables_have_one_message(tmp_path: Path, suffix: str, text: bytes) -> None:
    """Whatever the bytes, there is a PatchError that names the file; a folder or nothing has one too."""
    path = tmp_path / f"t{suffix}"
    path.write_bytes(text)
    try:
        found = load_table(path, "", "f32")
    except PatchError as problem:
        assert str(path) in str(problem) and "\n" not in str(problem)
    else:
        assert found.size
    with pytest.raises(PatchError, match="must exist"):
        load_table(tmp_path / "none.csv", "", "f32")
    with pytest.raises(PatchError, match="must be readable"):
        load_table(tmp_path, "", "f32")


def test_json_may_be_a_list_or_lines(tmp_path: Path) -> None:
    """Objects in a list and objects on lines are the same table; columns come in the order in which they appear."""
    rows = [{"y": 1.5, "x": 2}, {"y": None, "x": -3, "z": 4}]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    (tmp_path / "b.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    for name in ("a.json", "b.jsonl"):
        expected = [[1.5, 2, np.nan], [np.nan, -3, 4]]
        np.testing.assert_array_equal(load_table(tmp_path / name, "", "f64"), expected)


@pytest.mark.parametrize(
    "text", ['{"x": [1, 2], "y": [0.5, null]}', '{\n"x": [1, 2],\n"y": [0.5, null]\n}', "[[1, 0.5], [2, null]]"]
)
def test_json_may_have_columns_or_rows_of_numbers(tmp_path: Path, text: str) -> None:
    """An object of columns and a list of rows are tables too; an object alone is a row."""
    (tmp_path / "a.json").write_text(text)
    np.testing.assert_array_equal(load_table(tmp_path / "a.json", "", "f64"), [[1, 0.5], [2, np.nan]])
    (tmp_path / "a.json").write_text('{"x": 1,\n "y": 2}')
    np.testing.assert_array_equal(load_table(tmp_path / "a.json", "", "f64"), [[1, 2]])


@pytest.mark.parametrize("early", ["", ', "y": null', ', "y": 1'])
def test_a_column_may_begin_in_any_row_of_json(tmp_path: Path, early: str) -> None:
    """A name, or a number with decimals, that is first in a row behind the first megabyte is not left out."""
    row = f'{{"x": 1{early}, "pad": "{"z" * 2000}"}}\n'
    (tmp_path / "a.jsonl").write_text(row * 1000 + '{"y": 2.5}\n')
    first = 1.0 if early.endswith("1") else np.nan
    whole = load_table(tmp_path / "a.jsonl", "x, y", "f64")
    np.testing.assert_array_equal(whole, [[1, first]] * 1000 + [[np.nan, 2.5]])
    np.testing.assert_array_equal(load_table(tmp_path / "a.jsonl", "", "f64")[-1][-1], 2.5)
    np.testing.assert_array_equal(load_table(tmp_path / "a.jsonl", "y", "f64", 999), [[first], [2.5]])
    with pytest.raises(PatchError, match="no column called 'q'"):
        load_table(tmp_path / "a.jsonl", "q", "f64", 999)


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_texts_of_spreadsheets_are_read(tmp_path: Path, coding: str) -> None:
    """A spreadsheet may name its separator, write UTF-16 with a mark, and put decimals in quotation marks."""
    mark = "\ufeff" if coding == "utf-16-le" else ""
    for text in ("sep=;\r\na;b\r\n1,5;2\r\n", 'a;b\r\n"1,5";"2"\r\n', "a|b\r\n1.5|2\r\n", "a\tb\r\n1.5\t2\r\n"):
        (tmp_path / "a.csv").write_bytes((mark + text).encode(coding))
        np.testing.assert_array_equal(load_table(tmp_path / "a.csv", "", "f64"), [[1.5, 2]])


@pytest.mark.parametrize(
    ("held", "message"),
    [(b"PK\x03\x04", "a ZIP archive or spreadsheet"), (b"\x1f\x8b", "gzip compressed"), (b"a\n1\0", "no text")],
)
def test_what_is_no_text_is_named(tmp_path: Path, held: bytes, message: str) -> None:
    """A spreadsheet or archive with the name of a table says what to do."""
    (tmp_path / "a.csv").write_bytes(held)
    with pytest.raises(PatchError, match=message):
        load_table(tmp_path / "a.csv", "", "f64")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a;b\n1,5;-2\n3;4,25\n", [[1.5, -2], [3, 4.25]]),
        ("a;b\n7;1,5e2", [[7, 150]]),
        ("a;b\n1.5;2\n", [[1.5, 2]]),
        ('"a;x";b\n1,5;2', [[1.5, 2]]),
        ('"a;x",b\n1.5,2', [[1.5, 2]]),
        ("\ufeffa;b\r\n0,1;2\r\n", [[0.1, 2]]),
        ("only\n5\n", [[5]]),
    ],
)
def test_columns_may_be_separated_by_semicolons(tmp_path: Path, text: str, expected: Any) -> None:
    """A CSV whose names stand between semicolons has columns there, and perhaps numbers with a comma."""
    (tmp_path / "a.csv").write_bytes(text.encode())
    np.testing.assert_array_equal(load_table(tmp_path / "a.csv", "", "f64"), expected)


SAVED = np.array([[1.5, -2, 3e30], [np.nan, 0, 1]])


@pytest.mark.parametrize("suffix", [".txt", ".csv"])
@pytest.mark.parametrize(
    ("written", "names"),
    [
        ({}, "x0,x1,x2"),
        ({"delimiter": ","}, "x0,x1,x2"),
        ({"delimiter": "\t", "newline": "\r\n"}, "x0,x1,x2"),
        ({"delimiter": ";"}, "x0,x1,x2"),
        ({"fmt": "%20.9e", "header": "u v w"}, "u,v,w"),
        ({"delimiter": ", ", "header": "made by x\nu, v, w"}, "u,v,w"),
        ({"header": "made by a script", "comments": "#  "}, "x0,x1,x2"),
    ],
)
def test_arrays_that_numpy_has_saved_as_text_are_loaded(
    tmp_path: Path, suffix: str, written: dict[str, str], names: str
) -> None:
    """Each line of numbers is a row, also the first one; a comment before them may have the names."""
    for rows in (SAVED, SAVED[1:]):
        np.savetxt(path := tmp_path / f"a{suffix}", rows, **written)
        np.testing.assert_array_equal(load_table(path, "", "f64"), rows)
        np.testing.assert_array_equal(load_table(path, names, "f64", len(rows) - 1, 1), rows[-1:])


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_first_row_with_missing_numbers_is_a_row(tmp_path: Path, mark: str) -> None:
    """Without names, a gap or a word for one at the beginning costs no row; a name may have another mark in it."""
    rows = [["NA", "", "1.5"], ["2", "7", "n/a"]]
    text = "\n".join(mark.join(row) for row in rows)
    expected = [[np.nan, np.nan, 1.5], [2, 7, np.nan]]
    for name, held in (
        ("a.csv", text),
        ("b.csv", mark.join(["x:y", "b;c" if mark == "," else "b,c", "d"]) + f"\n{text}"),
    ):
        (tmp_path / name).write_text(held)
        found = load_table(tmp_path / name, "", "f64")
        np.testing.assert_array_equal(found, np.array(expected))


def test_names_in_quotation_marks_or_beside_words_may_be_numbers(tmp_path: Path) -> None:
    """A table has a column for each year; a comment is a name where no space follows it."""
    for text in ('"2019","2020"\n1,2\n', "2019,2020,to\n1,2,x\n", "#,2020\n1,2\n"):
        (tmp_path / "a.csv").write_text(text)
        np.testing.assert_array_equal(load_table(tmp_path / "a.csv", "", "f64"), [[1, 2]])


@pytest.mark.parametrize("odd", ["-", "missing", '"1,000"', "3%", "#DIV/0!", "1 200"])
def test_a_column_of_numbers_is_never_left_out(tmp_path: Path, odd: str) -> None:
    """A word among numbers would move other columns to the left, so the table is refused until columns are named."""
    (tmp_path / "a.csv").write_text(f"place,a,b\nx,1,2\ny,{odd},4\nz,5,6\n")
    with pytest.raises(PatchError, match="column 'a' of numbers, but '"):
        load_table(tmp_path / "a.csv", "", "f32")
    np.testing.assert_array_equal(load_table(tmp_path / "a.csv", "b", "f32"), [[2], [4], [6]])


@pytest.mark.parametrize("written", ["1\u202f200", "1\u00a0200", "\u22125", "1_200", "1d3"])
def test_a_column_of_numbers_that_are_written_otherwise_is_never_left_out(tmp_path: Path, written: str) -> None:
    """Spaces that don't break, a typographic minus, and forms of programming languages are numbers to a person."""
    (tmp_path / "a.csv").write_text(f"a,b\n{written},2\n{written},4\n")
    with pytest.raises(PatchError, match="column 'a' of numbers, but '"):
        load_table(tmp_path / "a.csv", "", "f32")


def test_a_comma_in_any_row_is_a_decimal_comma(tmp_path: Path) -> None:
    """Where semicolons separate columns, the first row may have whole numbers only."""
    (tmp_path / "a.csv").write_text("a;b\n1;2\n3,5;4\n")
    np.testing.assert_array_equal(load_table(tmp_path / "a.csv", "", "f64"), [[1, 2], [3.5, 4]])


@pytest.mark.parametrize("first", ["1796040001", "2026-11-30 12:00:01"])
def test_numbers_that_f32_makes_equal_are_refused(tmp_path: Path, first: str) -> None:
    """Times since 1970 are whole in f64, where f32 has a number for every two minutes."""
    second = f"{first[:-1]}2"
    (tmp_path / "a.csv").write_text(f"t\n{first}\n{second}\n")
    np.testing.assert_array_equal(load_table(tmp_path / "a.csv", "", "f64"), [[1796040001], [1796040002]])
    with pytest.raises(PatchError, match="column 't' in which f32 rounds 1796040001 and 1796040002 to one"):
        load_table(tmp_path / "a.csv", "", "f32")


@pytest.mark.parametrize("between", ["5", ""])
def test_numbers_of_distant_rows_that_f32_makes_equal_are_refused(tmp_path: Path, between: str) -> None:
    """Other or missing numbers may lie between two that would be equal."""
    (tmp_path / "a.csv").write_text(f"i,j\n16777217,1\n{between},1\n16777216,1\n")
    with pytest.raises(PatchError, match="column 'i' in which f32 rounds 16777216 and 16777217 to one"):
        load_table(tmp_path / "a.csv", "", "f32")


@pytest.mark.parametrize("value", ["2", "2.5", "true", "2020-01-01"])
def test_a_column_with_a_word_far_below_its_numbers_is_refused(tmp_path: Path, value: str) -> None:
    """The first rows alone are numbers; another column can still be chosen."""
    (tmp_path / "a.csv").write_text("a,b\n" + f"1,{value}\n" * 1500 + "3,oops\n")
    with pytest.raises(PatchError, match="column 'b' of numbers, but one of a later row is none"):
        load_table(tmp_path / "a.csv", "", "f64")
    assert load_table(tmp_path / "a.csv", "a", "f64").shape == (1501, 1)


def test_a_word_that_is_no_utf8_is_no_number_either(tmp_path: Path) -> None:
    """A column of numbers is not left out because of a letter in Latin-1 in a later row."""
    (tmp_path / "a.csv").write_bytes("a,b\n1,2\n3,4\n5,6\n7,é\n".encode("latin-1"))
    with pytest.raises(PatchError, match="column 'b' of numbers, but 'é' is none"):
        load_table(tmp_path / "a.csv", "", "f64")


def test_a_first_row_is_no_name_because_the_second_is_shorter(tmp_path: Path) -> None:
    """Rows of different lengths are refused, with commas as with spaces."""
    for mark in " ,":
        (tmp_path / "a.csv").write_text(f"1{mark}2\n3\n")
        with pytest.raises(PatchError, match="Expected 2 columns, got 1: 3"):
            load_table(tmp_path / "a.csv", "", "f64")


def test_a_name_of_two_columns_is_refused_whatever_they_hold(tmp_path: Path) -> None:
    """One of the two may be a text."""
    (tmp_path / "a.csv").write_text("a,a\n1,x\n")
    with pytest.raises(PatchError, match="several columns called 'a'"):
        load_table(tmp_path / "a.csv", "", "f64")


def test_parts_of_a_second_are_not_rounded(tmp_path: Path) -> None:
    """A quarter of a second is one in f64, also with nanoseconds since 1970, which have more digits."""
    (tmp_path / "a.csv").write_text("t\n2026-11-30 12:00:01.250000000\n1969-12-31 23:59:59.750000000\n")
    np.testing.assert_array_equal(load_table(tmp_path / "a.csv", "", "f64"), [[1796040001.25], [-0.25]])


def test_a_column_of_nothing_but_nan_is_a_column_of_numbers() -> None:
    """Each spelling of NaN in a text is the number NaN, also where a column has no other; a gap stays a gap."""
    held = b"a,b,c,d\nnan,-nan,NaN,1\n-NaN,NAN,nan,\n"
    np.testing.assert_array_equal(
        table_files._whole(held, ".csv", "", "f32").numbers, [[np.nan] * 3 + [1], [np.nan] * 4]
    )


@settings(max_examples=many(20), deadline=None)
@given(st.data())
def test_what_is_saved_is_loaded_again(data: st.DataObject) -> None:
    """Numbers of each type come back from each format, NaN and infinity included where the format has them."""
    suffix, name = data.draw(st.sampled_from(SUFFIXES)), data.draw(st.sampled_from(sorted(TYPES)))
    shape = data.draw(st.tuples(st.integers(1, 9), st.integers(1, 4)))
    kind = np.dtype(TYPES[name])
    size = kind.itemsize * shape[0] * shape[1]
    numbers = np.frombuffer(data.draw(st.binary(min_size=size, max_size=size)), kind).reshape(shape)
    if suffix.startswith((".json", ".ndjson")):
        numbers = np.where(np.isfinite(numbers), numbers, np.nan).astype(kind)
        if kind.kind == "f":
            numbers[0] = 1.5  # else a column may have no number at all
    held = encode_table(numbers, suffix, "")
    found = table_files._whole(held, suffix, "", name).numbers
    np.testing.assert_array_equal(found, numbers)


def test_blocks_load_and_save_tables(tmp_path: Path, table: Path) -> None:
    """A patch loads two columns, computes, and saves; sqlite's own reading of the CSV agrees."""
    patch = Patch()
    load = patch.add("data.load_table", file=table, columns="count,share", type="f64", most_rows=2)
    save = patch.add("data.save_table", file=tmp_path / "out.csv", columns="count, share")
    patch.connect(load["out"], save["x"])
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        engine.save_outputs()
    text = (tmp_path / "out.csv").read_text().splitlines()
    assert text[0].replace('"', "") == "count,share"
    base = sqlite3.connect(":memory:")
    base.execute("create table t (count real, share real)")
    base.executemany("insert into t values (?, ?)", [line.split(",") for line in text[1:]])
    assert base.execute("select * from t").fetchall() == [(1.0, 0.5), (-7.0, 1e-30)]


def test_another_table_of_the_same_size_needs_no_rebuild(tmp_path: Path) -> None:
    """Its numbers are uploaded; one of another size changes the shape."""
    for name, rows in (("a", 3), ("b", 3), ("c", 4)):
        parquet.write_table(pyarrow.table({"x": np.arange(rows) * (1.0 + ord(name))}), tmp_path / f"{name}.parquet")
    patch = Patch()
    load = patch.add("data.load_table", file=tmp_path / "a.parquet")
    scale = patch.add("math.scale_offset", scale=2.0)
    patch.connect(load["out"], scale["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(load, file=tmp_path / "b.parquet")
        report = engine.step()
        assert report.update_level == UpdateLevel.WARM
        np.testing.assert_array_equal(engine.read(scale["out"])[:, 0], np.arange(3) * np.float32(2 * 99))
        patch.set(load, file=tmp_path / "c.parquet")
        assert not engine.step().diagnostics
        assert engine.read(scale["out"]).shape == (4, 1)


@pytest.mark.parametrize("seed", range(4))
def test_names_of_columns_pass_from_block_to_block(tmp_path: Path, seed: int) -> None:
    """Columns are picked, rows and elements change, and each column keeps the name that it has in the file.

    A file that is saved has the names. Blocks whose columns are others, or have two names, have none; a table with
    other names and the same numbers needs no rebuild.
    """
    chance = random.Random(seed)
    names = chance.sample(["time", "b, c", "", 'a "b"', "Öl", "x1"], chance.randint(2, 6))
    numbers, suffix = np.arange(9.0 * len(names)).reshape(9, -1), chance.choice([".csv", ".parquet", ".jsonl"])
    table, other, saved = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}", tmp_path / "saved.csv"
    rows = tmp_path / "rows.parquet"
    table.write_bytes(encode_table(numbers, suffix, "", *names))
    other.write_bytes(encode_table(numbers, suffix, "", *(f"{name}!" for name in names)))
    patch = Patch()

    def follow(kind: str, *sources: NodeRef, **values: Any) -> NodeRef:
        node = patch.add(kind, **values)
        for port, source in zip(("x", "y"), sources, strict=False):
            patch.connect(source["out"], node[port])
        return node

    load = last = patch.add("data.load_table", file=table)
    kept = list(range(len(names)))
    for _ in range(5):
        kind = chance.choice(["math.scale_offset", "buffer.frame_delay", "buffer.convert", "rows", "columns"])
        if kind in ("rows", "columns"):
            axis, start, step = chance.choice([0, -2] if kind == "rows" else [1, -1]), chance.randint(0, 1), 1
            if kind == "columns" and len(kept) > 1:
                kept = kept[start :: (step := chance.randint(1, 2))]
            elif kind == "columns":
                start = 0
            last = follow("buffer.copy", follow("buffer.slice", last, axis=axis, start=start, step=step))
        else:
            last = follow(kind, last)
    both = follow("math.add", load, load)
    with_others = follow("math.add", load, patch.add("data.load_table", file=other))
    flat, turned = follow("buffer.reshape", load), follow("buffer.transpose", load)
    follow("data.save_table", last, file=saved)
    follow("data.save_rows", follow("data.play_rows", file=table, rows=2), file=rows, recording=True)
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.save_outputs()
        found = {name: buffer.columns for name, buffer in engine.step().buffers.items()}
        assert found[str(load["out"])] == found[str(both["out"])] == tuple(names)
        assert found[str(last["out"])] == read_table(saved, "", "f32").names == tuple(names[at] for at in kept)
        assert {found[str(node["out"])] for node in (with_others, flat, turned)} == {()}
        patch.set(load, file=other)
        report = engine.step()
        assert report.update_level <= UpdateLevel.WARM
        assert report.buffers[str(last["out"])].columns == tuple(f"{names[at]}!" for at in kept)
        assert report.buffers[str(with_others["out"])].columns == tuple(f"{name}!" for name in names)
    assert read_table(rows, "", "f32").names == tuple(names)


@pytest.mark.parametrize("dtype", ["?", "u1", "<i8", ">i4", "<f2", ">f8", "<c8", ">c16", "<u2"])
def test_arrays_of_each_type_are_loaded(tmp_path: Path, dtype: str) -> None:
    """Shape and type are kept, in the machine's byte order, also from columns first and from an archive."""
    array = np.asfortranarray(np.arange(12).reshape(3, 4).astype(dtype))
    np.save(tmp_path / "a.npy", array)
    np.savez_compressed(tmp_path / "a.npz", one=array)
    for name in ("a.npy", "a.npz"):
        patch = Patch()
        load = patch.add("data.load_array", file=tmp_path / name)
        (found,) = run(patch, load["out"])
        np.testing.assert_array_equal(found, array)
        assert found.dtype == array.dtype.newbyteorder("=")


def test_members_of_an_archive_are_named(tmp_path: Path) -> None:
    """With several members one must be chosen; objects and other files are refused."""
    np.savez(tmp_path / "a.npz", one=np.arange(3), two=np.ones((2, 2)))
    assert load_array(tmp_path / "a.npz", "two").shape == (2, 2)
    with pytest.raises(PatchError, match="no member ''; there are one, two"):
        load_array(tmp_path / "a.npz")
    np.save(tmp_path / "o.npy", np.array([{}], object), allow_pickle=True)
    (tmp_path / "t.npy").write_text("text")
    (tmp_path / "h.npy").write_bytes(b"\x93NUMPY\x01\x00\x14\x00{'descr': '<f8', (  \n")
    for name in ("o.npy", "t.npy", "h.npy"):
        with pytest.raises(PatchError, match=f"{name} must be a readable array"):
            load_array(tmp_path / name)


@pytest.mark.parametrize("dtype", ["?", "u1", "<i2", "<u4", "<i8", "<f2", "<f4", "<f8", "bf16"])
def test_arrays_of_safetensors_are_loaded(tmp_path: Path, dtype: str) -> None:
    """A member has its type and shape, also in part; numbers of bf16 are those of f32."""
    array = np.random.default_rng(4).normal(scale=50, size=(5, 3)).astype("<f4" if dtype == "bf16" else dtype)
    tensors = {"other": np.arange(4.0), "mine": array}
    whole = safetensors.numpy.save(tensors)
    if dtype == "bf16":  # which numpy doesn't have
        array = (array.view("<u4") & 0xFFFF0000).view("<f4")
        places = {"mine": {"dtype": "BF16", "shape": array.shape, "data_offsets": [0, 30]}}
        places["other"] = {"dtype": "F64", "shape": [4], "data_offsets": [30, 62]}
        body = (array.view("<u4") >> 16).astype("<u2").tobytes() + tensors["other"].tobytes()
        head = json.dumps(places).encode()
        whole = len(head).to_bytes(8, "little") + head + body
    (tmp_path / "a.safetensors").write_bytes(whole)
    found = load_array(tmp_path / "a.safetensors", "mine")
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(load_array(tmp_path / "a.safetensors", "mine", 1, 2), array[1:3])
    with pytest.raises(PatchError, match="no member ''; there are"):
        load_array(tmp_path / "a.safetensors")
    (tmp_path / "a.safetensors").write_bytes(whole[:-1])
    with pytest.raises(PatchError, match="a file that ends after"):
        [load_array(tmp_path / "a.safetensors", name) for name in tensors]
    for place in (None, 4, [0], [0, None], ["0", "4"], [0.0, 4.0], [-4, 0], [0, 5], {"a": 0, "b": 4}):
        head = json.dumps({"mine": {"dtype": "F32", "shape": [1], "data_offsets": place}}).encode()
        (tmp_path / "a.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + bytes(8))
        with pytest.raises(PatchError, match=r"a\.safetensors must be a readable array"):
            load_array(tmp_path / "a.safetensors")


def test_an_array_has_no_shape_below_zero(tmp_path: Path) -> None:
    """numpy takes -1 for any size; other files than arrays in an archive are no members."""
    np.save(tmp_path / "a.npy", np.arange(12.0).reshape(3, 4))
    held = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(held.replace(b"(3, 4)", b"(-3,4)"))
    with pytest.raises(PatchError, match=r"the shape \[-3, 4\]"):
        load_array(tmp_path / "a.npy")
    with ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("readme.txt", "text")
        archive.writestr("one.npy", held)
    assert load_array(tmp_path / "a.npz").shape == (3, 4)


@pytest.mark.parametrize("data", [np.arange(6, dtype=np.int16).reshape(2, 3), np.ones(1, np.complex64)])
def test_arrays_are_saved_as_they_are(tmp_path: Path, data: Any) -> None:
    """A saved array is read by numpy with its type and shape."""
    patch = Patch()
    save = patch.add("data.save_array", file=tmp_path / "deep" / "a.npy")
    patch.connect(patch.add("io.array", data=data)["out"], save["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.save_outputs()
    found = np.load(tmp_path / "deep" / "a.npy")
    np.testing.assert_array_equal(found, data)
    assert found.dtype == data.dtype


@pytest.mark.parametrize("name", ["a.csv", "a.npy"])
def test_numbers_that_files_lack_are_saved_as_f32(tmp_path: Path, name: str) -> None:
    """Numbers of bf16 are saved by their values, not by their bits."""
    patch = Patch()
    convert = patch.add("buffer.convert", dtype="bf16")
    save = patch.add("data.save_table" if name == "a.csv" else "data.save_array", file=tmp_path / name)
    patch.connect(patch.add("io.array", data=np.float32([-2.5, 1e38, 3]))["out"], convert["x"])
    patch.connect(convert["out"], save["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.save_outputs()
    found = load_table(tmp_path / name, "", "f32")[:, 0] if name == "a.csv" else np.load(tmp_path / name)
    np.testing.assert_allclose(found, [-2.5, 1e38, 3], rtol=2**-8)


def test_a_table_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    """Three axes and a wrong number of names are named when the file is written; a wrong ending at once."""
    for data, columns, why in ((np.ones((2, 2, 2)), "", "no table"), (np.ones((2, 2)), "a", "1 different names for 2")):
        patch = Patch()
        save = patch.add("data.save_table", file=tmp_path / "t.csv", columns=columns)
        patch.connect(patch.add("io.array", data=data)["out"], save["x"])
        with Engine(patch, device="host") as engine:
            engine.step()
            with pytest.raises(PatchError, match=why):
                engine.save_outputs()
    patch = Patch()
    save = patch.add("data.save_table", file="t.xls")
    patch.connect(patch.add("io.array")["out"], save["x"])
    assert "must end in .csv" in problems(patch)[0][2]


def test_tables_without_their_library_say_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the command."""
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "a.csv").write_text("x\n4\n")
    with pytest.raises(PatchError, match=r"pip install 'warploom\[data\]'"):
        load_table(tmp_path / "a.csv", "", "f32")
    assert apply("math.scale_offset", {"x": np.ones(1, np.float32)}, scale=2.0) == 2


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv", ".jsonl"])
def test_a_table_with_one_wrong_byte_is_read_or_refused(tmp_path: Path, suffix: str) -> None:
    """Whichever byte is damaged, there are numbers or a PatchError, also where the library has an error of its own."""
    path, rng = tmp_path / f"a{suffix}", np.random.default_rng(9)
    held = encode_table(np.arange(6).reshape(3, 2), suffix, "a,b")
    changes = [(at, 0x80) for at in range(len(held)) if held[at : at + 4] == b"\x40\0\0\0"]  # widths of types
    changes += zip(rng.integers(0, len(held), 150).tolist(), rng.integers(0, 256, 150).tolist(), strict=True)
    for at, value in changes:
        path.write_bytes(held[:at] + bytes([value]) + held[at + 1 :])
        try:
            found = load_table(path, "", "f64")
        except PatchError as problem:
            assert "a" + suffix in str(problem)
        else:
            assert found.size
