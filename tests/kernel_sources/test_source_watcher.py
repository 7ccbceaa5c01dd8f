"""Every way of saving a source file is reported, once, and nothing else is."""

import os
import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import until
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.watcher import REST_S, SourceWatcher

CLOSED_S = REST_S["closed"]
LONG_S = 2 * max(REST_S.values())


class Watcher(SourceWatcher):
    """A watcher of a folder whose clock moves only when a test says so."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fails = False
        self._reports: list[frozenset[Path]] = []
        self._heard: queue.Queue[tuple[Path, str]] = queue.Queue()
        self._marks: set[Path] = set()
        self._now_s, self._looks = 0.0, 0
        super().__init__(self._report_to_test, self._time_s)
        self.watch(folder)

    def after(self, seconds: float) -> list[set[Path]]:
        """Wait until all saves have been noticed, let time pass, and return the reports: a set of files for each."""
        mark = self.folder / f"mark{len(self._marks)}.h"  # events arrive in order, so this file's event is the last
        self._marks.add(mark)
        mark.write_text("heard")
        while self._heard.get() != (mark, "closed"):
            pass
        self._now_s += seconds
        looks = self._looks
        # By the second look the watcher has reported everything from before the first.
        until(lambda: self._wake() or self._looks >= looks + 2)
        reports, self._reports = self._reports, []
        return [set(report - self._marks) for report in reports if report - self._marks]

    def _report_to_test(self, changed: frozenset[Path]) -> None:
        self._reports.append(changed)
        if self.fails:
            raise ValueError("the test's report")

    def _touch(self, path: Path, kind: str) -> None:
        with self._changed:
            looks = self._looks
            super()._touch(path, kind)
            self._looks = looks  # a look at an empty file, which notes its time, reports no file
        self._heard.put((path, kind))

    def _time_s(self) -> float:
        self._looks += threading.current_thread() is self._reporter
        return self._now_s

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify()


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """A kernel in a subfolder of the watched folder."""
    path = tmp_path / "sub" / "blur.cu"
    path.parent.mkdir()
    path.write_text("old")
    return path


@pytest.fixture
def watcher(tmp_path: Path, kernel: Path) -> Iterator[Watcher]:
    """A watcher of the kernel's folder, which leaves no thread behind."""
    before = set(threading.enumerate())
    watcher = Watcher(tmp_path)
    yield watcher
    watcher.close()
    watcher.close()
    assert set(threading.enumerate()) == before


def test_a_write_in_place_is_seen_once(kernel: Path, watcher: Watcher) -> None:
    """A truncation and writes in pieces are one save, as long as the pauses between the pieces are short."""
    with kernel.open("w") as file:
        for piece in ("new", " and", " longer"):
            file.write(piece)
            file.flush()
            assert watcher.after(0.9 * REST_S["modified"]) == []
    assert watcher.after(LONG_S) == [{kernel}]
    assert watcher.after(LONG_S) == []


def test_a_write_right_after_a_save_is_waited_for(kernel: Path, watcher: Watcher) -> None:
    """The first save is not reported while the second one is half written."""
    kernel.write_text("new")
    with kernel.open("w") as file:
        file.write("newer")
        file.flush()
        assert watcher.after(CLOSED_S) == []
    assert watcher.after(CLOSED_S) == [{kernel}]
    assert watcher.after(LONG_S) == []


def test_a_file_that_stays_open_is_reported_when_it_rests(kernel: Path, watcher: Watcher) -> None:
    """An open file is reported after a pause, since some file systems don't report that a file was closed."""
    with kernel.open("w") as file:
        file.write("new")
        file.flush()
        assert watcher.after(1.1 * REST_S["modified"]) == [{kernel}]
    assert watcher.after(LONG_S) == [{kernel}]
    assert watcher.after(LONG_S) == []


def test_a_temporary_file_renamed_over_is_seen(kernel: Path, watcher: Watcher) -> None:
    """A temporary file that is renamed over the file is one save, whatever its name."""
    temporary = kernel.with_suffix(".cu~tmp")
    temporary.write_text("new")
    temporary.replace(kernel)
    assert watcher.after(LONG_S) == [{kernel}]
    assert watcher.after(LONG_S) == []


