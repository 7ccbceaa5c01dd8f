"""A run has the same results as in a fresh engine, whatever ran before it in the same one."""

import errno
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.sweeps.sweep_support import runner_in, saxpy_patch
from warploom import Patch
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.files import EXAMPLES_FOLDER, load_patch
from warploom.engine.sweeps import results
from warploom.engine.sweeps.plan import Run
from warploom.engine.sweeps.results import Record, ResultFolder, make_table
from warploom.engine.sweeps.sweep import Sweep

parquet = pytest.importorskip("pyarrow.parquet", reason="the table needs pyarrow")
csv = pytest.importorskip("pyarrow.csv")


def keeping_patch() -> Patch:
    """Return a patch whose blocks keep state: a sum over frames, and values that follow one another."""
    patch = Patch()
    x = patch.add("buffer.fill", node_id="x", count=8, value=1.0)
    total = patch.add("math.saxpy", node_id="total", a=1.0)
    last = patch.add("buffer.frame_delay", node_id="last")
    shown = patch.add("buffer.copy", node_id="shown")
    chance = patch.add("value.random", node_id="chance")
    smooth = patch.add("value.smooth", node_id="smooth")
    patch.connect(x["out"], total["x"])
    patch.connect(total["out"], last["x"])
    patch.connect(last["out"], total["y"])
    patch.connect(chance["value"], smooth["input"])
    patch.connect(smooth["value"], x["value"])
    patch.connect(total["out"], shown["x"])
    return patch


def small_particles() -> Patch:
    """Return the example of particles with a small picture."""
    patch = load_patch(EXAMPLES_FOLDER / "particles.loom")
    patch.set("render", width=320, height=180)
    return patch


def contents(out: Path, record: Record) -> dict[str, bytes]:
    """Return the outputs of a run by name."""
    assert record.state == "done", record.message
    return {Path(path).name: (out / path).read_bytes() for path in record.outputs}


def in_one_engine(out: Path, patch: Patch, runs: list[Run]) -> list[dict[str, bytes]]:
    """Return the outputs of runs that one engine runs, one after the other."""
    runner = runner_in(out, patch)
    try:
        return [contents(out, runner.run(run)) for run in runs]
    finally:
        runner.close()


