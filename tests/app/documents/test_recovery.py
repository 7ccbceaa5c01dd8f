"""Unsaved work outlives a crash, and only a crash."""

from __future__ import annotations

from pathlib import Path

from app.documents.recovery import RecoverySlot, take_left_behind
from engine.patch.document import Patch


def crash(slot: RecoverySlot) -> None:
    """End the slot's editor as the system does: the lock goes, the copy stays."""
    slot._lock.unlock()


def test_work_of_a_crashed_editor_is_found_once(tmp_path: Path, patch: Patch) -> None:
    """The copy holds the patch and its file, and is gone after it was taken."""
    patch.add("test_app.every_parameter", node_id="a", gain=4.0)
    patch.path = tmp_path / "work.loom"
    slot = RecoverySlot(tmp_path)
    slot.write(patch)
    crash(slot)
    (found,) = take_left_behind(tmp_path)
    recovered = found.open()
    assert recovered.value("a", "gain") == 4.0
    assert recovered.path == tmp_path / "work.loom"
    assert take_left_behind(tmp_path) == []


def test_work_of_a_running_editor_is_left_alone(tmp_path: Path, patch: Patch) -> None:
    """A second editor does not take what the first one is still working on."""
    slot = RecoverySlot(tmp_path)
    slot.write(patch)
    assert take_left_behind(tmp_path) == []
    slot.close()


def test_nothing_is_left_after_a_proper_end(tmp_path: Path, patch: Patch) -> None:
    """Closing removes the copy and the lock."""
    slot = RecoverySlot(tmp_path)
    slot.write(patch)
    slot.close()
    assert list(tmp_path.iterdir()) == []


def test_an_equal_copy_is_not_written_again(tmp_path: Path, patch: Patch) -> None:
    """Autosave costs nothing while nobody edits."""
    slot = RecoverySlot(tmp_path)
    slot.write(patch)
    (file,) = tmp_path.glob("*.json")
    file.write_text("untouched")
    slot.write(patch)
    assert file.read_text() == "untouched"
    patch.add("test_app.picture")
    slot.write(patch)
    assert file.read_text() != "untouched"
    slot.close()


def test_locks_of_crashed_editors_without_work_are_removed(tmp_path: Path) -> None:
    """The folder does not fill up; the lock of an editor that still runs stays."""
    running = RecoverySlot(tmp_path)
    (tmp_path / "dead.lock").write_text("999999999\nwarploom\n\n")
    take_left_behind(tmp_path)
    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]
    assert not (tmp_path / "dead.lock").exists()
    running.close()


def test_a_damaged_copy_is_kept_and_does_not_stop_the_start(tmp_path: Path) -> None:
    """What cannot be read is not thrown away."""
    (tmp_path / "x.json").write_text("{")
    assert take_left_behind(tmp_path) == []
    assert (tmp_path / "x.json").exists()
