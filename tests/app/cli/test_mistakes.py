"""Each mistake is reported by one clear error and the exit status that scripts rely on."""

import json
import os
from pathlib import Path

import pytest

from tests.app.cli.cli_support import Warploom, edited
from warploom import Patch
from warploom.engine.patch.files import save_patch


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
        (["--budget", "nan"], "--budget must be a number of milliseconds, got nan"),
        (["--kernel-time-limit", "nan"], "--kernel-time-limit must be a number of seconds, got nan"),
        (["--unknown"], "No such option"),
        (["--out", "waves.gif"], "--out must be a folder, or a film .mp4, .mov, .mkv, .webm or .avi, got waves.gif"),
    ],
)
def test_wrong_usage_exits_with_2(warploom: Warploom, saxpy_file: Path, words: list[str], message: str) -> None:
    """Wrong usage exits with 2 and a message with the allowed arguments."""
    result = warploom("run", saxpy_file, "--device", "host", *words)
    assert result.status == 2
    assert message in result.err
    assert "Traceback" not in result.err


def test_a_patch_that_cannot_compile_exits_with_1(warploom: Warploom, saxpy_file: Path) -> None:
    """For a wrong patch, `run` and `check` exit with 1 and name the node and the port on stderr and in JSON."""
    edited(saxpy_file, connections=[{"source": "x.out", "target": "saxpy.x"}])
    for words in (["run", saxpy_file, "--device", "host"], ["check", saxpy_file]):
        result = warploom(*words, "--json")
        assert result.status == 1
        (problem,) = result.json["diagnostics"]
        assert (problem["severity"], problem["node"], problem["port"]) == ("error", "saxpy", "y")
        assert problem["message"] == "required input 'y' must be connected, got nothing"
        assert "saxpy.y: required input 'y' must be connected" in result.err


def test_plan_of_a_wrong_patch_says_what_is_wrong(warploom: Warploom, saxpy_file: Path) -> None:
    """`plan` of a patch with a missing input reports the problem instead of a plan."""
    patch = Patch()
    patch.add("math.saxpy")
    save_patch(patch, saxpy_file)
    result = warploom("plan", saxpy_file)
    assert (result.status, result.out) == (1, "")
    assert "saxpy" in result.err


