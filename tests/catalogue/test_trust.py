"""Blocks beside a patch run only when they are trusted."""

import json
import marshal
import sys
from collections.abc import Callable
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path

import numpy as np
import pytest
from platformdirs import user_state_path

from tests.catalogue.block_texts import BlockFolder, block_text
from warploom import Patch, forget_blocks, trust_blocks
from warploom.app.cli.command_line import main
from warploom.app.documents.trust.contents import Contents
from warploom.app.documents.trust.trust import Trust, TrustedPaths
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.patch.files import load_patch, save_patch


@pytest.fixture
def patch_file(folder: BlockFolder) -> Path:
    """A patch with a block of the untrusted folder beside it."""
    folder.write("scale.py", f"from pathlib import Path\nPath(__file__).with_name('ran').touch()\n{block_text()}")
    trust_blocks(folder.path)
    patch = Patch()
    x = patch.add("io.array", data=np.ones(3, np.float32))
    scale = patch.add("live.scale", gain=2.0)
    patch.connect(x["out"], scale["x"])
    path = folder.path.parent / "p.loom"
    save_patch(patch, path)
    forget_blocks(folder.path)
    block_folders.reload([]).result()
    (folder.path / "ran").unlink()
    return path


def test_loading_a_patch_runs_nothing_beside_it(patch_file: Path, folder: BlockFolder) -> None:
    """Loading a patch runs no untrusted file, and nodes of those types are placeholders that keep their values."""
    patch = load_patch(patch_file)
    assert patch.block_type("scale") is None
    assert patch.value("scale", "gain") == 2.0
    assert not (folder.path / "ran").exists()


#: Runs `warploom` with arguments in this process, and returns its exit status, standard output and errors.
Warploom = Callable[..., tuple[int, str, str]]


