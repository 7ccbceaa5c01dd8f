"""`warploom run`, `check`, `plan` and `trace` with working patches."""

import json
import os
import sys
import threading
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from tests.app.cli.cli_support import EXAMPLES, Warploom
from tests.protocol.faulty_patches import chain, faulty_blocks
from warploom import Patch
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import load_patch, save_patch


@pytest.mark.feature("headless")
def test_run_prints_one_json_object_with_every_key(warploom: Warploom, saxpy_file: Path, tmp_path: Path) -> None:
    """`run --json` prints one object with all keys, and the outputs are written."""
    result = warploom("run", saxpy_file, "--device", "host", "--frames", 5, "--json", "--out", tmp_path / "out")
    assert result.status == 0, result.err
    found = result.json
    assert found["device"] == "host"
    assert found["frames"] == 5
    assert 0 < found["frame_time_ms"]["median"] <= found["frame_time_ms"]["p99"]
    assert found["update_levels"] == {"COLD": 1, "NONE": 4}
    assert [(n["id"], n["type"], n["state"], n["message"]) for n in found["nodes"]] == [
        ("saxpy", "math.saxpy", "ok", ""),
        ("x", "io.array", "ok", ""),
        ("y", "io.array", "ok", ""),
    ]
    assert found["nodes"][0]["time_ms"] > 0
    assert found["diagnostics"] == []
    (output,) = found["outputs"]
    assert (output["node"], output["port"], output["dtype"], output["shape"]) == ("saxpy", "out", "f32", [1000])
    np.testing.assert_array_equal(np.load(output["path"]), 3 * np.arange(1000, dtype=np.float32) + 1)


def test_a_run_that_failed_leaves_no_folder_and_prints_no_table(
    warploom: Warploom, saxpy_file: Path, tmp_path: Path
) -> None:
    """A patch that does not compile leaves no empty folder of outputs and prints its diagnostics alone."""
    patch = load_patch(saxpy_file)
    patch.disconnect(PortRef("saxpy", "x"))
    save_patch(patch, saxpy_file)
    found = warploom("run", saxpy_file, "--device", "host", "--frames", 1, "--out", tmp_path / "deep" / "out")
    assert (found.status, found.out) == (1, "")
    assert "required input 'x' must be connected" in found.err
    assert not (tmp_path / "deep").exists()


def test_set_gives_a_parameter_a_value_for_this_run(warploom: Warploom, saxpy_file: Path, tmp_path: Path) -> None:
    """`--set` changes a parameter for this run and leaves the file unchanged."""
    before = saxpy_file.read_bytes()
    result = warploom(
        "run", saxpy_file, "--device", "host", "--frames", 1, "--set", "saxpy.a=-2", "--out", tmp_path, "--json"
    )
    np.testing.assert_array_equal(np.load(result.json["outputs"][0]["path"]), 1 - 2 * np.arange(1000, dtype=np.float32))
    assert saxpy_file.read_bytes() == before


@pytest.mark.parametrize(("last", "status"), [(2.0, 0), (np.nan, 1), (-np.inf, 1)])
def test_run_with_check_ends_at_the_first_number_that_is_none(
    warploom: Warploom, tmp_path: Path, last: float, status: int
) -> None:
    """`run --check` ends at the first NaN or infinity in a connection; without it, they are not checked."""
    patch = Patch()
    patch.connect(
        patch.add("io.array", node_id="data", data=np.float32([1, last]))["out"], patch.add("math.saxpy")["x"]
    )
    patch.connect(patch["data"]["out"], patch["saxpy"]["y"])
    save_patch(patch, str(tmp_path / "data.loom"))
    arguments = "run", tmp_path / "data.loom", "--device", "host", "--frames", 3, "--json"
    assert warploom(*arguments).status == 0
    result = warploom(*arguments, "--check")
    assert (result.status, result.json["frames"]) == (status, 1 if status else 3)
    assert [(item["node"], item["port"]) for item in result.json["diagnostics"]] == [("data", "out")] * status


