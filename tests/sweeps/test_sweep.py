"""Sweeps on processes of this machine: nothing is lost, doubled or done twice."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warploom
from tests.sweeps.sweep_support import check_saxpy, saxpy_patch
from warploom.engine.diagnostics import DeviceError, PatchError
from warploom.engine.patch.files import save_patch
from warploom.engine.sweeps.results import Record
from warploom.engine.sweeps.sweep import Sweep
from warploom.engine.sweeps.workers import EngineWorker

parquet = pytest.importorskip("pyarrow.parquet", reason="the table needs pyarrow")


def rows_of(out: Path, name: str = "results.parquet") -> list[dict[str, Any]]:
    """Return the rows of a table in a file."""
    rows: list[dict[str, Any]] = parquet.read_table(out / name).to_pylist()
    return rows


def test_a_sweep_gives_a_table_and_goes_on(tmp_path: Path) -> None:
    """Each run is a row, in the order of the plan, with its outputs beside; a larger grid runs what is new."""
    ran: list[Record] = []
    given: dict[str, Any] = {"out": tmp_path, "device": "host", "jobs": 2, "on_run": ran.append}
    table = warploom.sweep(saxpy_patch(), grid={"saxpy.a": "0:1:0.25"}, frames=[2, range(1, 4)], **given)
    rows = table.to_pylist()
    assert rows == rows_of(tmp_path)
    assert [(row["saxpy.a"], row["first_frame"], row["last_frame"]) for row in rows] == [
        (a, *frames) for a in (0.0, 0.25, 0.5, 0.75, 1.0) for frames in ((0, 1), (1, 3))
    ]
    assert {(row["state"], row["message"], row["device"]) for row in rows} == {("done", "", "host")}
    assert all(row["frame_time_ms"] > 0 for row in rows)
    for row in rows:
        check_saxpy(tmp_path, row)
    ran.clear()
    warploom.sweep(saxpy_patch(), grid={"saxpy.a": [1, 3.5]}, frames=2, **given)
    assert [record.values for record in ran] == [{"saxpy.a": 3.5}]
    assert [row["saxpy.a"] for row in rows_of(tmp_path)[:2]] == [1.0, 3.5]
    assert len(rows_of(tmp_path)) == 11
    patch = saxpy_patch()
    patch.connect(patch["x"]["out"], patch["saxpy"]["y"])
    with pytest.raises(PatchError, match="out must have no runs of another patch"):
        warploom.sweep(patch, grid={"saxpy.a": "1"}, frames=2, **given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"frames": 0}, "frames must be a number of at least 1, or ranges from 0 on"),
        ({"frames": []}, "frames must be one range or more, got none"),
        ({"frames": range(3, 1)}, "frames must be a number of at least 1"),
        ({"frames": 2.5}, "frames must be a number of at least 1, or ranges from 0 on, got 2.5"),
        ({"frames": True}, "frames must be a number of at least 1, or ranges from 0 on, got True"),
        ({"frames": [4, None]}, "frames must be a number of at least 1, or ranges from 0 on, got None"),
        ({"grid": [1]}, r"grid must be values by NODE.PARAM, got \[1\]"),
        ({"files": "x.png"}, "files must be values by NODE.PARAM, got 'x.png'"),
        ({"jobs": 2, "dask": "tcp://127.0.0.1:1"}, "jobs or dask must be given, got both"),
        ({"task": "3/2"}, "task must be K/N"),
        ({"grid": {"saxpy.a": "0:1:0"}}, "which never ends"),
        ({"device": "cuda:99"}, "device cuda:99 must be usable"),
        ({"device": "gpu"}, 'device must be "auto", "host" or "cuda:0"'),
    ],
)
def test_a_wrong_sweep_is_refused_before_it_begins(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    """One message says what is wrong, and no folder is made."""
    with pytest.raises((PatchError, DeviceError), match=message):
        warploom.sweep(saxpy_patch(), out=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_memory_of_this_program_is_refused(tmp_path: Path) -> None:
    """A worker has only what a patch's file can hold."""
    patch = saxpy_patch()
    patch.add("io.external", node_id="mine", array=np.ones(3, np.float32))
    with pytest.raises(PatchError, match=r"parameter mine.array must be in the patch's file, got memory of this"):
        warploom.sweep(patch, out=tmp_path / "out")


