"""Engines can be closed at any moment, and free everything on their device."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.conftest import Kernels
from tests.runtime.frame.test_thread import until
from tests.runtime.preview.preview_support import LateDevice, LoggedStream, picture_patch
from warploom import Engine, Patch
from warploom.engine.device.protocol import Event
from warploom.engine.diagnostics import DeviceError
from warploom.engine.protocol.messages import SaveOutputs
from warploom.engine.protocol.sampling import ObservePorts, Sample, picture_of
from warploom.engine.runtime.preview import outputs
from warploom.engine.runtime.preview.copies import PictureCopy
from warploom.engine.runtime.preview.slot import Slot


class FailingStream(LoggedStream):
    """A stream that can't be waited for, recorded or destroyed once its device has failed."""

    def __init__(self, device: FailingDevice) -> None:
        super().__init__(device)
        self._failing = device

    def record(self, event: Event) -> None:
        self._failing.check()
        super().record(event)

    def synchronize(self) -> None:
        self._failing.check()
        super().synchronize()

    def destroy(self) -> None:
        self._failing.check()
        super().destroy()


class FailingDevice(LateDevice):
    """A device whose streams fail from some moment on, while everything else still works."""

    def __init__(self) -> None:
        super().__init__()
        self.has_failed = False

    def check(self) -> None:
        """Raise DeviceError once the device has failed."""
        if self.has_failed:
            raise DeviceError("the device has gone")

    def create_stream(self) -> FailingStream:
        return FailingStream(self)

    @property
    def is_empty(self) -> bool:
        """Return whether everything that was allocated has been freed."""
        return not len(self.table.snapshot())


@pytest.fixture
def device() -> Iterator[FailingDevice]:
    """A device that fails on request."""
    device = FailingDevice()
    yield device
    device.close()


@pytest.fixture
def patch(kernels: Kernels) -> Patch:
    """A viewer of random bytes, and a counter, so that every frame launches."""
    patch = picture_patch()
    patch.add("test_run.count", node_id="count")
    return patch


def fails_by_hand(engine: Engine, device: FailingDevice) -> None:
    """Let a requested frame fail."""
    device.has_failed = True
    with pytest.raises(DeviceError, match="the device has gone"):
        engine.step()


def fails_on_its_thread(engine: Engine, device: FailingDevice) -> None:
    """Let a frame of the engine's thread fail."""
    engine.start(rate=None)
    device.has_failed = True
    until(lambda: (report := engine.take_report()) is not None and report.failed)


def fails_while_preparing(engine: Engine, device: FailingDevice) -> None:
    """Let a frame fail while the next graph is being prepared."""
    engine.patch.add("test_run.count")
    engine.core.frame(free_running=True)
    fails_by_hand(engine, device)


@pytest.mark.parametrize("fail", [fails_by_hand, fails_on_its_thread, fails_while_preparing])
def test_after_a_fault_everything_that_can_be_freed_is_freed(
    patch: Patch, device: FailingDevice, fail: Callable[[Engine, FailingDevice], None]
) -> None:
    """After a frame failed, closing frees all memory without raising the error again, also if repeated."""
    engine = Engine(patch, device)
    engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
    engine.step()
    engine.take_sample("show")
    fail(engine, device)
    engine.close()
    engine.close()
    assert device.is_empty


def test_a_device_that_fails_while_the_engine_closes_is_reported_once(
    patch: Patch, device: FailingDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the device fails while the engine closes, one error is raised and everything else is freed."""
    monkeypatch.setattr("warploom.engine.runtime.engine.open_device", lambda name, **options: device)
    engine = Engine(patch, "host")
    engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
    engine.step()
    device.has_failed = True
    with pytest.raises(DeviceError, match="the device has gone"):
        engine.close()
    engine.close()
    assert device.is_empty
    assert not device._is_open


@pytest.mark.parametrize("state", ["flying", "offered", "reserving"])
def test_closing_does_not_wait_for_pictures(
    patch: Patch, device: FailingDevice, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing waits neither for copies of pictures, nor for readers to take them, nor for memory."""
    close, free = Slot.close, list[bool]()
    monkeypatch.setattr(Slot, "close", lambda slot: (free.append(slot.is_free), close(slot)))
    engine = Engine(patch, device)
    engine.step()
    core = engine.core
    core.samples.downscaler.load(wait=True)
    engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
    if state != "reserving":
        engine.step()
    if state == "flying":
        engine.take_sample("show")
        device.is_late = True
    core.frame(free_running=True)
    assert core.samples.has_work or state != "flying"
    engine.close()
    assert free == [True]
    assert engine.take_sample("show") is None
    assert device.is_empty


def test_closing_waits_for_a_picture_that_is_being_read(
    patch: Patch, device: FailingDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing waits for a reader of a picture, who gets the whole picture."""
    take, is_taking, may_take = PictureCopy.take, threading.Event(), threading.Event()

    def slowly(copy: PictureCopy, by: Any) -> Sample:
        is_taking.set()
        assert may_take.wait()
        return take(copy, by)

    monkeypatch.setattr(PictureCopy, "take", slowly)
    engine = Engine(patch, device)
    engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
    engine.step()
    with ThreadPoolExecutor(1) as reader:
        taken = reader.submit(engine.take_sample, "show")
        assert is_taking.wait()
        closing = threading.Thread(target=engine.close)
        closing.start()
        closing.join(0.05)
        assert closing.is_alive()
        may_take.set()
        preview = taken.result()
    closing.join()
    assert isinstance(preview, Sample)
    assert preview.data.shape == (4, 8, 4)
    assert device.is_empty


def test_closing_waits_for_files_that_are_being_written(
    kernels: Kernels, tmp_path: Path, device: FailingDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing waits until the files that an earlier frame saved are complete."""
    patch = Patch()
    data = patch.add("io.array", data=np.arange(3, dtype=np.float32))
    patch.connect(data["out"], patch.add("test_run.save", node_id="save", file=tmp_path / "numbers.npy")["x"])
    engine = Engine(patch, device)
    engine.step()
    may_write, write = threading.Event(), outputs.write_atomically
    monkeypatch.setattr(outputs, "write_atomically", lambda *a: may_write.wait() and write(*a))
    engine.post(SaveOutputs())
    engine.core.frame(free_running=True)
    closing = threading.Thread(target=engine.close)
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    may_write.set()
    closing.join()
    np.testing.assert_array_equal(np.load(tmp_path / "numbers.npy"), np.arange(3, dtype=np.float32))
