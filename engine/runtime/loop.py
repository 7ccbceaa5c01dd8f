"""The engine's thread: frames at a rate, playing or paused."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import AbstractContextManager

from engine.diagnostics import DeviceError, error
from engine.runtime.cuda_engine import CudaEngine

_log = logging.getLogger(__name__)
#: How often a paused engine looks into its inbox.
IDLE_S = 0.01


class EngineLoop:
    """Runs frames of one engine on a thread of its own until `stop`; `lock` is held during each frame."""

    def __init__(self, engine: CudaEngine, lock: AbstractContextManager[object], rate: float | None) -> None:
        self._engine = engine
        self._lock = lock
        self._interval_s = 1 / rate if rate else 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="warploom-engine", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """False once it was stopped or the engine has failed."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """End the thread after the frame it is in."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        due = time.perf_counter()
        while not self._stop.is_set():
            try:
                with self._lock:
                    pause_s = self._turn()
            except DeviceError:
                return  # the engine has said so itself
            except Exception as problem:  # noqa: BLE001 - whatever it is, a person has to hear of it
                # A thread that ends in silence would leave the editor waiting for reports.
                _log.exception("the engine's thread failed")
                text = f"the engine must run, got {type(problem).__name__}: {problem}"
                self._engine.fail(error(text, remedy="start the engine again"))
                return
            due = max(due + pause_s, time.perf_counter())
            self._stop.wait(due - time.perf_counter())

    def _turn(self) -> float:
        """Do a frame when one is wanted and return how long to wait after it."""
        engine = self._engine
        if not engine.running and not engine.inbox and not engine.updates.pending:
            return IDLE_S
        engine.frame(free_running=True)
        return self._interval_s
