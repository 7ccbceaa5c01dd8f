"""Rows of files, piece by piece in frames: what is played, and what is recorded."""

import threading
from pathlib import Path
from typing import Any

import laspy
import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from tests.blocks.running import problems
from tests.fuzzing import many
from tests.waiting import until
from warploom import Engine, Patch
from warploom.blocks.data import row_writer
from warploom.blocks.data.row_writer import RECORDED, RowWriter
from warploom.blocks.data.rows_ahead import RowsAhead
from warploom.blocks.data.table_files import load_table
from warploom.engine.diagnostics import PatchError
from warploom.engine.protocol.messages import Reset
from warploom.engine.types import Array


class _Rows:
    """Rows of numbers whose count is known once the last one was read; reading notes what was read."""

    layout = np.dtype(np.int64), (2,)

    def __init__(self, count: int, *, known: bool) -> None:
        self.all = np.arange(2 * count).reshape(count, 2)
        self.count: int | None = count if known else None
        self.gate = threading.Event()
        self.gate.set()

    def read(self, first: int, count: int | None) -> Array:
        assert count is not None
        assert self.gate.wait(10)
        found = self.all[first : first + count]
        if len(found) < count:
            self.count = len(self.all)
        return found

    def close(self) -> None:
        """Stand for the file, too."""


@settings(max_examples=many(25), deadline=None)
@given(st.integers(1, 40), st.integers(1, 50), st.booleans(), st.booleans(), st.lists(st.integers(0, 99), min_size=1))
def test_each_piece_is_a_part_of_the_rows(count: int, size: int, loop: bool, known: bool, wanted: list[int]) -> None:
    """In any order: rows begin again after the last one, or the last piece stays; 0 fills up what is too short."""
    rows: Any = _Rows(count, known=known)
    reader, before = RowsAhead(lambda: (rows, rows), size), 0
    try:
        for first in wanted:
            piece = reader.piece(first, first - before, loop=loop, wait=True)
            begin = first % count if loop else min(first, max(count - size, 0))
            if loop:
                expected = rows.all[(begin + np.arange(size)) % count]
            else:
                expected = np.zeros((size, 2), int)
                expected[:count] = rows.all[begin : begin + size]
            assert piece is not None and piece.asked == first and piece.first in (begin, first)
            np.testing.assert_array_equal(piece.rows, expected)
            before = first
    finally:
        reader.close()


def test_a_piece_that_is_late_is_shown_once_it_is_there() -> None:
    """Without waiting, nothing is returned until something is read; what is not wanted any more is not read."""
    rows: Any = _Rows(100, known=True)
    rows.gate.clear()
    reader = RowsAhead(lambda: (rows, rows), 3)
    assert all(reader.piece(first, 1, loop=True, wait=False) is None for first in range(0, 50, 10))
    rows.gate.set()
    found: list[int] = []

    def is_there() -> bool:
        piece = reader.piece(50, 1, loop=True, wait=False)
        found.extend([piece.first] if piece is not None else [])
        return found[-1:] == [50]

    until(is_there)
    assert found[0] in (0, 50) and set(found) <= {0, 50}
    reader.close()


