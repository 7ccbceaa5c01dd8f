"""The engine's thread: frames at the pacing's times, playing or paused."""

import logging
import sys
import threading
from _thread import RLock  # `threading.RLock` is a function

from warploom.engine.diagnostics import DeviceError, Source, error
from warploom.engine.processes.scope import Cancelled
from warploom.engine.protocol.pacing import Pacer
from warploom.engine.runtime.frame.cuda_engine import CudaEngine

#: How long a thread keeps the interpreter while another one waits for it, in seconds.
#:
#: A frame releases the interpreter at every driver call. With Python's default of 5 ms, a busy worker (which plans a
#: rebuild, say) then keeps it for up to 5 ms each time. `tests/benchmarks/bench_pacing.py` on 2 cores, with a thread
#: that keeps releasing it beside a busy one:
#:
#: | interval | median wait | 99th percentile | speed of the busy thread |
#: |---|---|---|---|
#: | 5 ms (Python's default) | 5.3 ms | 8.8 ms | 100 % |
#: | 1 ms | 1.3 ms | 2.3 ms | 96 % |
#: | 0.5 ms | 0.73 ms | 0.91 ms | 94 % |
#: | 0.2 ms | 0.41 ms | 0.58 ms | 90 % |
#: | 0.1 ms | 0.31 ms | 0.44 ms | 83 % |
#: | **0.05 ms** | **0.24 ms** | **0.34 ms** | **79 %** |
#:
#: On an H200 with frames of 1000 kernels (0.98 ms), the longest frame while a block is added is 1.5 to 2.2 times the
#: median at 0.2 ms, and 1.2 to 1.4 times at 0.05 ms. The last column is the worst case: beside 60 frames a second the
#: busy thread loses about 1 %.
SWITCH_INTERVAL_S = 0.00005

_lock = threading.Lock()
_held = 0
_before_s = 0.0


def hold_switch_interval() -> None:
    """Switch threads quickly until the matching `release_switch_interval`; several engines may hold it."""
    global _held, _before_s
    with _lock:
        if _held == 0:
            _before_s = sys.getswitchinterval()
            sys.setswitchinterval(min(_before_s, SWITCH_INTERVAL_S))
        _held += 1


def release_switch_interval() -> None:
    """Restore the interval, unless another engine holds it."""
    global _held
    with _lock:
        _held -= 1
        if _held == 0:
            sys.setswitchinterval(_before_s)


_log = logging.getLogger(__name__)
#: How often a paused engine polls its inbox.
_IDLE_NS = 10_000_000


class FrameLock(RLock):  # type: ignore[misc]  # not final at run time; as a base it saves each frame two calls
    """Held during each frame, and by other threads between two frames, which then don't wait for long."""

    def __init__(self) -> None:
        #: An entry for each thread that waits for it; appending and popping are atomic.
        self.waiting: list[None] = []

    def __enter__(self) -> bool:  # type: ignore[override]  # the base has `acquire` for this
        if not self.acquire(False):
            self.waiting.append(None)
            self.acquire()
            self.waiting.pop()
        return True


class EngineLoop:
    """Runs the frames of one engine on a thread of its own until `stop`, holding `lock` during each frame.

    With `real_time` the patch's time follows the wall clock; otherwise each frame is one fixed step. While the thread
    runs, threads switch quickly. The loop itself leaves no objects behind.
    """

    def __init__(self, engine: CudaEngine, lock: FrameLock, *, real_time: bool) -> None:
        self._engine = engine
        self._lock = lock
        self._real_time = real_time
        self._stopping = False
        #: Released to wake the thread; an `Event` would make objects for each wait.
        self._wake = threading.Lock()
        self._wake.acquire()
        self._thread = threading.Thread(target=self._run, name="warploom-engine", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """False once the thread was stopped or the engine has failed."""
        return self._thread.is_alive()

    def stop(self, patience_s: float | None = None) -> None:
        """End the thread after the present frame, but wait for at most `patience_s`."""
        if not self._stopping:
            self._stopping = True
            self._wake.release()
        self._thread.join(patience_s)

    def _run(self) -> None:
        hold_switch_interval()
        try:
            self._engine.device.activate()
            while not self._stopping:
                try:
                    self._turns()
                except DeviceError:
                    if self._engine.fault is not None:
                        raise
            with self._lock:
                self._engine.launcher.settle()
                self._engine.tell()
        except DeviceError as problem:
            if self._engine.fault is None:  # not in a frame, which reports its failure
                self._engine.stop_for(problem)
        except Cancelled:
            pass  # the engine is being closed
        except Exception as problem:  # noqa: BLE001 - a thread that ended in silence would leave the editor waiting
            _log.exception("the engine's thread failed")
            text = f"the engine must run, got {type(problem).__name__}: {problem}"
            self._engine.fail(error(text, remedy="start the engine again", source=Source.ENGINE))
        finally:
            release_switch_interval()

    def _turns(self) -> None:
        engine, lock, wake = self._engine, self._lock, self._wake
        engine.clock.hold()
        pacer, player = Pacer(engine.player.pacing), engine.player
        while not self._stopping:
            if engine.has_work:
                launches = engine.launcher.launches
                lock.acquire()  # unlike `with`, this does not note that a thread waits: only this loop lets others in
                try:
                    engine.frame(free_running=True, real_time=self._real_time, due_ns=pacer.due_ns)
                finally:
                    lock.release()
                if player.pacing is not pacer.pacing:
                    pacer.follow(player.pacing)
                pacer.advance()
                if not player.running:
                    pacer.hurry(_IDLE_NS)  # an edit comes next, and must not wait for a slow rate
                # A free frame follows at once. A sleep takes 60 us even when it is for no time at all, and threads that
                # want the interpreter get it while the driver works.
                if player.pacing.rate is not None or engine.launcher.launches == launches or lock.waiting:
                    while engine.samples.is_flying and pacer.nap(wake):
                        with lock:
                            engine.samples.offer()
                    pacer.wait(wake)
            else:
                if wake.acquire(timeout=_IDLE_NS / 1e9):
                    return
                pacer.restart()
