"""The command line, as its users and their scripts rely on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from app.cli import main
from engine import Patch
from engine.kernel_sources.loader import load_image
from engine.patch.files import save_patch

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"


class Outcome(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Warploom = Callable[..., Outcome]


@pytest.fixture
def warploom(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Warploom:
    """Runs `warploom` with the given words, in this process."""

    def run(*words: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["warploom", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return Outcome(int(end.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def saxpy_file(tmp_path: Path) -> Path:
    """A patch that computes 3 x + y over 0..999 and ones."""
    patch = Patch()
    x = patch.add("io.array", node_id="x", data=np.arange(1000, dtype=np.float32))
    y = patch.add("io.array", node_id="y", data=np.ones(1000, np.float32))
    saxpy = patch.add("math.saxpy", a=3.0)
    patch.connect(x["out"], saxpy["x"])
    patch.connect(y["out"], saxpy["y"])
    path = tmp_path / "saxpy.loom"
    save_patch(patch, path)
    return path


def edited(path: Path, **fields: Any) -> Path:
    """Give the patch file's top level other fields."""
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | fields))
    return path


def test_run_prints_one_json_object_with_what_is_promised(warploom: Warploom, saxpy_file: Path, tmp_path: Path) -> None:
    """Device, frames, frame times, update levels, nodes, outputs and diagnostics, and the outputs are written."""
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


def test_set_gives_a_parameter_a_value_for_this_run(warploom: Warploom, saxpy_file: Path, tmp_path: Path) -> None:
    """The file keeps its own value."""
    before = saxpy_file.read_bytes()
    result = warploom(
        "run", saxpy_file, "--device", "host", "--frames", 1, "--set", "saxpy.a=-2", "--out", tmp_path, "--json"
    )
    np.testing.assert_array_equal(np.load(result.json["outputs"][0]["path"]), 1 - 2 * np.arange(1000, dtype=np.float32))
    assert saxpy_file.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "saxpy.a"], "must be NODE.PARAM=VALUE"),
        (["--set", "nobody.a=1"], "node must be one of saxpy, x, y, got 'nobody'"),
        (["--set", "saxpy.b=1"], "parameter must be one of a, got 'b'"),
        (["--set", "saxpy.a=50"], "parameter a must be at most 10"),
        (["--set", "saxpy.a=red"], "parameter a must be a finite number, got 'red'"),
        (["--frames", "0"], "0 is not in the range x>=1"),
        (["--frames", "-1"], "-1 is not in the range x>=1"),
        (["--profile", "everything"], "--profile must be one of none, summary, per-block, per-kernel"),
        (["--device", "gpu"], 'device must be "auto", "host" or "cuda:0" (or another number), got "gpu"'),
        (["--device", ""], 'device must be "auto", "host" or "cuda:0"'),
        (["--time-step", "nan"], "must be"),
        (["--rate", "0"], "must be"),
        (["--unknown"], "No such option"),
    ],
)
def test_wrong_usage_exits_with_2(warploom: Warploom, saxpy_file: Path, words: list[str], message: str) -> None:
    """And says what the words must be."""
    result = warploom("run", saxpy_file, "--device", "host", *words)
    assert result.status == 2
    assert message in result.err
    assert "Traceback" not in result.err


def test_a_patch_that_cannot_compile_exits_with_1(warploom: Warploom, saxpy_file: Path) -> None:
    """`run` and `check` name the node and the port on stderr, and in JSON."""
    edited(saxpy_file, connections=[{"source": "x.out", "target": "saxpy.x"}])
    for words in (["run", saxpy_file, "--device", "host"], ["check", saxpy_file]):
        result = warploom(*words, "--json")
        assert result.status == 1
        (problem,) = result.json["diagnostics"]
        assert (problem["severity"], problem["node"], problem["port"]) == ("error", "saxpy", "y")
        assert problem["message"] == "required input 'y' must be connected, got nothing"
        assert "saxpy.y: required input 'y' must be connected" in result.err


