"""The engine's thread: frames as its pacing says, playing or paused."""

from __future__ import annotations

import logging
import threading
from contextlib import AbstractContextManager

from engine.diagnostics import DeviceError, error
from engine.runtime.collector import COLLECTOR, Gap
from engine.runtime.cuda_engine import CudaEngine
from engine.runtime.interpreter import hold_switch_interval, release_switch_interval
from engine.runtime.pacing import Pacer

_log = logging.getLogger(__name__)
#: How often a paused engine looks into its inbox.
_IDLE_NS = 10_000_000
#: What a paused engine tells the collector: no frame will begin.
_FOREVER_NS = 2**62


class EngineLoop:
    """Runs frames of one engine on a thread of its own until `stop`; `lock` is held during each frame.

    `real_time` moves the patch's time on with the wall's, otherwise each frame is one fixed step. While the thread
    runs, threads switch quickly and garbage is collected between frames; a turn of it makes no objects that last.
    """

    def __init__(self, engine: CudaEngine, lock: AbstractContextManager[object], *, real_time: bool) -> None:
        self._engine = engine
        self._lock = lock
        self._real_time = real_time
        self._gap = Gap()
        self._stopping = False
        #: Released to wake the thread. A lock and no `Event`, which makes objects for each wait.
        self._wake = threading.Lock()
        self._wake.acquire()
        self._thread = threading.Thread(target=self._run, name="warploom-engine", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """False once it was stopped or the engine has failed."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """End the thread after the frame it is in."""
        if not self._stopping:
            self._stopping = True
            self._wake.release()
        self._thread.join()

    def _run(self) -> None:
        hold_switch_interval()
        COLLECTOR.hold(self._gap)
        try:
            self._engine.device.activate()
            self._turns()
        except DeviceError:
            pass  # the engine has said so itself
        except Exception as problem:  # noqa: BLE001 - whatever it is, a person has to hear of it
            # A thread that ends in silence would leave the editor waiting for reports.
            _log.exception("the engine's thread failed")
            text = f"the engine must run, got {type(problem).__name__}: {problem}"
            self._engine.fail(error(text, remedy="start the engine again"))
        finally:
            COLLECTOR.release(self._gap)
            release_switch_interval()

    def _turns(self) -> None:
        engine, gap, lock, wake = self._engine, self._gap, self._lock, self._wake
        engine.clock.hold()
        pacer = Pacer(engine.pacing)
        while not self._stopping:
            if engine.has_work:
                gap.free_until_ns = 0
                with lock:
                    engine.frame(free_running=True, real_time=self._real_time)
                if engine.pacing is not pacer.pacing:
                    pacer.follow(engine.pacing)
                pacer.advance()
                if not engine.running:
                    pacer.hurry(_IDLE_NS)  # what comes next is an edit, which is not to wait for a slow rate
                gap.free_until_ns = pacer.due_ns
                self._collect()
                pacer.wait(wake)
            else:
                gap.free_until_ns = _FOREVER_NS
                self._collect()
                if wake.acquire(timeout=_IDLE_NS / 1e9):
                    return
                pacer.restart()

    def _collect(self) -> None:
        if not COLLECTOR.is_adopted:
            COLLECTOR.collect()