def test_two_blocks_that_save_one_file_lose_nothing(warploom: Warploom, tmp_path: Path) -> None:
    """If two blocks save to one file name, the second file gets another name beside the first."""
    patch = Patch()
    noise = patch.add("image.noise", width=4, height=4)
    for name in ("one", "two"):
        patch.connect(noise["out"], patch.add("io.save_image", node_id=name, file="o.png")["image"])
    save_patch(patch, tmp_path / "twice.loom")
    result = warploom("run", tmp_path / "twice.loom", "--device", "host", "--frames", 1, "--json")
    paths = {Path(output["path"]).name for output in result.json["outputs"] if output["path"]}
    assert paths == {"o.png", "two.pixels.png"}
    assert all((tmp_path / name).is_file() for name in paths)


def test_check_accepts_what_runs(warploom: Warploom, saxpy_file: Path) -> None:
    """`check` of a valid patch exits with 0 and no diagnostics."""
    result = warploom("check", saxpy_file, "--json")
    assert (result.status, result.json) == (0, {"ok": True, "diagnostics": []})
    assert warploom("check", EXAMPLES / "particles.loom").status == 0


def test_plan_shows_what_a_patch_compiles_to(warploom: Warploom, saxpy_file: Path, tmp_path: Path) -> None:
    """`plan` prints text by default, and DOT or SVG on request, which may be written to a file."""
    text = warploom("plan", saxpy_file)
    assert text.status == 0
    assert "kernel saxpy, grid" in text.out
    assert warploom("plan", saxpy_file, "--format", "dot").out.startswith("digraph plan {")
    for form in ("svg", "memory"):
        written = tmp_path / f"{form}.svg"
        assert warploom("plan", saxpy_file, "--format", form, "--out", written).status == 0
        assert ElementTree.parse(written).getroot().tag.endswith("svg")
    assert warploom("plan", saxpy_file, "--format", "png").status == 2


def test_files_of_other_editors_are_read(warploom: Warploom, saxpy_file: Path) -> None:
    """Files with a byte order mark are read, and files that are not UTF-8 are refused."""
    text = saxpy_file.read_text()
    saxpy_file.write_text(text, encoding="utf-8-sig")
    assert warploom("check", saxpy_file).status == 0
    saxpy_file.write_text(text, encoding="utf-16")
    assert "must be a patch (UTF-8 JSON), got other data" in warploom("check", saxpy_file).err


