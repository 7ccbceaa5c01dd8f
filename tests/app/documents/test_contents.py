"""What the person trusts is known by its contents, and changes are shown as a diff."""

import os
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzzing import seeds
from warploom.app.documents.trust.contents import Contents, FileChange, changes, read_contents
from warploom.app.documents.trust.trust import Trust, TrustedPaths
from warploom.engine.patch.files import EXAMPLES_FOLDER
from warploom.engine.readings import Disk

NAMES = ["a.py", "b.py", "sub/c.py", "sub/k.cu", "native.so", "odd\udcff.py"]
BODIES = [b"", b"x = 1\n", b"x = 2\n", b"\0\1", b"\xff", b"x" * 300_000]


def write(folder: Path, name: str, body: bytes | None) -> None:
    """Write a file, or delete it."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if body is not None:
        path.write_bytes(body)


@pytest.mark.parametrize("seed", seeds(6))
def test_trust_holds_exactly_as_long_as_the_contents(tmp_path: Path, seed: int) -> None:
    """After random edits, a folder is trusted if each file is as it was, and else the changes name each other file."""
    chance = random.Random(seed)
    folder, state = tmp_path / "blocks", tmp_path / "state"
    folder.mkdir()
    files = {name: chance.choice(BODIES) for name in NAMES if chance.random() < 0.7}
    for name, body in files.items():
        write(folder, name, body)
    trusted = TrustedPaths(state)
    trusted.decide(folder, Trust.ALWAYS, trusted.contents(folder))
    for _ in range(8):
        now = dict(files)
        for name in chance.sample(NAMES, chance.randrange(3)):
            body = chance.choice([None, *BODIES])
            write(folder, name, body)
            now = {**now, name: body} if body is not None else {n: b for n, b in now.items() if n != name}
        for name in (".hidden.py", "__pycache__/a.pyc"):
            write(folder, name, chance.randbytes(3))
        differ = {name for name in NAMES if files.get(name) != now.get(name)}
        for known in (trusted, TrustedPaths(state)):
            assert known.decision(folder) is (None if differ else True)
            found = {change.name.replace("\\xff", "\udcff"): change.what for change in known.changes(folder)}
            assert found.keys() == differ
            assert all((what == "added") == (name not in files) for name, what in found.items())
            assert all((what == "deleted") == (name not in now) for name, what in found.items())
        if chance.random() < 0.3:
            trusted.follow(folder, trusted.contents(folder))
            files = now
        for name in NAMES:
            write(folder, name, files.get(name))


LINES = st.lists(st.sampled_from(["", "a", "b", "--- c", "+++ d", "@@ e", " f"]), max_size=12)


@given(LINES, LINES)
def test_a_diff_leads_from_one_text_to_the_other(before: list[str], now: list[str]) -> None:
    """The hunks of a diff, applied at their lines, give the new text, whatever the lines look like."""
    change = FileChange("a.py", "changed", "\n".join(before), "\n".join(now))
    old, made, place = "\n".join(before).splitlines(), list[str](), 0
    for kind, line in change.lines():
        if kind == "@" and (head := re.match(r"@@ -(\d+)(,0)?", line)):
            start = int(head[1]) - (0 if head[2] else 1)
            made += old[place:start]
            place = start
        elif kind in " -":
            assert old[place] == line[1:]
            place += 1
        if kind and kind in " +":
            made.append(line[1:])
    assert made + old[place:] == "\n".join(now).splitlines()


def test_a_long_diff_is_not_compared_line_by_line() -> None:
    """Texts that differ in thousands of lines are shown as a whole, cut where nobody reads on."""
    before, now = "\n".join(["a", "b"] * 20_000), "\n".join(["b", "c"] * 20_000)
    lines = list(FileChange("a.py", "changed", before, now).lines())
    assert len(lines) == 5003
    assert lines[-1] == ("@", "@@ and more lines @@")


def test_a_diff_hides_nothing() -> None:
    """Control characters are escaped, and files whose text is unknown are listed."""
    texts = [FileChange(name, "changed", None, None) for name in ("data\n.bin", "\u202eyp.c")]
    texts.append(FileChange("a.py", "added", None, "x = 1 # \u202e\x1b[2J"))
    lines = [line for change in texts for _, line in change.lines()]
    assert all(line.isprintable() for line in lines if line)
    assert lines[-1] == "+x = 1 # \\u202e\\x1b[2J"


def test_links_count_by_what_they_lead_to(tmp_path: Path) -> None:
    """A link to a folder counts with the files there, a loop ends, and a pipe is not read."""
    folder, other = tmp_path / "blocks", tmp_path / "other"
    for made in (folder, other):
        made.mkdir()
    (other / "x.py").write_text("1")
    (folder / "sub").symlink_to(other)
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.py")
    disk = Disk()
    before = read_contents(folder, disk)
    assert before.digests.keys() == {"sub/x.py", "loop", "pipe.py"}
    (other / "x.py").write_text("2")
    assert [str(change) for change in changes(before, read_contents(folder, disk))] == ["changed: sub/x.py"]


def test_a_large_file_counts_without_being_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large file counts by its times, so that no archive can give another file the same stamp."""
    large = tmp_path / "blocks" / "large.bin"
    large.parent.mkdir()
    large.write_bytes(b"")
    os.truncate(large, 1 << 30)
    disk = Disk()
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} was read"))
    before = read_contents(large.parent, disk)
    assert read_contents(large.parent, disk) == before
    status = large.stat()
    with large.open("r+b") as file:
        file.write(b"x")
    os.utime(large, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert [change.what for change in changes(before, read_contents(large.parent, disk))] == ["changed"]


def test_nothing_follows_a_path_that_is_not_trusted(tmp_path: Path) -> None:
    """What changes while a folder is open without trust stays untrusted, and so does a refused folder."""
    trusted = TrustedPaths(tmp_path / "state")
    trusted.follow(tmp_path, Contents({"a.py": "1"}))
    assert trusted.decision(tmp_path) is None
    trusted.decide(tmp_path, Trust.NO, Contents())
    trusted.follow(tmp_path, trusted.contents(tmp_path))
    assert trusted.decision(tmp_path) is False


def test_examples_are_trusted(tmp_path: Path) -> None:
    """The patches that come with Warploom may use a microphone without a question; a copy elsewhere may not."""
    trusted, example = TrustedPaths(tmp_path / "state"), EXAMPLES_FOLDER / "live_sound.loom"
    assert trusted.decision(example) is True
    copy = tmp_path / example.name
    copy.write_bytes(example.read_bytes())
    assert trusted.decision(copy) is None