def test_check_names_the_nodes_of_a_cycle(warploom: Warploom, saxpy_file: Path) -> None:
    """`check` names the nodes of a cycle in the order of their dependencies."""
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
        ('{"schema": 99}', "schema must be from 1 to 5, got 99; a newer Warploom may read it"),
        ('{"schema": true}', "schema must be from 1 to 5, got true\n"),
        ('{"schema": "1"}', 'schema must be from 1 to 5, got "1"\n'),
        ("[" * 100_000, "JSON nested too deeply"),
        ("\0" * 1000, ":1: must be JSON"),
        ('{"schema": 1, "nodes": [{"id": "a"}]}', 'nodes[0]: "type" must be a name, got None'),
        ('{"schema": 1, "connections": [{"source": "a.b", "target": "c.d"}]}', "source must name a node of the patch"),
    ],
)
def test_a_bad_file_gets_one_line(warploom: Warploom, tmp_path: Path, text: str, message: str) -> None:
    """A bad file exits with 1 and one line that states the file, the place and the rule, without a traceback."""
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
        ("/dev/zero", "patch must be readable: /dev/zero: it is not a file"),
        ("pipe.loom", "patch must be readable: pipe.loom: it is not a file"),
        (".", "patch must be readable: .: Is a directory"),
        ("x" * 5000, "File name too long"),
        ("a/b\nc.loom", "No such file or directory"),
        ("é→.loom", "é→.loom: No such file or directory"),
    ],
)
def test_a_path_that_is_no_patch_file_is_refused(
    warploom: Warploom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    """A path to anything but a patch file is refused with one error and exit status 1."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.loom")
    for command in ("check", "plan", "trace", "run"):
        result = warploom(command, name)
        assert result.status == 1
        assert result.err.startswith("error: ")
        assert message in result.err


def test_an_output_folder_that_cannot_be_written_is_refused_before_the_first_frame(
    warploom: Warploom, saxpy_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An output folder that can't be written is refused before the first frame, not after a long run."""
    monkeypatch.setattr("warploom.app.cli.headless.open_engine", None)
    wrong = warploom("run", saxpy_file, "--out", saxpy_file)
    assert (wrong.status, wrong.err.count("--out must be a folder, got the file")) == (2, 1)
    refused = warploom("run", saxpy_file, "--out", "/proc/nowhere", "--json")
    assert refused.status == 1
    assert refused.json["diagnostics"][0]["message"].startswith("--out must be a folder that can be written, got /proc")


def test_an_unexpected_error_is_reported_without_a_state_folder_too(
    warploom: Warploom, saxpy_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the state folder can't be written, the line for an unexpected error says that its details are lost."""
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    monkeypatch.setattr("warploom.app.cli.headless.open_patch", lambda path, **_: 1 / 0)
    result = warploom("run", saxpy_file)
    assert result.status == 1
    assert result.err.startswith("error: Unexpected ZeroDivisionError: division by zero.")
    assert "details are in no file, since /dev/null/warploom can't be written: Not a directory\n" in result.err


def test_a_missing_file_is_named(warploom: Warploom, tmp_path: Path) -> None:
    """The error for a missing file names the file and the system's reason."""
    result = warploom("run", tmp_path / "none.loom")
    assert result.status == 1
    assert result.err == f"error: patch must be readable: {tmp_path / 'none.loom'}: No such file or directory\n"


def test_a_device_that_is_not_there_exits_with_3(warploom: Warploom, saxpy_file: Path) -> None:
    """A missing device exits with status 3 and an error that names it."""
    result = warploom("run", saxpy_file, "--device", "cuda:99")
    assert result.status == 3
    assert "device cuda:99 must be usable" in result.err


def test_a_missing_image_is_named_with_its_node(warploom: Warploom, tmp_path: Path) -> None:
    """A missing image is reported with its node."""
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


@pytest.mark.parametrize(("word", "near"), [("chekc", "; did you mean check?"), ("chart", "")])
def test_an_unknown_command_is_wrong_usage(warploom: Warploom, word: str, near: str) -> None:
    """An unknown command is wrong usage, not a file to open in the editor."""
    result = warploom(word)
    assert result.status == 2
    assert f"an example's name must come first, got '{word}'{near}\n" in result.err


@pytest.mark.parametrize("command", ["check", "run", "plan"])
def test_a_files_control_characters_never_reach_the_terminal(warploom: Warploom, tmp_path: Path, command: str) -> None:
    """Control characters in ids and types are escaped on the terminal. A nearly right type gets a suggestion."""
    path = tmp_path / "p.loom"
    patch = Patch()
    patch.add("math.saxpy", node_id="zzz")
    patch.add("buffer.constant", node_id="yyy")
    save_patch(patch, path)
    path.write_text(path.read_text().replace("zzz", "\\u001b[31mred").replace("yyy", "a\\rb").replace("saxpy", "saxpi"))
    result = warploom(command, path)
    assert not any(ord(c) < 32 and c not in "\n\t" for c in result.out + result.err)
    assert "did you mean math.saxpy" in result.err and "x1b[31mred" in result.err


def test_an_unexpected_error_is_one_line(warploom: Warploom, saxpy_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected error prints one line that names the file with the traceback."""
    monkeypatch.setattr("warploom.app.cli.headless.open_patch", lambda path, **_: 1 / 0)
    result = warploom("run", saxpy_file)
    assert result.status == 1
    assert result.err.startswith("error: Unexpected ZeroDivisionError: division by zero.")
    assert result.err.count("\n") == 1
    log = Path(result.err.split("details are in ")[1].strip())
    assert "ZeroDivisionError" in log.read_text()


def test_a_wrong_osc_port_is_wrong_usage(warploom: Warploom, saxpy_file: Path) -> None:
    """The message says what is wanted."""
    result = warploom("run", saxpy_file, "--osc", "nowhere")
    assert result.status == 2 and "--osc must be a port such as 9000, or HOST:PORT, got 'nowhere'" in result.err
