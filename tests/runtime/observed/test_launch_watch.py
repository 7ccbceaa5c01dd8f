"""A device that does not finish is reported, and given up after twice the limit."""

import threading
import time
from collections.abc import Iterator

import pytest

from tests.device.lagging_device import LaggingDevice
from tests.runtime.small_blocks import Grow
from warploom import Engine, Patch
from warploom.engine.diagnostics import DeviceError, Diagnostic, Mend
from warploom.engine.protocol.messages import SetKernelTimeLimit
from warploom.engine.runtime.observed.launch_watch import LIMIT_S, LaunchWatch


@pytest.fixture
def engine() -> Iterator[Engine]:
    """An engine with a time limit that has run a frame."""
    patch = Patch()
    patch.add("buffer.constant")
    with Engine(patch, "host") as engine:
        engine.post(SetKernelTimeLimit(10.0))
        engine.step()
        engine.take_report()
        engine.take_events()
        yield engine
        engine.core.launcher.waits_since_ns = 0


def wait_since(engine: Engine, seconds: float) -> None:
    """Make the engine look as if it had waited for its device for so long."""
    engine.core.launcher.waits_since_ns = time.perf_counter_ns() - int(seconds * 1e9)


@pytest.mark.parametrize("limit_s", [10.0, 0.5, None])
def test_a_wait_over_the_limit_is_reported_once_and_given_up_at_twice_the_limit(
    engine: Engine, limit_s: float | None
) -> None:
    """The limit is that of kernels, but at most 2 s; without one, an engine may wait for ever."""
    engine.post(SetKernelTimeLimit(limit_s))
    engine.step()
    engine.take_report()
    watch = LaunchWatch(engine.core)
    allowed_s = min(limit_s, LIMIT_S) if limit_s is not None else 1e6
    assert not watch.look()
    wait_since(engine, 0.9 * allowed_s)
    assert not watch.look() and not engine.take_events()
    if limit_s is None:
        return
    wait_since(engine, 1.5 * allowed_s)
    for _ in range(3):
        assert not watch.look()
    (told,) = engine.take_events()
    assert isinstance(told, Diagnostic) and told.mend is Mend.LIFT_LIMIT
    assert engine.take_report() is None
    wait_since(engine, 2.1 * allowed_s)
    assert watch.look()
    report = engine.take_report()
    assert report is not None and report.failed and report.diagnostics[-1].mend is Mend.LIFT_LIMIT


def test_an_engine_is_closed_although_its_device_does_not_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing raises an error and frees nothing, since a kernel may still use the memory."""
    monkeypatch.setattr("warploom.engine.runtime.engine.CLOSING_S", 0.2)
    never = threading.Event()
    patch = Patch()
    patch.add(Grow.id)
    device = LaggingDevice()
    engine = Engine(patch, device)
    engine.step()
    stream = engine.core.launcher.stream
    end = type(stream).synchronize
    monkeypatch.setattr(type(stream), "synchronize", lambda stream: (never.wait(), end(stream)))
    engine.start()
    while not engine.core.launcher.waits_since_ns:
        time.sleep(0.01)
    with pytest.raises(DeviceError, match="must finish to be closed"):
        engine.close()
    engine.close()
    never.set()
    for thread in threading.enumerate():
        if thread.name == "warploom-engine":
            thread.join()
    engine.core.close()
    device.close()
