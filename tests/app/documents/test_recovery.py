"""Unsaved work is kept after a crash, and only then."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from warploom.app.documents.recovery import RecoverySlot, find_left_behind
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import save_patch


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[RecoverySlot]:
    """A slot in the folder "recovery"."""
    slot = RecoverySlot(tmp_path / "recovery")
    yield slot
    slot.close()


def crash(slot: RecoverySlot) -> None:
    """End the slot's editor as in a crash: the lock is released and the copy stays."""
    slot._lock.unlock()


def names(folder: Path) -> list[str]:
    return sorted(path.suffix for path in folder.iterdir())


def test_work_of_a_crashed_editor_is_found_until_it_is_settled(slot: RecoverySlot, tmp_path: Path) -> None:
    """A crashed editor's copy is offered to one editor at a time, with its patch, its file and the differences."""
    patch = Patch()
    patch.add("test_app.every_parameter", node_id="a")
    save_patch(patch, tmp_path / "work.loom")
    patch.set("a", gain=4.0)
    slot.write(patch).result()
    crash(slot)
    folder = tmp_path / "recovery"
    (found,) = find_left_behind(folder)
    assert find_left_behind(folder) == []
    found.leave()
    (found,) = find_left_behind(folder)
    recovered = found.open()
    assert recovered.value("a", "gain") == 4.0
    assert (recovered.path, recovered.file_digest) == (tmp_path / "work.loom", patch.file_digest)
    assert found.differences() == ["changed: a (Every Parameter): gain default → 4"]
    save_patch(patch, tmp_path / "work.loom")
    assert found.differences() == []
    (tmp_path / "work.loom").unlink()
    assert "work.loom: No such file" in found.differences()[0]
    found.discard()
    assert find_left_behind(folder) == []
    assert list(folder.iterdir()) == []


def test_work_of_a_running_editor_is_left_alone(slot: RecoverySlot, tmp_path: Path, patch: Patch) -> None:
    """A second editor does not offer a running editor's work."""
    slot.write(patch).result()
    (tmp_path / "recovery" / f".{slot._file.name}.part").write_text("being moved")
    assert find_left_behind(tmp_path / "recovery") == []
    assert names(tmp_path / "recovery") == [".json", ".lock", ".part"]


def test_nothing_is_left_after_a_proper_end(tmp_path: Path, patch: Patch) -> None:
    """Closing removes the copy and the lock, even while the copy is being written."""
    slot = RecoverySlot(tmp_path)
    slot.write(patch)
    slot.close()
    assert list(tmp_path.iterdir()) == []


def test_an_equal_copy_is_not_written_again(slot: RecoverySlot, tmp_path: Path, patch: Patch) -> None:
    """Autosave skips a copy that equals the last one."""
    slot.write(patch).result()
    (file,) = (tmp_path / "recovery").glob("*.json")
    file.write_text("untouched")
    slot.write(patch).result()
    assert file.read_text() == "untouched"
    patch.add("test_app.picture")
    slot.write(patch).result()
    assert file.read_text() != "untouched"


def test_a_copy_has_the_state_of_the_moment_of_its_request(
    slot: RecoverySlot, tmp_path: Path, patch: Patch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy that is written in the background contains the patch's state at the time of the request."""
    patch.add("test_app.picture", node_id="before")
    inner = RecoverySlot._write
    monkeypatch.setattr(RecoverySlot, "_write", lambda *of: (time.sleep(0.05), inner(*of)))
    writing: Any = slot.write(patch)
    patch.remove("before")
    patch.add("test_app.picture", node_id="after")
    writing.result()
    crash(slot)
    (found,) = find_left_behind(tmp_path / "recovery")
    assert list(found.open().nodes) == ["before"]
    found.discard()


def test_leftovers_of_crashed_editors_without_work_are_removed(slot: RecoverySlot, tmp_path: Path) -> None:
    """Leftovers of crashed editors without work are removed, and a running editor's lock stays."""
    folder = tmp_path / "recovery"
    (folder / "dead.lock").write_text("999999999\nwarploom\n\n")
    (folder / ".dead.json.part").write_text("{")
    find_left_behind(folder)
    assert names(folder) == [".lock"]
    assert not (folder / "dead.lock").exists()


def test_a_lock_without_contents_hides_no_work_for_long(slot: RecoverySlot, tmp_path: Path, patch: Patch) -> None:
    """An editor may be killed when it has made its lock and not written it: after some seconds its work is offered."""
    slot.write(patch).result()
    crash(slot)
    folder = tmp_path / "recovery"
    lock = next(folder.glob("*.json")).with_suffix(".lock")
    lock.write_text("")
    assert find_left_behind(folder) == []
    os.utime(lock, (0, 0))
    (found,) = find_left_behind(folder)
    found.discard()
    assert list(folder.iterdir()) == []


def test_a_damaged_copy_is_kept_and_does_not_stop_the_start(tmp_path: Path) -> None:
    """A damaged copy is kept, and the editor starts."""
    (tmp_path / "x.json").write_text("{")
    assert find_left_behind(tmp_path) == []
    assert (tmp_path / "x.json").exists()
