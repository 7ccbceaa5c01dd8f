"""A reading records the contents of files while something was made from them, and detects later changes on disk."""

import os
import random
from inspect import unwrap
from pathlib import Path

import pytest

from tests.fuzzing import many, seeds
from warploom.engine.readings import (
    Disk,
    PathQuestion,
    Reading,
    content,
    digest,
    is_file,
    open_file,
    read_bytes,
    resolved,
)


def test_each_question_is_asked_once(tmp_path: Path) -> None:
    """A reading and the readings inside it answer each question once; elsewhere the disk is asked again."""
    file, missing = tmp_path / "a", tmp_path / "b"
    file.write_text("one")
    outer, inner = Reading(), Reading()
    with outer.under_way():
        assert (content(file), is_file(missing)) == (b"one", False)
        file.write_text("two")
        missing.write_text("there")
        with inner.under_way():
            assert (content(file), is_file(missing)) == (b"one", False)
        with Reading().under_way(alone=True):
            assert (content(file), is_file(missing)) == (b"two", True)
    assert (content(file), is_file(missing)) == (b"two", True)
    assert inner == outer
    assert inner.files == inner.changed() == {file, missing}


def test_what_is_read_whole_is_kept_as_a_digest(tmp_path: Path) -> None:
    """A reading stores a digest of a file that was read whole.

    A missing file raises FileNotFoundError and is a change once it appears.
    """
    file, reading = tmp_path / "a", Reading()
    with reading.under_way(), pytest.raises(FileNotFoundError):
        read_bytes(file)
    file.write_bytes(b"one")
    assert reading.changed() == {file}
    reading = Reading()
    with reading.under_way():
        assert read_bytes(file) == b"one"
        assert isinstance(digest(file), bytes)
    assert reading.changed() == frozenset()
    assert b"one" not in reading.answers.values()


def test_what_is_read_in_pieces_is_kept_as_a_stamp(tmp_path: Path) -> None:
    """A file that was opened has changed once it is written again, replaced or removed; a folder can't be opened."""
    file, reading = tmp_path / "a", Reading()
    with reading.under_way(), pytest.raises(FileNotFoundError):
        open_file(file)
    with pytest.raises(IsADirectoryError):
        open_file(tmp_path)
    file.write_bytes(b"one")
    assert reading.changed() == {file}
    for change in (lambda: file.write_bytes(b"longer"), lambda: file.unlink()):
        reading = Reading()
        with reading.under_way(), open_file(file) as opened:
            assert opened.read(1) in (b"o", b"l")
        assert reading.changed() == frozenset()
        change()
        assert reading.changed() == {file}


def test_a_pipe_and_a_name_that_no_file_can_have_are_no_files(tmp_path: Path) -> None:
    """Pipes, folders and impossible names don't count as files, and asking about a pipe does not block."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("a\0b"), tmp_path / ("x" * 5000), tmp_path):
        assert isinstance(content(path), str) and not is_file(path)


@pytest.mark.parametrize("seed", seeds(3))
def test_a_disk_that_remembers_answers_as_one_that_does_not(tmp_path: Path, seed: int) -> None:
    """A `Disk` caches answers, and notices each change of links, names and contents, whatever the size and time."""
    choose, disk = random.Random(seed), Disk()
    paths = [tmp_path / name for name in ("a", "b", "link")]
    for number in range(many(60)):
        path = choose.choice(paths)
        change = choose.randrange(5)
        if change == 0:
            path.unlink(missing_ok=True)
        elif change == 1:
            (tmp_path / "new").write_text(str(number % 10))
            (tmp_path / "new").replace(path)
        elif change == 2 and path.name == "link":
            path.unlink(missing_ok=True)
            path.symlink_to(choose.choice(paths[:2]))
        else:
            path.write_text(str(number % 10))
        if path.exists():
            os.utime(path, ns=(10**18, 10**18))
        reading, asked = Reading(), choose.sample(paths, 2)
        with reading.under_way():
            for each in asked:
                content(each), digest(each), is_file(each), resolved(each)
        assert {key: disk.ask(*key) for key in reading.answers} == reading.answers
        assert reading.changed(disk.ask) == frozenset()


def test_only_touched_paths_are_asked_about_again(tmp_path: Path) -> None:
    """Answers about other paths stay as they were until all paths are asked about again."""
    disk, paths = Disk(), [tmp_path / name for name in ("a", "b", "missing")]
    questions: tuple[PathQuestion, ...] = (content, digest, is_file, resolved)
    before = {(question, path): disk.ask(question, path) for question in questions for path in paths}
    for path in paths:
        path.write_text("new")
    disk.touched = frozenset(paths[:1])
    for (question, path), answer in before.items():
        assert disk.ask(question, path) == (unwrap(question)(path) if path == paths[0] else answer)
    disk.touched = None
    assert all(disk.ask(question, path) == unwrap(question)(path) for question, path in before)


def test_only_files_of_a_limited_size_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file over the limit is read as little as a folder or a pipe; others are, up to the last byte."""
    monkeypatch.setattr("warploom.engine.readings.MOST_KEPT", 3 << 20)
    for size, said in ((3 << 20, None), ((3 << 20) + 1, "it has more than 3 MB"), (1 << 40, "it has more than 3 MB")):
        with (tmp_path / "a").open("wb") as file:
            file.truncate(size)
        held = content(tmp_path / "a")
        assert held == said if said is not None else len(held) == size
    with pytest.raises(OSError, match="it has more than 1 MB"):
        read_bytes(tmp_path / "a", 1 << 20)
    os.mkfifo(tmp_path / "pipe")
    assert (content(tmp_path / "pipe"), content(tmp_path)) == ("it is not a file", "Is a directory")


def test_a_pipe_that_takes_the_place_of_a_file_does_not_hold_up_the_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that was replaced by a pipe after it was looked at is an error too."""
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr("warploom.engine.readings.is_pipe", lambda path: False)
    assert content(tmp_path / "pipe") == "it is not a file"