def test_check_accepts_what_runs(warploom: Warploom, saxpy_file: Path) -> None:
    """Exit status 0 and no diagnostics."""
    result = warploom("check", saxpy_file, "--json")
    assert (result.status, result.json) == (0, {"ok": True, "diagnostics": []})
    assert warploom("check", EXAMPLES / "particles.loom").status == 0


def test_plan_shows_what_a_patch_compiles_to(warploom: Warploom, saxpy_file: Path, tmp_path: Path) -> None:
    """As text by default; as DOT or SVG on demand, printed or written to a file."""
    text = warploom("plan", saxpy_file)
    assert text.status == 0
    assert "kernel saxpy, grid" in text.out
    assert warploom("plan", saxpy_file, "--format", "dot").out.startswith("digraph plan {")
    for form in ("svg", "memory"):
        written = tmp_path / f"{form}.svg"
        assert warploom("plan", saxpy_file, "--format", form, "--out", written).status == 0
        assert ElementTree.parse(written).getroot().tag.endswith("svg")
    assert warploom("plan", saxpy_file, "--format", "png").status == 2


def test_plan_of_a_wrong_patch_says_what_is_wrong(warploom: Warploom, saxpy_file: Path) -> None:
    """There is no plan of a block without its inputs."""
    patch = Patch()
    patch.add("math.saxpy")
    save_patch(patch, saxpy_file)
    result = warploom("plan", saxpy_file)
    assert (result.status, result.out) == (1, "")
    assert "saxpy" in result.err


def test_check_names_the_nodes_of_a_cycle(warploom: Warploom, saxpy_file: Path) -> None:
    """In the order in which they depend on each other."""
    document = json.loads(saxpy_file.read_text())
    document["nodes"].append({"id": "again", "type": "math.saxpy", "version": 1, "position": [0, 0], "parameters": {}})
    links = [("saxpy.out", "again.x"), ("again.out", "saxpy.x"), ("y.out", "again.y"), ("y.out", "saxpy.y")]
    edited(saxpy_file, nodes=document["nodes"], connections=[{"source": s, "target": t} for s, t in links])
    result = warploom("check", saxpy_file, "--json")
    assert result.status == 1
    messages = [d["message"] for d in result.json["diagnostics"]]
    assert messages == ["blocks must not depend on themselves, got saxpy -> again -> saxpy"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: must be JSON"),
        ("{", ":1: must be JSON"),
        ("[]", 'must be a patch: an object with "schema"'),
        ('{"schema": 99}', "schema must be 1, got 99; a newer Warploom may read it"),
        ('{"schema": true}', "schema must be 1, got true\n"),
        ('{"schema": "1"}', 'schema must be 1, got "1"\n'),
        ("[" * 100_000, "JSON nested too deeply"),
        ("\0" * 1000, ":1: must be JSON"),
        ('{"schema": 1, "nodes": [{"id": "a"}]}', 'nodes[0]: "type" must be a name, got None'),
        ('{"schema": 1, "connections": [{"source": "a.b", "target": "c.d"}]}', "source must name a node of the patch"),
    ],
)
def test_a_bad_file_gets_one_line(warploom: Warploom, tmp_path: Path, text: str, message: str) -> None:
    """Exit status 1, the file, the place and the rule; never a traceback."""
    path = tmp_path / "bad.loom"
    path.write_text(text)
    for command in ("run", "check"):
        result = warploom(command, path)
        assert result.status == 1
        assert result.err.startswith(f"error: {path}")
        assert message in result.err
        assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("/dev/zero", "/dev/zero must be a patch (UTF-8 JSON), got a device"),
        (".", "patch must be readable: .: Is a directory"),
        ("x" * 5000, "File name too long"),
        ("a/b\nc.loom", "No such file or directory"),
        ("é→.loom", "é→.loom: No such file or directory"),
    ],
)
def test_what_can_be_no_patch_is_refused(warploom: Warploom, name: str, message: str) -> None:
    """One error, exit status 1, whatever the path leads to."""
    for command in ("check", "plan", "trace", "run"):
        result = warploom(command, name)
        assert result.status == 1
        assert result.err.startswith("error: ")
        assert message in result.err