@pytest.mark.parametrize("suffix", [".las", ".laz"])
def test_points_of_a_scan_go_by_with_time_or_as_they_are_driven(tmp_path: Path, suffix: str) -> None:
    """Each frame shows the points of its time, or those from the set point on, where Load Points puts them."""
    rng, path = np.random.default_rng(2), tmp_path / f"a{suffix}"
    header = laspy.LasHeader(point_format=3, version="1.2")
    header.scales = [0.001] * 3
    scan = laspy.LasData(header)
    scan.x, scan.y, scan.z = rng.uniform(-50, 50, (3, 60_000))
    scan.red, scan.green, scan.blue = rng.integers(0, 65536, (3, 60_000)).astype(np.uint16)
    scan.intensity = rng.integers(0, 65536, 60_000).astype(np.uint16)
    scan.write(path)
    patch = Patch()
    load = patch.add("geometry.load_points", file=path, up="z", attribute="intensity")
    play = patch.add("geometry.play_points", file=path, up="z", attribute="intensity", most_points=500, rate=60_000.0)
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        whole = [engine.read(load[name]) for name in ("points", "colors", "value")]

        def check(first: int, count: int) -> None:
            for name, held in zip(("points", "colors", "value"), whole, strict=True):
                expected = held[(first + np.arange(count)) % 60_000]
                np.testing.assert_allclose(engine.read(play[name]), expected, atol=1e-6)
            assert engine.read(play["first"]) == first and engine.read(play["count"]) == 60_000

        check(0, 500)
        engine.step()
        check(1000, 500)
        patch.set(play, by="point")
        for point in (59_800, 7, 50_100):
            patch.set(play, point=point)
            assert not engine.step().diagnostics
            check(point, 500)
        patch.set(play, most_points=1_000_000, point=0)
        assert not engine.step().diagnostics
        check(0, 60_000)
        patch.set(play, attribute="speed")
        assert "attribute must be one of the file's (" in problems(patch)[0][2]
    held = path.read_bytes()
    path.write_bytes(held[: len(held) // 2])
    patch.set(play, attribute="", most_points=10)
    (problem,) = [text for node, _, text in problems(patch) if node == play.id]
    assert problem.startswith(f"file {path} must be readable as points or triangles, got: ")
    patch.set(play, file=tmp_path / "a.xyz")
    assert any("file must end in .las, .laz, .ply, got" in text for *_, text in problems(patch))


@pytest.mark.parametrize("order", ["<", ">"])
def test_points_of_a_large_ply_file_go_by(tmp_path: Path, order: str) -> None:
    """They are those of Load Points, which reads the file by another library, and of what was written."""
    rng, path = np.random.default_rng(3), tmp_path / "a.ply"
    kinds = {"x": "f8", "y": "f4", "z": "f4", "intensity": "u2", "red": "u1", "green": "u1", "blue": "u1"}
    cloud = np.zeros(70_000, [(name, order + kind) for name, kind in kinds.items()])
    for name, kind in kinds.items():
        cloud[name] = rng.uniform(-9, 5, 70_000) if kind[0] == "f" else rng.integers(0, 255, 70_000)
    cloud["x"] += 4_000_000
    names = {"f8": "double", "f4": "float", "u2": "ushort", "u1": "uchar"}
    head = [
        f"format binary_{'little' if order == '<' else 'big'}_endian 1.0",
        "comment caf\u00e9",
        "element vertex 70000",
    ]
    head += [f"property {names[kind]} {name}" for name, kind in kinds.items()]
    head += ["element face 1", "property list uchar int vertex_indices"]
    text = "\n".join(["ply", *head, "end_header", ""]).encode()
    path.write_bytes(text + cloud.tobytes() + bytes([3]) + np.array([0, 1, 2], f"{order}i4").tobytes())
    patch = Patch()
    load = patch.add("geometry.load_points", file=path, attribute="intensity")
    play = patch.add("geometry.play_points", file=path, attribute="intensity", most_points=300, by="point")
    with Engine(patch, device="host") as engine:
        for point in (0, 69_900, 33_333):
            patch.set(play, point=point)
            assert not engine.step().diagnostics
            here = (point + np.arange(300)) % 70_000
            for name in ("points", "colors", "value"):
                np.testing.assert_allclose(engine.read(play[name]), engine.read(load[name])[here], atol=1e-6)
            np.testing.assert_array_equal(engine.read(play["value"]), cloud["intensity"][here])
        patch.set(play, fit="as stored")
        assert not engine.step().diagnostics
        np.testing.assert_array_equal(engine.read(play["points"])[:, 1], cloud["y"][here].astype(np.float32))
    for harm, reason in (
        (text.replace(b"70000", b"9999999") + cloud.tobytes(), "9999999 points in a file that has room for 70000"),
        (text.replace(b"binary_little_endian", b"ascii").replace(b"binary_big_endian", b"ascii"), "points as text"),
        (text.replace(b"ushort", b"list uchar int"), "points with lists of numbers"),
        (text.replace(b"double x", b"double w") + cloud.tobytes(), "no points"),
        (text[:60], "no PLY"),
    ):
        path.write_bytes(harm)
        told = [text for node, _, text in problems(patch) if node == play.id]
        assert told and f"{path} must be readable as points or triangles, got: {reason}" in told[0]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npy"])
def test_rows_go_by_with_time_or_as_they_are_driven(tmp_path: Path, suffix: str) -> None:
    """Each frame shows the rows of its time, or those from the set row on; other rows of the file never change them."""
    path, numbers = tmp_path / f"a{suffix}", np.arange(99, dtype=np.float32).reshape(33, 3)
    if suffix == ".npy":
        np.save(path, numbers)
    elif suffix == ".csv":
        np.savetxt(path, numbers, delimiter=",", header="a,b,c", comments="")
    else:
        parquet.write_table(pyarrow.table({n: numbers[:, k] for k, n in enumerate("abc")}), path, row_group_size=7)
    patch = Patch()
    play = patch.add("data.play_rows", file=path, rows=5, rate=120.0)
    scale = patch.add("math.scale_offset", scale=2.0)
    patch.connect(play["out"], scale["x"])
    with Engine(patch, device="host") as engine:
        for frame in range(30):  # 60 a second
            assert not engine.step().diagnostics
            np.testing.assert_array_equal(engine.read(scale["out"]), 2 * numbers[(2 * frame + np.arange(5)) % 33])
        patch.set(play, by="row", loop=False)
        for row in (0, 32, 7, 7, 1_000_000_000):
            patch.set(play, row=row)
            assert not engine.step().diagnostics
            begin = min(row, 28)
            np.testing.assert_array_equal(engine.read(scale["out"]), 2 * numbers[begin : begin + 5])
        patch.set(play, rows=40)
        assert not engine.step().diagnostics
        found = engine.read(scale["out"])
        np.testing.assert_array_equal(found, np.concatenate([2 * numbers, np.zeros((7, 3), np.float32)]))


def test_rows_that_play_by_themselves_reach_the_frames(tmp_path: Path) -> None:
    """While the engine plays on its own thread, rows follow the time, and a saved file is read again."""
    np.save(tmp_path / "a.npy", np.arange(1000, dtype=np.int16))
    patch = Patch()
    play = patch.add("data.play_rows", file=tmp_path / "a.npy", rows=31, rate=1000.0)
    count = patch.add("reduce.largest")
    patch.connect(play["out"], count["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.watch_files()
        engine.start(rate=200)
        until(lambda: engine.read(count["out"]).max() > 60)
        np.save(tmp_path / "a.npy", np.full(1000, -5, np.int16))
        until(lambda: engine.read(count["out"]).max() == -5)


def test_rows_that_cannot_be_played_are_named(tmp_path: Path) -> None:
    """A missing file, words, a type without a place on the device, and words that come later each have a message."""
    np.save(tmp_path / "a.npy", np.array(["a"]))
    (tmp_path / "a.csv").write_text("x\n" + "1\n" * 50 + "word\n")
    for file, text in (
        ("b.csv", "table must exist"),
        ("a.npy", "got: array dtype must be one of"),
        ("", "name a table"),
    ):
        patch = Patch()
        patch.add("data.play_rows", file=tmp_path / file if file else "")
        assert text in problems(patch)[0][2], text
    patch = Patch()
    play = patch.add("data.play_rows", file=tmp_path / "a.csv", columns="x", rows=10, by="row")
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        patch.set(play, row=45)
        assert "column 'x' of string" in engine.step().diagnostics[0].message
        patch.set(play, row=1)
        assert not engine.step().diagnostics


@pytest.mark.parametrize("suffix", RECORDED)
def test_a_recording_has_every_row_once(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the parts, the file has all rows in order, and is there only when it is complete."""
    monkeypatch.setattr(row_writer, "_TOGETHER", 500)
    path, numbers = tmp_path / f"a{suffix}", np.random.default_rng(3).integers(-99, 99, (1000, 2)) / 4
    numbers[5] = np.nan
    writer = RowWriter(path, "a,b", numbers)
    for part in np.split(numbers, [1, 1, 2, 33, 600]):
        writer.write(part, waits=True)
    assert not path.exists()
    writer.close()
    found = np.load(path) if suffix == ".npy" else load_table(path, "b,a", "f64")[:, ::-1]
    np.testing.assert_array_equal(found, numbers)
    assert [each.name for each in tmp_path.iterdir()] == [path.name] and writer.length == 1000


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "?", "bf16"])
def test_rows_of_frames_are_recorded(tmp_path: Path, dtype: str) -> None:
    """The frames while `recording` is true are in the file, in each element type; then it is complete."""
    path = tmp_path / ("a.npy" if dtype == "?" else "a.parquet")
    data = np.array([[0, 1, 2], [3, 4, 100]]).astype("f4" if dtype == "bf16" else dtype)
    patch = Patch()
    save, source = patch.add("data.save_rows", file=path), patch.add("io.array", data=data)
    if dtype == "bf16":
        convert = patch.add("buffer.convert", dtype="bf16")
        patch.connect(source["out"], convert["x"])
    patch.connect((convert if dtype == "bf16" else source)["out"], save["x"])
    with Engine(patch, device="host") as engine:
        for is_recorded in (False, True, True, False, False):
            patch.set(save, recording=is_recorded)
            assert not engine.step().diagnostics
        found = np.load(path) if dtype == "?" else np.stack(list(parquet.read_table(path)), axis=1)
        np.testing.assert_array_equal(found, np.concatenate([data, data]))
        patch.set(save, recording=True)
        engine.step()
    assert (np.load(path).shape if dtype == "?" else parquet.read_table(path).shape) == (2, 3)


def test_a_recording_goes_on_when_the_patch_begins_again(tmp_path: Path) -> None:
    """Rows that play begin again with the patch, and those of both turns are in one file, each once and in order."""
    np.save(tmp_path / "in.npy", numbers := np.arange(20, dtype=np.float32).reshape(20, 1))
    patch = Patch()
    play = patch.add("data.play_rows", file=tmp_path / "in.npy", rows=2, rate=120.0)
    save = patch.add("data.save_rows", file=tmp_path / "out.npy", recording=True)
    patch.connect(play["out"], save["x"])
    with Engine(patch, device="host") as engine:
        for turn in (3, 5, 2):
            for _ in range(turn):
                assert not engine.step().diagnostics
            engine.post(Reset())
    wanted = np.concatenate([numbers[: 2 * turn] for turn in (3, 5, 2)])
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), wanted)


def test_rows_that_cannot_be_recorded_are_named(tmp_path: Path) -> None:
    """Other endings, wrong names, rows that change and a file as its folder each have a message."""
    patch = Patch()
    save = patch.add("data.save_rows", file=tmp_path / "a.json", recording=True)
    patch.connect(patch.add("io.array", data=np.ones((3, 2)))["out"], save["x"])
    with Engine(patch, device="host") as engine:
        assert "file of rows must end in .csv" in engine.step().diagnostics[0].message
        patch.set(save, file=tmp_path / "a.csv", columns="a")
        engine.step()
        assert "1 different names for 2 columns" in engine.step().diagnostics[0].message
        (tmp_path / "file").touch()
        patch.set(save, file=tmp_path / "file" / "a.csv", columns="a,b")
        for _ in range(3):
            engine.step()
        until(lambda: "must be writable" in " ".join(d.message for d in engine.step().diagnostics))
    with pytest.raises(PatchError, match="no table"):
        RowWriter(tmp_path / "a.csv", "", np.ones((1, 2, 3)))