def test_a_device_takes_what_is_written_and_stays(warploom: Warploom, saxpy_file: Path, tmp_path: Path) -> None:
    """`--out` to a device such as /dev/stdout writes to the device and does not replace it by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    assert warploom("plan", saxpy_file, "--format", "dot", "--out", pipe).status == 0
    reader.join()
    assert read[0].startswith(b"digraph plan {")
    assert pipe.is_fifo()
    assert warploom("trace", saxpy_file, "--device", "host", "--frames", "1", "--out", "/dev/full").status == 1
    assert Path("/dev/full").is_char_device()


def test_particles_run_and_leave_a_picture(warploom: Warploom, tmp_path: Path) -> None:
    """The particles example writes a picture of 1280 x 720 with contrast, after one COLD frame and no more updates."""
    result = warploom(
        "run", EXAMPLES / "particles.loom", "--device", "host", "--frames", 12, "--json", "--out", tmp_path
    )
    assert result.status == 0, result.err
    assert result.json["update_levels"] == {"COLD": 1, "NONE": 11}
    (output,) = [o for o in result.json["outputs"] if o["node"] == "viewer"]
    picture = np.asarray(Image.open(output["path"]).convert("RGB"))
    assert picture.shape == (720, 1280, 3)
    assert picture.std() > 2


def test_run_records_its_frames(warploom: Warploom, saxpy_file: Path, tmp_path: Path) -> None:
    """`--record` writes each frame's update, and the slow frames with what their time was spent on.

    Endings other than .json and .csv are refused at once.
    """
    words = (
        "run",
        saxpy_file,
        "--device",
        "host",
        "--profile",
        "none",
        "--frames",
        3,
        "--budget",
        0,
        "--json",
        "--record",
    )
    assert warploom(*words, tmp_path / "flight.json").status == 0
    told = json.loads((tmp_path / "flight.json").read_text())
    assert [(frame["frame"], frame["update"]) for frame in told["frames"]] == [(0, "COLD"), (1, "NONE"), (2, "NONE")]
    assert [slow["frame"] for slow in told["slow"]] == [0, 1, 2]
    assert told["slow"][0]["spent"][0]["on"] == "update"
    there = warploom(*words, tmp_path / "flight.csv", "--engine", f"{sys.executable} -m app engine")
    assert there.status == 0
    assert len((tmp_path / "flight.csv").read_text().splitlines()) == 4
    refused = warploom(*words, tmp_path / "flight.txt")
    assert refused.status == 2
    assert "--record must be a .json or .csv file" in refused.err


def test_trace_times_every_kernel_in_every_frame(warploom: Warploom, saxpy_file: Path, tmp_path: Path) -> None:
    """`trace` writes Trace Event JSON: complete events in microseconds, with each kernel inside its frame."""
    result = warploom("trace", saxpy_file, "--device", "host", "--frames", 3, "--out", tmp_path / "trace.json")
    assert result.status == 0, result.err
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    assert set(tracks.values()) == {"engine", "host"}
    frames = [e for e in events if e["name"].startswith("frame ")]
    kernels = [e for e in events if e["ph"] == "X" and tracks[e["tid"]] == "host"]
    assert [e["name"] for e in frames] == ["frame 1", "frame 2", "frame 3"]
    assert [e["name"] for e in kernels] == ["saxpy: saxpy"] * 3
    for frame, kernel in zip(frames, kernels, strict=True):
        assert frame["ts"] <= kernel["ts"]
        assert kernel["ts"] + kernel["dur"] <= frame["ts"] + frame["dur"]
        assert kernel["args"] == {"block": "saxpy", "slack_ns": 0, "grid": "(4, 1, 1)", "thread_block": "(256, 1, 1)"}


@pytest.mark.parametrize("level", ["per-block", "per-kernel"])
def test_run_prints_what_is_inside_of_regions(warploom: Warploom, level: str) -> None:
    """`run` prints a hierarchy of regions with times and turns, the critical path, and the cost of measuring."""
    result = warploom("run", "nested", "--device", "host", "--frames", 8, "--profile", level)
    assert result.status == 0, result.err
    lines = result.out.splitlines()
    assert lines[0].split() == ["node", "type", "state", "now", "mean", "p99", "turns", "share", "kernels"]
    blocks = [line for line in lines if "field." in line]
    depth = {line.split()[0]: len(line) - len(line.lstrip()) for line in blocks}
    assert depth == {"step": 2, "drop": 4}
    assert any(line.startswith("critical path: ") and "turns (every > rain" in line for line in lines)
    assert any(line.startswith("measuring: ") for line in lines)
    assert ("wave_velocity" in result.out) is (level == "per-kernel")


@pytest.mark.parametrize("level", ["per-block", "per-kernel"])
def test_times_of_nodes_in_regions_are_theirs(warploom: Warploom, tmp_path: Path, level: str) -> None:
    """A region's block has its number of turns and its parent, and the nodes' times equal the profile's rows."""
    words = ["run", "nested", "--device", "host", "--frames", 8, "--profile", level, "--json"]
    found = warploom(*words, "--profile-out", tmp_path / "profile.json").json
    times = {node["id"]: node["time_ms"] for node in found["nodes"]}
    assert 0 < times["step"] <= times["turns"]
    rows = {row["key"]: row for row in found["profile"]["rows"]}
    for node in ("turns", "step", "rain", "relief"):
        assert times[node] == pytest.approx(rows[node]["mean_ns"] / 1e6, abs=2e-4)
    assert (rows["step"]["turns"], rows["step"]["parent"], rows["rain"]["parent"]) == (6, "turns", "turns")
    assert json.loads((tmp_path / "profile.json").read_text()) == found["profile"]


def test_a_profile_is_written_as_its_name_says(warploom: Warploom, saxpy_file: Path, tmp_path: Path) -> None:
    """A profile is written as CSV or JSON by its ending; other endings and the level `none` are refused."""
    words = ["run", saxpy_file, "--device", "host", "--frames", 2, "--profile-out"]
    assert warploom(*words, tmp_path / "p.csv").status == 0
    assert (tmp_path / "p.csv").read_text().startswith("key,kind,node,")
    wrong = warploom(*words, tmp_path / "p.txt")
    assert wrong.status == 2 and "--profile-out must be a .json or .csv file" in wrong.err
    none = warploom(*words, tmp_path / "none.json", "--profile", "none")
    assert none.status == 2 and "--profile-out needs a level that measures, got none" in none.err