def test_files_of_other_editors_are_read(warploom: Warploom, saxpy_file: Path) -> None:
    """Some begin with a byte order mark; what isn't UTF-8 is refused."""
    text = saxpy_file.read_text()
    saxpy_file.write_text(text, encoding="utf-8-sig")
    assert warploom("check", saxpy_file).status == 0
    saxpy_file.write_text(text, encoding="utf-16")
    assert "must be a patch (UTF-8 JSON), got other data" in warploom("check", saxpy_file).err


def test_outputs_that_have_no_place_are_refused_before_the_first_frame(
    warploom: Warploom, saxpy_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million frames are not for nothing."""
    monkeypatch.setattr("app.headless.open_engine", None)
    wrong = warploom("run", saxpy_file, "--out", saxpy_file)
    assert (wrong.status, wrong.err.count("--out must be a folder, got the file")) == (2, 1)
    refused = warploom("run", saxpy_file, "--out", "/proc/nowhere", "--json")
    assert refused.status == 1
    assert refused.json["diagnostics"][0]["message"].startswith("--out must be a folder that can be written, got /proc")


def test_a_device_takes_what_is_written_and_stays(warploom: Warploom, saxpy_file: Path, tmp_path: Path) -> None:
    """`--out /dev/stdout` is a pipe or a terminal, and root could replace /dev/null by a file."""
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


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("blocks --json | true", 1),
        ("blocks | true", 1),
        ("blocks > /dev/full", 1),
        ("devices --json > /dev/full", 1),
        ("devices --json >&-", 0),
        ("check missing.loom 2>&-", 1),
    ],
)
def test_output_that_nobody_takes_ends_the_program_quietly(command: str, status: int, tmp_path: Path) -> None:
    """A closed pipe, a full disk, no stream at all; `set -o pipefail` shows the program's own status."""
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m app {command}"],
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parents[1])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert "Unexpected" not in done.stderr
    assert "Exception" not in done.stderr


def test_without_a_state_folder_the_unexpected_is_told_all_the_same(
    warploom: Warploom, saxpy_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The details have no place then, which the line says."""
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    monkeypatch.setattr("app.headless.open_patch", lambda path, **_: 1 / 0)
    result = warploom("run", saxpy_file)
    assert result.status == 1
    assert result.err.startswith("error: Unexpected ZeroDivisionError: division by zero.")
    assert "details are in no file, since /dev/null/warploom can't be written: Not a directory\n" in result.err


def test_a_missing_file_is_named(warploom: Warploom, tmp_path: Path) -> None:
    """With the system's reason."""
    result = warploom("run", tmp_path / "none.loom")
    assert result.status == 1
    assert result.err == f"error: patch must be readable: {tmp_path / 'none.loom'}: No such file or directory\n"


def test_a_device_that_is_not_there_exits_with_3(warploom: Warploom, saxpy_file: Path) -> None:
    """A name that no device can have is wrong usage instead."""
    result = warploom("run", saxpy_file, "--device", "cuda:99")
    assert result.status == 3
    assert "device cuda:99 must be usable" in result.err


RUN_KEYS = {
    "device", "frames", "frame_time_ms", "first_frame_ms", "update_levels", "nodes", "outputs", "diagnostics",
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "change", "status", "text"),
    [
        (["run"], {"schema": 99}, 1, "schema must be 1, got 99"),
        (["run", "--set", "nobody.a=1"], {}, 2, "node must be one of saxpy, x, y, got 'nobody'"),
        (["run", "--set", "saxpy.a=red"], {}, 2, "parameter a must be a finite number, got 'red'"),
        (["run", "--profile", "everything"], {}, 2, "--profile must be one of none"),
        (["run", "--device", "gpu"], {}, 2, 'device must be "auto", "host" or "cuda:0"'),
        (["run", "--device", "cuda:99"], {}, 3, "device cuda:99 must be usable"),
        (["run", "--engine", "no-such-engine"], {}, 3, "engine command must be one that runs"),
        (["run"], {"connections": []}, 1, "required input 'x' must be connected"),
        (["check"], {"schema": 99}, 1, "schema must be 1, got 99"),
        (["check"], {"connections": []}, 1, "required input 'x' must be connected"),
    ],
)
def test_json_is_one_whole_object_whatever_goes_wrong(
    warploom: Warploom, saxpy_file: Path, words: list[str], change: dict[str, Any], status: int, text: str
) -> None:
    """All keys are there, and a diagnostic says what stderr says."""
    edited(saxpy_file, **change)
    result = warploom(*words, saxpy_file, "--json")
    assert result.status == status
    assert result.json.keys() == (RUN_KEYS if words[0] == "run" else {"ok", "diagnostics"})
    assert any(text in item["message"] for item in result.json["diagnostics"] if item["severity"] == "error")
    assert text in result.err