@pytest.fixture
def warploom(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Warploom:
    """The command line, as a function."""

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["warploom", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0), *capsys.readouterr()

    return run


@pytest.mark.parametrize("command", ["run", "check", "plan", "trace"])
def test_the_command_line_runs_blocks_only_when_told(
    patch_file: Path, folder: BlockFolder, tmp_path: Path, warploom: Warploom, command: str
) -> None:
    """The command line runs blocks beside a patch only with `--trust`, and otherwise reports the untrusted type."""
    options = {
        "run": ["--frames", "1", "--device", "host"],
        "trace": ["--out", str(tmp_path / "t.json"), "--device", "host"],
    }
    arguments = [command, str(patch_file), *options.get(command, [])]
    output = "".join(warploom(*arguments)[1:])
    assert not (folder.path / "ran").exists()
    assert "block type live.scale must come from files that are trusted" in output
    assert "`--trust`" in output
    status, out, errors = warploom(*arguments, "--trust")
    assert status == 0, out + errors
    assert (folder.path / "ran").exists()


def test_a_check_of_json_tells_of_files_that_fail(patch_file: Path, folder: BlockFolder, warploom: Warploom) -> None:
    """`check --json` reports failing files with file and line, as a warning if no node needs them."""
    folder.write("scale.py", "1 / 0\n" + block_text())
    folder.write("other.py", "import nowhere\n" + block_text("live.other"))
    status, out, _ = warploom("check", patch_file, "--json", "--trust")
    assert status == 1
    reported = json.loads(out)["diagnostics"]
    assert {(item["severity"], item["node"], Path(item["file"]).name, item["line"]) for item in reported} == {
        ("error", "scale", "scale.py", 1),
        ("warning", None, "other.py", 1),
    }


def test_an_answer_for_good_is_kept(tmp_path: Path) -> None:
    """A permanent answer is stored, others last as long as the program, and the latest answer is used."""
    state, folder, other = tmp_path / "state", tmp_path / "a", tmp_path / "b"
    trusted = TrustedPaths(state)
    assert trusted.decision(folder) is None
    for answer, now, later in (
        (Trust.NO, False, None),
        (Trust.ONCE, True, None),
        (Trust.ALWAYS, True, True),
        (Trust.NO, False, None),
    ):
        trusted.decide(folder, answer, trusted.contents(folder))
        assert trusted.decision(folder) is now
        assert TrustedPaths(state).decision(folder) is later
        assert trusted.decision(other) is None


def test_refused_changes_leave_the_trust_in_what_was_there_before(tmp_path: Path) -> None:
    """After changed files are refused, the next start asks about the changes again, or trusts what was restored."""
    state, file = tmp_path / "state", tmp_path / "blocks" / "a.py"
    file.parent.mkdir()
    file.write_text("mine")
    trusted = TrustedPaths(state)
    trusted.decide(file.parent, Trust.ALWAYS, trusted.contents(file.parent))
    file.write_text("theirs")
    trusted.decide(file.parent, Trust.NO, trusted.contents(file.parent))
    assert trusted.decision(file.parent) is False
    later = TrustedPaths(state)
    assert later.decision(file.parent) is None
    assert [str(change) for change in later.changes(file.parent)] == ["changed: a.py"]
    file.write_text("mine")
    assert later.decision(file.parent) is True


@pytest.mark.parametrize("content", ["", "{}", "[1]", "nonsense"])
def test_a_damaged_state_trusts_nobody(tmp_path: Path, content: str) -> None:
    """With a damaged state file no folder is trusted, and a new answer can be stored."""
    trusted = TrustedPaths(tmp_path)
    trusted.decide(tmp_path / "a", Trust.ALWAYS, Contents())
    (record,) = (tmp_path / "trusted").iterdir()
    record.write_text(content)
    trusted = TrustedPaths(tmp_path)
    assert trusted.decision(tmp_path / "a") is None
    assert trusted.changes(tmp_path / "a") == []
    trusted.decide(tmp_path / "a", Trust.ALWAYS, trusted.contents(tmp_path / "a"))
    assert TrustedPaths(tmp_path).decision(tmp_path / "a") is True


def test_trust_in_a_path_alone_is_asked_about_once_more(tmp_path: Path) -> None:
    """The list of paths that earlier versions kept trusts nothing, since nobody knows what the files held."""
    old, folder = tmp_path / "trusted.json", tmp_path / "blocks"
    folder.mkdir()
    old.write_text(json.dumps([str(folder)]))
    trusted = TrustedPaths(tmp_path)
    assert trusted.decision(folder) is None
    assert trusted.changes(folder) == []
    trusted.decide(folder, Trust.ALWAYS, trusted.contents(folder))
    assert TrustedPaths(tmp_path).decision(folder) is True
    assert not old.exists()


def test_the_command_line_trusts_contents_and_not_paths(
    patch_file: Path, folder: BlockFolder, warploom: Warploom
) -> None:
    """A permanent answer lets `check` run blocks until they change; then it reports the change."""
    trusted = TrustedPaths(user_state_path("warploom"))
    trusted.decide(folder.path, Trust.ALWAYS, trusted.contents(folder.path))
    assert warploom("check", patch_file)[0] == 0
    (folder.path / "ran").unlink()
    forget_blocks(folder.path)
    block_folders.reload([]).result()
    folder.write("scale.py", f"# more\n{(folder.path / 'scale.py').read_text()}")
    status, out, errors = warploom("check", patch_file)
    assert status == 1
    assert "has changed (changed: scale.py)" in out + errors
    assert not (folder.path / "ran").exists()
    trusted.decide(folder.path, Trust.NO, Contents())


def test_a_compiled_file_runs_nothing(folder: BlockFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A helper's compiled file, which nobody can read, is ignored, even one that Python would not compare."""
    monkeypatch.setattr(sys, "pycache_prefix", None)
    helper = folder.write("parts/helper.py", "VALUE = 1\ndef jit(f): return f\n@jit\ndef kernel(): pass\n")
    compiled = Path(cache_from_source(str(helper)))
    compiled.parent.mkdir()
    code = marshal.dumps(compile("VALUE = 2", "helper.py", "exec"))
    compiled.write_bytes(MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + code)
    folder.write("user.py", f"from .parts.helper import VALUE\nassert VALUE == 1, VALUE\n{block_text('live.user')}")
    assert trust_blocks(folder.path) == []


def test_run_overwrites_only_what_the_patch_wrote(tmp_path: Path, warploom: Warploom) -> None:
    """`run` overwrites what an earlier run has written, and before it runs refuses other files, which `check` reports.

    `--out` and `--trust` overwrite them.
    """
    mine, theirs = tmp_path / "mine.png", tmp_path / "theirs.png"
    patch = Patch()
    image = patch.add("io.image_array", data=np.ones((2, 2, 4), np.float32))
    save = patch.add("io.save_image", file="mine.png")
    patch.connect(image["out"], save["image"])
    save_patch(patch, tmp_path / "p.loom")
    words = ["run", tmp_path / "p.loom", "--frames", 2, "--device", "host"]
    for _ in range(2):
        mine.unlink(missing_ok=True)
        assert warploom(*words)[0] == 0
        assert warploom(*words)[0] == 0
    theirs.write_bytes(mine.read_bytes())  # equal contents are no reason
    patch.set(save, file="theirs.png")
    save_patch(patch, tmp_path / "p.loom")
    status, out, errors = warploom(*words, "--json")
    assert status == 1
    assert json.loads(out)["frames"] == 1
    assert f"file must be new, or as this patch wrote it, got {theirs}" in errors and "--trust" in errors
    assert "theirs.png" in "".join(warploom("check", tmp_path / "p.loom")[1:])
    assert theirs.read_bytes() == mine.read_bytes()
    theirs.write_bytes(b"")
    assert warploom(*words, "--out", tmp_path)[0] == 0
    assert theirs.read_bytes() == mine.read_bytes()
    assert warploom(*words)[0] == 1
    assert warploom(*words, "--trust")[0] == 0
    assert warploom(*words)[0] == 0


def test_run_refuses_to_write_elsewhere_unless_told(tmp_path: Path, warploom: Warploom) -> None:
    """`run` refuses to write outside its folder, naming path and node; `--out` redirects, and `--trust` allows it."""
    target = tmp_path / "elsewhere.png"
    patch = Patch()
    image = patch.add("io.image_array", data=np.ones((2, 2, 4), np.float32))
    patch.connect(image["out"], patch.add("io.save_image", file=str(target))["image"])
    (tmp_path / "patch").mkdir()
    save_patch(patch, tmp_path / "patch" / "p.loom")
    words = ["run", tmp_path / "patch" / "p.loom", "--frames", 1, "--device", "host"]
    status, _, errors = warploom(*words)
    assert status == 1
    assert "save_image" in errors and str(target) in errors and "--trust" in errors
    assert warploom(*words, "--out", tmp_path / "out")[0] == 0
    assert (tmp_path / "out" / "elsewhere.png").is_file() and not target.exists()
    assert warploom(*words, "--trust")[0] == 0
    assert target.is_file()
