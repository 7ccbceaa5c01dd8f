"""Watches folders and reports kernel and block files once they are saved, in whatever way an editor does that."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import ObservedWatch

from warploom.engine.diagnostics import KernelError
from warploom.engine.readings import stamp_of

_log = logging.getLogger(__name__)
WATCHED_SUFFIXES = frozenset({".cu", ".cuh", ".h", ".ptx", ".json", ".py"})
#: Seconds after an event of each kind until a file counts as complete. A closed or moved file is complete; the wait of
#: a few milliseconds collects files saved together with it. A modified file should be closed next, but some file
#: systems don't report that. A created file may still have to be written, and a deleted one may come back.
REST_S = {"closed": 0.006, "moved": 0.006, "created": 0.02, "modified": 0.06, "deleted": 0.1}


class SourceWatcher:
    """Watches folders and calls `on_change` with the files that were saved together, from its own thread.

    It doesn't read files: a save that changes nothing is reported too. An empty file first gets some time to be filled.
    A deletion is reported unless the file comes back at once. `watch` may be called from any thread. `clock` returns
    seconds.
    """

    def __init__(
        self, on_change: Callable[[frozenset[Path]], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._on_change, self._clock = on_change, clock
        self._due_s: dict[Path, float] = {}  # when each touched file is complete, unless it is touched again
        self._empty: set[Path] = set()  # files seen empty once, which may soon be filled
        #: The watched folders, each with its number on the disk; below, those watched without their subfolders.
        self._folders: dict[Path, tuple[int, ...] | None] = {}
        self._flat: dict[Path, tuple[int, ...] | None] = {}
        self._watches: dict[Path, ObservedWatch] = {}
        self._changed = threading.Condition()
        self._closing = False
        self._observer = Observer()
        self._observer.name = "source-watcher-events"
        self._observer.start()
        self._reporter = threading.Thread(target=self._report, name="source-watcher", daemon=True)
        self._reporter.start()

    def watch(self, folder: Path) -> bool:
        """Watch a folder and all below it. Raise KernelError when it does not exist.

        Return False if it was watched already.
        """
        folder = folder.resolve()
        if not folder.is_dir():
            raise KernelError(f"watched folder must exist, got {folder}")
        with self._changed:
            if self._closing or self._is_watched(folder):
                return False
            self._folders[folder] = _number(folder)
        self._begin(folder, self._folders)
        return True

    def watch_files(self, files: Collection[Path]) -> None:
        """Watch the folders of these files, but no subfolders. Raise KernelError when one can't be watched.

        For a symbolic link, watch the folder of the link and the folder of its target.
        """
        for folder in {place for file in files for place in (file.parent.resolve(), file.resolve().parent)}:
            with self._changed:
                if self._closing or not folder.is_dir() or self._is_watched(folder) or folder in self._flat:
                    continue
                self._flat[folder] = _number(folder)
            self._begin(folder, self._flat)

    def _is_watched(self, folder: Path) -> bool:
        return any(folder.is_relative_to(known) for known in self._folders)

    def follow_moves(self) -> None:
        """Watch replaced folders again: when a folder is moved away, the system keeps watching the moved one."""
        for noted in (self._folders, self._flat):
            for folder, number in tuple(noted.items()):
                present = _number(folder)
                if present == number:
                    continue
                with self._changed:
                    noted[folder] = present
                    watch = self._watches.pop(folder, None)
                if watch is not None:
                    self._observer.unschedule(watch)
                if present is not None:
                    self._begin(folder, noted)
                    for path in folder.rglob("*") if noted is self._folders else folder.iterdir():
                        self._touch(path, "moved")

    def _begin(self, folder: Path, noted: dict[Path, tuple[int, ...] | None]) -> None:
        """Start events for a folder."""
        try:
            self._watches[folder] = self._observer.schedule(
                _Handler(self._touch), str(folder), recursive=noted is self._folders
            )
        except OSError as reason:  # the system's limit on watches
            with self._changed:
                noted.pop(folder, None)
            raise KernelError(f"folder {folder} must be watchable, got: {reason}") from None
        _log.debug("watching %s", folder)

    def close(self) -> None:
        """Stop watching and wait for the threads to end; safe to call from `on_change` and more than once."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._observer.is_alive():
            self._observer.stop()
            self._observer.join()
        if self._reporter is not threading.current_thread():
            self._reporter.join()

    def __enter__(self) -> SourceWatcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _touch(self, path: Path, kind: str) -> None:
        if path.suffix in WATCHED_SUFFIXES:
            with self._changed:
                self._due_s[path] = self._clock() + REST_S[kind]
                self._changed.notify()

    def _report(self) -> None:
        while (complete := self._next_complete()) is not None:
            saved = frozenset(filter(self._is_filled, complete))
            if saved:
                try:
                    self._on_change(saved)
                except Exception:  # noqa: BLE001 - a failed report must not end the watch
                    _log.exception("a change of %s could not be handled", ", ".join(sorted(map(str, saved))))

    def _next_complete(self) -> set[Path] | None:
        """Wait until files are complete, and return them. Return None when the watcher closes."""
        with self._changed:
            while not self._closing:
                now_s = self._clock()
                complete = {path for path, due_s in self._due_s.items() if due_s <= now_s}
                # Report files saved together in one call: wait for files that are nearly complete.
                nearly = any(now_s < due_s <= now_s + REST_S["closed"] for due_s in self._due_s.values())
                if complete and not nearly:
                    for path in complete:
                        del self._due_s[path]
                    return complete
                first_s = min((due_s for due_s in self._due_s.values() if due_s > now_s), default=None)
                self._changed.wait(None if first_s is None else first_s - now_s)
            return None

    def _is_filled(self, path: Path) -> bool:
        """Return False for a file that has just become empty, which is touched again later."""
        stamp = stamp_of(path)
        if stamp is not None and not stamp[2] and path not in self._empty:
            self._empty.add(path)
            self._touch(path, "modified")
            return False
        self._empty.discard(path)
        return True


class _Handler(FileSystemEventHandler):
    def __init__(self, touch: Callable[[Path, str], None]) -> None:
        self._touch = touch

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type in REST_S:
            for name in (event.src_path, event.dest_path):  # "" where there is no destination
                self._touch(Path(os.fsdecode(name)), event.event_type)


def _number(folder: Path) -> tuple[int, ...] | None:
    stamp = stamp_of(folder)
    return stamp[:2] if stamp is not None else None