@pytest.mark.parametrize(("handler", "status"), [("default_int_handler", 130), ("SIG_IGN", 0)])
def test_ctrl_c_while_the_command_line_is_imported(handler: str, status: int) -> None:
    """It ends the program without a word, unless SIGINT is ignored, as that of a shell's background job."""
    program = f"""
import os, signal, sys
from importlib.abc import MetaPathFinder

class Interrupting(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.{handler})
sys.meta_path.insert(0, Interrupting())
sys.argv = ["warploom", "--version"]
from app.start import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, bool(done.stdout)) == (status, "", status == 0)


@pytest.mark.parametrize(("problem", "status"), [(KeyboardInterrupt(), 130), (ZeroDivisionError("oops"), 1)])
@pytest.mark.parametrize("words", [["run"], ["check"], ["blocks"], ["blocks", "math.saxpy"], ["devices"]])
def test_json_is_one_object_after_an_interrupt_and_an_error_of_ours(
    warploom: Warploom,
    saxpy_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    problem: BaseException,
    status: int,
) -> None:
    """So that a script reads the reason where it reads everything else."""

    def fail(*_: object, **__: object) -> None:
        raise problem

    for place in ("headless.open_patch", "listings.default_catalogue", "listings.list_devices"):
        monkeypatch.setattr(f"app.{place}", fail)
    patch = [saxpy_file] if words[0] in ("run", "check") else []
    result = warploom(*words, *patch, "--json")
    assert result.status == status
    (told,) = result.json["diagnostics"]
    assert ("interrupt" if status == 130 else "Unexpected ZeroDivisionError: oops") in told["message"]
    assert result.err == f"error: {told['message']}\n"


def test_a_kernel_fault_names_its_node(
    warploom: Warploom, saxpy_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On stderr and in the object, by an engine here or in another process; the frames before it are counted."""
    bad = tmp_path / "saxpy.cu"
    bad.write_text(
        'extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float a, int n)\n'
        "{ if (threadIdx.x + blockIdx.x == 0) out[100000000] = a; }\n"
    )
    (tmp_path / "blocks").mkdir()
    (tmp_path / "blocks" / "bad.py").write_text(
        "from engine.api import Block, BlockBuilder, In, Kernel, Out, f32, port\n\n\n"
        'class Bad(Block, id="test.bad"):\n    """Writes where it must not."""\n\n'
        '    x: In[f32] = port(doc="Anything.")\n    out: Out[f32] = port(shape="same(x)", doc="Nothing.")\n\n'
        f'    kernel = Kernel({str(bad)!r}, entry="saxpy")\n\n'
        "    def describe(self, build: BlockBuilder) -> None:\n"
        '        """One thread an element."""\n'
        "        build.launch(self.kernel, num_threads=self.out.size, args=(self.x, self.x, self.out, 1.0, 1))\n"
    )
    nodes = [{"id": "x", "type": "buffer.constant"}, {"id": "culprit", "type": "test.bad"}]
    edited(saxpy_file, nodes=nodes, connections=[{"source": "x.out", "target": "culprit.x"}])
    for engine in ([], ["--engine", f"{sys.executable} -m app engine"]):
        result = warploom("run", saxpy_file, "--device", "host", "--json", "--trust", *engine)
        assert result.status == 3
        assert result.err.startswith("error: node culprit: kernel saxpy, PTX line")
        (told,) = result.json["diagnostics"]
        assert (told["node"], told["file"], told["line"]) == ("culprit", str(bad), 2)
        assert {n["id"]: n["state"] for n in result.json["nodes"]} == {"x": "ok", "culprit": "error"}
        assert result.json["device"] == "host"


