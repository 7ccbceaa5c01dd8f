"""Sweeps on a Dask cluster, whose workers are killed."""

import importlib.util
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import warploom
from tests.sweeps.sweep_support import check_saxpy, saxpy_patch
from warploom.engine.diagnostics import WarploomError
from warploom.engine.sweeps import cluster
from warploom.engine.sweeps.plan import Run
from warploom.engine.sweeps.results import Record
from warploom.engine.sweeps.sweep import Sweep

parquet = pytest.importorskip("pyarrow.parquet", reason="the table needs pyarrow")
needs_dask = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="Dask is not installed")


class Cluster:
    """A cluster in a process of its own."""

    def __init__(self, workers: int) -> None:
        command = [sys.executable, "-W", "ignore", "-m", "tests.sweeps.dask_cluster", str(workers)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = self._line()

    def kill_worker(self) -> None:
        """Kill a worker at random."""
        assert self.process.stdin is not None
        self.process.stdin.write("kill\n")
        self.process.stdin.flush()
        self._line()

    def close(self) -> None:
        """End the cluster."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@pytest.fixture(scope="module")
def dask() -> Iterator[Cluster]:
    """Two workers."""
    made = Cluster(2)
    yield made
    made.close()


@needs_dask
@pytest.mark.filterwarnings("ignore")  # Dask's own
def test_killed_workers_of_a_cluster_lose_and_double_nothing(dask: Cluster, tmp_path: Path) -> None:
    """The runs of killed workers are run by others; each run is there once, with its outputs."""
    sweep = Sweep(
        saxpy_patch(), out=tmp_path, grid={"saxpy.a": "0:2.3:0.1"}, frames=1, dask=dask.address, device="host"
    )
    records = list[Record]()
    for record in sweep.run():
        records.append(record)
        if len(records) in (5, 12):
            dask.kill_worker()
    assert Counter(record.run for record in records) == Counter(run.id for run in sweep.runs)
    assert {record.state for record in records} == {"done"}
    assert not list((tmp_path / "runs").glob(".*"))
    rows: list[dict[str, Any]] = parquet.read_table(tmp_path / "results.parquet").to_pylist()
    assert len(rows) == 24
    for row in rows:
        check_saxpy(tmp_path, row)


@needs_dask
@pytest.mark.filterwarnings("ignore")  # Dask's own
def test_a_worker_of_another_version_is_named(dask: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the runs, one message has the worker and both versions; nothing is run."""
    monkeypatch.setattr("warploom.engine.sweeps.runner.version", lambda: "9.9")
    with pytest.raises(WarploomError, match=r"worker tcp://\S+ must have Warploom 9.9, got 0"):
        warploom.sweep(saxpy_patch(), out=tmp_path, grid={"saxpy.a": "1,2"}, frames=1, dask=dask.address)
    assert not list((tmp_path / "runs").iterdir())


@needs_dask
@pytest.mark.filterwarnings("ignore")  # Dask's own
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nowhere"])
def test_a_scheduler_that_does_not_answer_is_named(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One message has the address and how to start a scheduler."""
    monkeypatch.setattr(cluster, "ANSWER_S", 0.5)
    with pytest.raises(WarploomError, match=rf"Dask's scheduler must answer at {address} within 0.5 s.*dask worker"):
        warploom.sweep(saxpy_patch(), out=tmp_path, grid={"saxpy.a": "1,2"}, frames=1, dask=address)


@needs_dask
@pytest.mark.filterwarnings("ignore")  # Dask's own
def test_a_scheduler_that_ends_loses_nothing(dask: Cluster, tmp_path: Path) -> None:
    """What is done stays, one message names the scheduler, and the same sweep goes on elsewhere."""
    given: dict[str, Any] = {"out": tmp_path, "grid": {"saxpy.a": "0:2.3:0.1"}, "frames": 1, "device": "host"}
    count = 0
    with pytest.raises(WarploomError, match=r"Dask's scheduler at .* must go on"):
        for _ in Sweep(saxpy_patch(), dask=dask.address, **given).run():
            count += 1
            if count == 3:
                dask.close()  # this is the last test that uses it
    assert 3 <= count < 24
    rest = Sweep(saxpy_patch(), jobs=1, **given)
    assert rest.skipped >= count
    assert {record.state for record in rest.run()} == {"done"}
    assert rest.table().num_rows == 24


def test_a_worker_that_came_later_with_another_version_is_named(tmp_path: Path) -> None:
    """Its runs have failed with both versions, and are run again by the next sweep."""
    run = Run({"saxpy.a": 1.0}, 0, 0)
    record = cluster.run_on_worker(run, out=str(tmp_path), digest="", version="9.9", device="host")
    assert (record.run, record.state) == (run.id, "failed")
    assert record.message.startswith("worker must have Warploom 9.9, got 0")


@pytest.mark.skipif(importlib.util.find_spec("distributed") is not None, reason="Dask is installed")
def test_dask_that_is_missing_is_named(tmp_path: Path) -> None:
    """The message has the command that installs it."""
    with pytest.raises(WarploomError, match=r"type: pip install 'warploom\[cluster\]'"):
        warploom.sweep(saxpy_patch(), out=tmp_path, grid={"saxpy.a": "1,2"}, frames=1, dask="tcp://127.0.0.1:1")
