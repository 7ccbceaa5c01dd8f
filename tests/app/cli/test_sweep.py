"""`warploom sweep`: its table, its JSON object and its messages."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.app.cli.cli_support import Warploom
from warploom import Patch
from warploom.engine.patch.files import save_patch

parquet = pytest.importorskip("pyarrow.parquet", reason="the table needs pyarrow")


@pytest.fixture
def loading_file(tmp_path: Path) -> Path:
    """A patch that loads an array; there are two, and a file that is none."""
    patch = Patch()
    load = patch.add("data.load_array", node_id="load", file=str(tmp_path / "a.npy"))
    patch.connect(load["out"], patch.add("buffer.copy", node_id="copy")["x"])
    save_patch(patch, tmp_path / "load.loom")
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.full(4, ord(name), np.float32))
    (tmp_path / "c.npy").write_text("no array")
    return tmp_path / "load.loom"


def test_a_failed_run_is_reported_and_the_rest_finished(warploom: Warploom, loading_file: Path, tmp_path: Path) -> None:
    """The exit status is 1, the message is on stderr, in the table and in the JSON object; the others are done."""
    words: list[Any] = ["sweep", loading_file, "--files", f"load.file={tmp_path}/[a-c].npy", "--frames", 1]
    words += ["--device", "host", "--jobs", 1, "--out", tmp_path / "out"]
    result = warploom(*words, "--json")
    assert result.status == 1
    found = result.json
    assert (found["runs"], found["done"], found["failed"], found["left"], found["skipped"]) == (3, 2, 1, 0, 0)
    assert [each["values"] for each in found["failures"]] == [{"load.file": str(tmp_path / "c.npy")}]
    assert "c.npy" in result.err
    rows = parquet.read_table(found["table"]).to_pylist()
    assert [(row["load.file"][-5], row["state"]) for row in rows] == [("a", "done"), ("b", "done"), ("c", "failed")]
    np.testing.assert_array_equal(np.load(tmp_path / "out" / rows[1]["outputs"][0]), np.full(4, ord("b"), np.float32))
    np.save(tmp_path / "c.npy", np.ones(4, np.float32))
    result = warploom(*words)
    assert result.status == 0, result.err
    assert "3 of 3 runs are done (2 of them before), 0 failed" in result.out


def test_a_message_of_many_runs_is_printed_once(warploom: Warploom, tmp_path: Path) -> None:
    """The others that failed with it are counted, and the table has it in each row."""
    patch = Patch()
    patch.add("math.scale_offset", node_id="scale")
    save_patch(patch, tmp_path / "open.loom")
    words: list[Any] = ["sweep", tmp_path / "open.loom", "--grid", "scale.scale=1:3:1", "--frames", 1]
    result = warploom(*words, "--device", "host", "--jobs", 1, "--out", tmp_path / "out")
    assert result.status == 1
    first, more = result.err.splitlines()
    assert first.startswith("run ") and "failed: error: scale.x" in first
    assert more == "2 more failed with these messages; the table has the message of each run"
    messages = parquet.read_table(tmp_path / "out" / "results.parquet")["message"].to_pylist()
    assert len(messages) == 3 and set(messages) == {first.partition(" failed: ")[2]}


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--grid", "saxpy.b=1"], 1, "parameter saxpy.b: math.saxpy: parameter must be one of a, got 'b'"),
        (["--grid", "saxpy=1"], 2, "--grid must be NODE.PARAM=VALUES, got 'saxpy=1'"),
        (["--grid", "saxpy.a=1", "--grid", "saxpy.a=2"], 1, "--grid must be given once for saxpy.a, got it twice"),
        (["--grid", "saxpy.a=0:1:-1"], 1, "range must have a step that leads from its start to its end"),
        (["--files", "saxpy.a=*.exr"], 1, "files of saxpy.a must be for a parameter that names a file"),
        (["--frames", "5-2"], 2, "frames must be A-B with A at most B"),
        (["--task", "5/4"], 1, "task must be K/N with K from 1 to N, got '5/4'"),
        (["--device", "gpu"], 2, 'device must be "auto", "host" or "cuda:0"'),
        (["--set", "saxpy.c=1"], 2, "--set saxpy.c=1"),
        (["--jobs", "0"], 2, "--jobs"),
        (["--out", "table.csv"], 2, "--out must be a folder, got table.csv"),
    ],
)
def test_a_mistake_has_one_message(
    words: list[str], status: int, message: str, warploom: Warploom, saxpy_file: Path, tmp_path: Path
) -> None:
    """It comes before the runs, and no folder is made."""
    result = warploom("sweep", saxpy_file, "--out", tmp_path / "out", *words)
    assert result.status == status
    assert message in " ".join(result.err.split())
    assert not (tmp_path / "out").exists()


def test_ctrl_c_stops_and_the_same_command_goes_on(saxpy_file: Path, tmp_path: Path) -> None:
    """The exit status is that of an interrupt, the table has what is done, and nothing is run twice."""
    command = [sys.executable, "-m", "warploom", "sweep", str(saxpy_file), "--grid", "saxpy.a=0:9.99:0.01"]
    command += ["--frames", "1", "--device", "host", "--jobs", "1", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list((tmp_path / "out").glob("runs/[!.]*")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    err = process.communicate()[1]
    assert process.returncode == 130
    assert "runs are left; the same command goes on" in err
    assert "Traceback" not in err
    rows = parquet.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    assert 1 <= len(rows) < 1000
    assert not list((tmp_path / "out" / "runs").glob(".*"))
    assert len(list((tmp_path / "out" / "runs").iterdir())) == len(rows)