def test_a_missing_image_is_named_with_its_node(warploom: Warploom, tmp_path: Path) -> None:
    """So that a person knows which block to give another file."""
    patch = Patch()
    load = patch.add("io.load_image", file="nowhere.png")
    viewer = patch.add("io.viewer")
    patch.connect(load["out"], viewer["image"])
    path = tmp_path / "photo.loom"
    save_patch(patch, path)
    result = warploom("run", path, "--device", "host", "--json")
    assert result.status == 1
    (problem,) = result.json["diagnostics"]
    assert problem["node"] == "load_image"
    assert str(tmp_path / "nowhere.png") in problem["message"]


def test_particles_run_and_leave_a_picture(warploom: Warploom, tmp_path: Path) -> None:
    """A picture of 1280 x 720 with light in it, one COLD frame and nothing after it."""
    result = warploom(
        "run", EXAMPLES / "particles.loom", "--device", "host", "--frames", 20, "--json", "--out", tmp_path
    )
    assert result.status == 0, result.err
    assert result.json["update_levels"] == {"COLD": 1, "NONE": 19}
    (output,) = [o for o in result.json["outputs"] if o["node"] == "viewer"]
    picture = np.asarray(Image.open(output["path"]).convert("RGB"))
    assert picture.shape == (720, 1280, 3)
    assert picture.std() > 2


def test_trace_times_every_kernel_in_every_frame(warploom: Warploom, saxpy_file: Path, tmp_path: Path) -> None:
    """Trace Event JSON: complete events in microseconds, each kernel within its frame."""
    result = warploom("trace", saxpy_file, "--device", "host", "--frames", 3, "--out", tmp_path / "trace.json")
    assert result.status == 0, result.err
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    assert set(tracks.values()) == {"engine", "host"}
    frames = [e for e in events if e["ph"] == "X" and tracks[e["tid"]] == "engine"]
    kernels = [e for e in events if e["ph"] == "X" and tracks[e["tid"]] == "host"]
    assert [e["name"] for e in frames] == ["frame 1", "frame 2", "frame 3"]
    assert [e["name"] for e in kernels] == ["saxpy: saxpy"] * 3
    for frame, kernel in zip(frames, kernels, strict=True):
        assert frame["ts"] <= kernel["ts"]
        assert kernel["ts"] + kernel["dur"] <= frame["ts"] + frame["dur"]
        assert kernel["args"] == {"block": "saxpy", "grid": "(4, 1, 1)", "thread_block": "(256, 1, 1)"}


def test_blocks_lists_every_block_with_its_ports(warploom: Warploom) -> None:
    """As JSON, as a table, and one block in full."""
    blocks = {b["id"]: b for b in warploom("blocks", "--json").json["blocks"]}
    assert {"math.saxpy", "particles.emitter", "io.viewer"} <= blocks.keys()
    saxpy = warploom("blocks", "math.saxpy", "--json").json
    assert saxpy == blocks["math.saxpy"]
    assert [(p["name"], p["direction"], p["dtype"]) for p in saxpy["ports"]] == [
        ("x", "in", "f32"),
        ("y", "in", "f32"),
        ("out", "out", "f32"),
    ]
    assert "math.saxpy" in warploom("blocks").out
    assert "Scale of x." in warploom("blocks", "math.saxpy").out