def workers_of(process: int) -> list[int]:
    """Return the engine workers that a process has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            words = (path.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == process and b"processes.worker" in words:
            found.append(int(path.parent.name))
    return found


def test_killed_workers_lose_and_double_nothing(tmp_path: Path) -> None:
    """A run whose process is killed is run by another one, and leaves no half of itself."""
    sweep = Sweep(saxpy_patch(), out=tmp_path, grid={"saxpy.a": "0:2.3:0.1"}, frames=2, device="host", jobs=2)
    dice, records = random.Random(1), list[Record]()
    for record in sweep.run():
        records.append(record)
        if len(records) in (5, 12):
            os.kill(dice.choice(workers_of(os.getpid())), signal.SIGKILL)
    assert Counter(record.run for record in records) == Counter(run.id for run in sweep.runs)
    assert {record.state for record in records} == {"done"}
    assert not list((tmp_path / "runs").glob(".*"))
    for row in rows_of(tmp_path):
        check_saxpy(tmp_path, row)


def test_a_run_that_kills_its_process_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After three attempts, the run has failed, and its message names the signal; the rest is done."""
    ask = EngineWorker._ask

    def ask_or_abort(worker: EngineWorker, function: Any, arguments: Any) -> Any:
        if arguments[0].values["saxpy.a"] == 2.0:
            function, arguments = os.abort, ()
        return ask(worker, function, arguments)

    monkeypatch.setattr(EngineWorker, "_ask", ask_or_abort)
    table = warploom.sweep(saxpy_patch(), out=tmp_path, grid={"saxpy.a": "1,2,3"}, frames=1, device="host", jobs=1)
    assert table["state"].to_pylist() == ["done", "failed", "done"]
    assert table["message"][1].as_py() == "worker's process must run to its end, got SIGABRT, 3 times"


def test_an_iterator_that_is_closed_leaves_a_table(tmp_path: Path) -> None:
    """A sweep that is stopped has a table of what is done, and the next one does the rest."""
    given: dict[str, Any] = {
        "out": tmp_path,
        "grid": {"saxpy.a": "0:2.9:0.1"},
        "frames": 1,
        "device": "host",
        "jobs": 1,
    }
    sweep = Sweep(saxpy_patch(), **given)
    ended = sweep.run()
    first = [next(ended) for _ in range(3)]
    ended.close()
    rows = rows_of(tmp_path)
    assert len(first) <= len(rows) < 30
    rest = Sweep(saxpy_patch(), **given)
    assert rest.skipped == len(rows)
    assert len(list(rest.run())) == 30 - len(rows)
    assert len(rows_of(tmp_path)) == 30


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[Any]:
    """Starts the command of a task as a farm does, as a process of its own."""
    save_patch(saxpy_patch(), tmp_path / "saxpy.loom")
    started: list[subprocess.Popen[bytes]] = []

    def start(out: Path, *words: str) -> subprocess.Popen[bytes]:
        command = [
            "-m",
            "warploom",
            "sweep",
            str(tmp_path / "saxpy.loom"),
            "--grid",
            "saxpy.a=0:5.5:0.5",
            "--frames",
            "2",
        ]
        command += ["--device", "host", "--jobs", "1", "--out", str(out), *words]
        started.append(subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_the_slices_of_a_farm_join_to_the_whole(tmp_path: Path, farm: Any) -> None:
    """Tasks in random order, of which one is killed and run again, give the runs of one sweep."""
    out, tasks = tmp_path / "farm", [1, 2]
    random.Random(2).shuffle(tasks)
    victim = farm(out, "--task", f"{tasks[0]}/2")
    while victim.poll() is None and not list(out.glob("runs/[!.]*")):
        time.sleep(0.01)
    victim.kill()
    victim.wait()
    processes = [farm(out, "--task", f"{task}/2") for task in reversed(tasks)]
    assert [process.wait() for process in processes] == [0, 0]
    slices = [row for task in tasks for row in rows_of(out, f"results-{task}-of-2.parquet")]
    assert sorted(row["saxpy.a"] for row in slices) == [number / 2 for number in range(12)]
    assert farm(out).wait() == 0  # the whole sweep finds all runs done, and writes the table
    joined = rows_of(out)
    assert [row["saxpy.a"] for row in joined] == [number / 2 for number in range(12)]
    assert sorted(joined, key=lambda row: row["run"]) == sorted(slices, key=lambda row: row["run"])
    for row in joined:
        check_saxpy(out, row)