def test_a_rename_from_elsewhere_is_seen(
    kernel: Path, watcher: Watcher, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A file that is moved in from an unwatched folder is reported."""
    temporary = tmp_path_factory.mktemp("elsewhere") / "blur.cu"
    temporary.write_text("new")
    temporary.replace(kernel)
    assert watcher.after(LONG_S) == [{kernel}]


@pytest.mark.parametrize("gap_s", [0.0, LONG_S])
def test_delete_and_create_is_one_save(kernel: Path, watcher: Watcher, gap_s: float) -> None:
    """A deletion and a new file are one save; a deletion is reported by itself only if the file stays away."""
    kernel.unlink()
    assert watcher.after(gap_s) == ([{kernel}] if gap_s else [])
    kernel.write_text("new")
    assert watcher.after(LONG_S) == [{kernel}]
    assert watcher.after(LONG_S) == []


def test_other_kinds_of_files_are_not_reported(kernel: Path, watcher: Watcher) -> None:
    """Only kernels, headers, manifests and block files are reported."""
    for name in ("notes.txt", "blur.cu.swp", "blur.pyc"):
        kernel.with_name(name).write_text("new")
    kinds = {kernel.with_name(name) for name in ("k.cu", "k.cuh", "k.h", "k.ptx", "k.json", "k.py")}
    for path in kinds:
        path.write_text("new")
    assert watcher.after(LONG_S) == [kinds]
    assert watcher.after(LONG_S) == []


def test_files_saved_together_are_reported_together(kernel: Path, watcher: Watcher) -> None:
    """A checkout of many files is reported once, if the files follow each other soon."""
    paths = {kernel.with_name(f"k{index}.cu") for index in range(20)}
    for path in paths:
        path.write_text("new")
        assert watcher.after(0.9 * CLOSED_S) == []
    assert watcher.after(CLOSED_S) == [paths]
    assert watcher.after(LONG_S) == []


def test_files_saved_apart_are_reported_apart(kernel: Path, watcher: Watcher) -> None:
    """Files that are saved apart are reported one by one, without waiting for the next."""
    for path in (kernel, kernel.with_name("other.cu")):
        path.write_text("new")
        assert watcher.after(CLOSED_S) == [{path}]


@pytest.mark.parametrize("name", ["blur.cu", "new.cu"])
def test_an_empty_file_is_given_time_to_be_filled(kernel: Path, watcher: Watcher, name: str) -> None:
    """An empty file is not reported until it is filled, or has stayed empty for a while."""
    path = kernel.with_name(name)
    path.open("w").close()
    assert watcher.after(CLOSED_S) == []
    assert watcher.after(0.9 * REST_S["modified"]) == []
    path.write_text("new")
    assert watcher.after(LONG_S) == [{path}]
    assert watcher.after(LONG_S) == []
    path.open("w").close()
    assert watcher.after(CLOSED_S) == []
    assert watcher.after(LONG_S) == [{path}]
    assert watcher.after(LONG_S) == []


@pytest.mark.parametrize("way", ["filled with what it held", "deleted"])
def test_an_empty_file_is_given_time_each_time(kernel: Path, watcher: Watcher, way: str) -> None:
    """The wait begins anew after an empty file was filled with its old contents, or deleted."""
    kernel.open("w").close()
    assert watcher.after(CLOSED_S) == []
    if way == "deleted":
        kernel.unlink()
    else:
        kernel.write_text("old")
    assert watcher.after(LONG_S) == [{kernel}]
    kernel.open("w").close()
    assert watcher.after(CLOSED_S) == []
    assert watcher.after(LONG_S) == [{kernel}]


def test_times_and_rights_set_after_a_save_do_not_hold_it_up(kernel: Path, watcher: Watcher) -> None:
    """Times and permissions that vim sets after a save don't delay its report."""
    for text in ("a", "b", "c", "d", "e"):
        kernel.write_text(text)
        kernel.chmod(0o644)
        os.utime(kernel)
        assert watcher.after(CLOSED_S) == [{kernel}]


@pytest.mark.parametrize("way", ["in place", "moved"])
def test_a_complete_save_does_not_wait_for_more(kernel: Path, watcher: Watcher, way: str) -> None:
    """A file that was closed or moved into place is reported after the shortest wait."""
    for number in range(8):
        if way == "in place":
            kernel.write_text(f"new {number}")
        else:
            temporary = kernel.with_suffix(".tmp")
            temporary.write_text(f"new {number}")
            temporary.replace(kernel)
        assert watcher.after(CLOSED_S) == [{kernel}]


def test_a_failing_report_does_not_end_the_watching(
    kernel: Path, watcher: Watcher, caplog: pytest.LogCaptureFixture
) -> None:
    """An exception of a report is logged, and the next save is reported."""
    for watcher.fails in (True, False):
        kernel.write_text(f"saved {watcher.fails}")
        assert watcher.after(CLOSED_S) == [{kernel}]
    assert caplog.text.count("could not be handled") == 1


def test_the_watcher_reports_on_its_own_thread_in_real_time(tmp_path: Path) -> None:
    """Reports come on the watcher's thread, and the watcher can be closed from its own report."""
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


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """Watching a folder that doesn't exist is an error."""
    with SourceWatcher(lambda _: None) as watcher, pytest.raises(KernelError, match="watched folder must exist"):
        watcher.watch(tmp_path / "nowhere")
