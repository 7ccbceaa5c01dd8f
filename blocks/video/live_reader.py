"""Reads cameras and streams: the newest frame is the one that counts."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import numpy as np

from warploom.blocks.video.films.film_source import FilmSource
from warploom.blocks.video.films.frame_layout import FrameLayout
from warploom.engine.diagnostics import PatchError

Array = np.ndarray[Any, Any]

#: How long to wait before a device or server that has failed is opened again, in seconds.
RETRY_S = 1.0


class LiveReader:
    """Takes frames as they come, on its own thread, and opens the source again when it fails.

    The frames are converted to `layout`. `form` is the library's name of a kind of device, None for an address.
    """

    def __init__(
        self, name: str, layout: FrameLayout, form: str | None = None, options: dict[str, str] | None = None
    ) -> None:
        self.layout = layout
        self._open = partial(FilmSource, name, form, options)
        self._lock = threading.Condition()
        self._closing = threading.Event()
        self._newest: tuple[Array, int] | None = None
        self._taken: tuple[Array, int] | None = None
        self._problem: PatchError | None = None
        self._thread = threading.Thread(target=self._run, name="warploom-live", daemon=True)
        self._thread.start()

    def newest(self, wait: bool = False) -> tuple[Array, int] | None:
        """Return the newest frame's bytes, read-only, and its number; None if none has come.

        With `wait`, wait for the first one. Raise PatchError while the source can't be read and has no other frame.
        """
        with self._lock:
            while wait and self._newest is None and self._problem is None and not self._closing.is_set():
                self._lock.wait()
            if self._problem is not None and self._newest is self._taken:
                raise self._problem
            self._taken = self._newest
            return self._newest

    def close(self) -> None:
        """Leave the source. It is closed by its thread, which may still wait for a frame or a server."""
        self._closing.set()
        with self._lock:
            self._lock.notify_all()

    def _run(self) -> None:
        number = 0
        while not self._closing.is_set():
            source = None
            try:
                source = self._open()
                while not self._closing.is_set():
                    read = source.read()
                    if read is None:
                        raise PatchError(f"film {source.name} must go on, got its end")
                    packed, number = self.layout.pack(read[1]), number + 1
                    packed.flags.writeable = False
                    self._tell((packed, number), None)
            except Exception as problem:  # noqa: BLE001 - whatever the library raises is shown on the block
                if not isinstance(problem, PatchError):
                    problem = PatchError(f"film {source and source.name} must be readable, got: {problem}")
                self._tell(self._newest, problem)
            finally:
                if source is not None:
                    source.close()
            self._closing.wait(RETRY_S)

    def _tell(self, newest: tuple[Array, int] | None, problem: PatchError | None) -> None:
        with self._lock:
            self._newest, self._problem = newest, problem
            self._lock.notify_all()