def test_a_profile_is_written_even_if_nobody_reads_the_table(
    warploom: Warploom, saxpy_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`warploom run ... | head` closes standard output before the table is complete."""

    def closed(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("warploom.app.cli.headless.print_result", closed)
    words = ["run", saxpy_file, "--device", "host", "--frames", 2, "--profile-out", tmp_path / "p.csv"]
    assert warploom(*words).status != 0
    assert (tmp_path / "p.csv").read_text().startswith("key,kind,node,")


def test_an_example_is_found_by_its_name_unless_a_file_has_that_name(
    warploom: Warploom, saxpy_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An example is found by its name from any folder, unless a file of that name exists."""
    monkeypatch.chdir(tmp_path)
    assert warploom("check", "photo").out == "photo: would compile\n"
    assert {n["type"] for n in warploom("run", "photo", "--json", "--set", "no.x=1").json["nodes"]} == set()
    (tmp_path / "photo").write_text("{")
    assert warploom("check", "photo").status == 1


def test_run_names_the_block_that_ended_the_engine(warploom: Warploom, tmp_path: Path) -> None:
    """If the process of an engine dies, the patch runs again in another one, and the block that fails is named."""
    path = tmp_path / "dies.loom"
    with faulty_blocks():
        save_patch(chain("test_faults.die_later", at=3), path)
        done = warploom("run", path, "--json", "--device", "host", "--engine", f"{sys.executable} -m app engine")
    assert done.status == 3
    assert "but it was ended by SIGKILL" in done.err
    told = next(item for item in done.json["diagnostics"] if item["node"] == "bad")
    assert told["message"].startswith("update in Python must leave the engine's process alive")
    assert "(frame 3, on host)" in told["message"]


def test_run_by_an_engine_in_another_process_gives_the_same(
    warploom: Warploom, saxpy_file: Path, tmp_path: Path
) -> None:
    """An engine in another process produces the same file, levels and nodes.

    A command that is no engine is a device error.
    """
    words = ["run", saxpy_file, "--device", "host", "--frames", 2, "--json", "--out"]
    here = warploom(*words, tmp_path / "here").json
    there = warploom(*words, tmp_path / "there", "--engine", f"{sys.executable} -m app engine").json
    for told in (here, there):
        told["file"] = np.load(told["outputs"][0].pop("path")).tolist()
        del told["frame_time_ms"], told["first_frame_ms"]
        for node in told["nodes"]:
            del node["time_ms"]
        told["profile"] = [(row["key"], row["turns"]) for row in told["profile"]["rows"]]
    assert there == here
    wrong = warploom(*words, tmp_path, "--engine", "no-such-engine")
    assert wrong.status == 3
    assert (
        wrong.err == "error: engine command must be one that runs, got ['no-such-engine']: No such file or directory\n"
    )


def test_a_frozen_frame_is_the_last_one(warploom: Warploom, saxpy_file: Path, tmp_path: Path) -> None:
    """A frozen frame ends the run with status 1, and its outputs and the sentinel's finding are reported."""
    patch = load_patch(saxpy_file)
    patch.set_sentinel(patch["x"]["out"], maximum=998, action="freeze")
    save_patch(patch, saxpy_file)
    result = warploom("run", saxpy_file, "--device", "host", "--frames", 9, "--json", "--out", tmp_path / "out")
    told = "elements must be finite and at most 998, got 1 out of range among 1,000, the first at [999]: 999"
    assert result.status == 1 and f"warning: x.out: {told}" in result.err
    assert "frame 0 is frozen, the last of 1" in result.err
    assert (result.json["frames"], result.json["frozen_frame"]) == (1, 0)
    assert [(d["node"], d["port"], d["message"], d["source"]) for d in result.json["diagnostics"]] == [
        ("x", "out", told, "sentinel")
    ]
    np.testing.assert_array_equal(np.load(result.json["outputs"][0]["path"])[-1], 2998)
    assert "x/out sentinel: kernel check_elements" in warploom("plan", saxpy_file).out
    patch.set_sentinel(patch["x"]["out"], maximum=999, action="freeze")
    save_patch(patch, saxpy_file)
    result = warploom("run", saxpy_file, "--device", "host", "--frames", 9, "--json")
    assert (result.status, result.json["frames"], result.json["frozen_frame"]) == (0, 9, None)