def test_an_example_goes_by_its_name_unless_a_file_is_called_so(
    warploom: Warploom, saxpy_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the program is started."""
    monkeypatch.chdir(tmp_path)
    assert warploom("check", "photo").out == "photo: would compile\n"
    assert {n["type"] for n in warploom("run", "photo", "--json", "--set", "no.x=1").json["nodes"]} == set()
    (tmp_path / "photo").write_text("{")
    assert warploom("check", "photo").status == 1


@pytest.mark.parametrize(("word", "near"), [("chekc", "; did you mean check?"), ("chart", "")])
def test_a_first_word_that_means_nothing_is_wrong_usage(warploom: Warploom, word: str, near: str) -> None:
    """The editor opens files, and a mistyped command is none."""
    result = warploom(word)
    assert result.status == 2
    assert f"an example's name must come first, got '{word}'{near}\n" in result.err


@pytest.mark.parametrize("command", ["check", "run", "plan"])
def test_what_a_file_says_reaches_no_terminal_raw(warploom: Warploom, tmp_path: Path, command: str) -> None:
    """Control characters in ids and types are written out; a type that is nearly right gets a suggestion."""
    path = tmp_path / "p.loom"
    patch = Patch()
    patch.add("math.saxpy", node_id="zzz")
    patch.add("buffer.constant", node_id="yyy")
    save_patch(patch, path)
    path.write_text(path.read_text().replace("zzz", "\\u001b[31mred").replace("yyy", "a\\rb").replace("saxpy", "saxpi"))
    result = warploom(command, path)
    assert not any(ord(c) < 32 and c not in "\n\t" for c in result.out + result.err)
    assert "did you mean math.saxpy" in result.err and "x1b[31mred" in result.err


def test_an_unknown_block_gets_a_suggestion(warploom: Warploom) -> None:
    """A typing mistake is one line."""
    result = warploom("blocks", "math.saxpi")
    assert result.status == 1
    assert "did you mean math.saxpy" in result.err


def test_devices_always_has_the_host(warploom: Warploom) -> None:
    """And says why a CUDA device can't be used where there is none."""
    devices = {d["name"]: d for d in warploom("devices", "--json").json["devices"]}
    assert devices["host"]["usable"]
    assert all(d["usable"] or d["reason"] for d in devices.values())


def test_kernel_shows_parameters_and_writes_them(warploom: Warploom, tmp_path: Path) -> None:
    """With directions found from the code."""
    source = tmp_path / "scale.cu"
    source.write_text('extern "C" __global__ void scale(float* data, float by) { data[threadIdx.x] *= by; }')
    result = warploom("kernel", source, "--write-json")
    assert result.status == 0, result.err
    assert "scale" in result.out
    manifest = json.loads((tmp_path / "scale.json").read_text())
    assert manifest["name"] == "scale"
    assert [(p["name"], p["direction"]) for p in manifest["parameters"]] == [("data", "inout"), ("by", "in")]


def test_kernel_describes_each_of_several_entry_points_so_that_a_block_can_use_them(
    warploom: Warploom, tmp_path: Path
) -> None:
    """What is written beside a .ptx gives its pointers their types, which a block's ports are checked against."""
    source = tmp_path / "pair.cu"
    source.write_text(
        'extern "C" __global__ void up(float* out, int n) { if (threadIdx.x < n) out[threadIdx.x] += 1; }\n'
        'extern "C" __global__ void down(const double* from, float* out) { out[threadIdx.x] = from[threadIdx.x]; }\n'
    )
    (tmp_path / "pair.ptx").write_text(load_image(source, "compute_75").ptx)
    assert warploom("kernel", tmp_path / "pair.ptx", "--write-json").status == 0
    image = load_image(tmp_path / "pair.ptx", "compute_75")
    assert {name: [(p.direction, p.element_type) for p in m.parameters] for name, m in image.manifests.items()} == {
        "up": [("inout", "f32"), ("in", None)],
        "down": [("in", "f64"), ("out", "f32")],
    }
    (reviewed,) = tmp_path.glob("pair.up.json")
    edited(reviewed, generated=False)
    refused = warploom("kernel", tmp_path / "pair.ptx", "--write-json")
    assert refused.status == 1
    assert 'pair.up.json must be marked "generated"' in refused.err


def test_an_unexpected_error_is_one_line(warploom: Warploom, saxpy_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback reaches a person; it is in the file that the line names."""
    monkeypatch.setattr("app.headless.open_patch", lambda path, **_: 1 / 0)
    result = warploom("run", saxpy_file)
    assert result.status == 1
    assert result.err.startswith("error: Unexpected ZeroDivisionError: division by zero.")
    assert result.err.count("\n") == 1
    log = Path(result.err.split("details are in ")[1].strip())
    assert "ZeroDivisionError" in log.read_text()


def test_run_by_an_engine_in_another_process_gives_the_same(
    warploom: Warploom, saxpy_file: Path, tmp_path: Path
) -> None:
    """The file, the levels and the nodes; a command that is no engine is a device that failed."""
    words = ["run", saxpy_file, "--device", "host", "--frames", 2, "--json", "--out"]
    here = warploom(*words, tmp_path / "here").json
    there = warploom(*words, tmp_path / "there", "--engine", f"{sys.executable} -m app engine").json
    for told in (here, there):
        told["file"] = np.load(told["outputs"][0].pop("path")).tolist()
        del told["frame_time_ms"], told["first_frame_ms"]
        for node in told["nodes"]:
            del node["time_ms"]
    assert there == here
    wrong = warploom(*words, tmp_path, "--engine", "no-such-engine")
    assert wrong.status == 3
    assert (
        wrong.err == "error: engine command must be one that runs, got ['no-such-engine']: No such file or directory\n"
    )


def test_python_m_app_is_the_same_program() -> None:
    """`python -m app` needs no installed script."""
    done = subprocess.run([sys.executable, "-m", "app", "devices"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "host" in done.stdout
    assert "Traceback" not in done.stderr


def loaded_by(code: str) -> set[str]:
    """Return the modules that Python has loaded when it has run some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"import atexit, sys; atexit.register(lambda: print(*sys.modules))\n{code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    return set(done.stdout.splitlines()[-1].split())


QT = {"PySide6", "Qt", "NodeGraphQt"}


def test_the_engine_loads_no_qt() -> None:
    """A render farm has none: importing the engine and making a patch must not need it."""
    loaded = loaded_by("from engine import Engine, Patch; Patch()")
    assert "engine.runtime.engine" in loaded
    assert not QT & loaded


def test_the_engine_is_imported_by_what_is_used_of_it() -> None:
    """Its name alone loads nothing, and to make a patch loads no compiler and no device."""
    assert not {"numpy", "msgspec", "llvmlite", "cuda"} & loaded_by("import engine")
    assert {"compiler", "runtime"}.isdisjoint(
        name.split(".")[1] for name in loaded_by("import engine; engine.Patch()") if name.startswith("engine.")
    )


def test_help_loads_neither_the_engine_nor_qt() -> None:
    """So that the shell's prompt is back at once."""
    loaded = loaded_by("import sys; sys.argv = ['warploom', '--help']\nfrom app.cli import main\nmain()")
    assert {name for name in loaded if name.startswith("engine")} == {"engine", "engine.diagnostics"}
    assert not (QT | {"numpy", "rich", "pydantic", "typer"}) & loaded