CASES: dict[str, tuple[Any, list[Run]]] = {
    "sum": (
        keeping_patch,
        [Run({"total.a": a, "x.count": 8}, 0, last) for a, last in ((1.0, 5), (0.5, 5), (1.0, 4), (2.0, 0), (0.5, 6))],
    ),
    "particles": (
        small_particles,
        [
            Run({"emitter.count": count, "forces.gravity": gravity}, 0, 3)
            for count, gravity in ((500, -4.0), (500, 1.0), (333, -4.0), (500, -2.0))
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_equals_that_of_a_fresh_engine(case: str, tmp_path: Path) -> None:
    """Values that are HOT or rebuild, and runs of other lengths, leave nothing for the next run."""
    make, runs = CASES[case]
    together = in_one_engine(tmp_path / "all", make(), runs)
    alone = [in_one_engine(tmp_path / str(number), make(), [run])[0] for number, run in enumerate(runs)]
    assert together == alone
    assert len({tuple(found.values()) for found in together}) == len(runs)


def test_values_between_runs_are_hot(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The engine stays open, and a slider's value is written into the running graph."""
    with caplog.at_level("INFO", "warploom"):
        in_one_engine(tmp_path, saxpy_patch(), [Run({"saxpy.a": float(a)}, 0, 1) for a in range(5)])
    messages = [record.getMessage() for record in caplog.records]
    assert sum(message.startswith("engine on host (") for message in messages) == 1
    assert sum("COLD" in message for message in messages) == 1


def test_a_run_that_failed_harms_no_other(tmp_path: Path) -> None:
    """A file that is missing fails its run, with a record; the next one is done, and a repeated one is not run."""
    patch = Patch()
    patch.add("data.load_array", node_id="load")
    np.save(tmp_path / "a.npy", np.arange(3, dtype=np.float32))
    runner = runner_in(tmp_path / "out", patch)
    bad, good = (Run({"load.file": str(tmp_path / name)}, 0, 0) for name in ("b.npy", "a.npy"))
    try:
        failed = runner.run(bad)
        assert failed.state == "failed"
        assert "b.npy" in failed.message
        done = runner.run(good)
        np.testing.assert_array_equal(np.load(tmp_path / "out" / done.outputs[0]), [0, 1, 2])
        assert runner.run(good) == done
        assert runner.folder.records() == sorted([failed, done], key=lambda record: record.run)
        np.save(tmp_path / "b.npy", np.ones(2, np.float32))
        assert runner.run(bad).state == "done"
        assert {record.state for record in runner.folder.records()} == {"done"}
    finally:
        runner.close()


def test_a_full_disk_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run on a full disk leaves nothing, so that it is run again once there is space."""
    runner = runner_in(tmp_path, saxpy_patch())

    def refuse(*_: object, **__: object) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    try:
        with monkeypatch.context() as full:
            full.setattr("warploom.engine.runtime.preview.outputs.write_atomically", refuse)
            full.setattr(results.tempfile, "TemporaryFile", refuse)
            record = runner.run(Run({"saxpy.a": 1.0}, 0, 0))
        assert record.is_full
        assert "No space left on device" in record.message
        assert not runner.folder.records()
        assert not list((tmp_path / "runs").iterdir())
        assert runner.run(Run({"saxpy.a": 1.0}, 0, 0)).state == "done"
    finally:
        runner.close()


def test_a_file_that_is_written_frame_by_frame_is_in_the_folder_of_its_run(tmp_path: Path) -> None:
    """Each run has a file of its own, with the rows of its frames alone."""
    patch = saxpy_patch()
    rows = patch.add("data.save_rows", node_id="rows", recording=True, file=str(tmp_path / "rows.csv"))
    patch.connect(patch["saxpy"]["out"], rows["x"])
    runner = runner_in(tmp_path / "out", patch)
    try:
        records = [runner.run(Run({"saxpy.a": a}, 0, last)) for a, last in ((1.0, 2), (2.0, 0))]
    finally:
        runner.close()
    for record, a, frames in zip(records, (1, 2), (3, 1), strict=True):
        assert [Path(path).name for path in record.outputs] == ["rows.csv"], record.message
        found = np.loadtxt(tmp_path / "out" / record.outputs[0], skiprows=1, delimiter=",").ravel()
        np.testing.assert_allclose(found, np.tile(a * np.arange(100.0) + 1, frames))
    assert not (tmp_path / "rows.csv").exists()
    patch.trusted = False
    with pytest.raises(PatchError, match=r"patch must be trusted to write rows.file into the folder of each run"):
        Sweep(patch, out=tmp_path / "other", device="host")


def test_two_workers_with_one_run_leave_it_once(tmp_path: Path) -> None:
    """The run that is moved into place first stays, and the other one is dropped."""
    folder = ResultFolder(tmp_path)
    folder.create()
    run = Run({"a.x": 1}, 0, 0)
    begun = [folder.begin(run.id) for _ in range(2)]
    records = [Record(run.id, run.values, 0, 0, "done", device=name) for name in ("one", "two")]
    assert [folder.finish(*each).device for each in zip(records, begun, strict=True)] == ["one", "one"]
    assert folder.records() == [records[0]]
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [run.id]


def test_outputs_of_one_number_are_columns(tmp_path: Path) -> None:
    """Both tables have the numbers that numpy finds, NaN and infinity too, by the names of the outputs' files."""
    patch = Patch()
    x = patch.add("io.array", node_id="x", data=np.array([1, 2, 4], np.float32))
    parts = patch.add("kernel.expression", node_id="parts", expression="x / by", sliders="by: -1..1 = 1")
    found = patch.add("reduce.statistics", node_id="found")
    saved = patch.add("data.save_array", file="spread.npy")
    patch.connect(x["out"], parts["x"])
    patch.connect(parts["out"], found["x"])
    patch.connect(found["deviation"], saved["x"])
    runner, folder = runner_in(tmp_path, patch), ResultFolder(tmp_path)
    kept = [folder.done(runner.run(Run({"parts.by": by}, 0, 0)).run) for by in (-0.5, 0.0)]
    runner.close()
    paths = tmp_path / "results.parquet", tmp_path / "results.csv"
    folder.write_table(paths, make_table([record for record in kept if record is not None]))
    whole, plain = parquet.read_table(paths[0]), csv.read_csv(paths[1])
    assert whole.drop_columns(["outputs"]).column_names == plain.column_names
    expected = {
        "parts.by": [-0.5, 0],
        "spread": [2 * np.std([1, 2, 4]), math.nan],
        "found.mean": [-2 * 7 / 3, math.inf],
        "found.smallest": [-8, math.inf],
        "found.largest": [-2, math.inf],
    }
    for name, numbers in expected.items():
        for table in (whole, plain):
            found_numbers = table[name].to_numpy()  # null, which pyarrow reads from a CSV's nan, is NaN
            np.testing.assert_allclose(found_numbers, numbers, rtol=1e-6, err_msg=name)
