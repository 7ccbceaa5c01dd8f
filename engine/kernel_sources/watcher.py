"""Tells when a kernel file's content changed on disk, however the editor saved it."""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from engine.diagnostics import KernelError

_log = logging.getLogger(__name__)
WATCHED_SUFFIXES = frozenset({".cu", ".cuh", ".h", ".ptx", ".json"})
#: A save is several events (truncate, write, rename); they are reported together once it has been quiet for this long.
QUIET_S = 0.06
_CHANGES = frozenset({"created", "modified", "moved", "closed"})


class KernelWatcher:
    """Watches folders and calls `on_change` with the files of each burst of saves, from its own thread.

    A file is reported when its content differs from what was last seen; a save that changes nothing is not, nor is a
    deletion: the last good kernel keeps running until there is a new one.
    """

    def __init__(self, on_change: Callable[[frozenset[Path]], None]) -> None:
        self._on_change = on_change
        self._known: dict[Path, bytes] = {}
        self._touched: set[Path] = set()
        self._folders: set[Path] = set()
        self._changed = threading.Condition()
        self._closing = False
        self._observer = Observer()
        self._observer.name = "kernel-watcher-events"
        self._observer.start()
        self._reporter = threading.Thread(target=self._report, name="kernel-watcher", daemon=True)
        self._reporter.start()

    def watch(self, folder: Path) -> None:
        """Watch a folder and all below it; KernelError when it is not there. Watching it again changes nothing."""
        folder = folder.resolve()
        if not folder.is_dir():
            raise KernelError(f"watched folder must exist, got {folder}")
        if folder in self._folders:
            return
        # Watch first, look second: a kernel that is loaded after this call is never older than what was looked at.
        try:
            self._observer.schedule(_Handler(self._touch), str(folder), recursive=True)
        except OSError as reason:  # the system's limit of watches
            raise KernelError(f"folder {folder} must be watchable, got: {reason}") from None
        self._folders.add(folder)
        for root, _, names in os.walk(folder):
            for path in (Path(root, name) for name in names):
                if path.suffix in WATCHED_SUFFIXES and (digest := _digest(path)) is not None:
                    with self._changed:
                        self._known.setdefault(path, digest)

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

    def __enter__(self) -> KernelWatcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _touch(self, path: Path) -> None:
        with self._changed:
            self._touched.add(path)
            self._changed.notify()

    def _report(self) -> None:
        while (touched := self._next_burst()) is not None:
            changed = set()
            for path in touched:
                digest = _digest(path)
                if digest is not None and digest != self._known.get(path):
                    self._known[path] = digest
                    changed.add(path)
            if changed:
                try:
                    self._on_change(frozenset(changed))
                except Exception:  # noqa: BLE001 - one failed report must not end the watching of all kernels
                    _log.exception("a change of %s could not be handled", ", ".join(sorted(map(str, changed))))

    def _next_burst(self) -> set[Path] | None:
        """Wait until something was touched and then nothing for `QUIET_S`; None when the watcher closes."""
        with self._changed:
            self._changed.wait_for(lambda: self._touched or self._closing)
            while not self._closing and self._changed.wait(QUIET_S):
                pass
            if self._closing:
                return None
            touched, self._touched = self._touched, set()
            return touched


class _Handler(FileSystemEventHandler):
    def __init__(self, touch: Callable[[Path], None]) -> None:
        self._touch = touch

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type not in _CHANGES:
            return
        for name in (event.src_path, event.dest_path):
            path = Path(os.fsdecode(name))
            if name and path.suffix in WATCHED_SUFFIXES:
                self._touch(path)


def _digest(path: Path) -> bytes | None:
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:  # gone again, or not readable yet: the event that follows brings it back
        return None
