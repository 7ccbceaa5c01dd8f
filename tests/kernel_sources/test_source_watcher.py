"""Every way of saving a source file is seen, once, and nothing else is."""

import os
import queue
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.diagnostics import KernelError
from engine.kernel_sources.watcher import REST_S, SourceWatcher
from tests.waiting import until

NOTHING_FOR_S = 0.4


class Saves:
    """A folder with one kernel in it, and the reports about it."""

    def __init__(self, folder: Path) -> None:
        self.kernel = folder / "sub" / "blur.cu"
        self.kernel.parent.mkdir()
        self.kernel.write_text("old")
        self.reports: queue.Queue[frozenset[Path]] = queue.Queue()
        self.watcher = SourceWatcher(self.reports.put)
        self.watcher.watch(folder)

    def next(self) -> frozenset[Path]:
        return self.reports.get()

    def nothing_more(self) -> bool:
        try:
            return not self.reports.get(timeout=NOTHING_FOR_S)
        except queue.Empty:
            return True


@pytest.fixture
def saves(tmp_path: Path) -> Iterator[Saves]:
    """A watched folder; its watcher leaves no thread behind."""
    before = set(threading.enumerate())
    watched = Saves(tmp_path)
    yield watched
    watched.watcher.close()
    watched.watcher.close()
    assert set(threading.enumerate()) == before


def test_a_write_in_place_is_seen_once(saves: Saves) -> None:
    """Truncating and writing in pieces is one save."""
    with saves.kernel.open("w") as file:
        for piece in ("new", " and", " longer"):
            file.write(piece)
            file.flush()
            time.sleep(0.01)
    assert saves.next() == {saves.kernel}
    assert saves.nothing_more()


def test_a_temporary_file_renamed_over_is_seen(saves: Saves) -> None:
    """Editors that save safely do this; the temporary file's name does not matter."""
    temporary = saves.kernel.with_suffix(".cu~tmp")
    temporary.write_text("new")
    temporary.replace(saves.kernel)
    assert saves.next() == {saves.kernel}
    assert saves.nothing_more()


def test_a_rename_from_elsewhere_is_seen(saves: Saves, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The temporary file may lie in a folder that is not watched."""
    temporary = tmp_path_factory.mktemp("elsewhere") / "blur.cu"
    temporary.write_text("new")
    temporary.replace(saves.kernel)
    assert saves.next() == {saves.kernel}


@pytest.mark.parametrize("gap_s", [0.0, 0.2])
def test_delete_and_create_is_one_save(saves: Saves, gap_s: float) -> None:
    """The deletion alone is not reported, however long the file stays away."""
    saves.kernel.unlink()
    time.sleep(gap_s)
    saves.kernel.write_text("new")
    assert saves.next() == {saves.kernel}
    assert saves.nothing_more()


def test_a_save_without_a_change_is_not_reported(saves: Saves) -> None:
    """Content counts, not time stamps."""
    saves.kernel.write_text("old")
    saves.kernel.touch()
    assert saves.nothing_more()


def test_other_kinds_of_files_are_not_reported(saves: Saves) -> None:
    """Only kernels, headers, manifests and block files are."""
    for name in ("notes.txt", "blur.cu.swp", "blur.pyc"):
        (saves.kernel.parent / name).write_text("new")
    names = {"k.cu", "k.cuh", "k.h", "k.ptx", "k.json", "k.py"}
    for name in names:
        (saves.kernel.parent / name).write_text("new")
    seen: set[Path] = set()
    while len(seen) < len(names):
        seen |= saves.next()
    assert {path.name for path in seen} == names
    assert saves.nothing_more()


def test_files_saved_together_are_reported_together(saves: Saves) -> None:
    """A checkout of many files calls back once, or a few times when the disk is slow; no file is reported twice."""
    paths = {saves.kernel.with_name(f"k{index}.cu") for index in range(20)}
    for path in paths:
        path.write_text("new")
    reports = [saves.next()]
    while set().union(*reports) != paths:
        reports.append(saves.next())
    assert sum(map(len, reports)) == len(paths)
    assert len(reports) <= 5
    assert saves.nothing_more()


def test_an_emptied_file_is_given_time_to_be_filled(saves: Saves) -> None:
    """Some editors truncate in one step and write in another; a file that stays empty is reported too."""
    saves.kernel.open("w").close()
    time.sleep(0.02)
    saves.kernel.write_text("new")
    assert saves.next() == {saves.kernel}
    assert saves.nothing_more()
    saves.kernel.open("w").close()
    assert saves.next() == {saves.kernel}
    assert saves.nothing_more()


def test_times_and_rights_set_after_a_save_do_not_hold_it_up(saves: Saves, monkeypatch: pytest.MonkeyPatch) -> None:
    """vim sets them. The file is reported after it was closed, without waiting for another close."""
    monkeypatch.setitem(REST_S, "modified", 1000.0)
    for text in ("a", "b", "c", "d", "e"):
        saves.kernel.write_text(text)
        saves.kernel.chmod(0o644)
        os.utime(saves.kernel)
        assert saves.next() == {saves.kernel}


@pytest.mark.parametrize("way", ["in place", "moved"])
def test_a_complete_save_does_not_wait_for_more(saves: Saves, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was closed or moved into place is complete: the waits for incomplete ones are not spent on it."""
    for kind in ("created", "modified"):
        monkeypatch.setitem(REST_S, kind, 1000.0)
    for number in range(8):
        if way == "in place":
            saves.kernel.write_text(f"new {number}")
        else:
            temporary = saves.kernel.with_suffix(".tmp")
            temporary.write_text(f"new {number}")
            temporary.replace(saves.kernel)
        assert saves.next() == {saves.kernel}


def test_the_watcher_reports_on_its_own_thread(tmp_path: Path) -> None:
    """The watcher can be closed from there."""
    threads: queue.Queue[str] = queue.Queue()
    before = set(threading.enumerate())

    def report(_: frozenset[Path]) -> None:
        watcher.close()
        threads.put(threading.current_thread().name)

    watcher = SourceWatcher(report)
    watcher.watch(tmp_path)
    (tmp_path / "k.cu").write_text("new")
    assert threads.get() == "source-watcher"
    watcher.close()
    assert set(threading.enumerate()) == before


def test_a_failing_report_does_not_end_the_watching(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, and the next save is reported."""
    reports: queue.Queue[frozenset[Path]] = queue.Queue()

    def report(changed: frozenset[Path]) -> None:
        reports.put(changed)
        if reports.qsize() == 1:
            raise ValueError("first")

    with SourceWatcher(report) as watcher:
        watcher.watch(tmp_path)
        for text in ("first", "second"):
            (tmp_path / "k.cu").write_text(text)
            count = reports.qsize()
            until(lambda: reports.qsize() > count)  # noqa: B023 - called before `count` changes
        assert reports.qsize() == 2
    assert "could not be handled" in caplog.text


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """Watching nothing would be silent."""
    with SourceWatcher(lambda _: None) as watcher, pytest.raises(KernelError, match="watched folder must exist"):
        watcher.watch(tmp_path / "nowhere")
