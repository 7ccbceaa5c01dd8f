"""Locks, moves and files in memory, in each system's way."""

import errno
import os
import sys
import threading
from pathlib import Path

import pytest

from tests.platforms.systems import SYSTEMS, pretend
from warploom.engine.patch.files import write_atomically
from warploom.engine.platforms import file_locks, files

every_system = pytest.mark.parametrize("system", SYSTEMS)


@every_system
def test_a_lock_is_held_by_one_open_file(system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A locked file can't be locked again until it is closed, and `lock` waits for that."""
    pretend(monkeypatch, system)
    path = tmp_path / "lock"
    with path.open("ab") as first, path.open("ab") as second:
        assert file_locks.try_lock(first.fileno())
        assert not file_locks.try_lock(second.fileno())
        waiting = threading.Thread(target=file_locks.lock, args=(second.fileno(),))
        waiting.start()
        first.close()
        waiting.join()
        with path.open("ab") as third:
            assert not file_locks.try_lock(third.fileno())
            assert third.tell() == 0  # the position is as before


def test_windows_locks_a_byte_that_no_file_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processes can read and write all contents of a file that is locked, and ten-second waits go on."""
    pretend(monkeypatch, "win32")
    with (tmp_path / "lock").open("ab") as file:
        file_locks.lock(file.fileno())
    module = sys.modules["msvcrt"]
    assert vars(module)["places"] == [1 << 40]
    waits = iter([OSError(errno.EDEADLK, "ten seconds are over"), OSError(errno.EACCES, "still"), None])

    def locking(*_: int) -> None:
        if (problem := next(waits)) is not None:
            raise problem

    monkeypatch.setattr(module, "locking", locking)
    with (tmp_path / "lock").open("ab") as file:
        file_locks.lock(file.fileno())
    assert next(waits, "all") == "all"


@every_system
def test_a_file_is_replaced_as_a_whole(system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A save replaces a file's contents and leaves nothing else, and line breaks are as given."""
    pretend(monkeypatch, system)
    path = tmp_path / "ä name.loom"
    for text in (b"one\n", b"two\r\n"):
        write_atomically(path, text)
        assert path.read_bytes() == text
    assert list(tmp_path.iterdir()) == [path]


def test_windows_moves_a_closed_file_and_waits_for_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is closed before it is moved, and the move is tried again while another program has the target open."""
    pretend(monkeypatch, "win32")
    part, path, refusals = tmp_path / "part", tmp_path / "whole", iter([PermissionError(), PermissionError()])
    real = Path.replace

    def replace(self: Path, target: Path) -> Path:
        assert file.closed
        if (problem := next(refusals, None)) is not None:
            raise problem
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with part.open("wb") as file:
        file.write(b"new")
        assert files.move_over(file, part, path)
    assert path.read_bytes() == b"new"
    with path.open("rb") as file:
        assert not files.move_over(file, part, path)  # another process has moved it

    def refuse(self: Path, target: Path) -> Path:
        raise PermissionError(errno.EACCES, "it is open")

    monkeypatch.setattr(Path, "replace", refuse)
    monkeypatch.setattr(files, "_PATIENCE_S", 0.0)
    with path.open("rb") as file, pytest.raises(PermissionError):
        files.move_over(file, part, path)


@every_system
def test_a_library_reads_and_writes_contents_by_a_name(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contents have a name while they are used, and leave no file."""
    pretend(monkeypatch, system)
    with files.named_contents() as contents:
        contents.write(b"ab\r\n")
        assert Path(contents.name).read_bytes() == contents.read() == b"ab\r\n"
        Path(contents.name).write_bytes(b"c")
        assert contents.read() == b"c"
        assert Path(contents.name).exists()
    assert not Path(contents.name).exists()


def test_a_system_without_files_in_memory_has_named_contents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system refuses files in memory, temporary ones are used, and none is shared."""

    def refuse(name: str) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "memfd_create", refuse)
    assert files.memory_file("name") is None
    with files.named_contents() as contents:
        assert not contents.name.startswith("/proc")
    monkeypatch.delattr(os, "memfd_create")
    assert files.memory_file("name") is None


def test_windows_opens_files_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Descriptors of Windows are opened in binary mode, without the flags that it lacks."""
    pretend(monkeypatch, "win32")
    monkeypatch.setattr(os, "O_BINARY", 1 << 29, raising=False)
    monkeypatch.setattr(os, "O_NOINHERIT", 1 << 30, raising=False)
    monkeypatch.delattr(os, "O_NONBLOCK")
    assert files.reading_flags() & files.appending_flags() & 1 << 29
