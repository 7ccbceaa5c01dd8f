"""An engine goes on from a copy of another one's state."""

import os
import signal
from contextlib import suppress

import numpy as np
import pytest

from tests.protocol.engine_process import COMMAND, the_child
from warploom import Engine, Patch
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import DeviceError, WarploomError
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.messages import SetRunning, StateCopy
from warploom.engine.protocol.pipe import connect

SUM, SIZE, MANY = PortRef("sum", "out"), 20_001, 1 << 20
SHORT = {"float32": "f32", "float64": "f64", "int32": "s32", "uint64": "u64"}


def counting(size: int = SIZE, dtype: str = "float32") -> Patch:
    """Return a patch whose sum is the number of frames."""
    patch, kind = Patch(), SHORT[dtype]
    one = patch.add("io.array", data=np.ones(size, dtype), node_id="one")
    add = patch.add("kernel.expression", expression="x + y", reads=f"x: {kind}, y: {kind}", node_id="sum")
    delay = patch.add("buffer.frame_delay")
    patch.connect(one["out"], add["x"])
    patch.connect(delay["out"], add["y"])
    patch.connect(add["out"], delay["x"])
    return patch


def copied(engine: Client, most_bytes: int = MANY) -> StateCopy | None:
    """Return the copy that an engine makes, None if it makes none."""
    engine.copy_state(most_bytes)
    found = [event for event in engine.take_events() if isinstance(event, StateCopy)]
    return found[0] if found else None


@pytest.mark.parametrize("dtype", SHORT)
def test_another_engine_goes_on(device: Device, dtype: str) -> None:
    """Its frames, times and contents are those of the first one, which is not changed by the copy."""
    with Engine(counting(dtype=dtype), device) as first, Engine(counting(dtype=dtype), device) as second:
        for _ in range(7):
            first.step()
        copy = copied(first)
        assert copy is not None and copy.state.frame == 7
        second.post(copy)
        for frame in (7, 8):
            here, there = first.step(), second.step()
            assert here.frame == there.frame == frame
            assert there.time_s == pytest.approx(here.time_s)
            expected = np.full(SIZE, frame + 1, dtype)
            assert np.array_equal(first.read(SUM), expected) and np.array_equal(second.read(SUM), expected)


def test_values_go_on(device: Device) -> None:
    """A value block goes on too, and drives its parameter in the first frame; an edit since the copy counts."""
    patch = Patch()
    time = patch.add("value.ramp", node_id="ramp")
    scale = patch.add("math.scale_offset", node_id="scale")
    patch.connect(patch.add("io.array", data=np.ones(3, np.float32))["out"], scale["x"])
    patch.connect(time["value"], scale["scale"])
    with Engine(patch, device) as first:
        for _ in range(5):
            first.step()
        copy = copied(first)
        assert copy is not None
        patch.set(scale, offset=2.0)
        with Engine(patch, device) as second:
            second.post(copy)
            results = []
            for engine in (first, second):
                engine.step()
                results.append(engine.read(PortRef("scale", "out")))
    assert results[0][0] > 2.0 and np.array_equal(*results)


@pytest.mark.parametrize(("size", "dtype"), [(SIZE + 2, "float32"), (SIZE, "int32")])
def test_what_does_not_fit_begins_anew(device: Device, size: int, dtype: str) -> None:
    """State of another shape or type begins with its first contents; the frame and the other states go on."""
    with Engine(counting(), device) as first:
        first.step()
        first.step()
        copy = copied(first)
    assert copy is not None
    other = counting(size, dtype)
    other.add("buffer.state", node_id="state")
    with Engine(other, device) as second:
        second.post(copy)
        assert second.step().frame == 2
        assert np.array_equal(second.read(SUM), np.ones(size, dtype))


def test_there_is_no_copy_without_need(device: Device) -> None:
    """That is before the first frame, of a patch without state, of more bytes than are allowed, and of a bad number."""
    patch = counting(3)
    with Engine(patch, device) as engine:
        assert copied(engine) is None
        engine.step()
        copy = copied(engine)
        assert copy is not None and copied(engine, copy.state.size_bytes) is not None
        assert copied(engine, copy.state.size_bytes - 1) is None
        with pytest.raises(WarploomError, match="most_bytes"):
            engine.copy_state(-1)
        for node in [node for node in patch.nodes if node != "one"]:
            patch.remove(node)
        engine.step()
        assert copied(engine) is None


def test_a_copy_outlives_a_process_that_is_killed() -> None:
    """A paused engine in another process shows the frame after the copy, and goes on when it plays."""
    patch = counting()
    first = connect(patch, COMMAND, "host")
    for _ in range(9):
        first.step()
    copy = copied(first)
    os.kill(the_child(), signal.SIGKILL)
    with suppress(DeviceError):
        first.close()
    assert copy is not None and copy.state.frame == 9
    with connect(patch, COMMAND, "host") as second:
        second.post(SetRunning(False))
        second.post(copy)
        assert second.step().frame == 9
        assert np.array_equal(second.read(SUM), np.full(SIZE, 10, np.float32))
