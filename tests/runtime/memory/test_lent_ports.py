"""`Engine.buffer`: the memory of a port in the running graph."""

import gc

import numpy as np
import pytest

from warploom import Engine, Patch, UpdateLevel
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.document import NodeRef

NUMBERS = np.arange(8, dtype=np.float32)


def chain(patch: Patch, *scales: float) -> list[NodeRef]:
    """Place an array and blocks that scale it one after the other."""
    nodes = [patch.add("io.array", data=NUMBERS)]
    for scale in scales:
        nodes.append(patch.add("math.scale_offset", scale=scale))
        patch.connect(nodes[-2]["out"], nodes[-1]["x"])
    return nodes


def test_a_port_is_shared_in_place() -> None:
    """An array of a port shows the newest frame, and stays readable after the engine's end."""
    patch = Patch()
    *_, last = chain(patch, 2.0)
    with Engine(patch, device="host") as engine:
        buffer = engine.buffer(last["out"])  # runs the first frame
        array, other = np.asarray(buffer), np.from_dlpack(engine.buffer(last["out"]))
        assert array.ctypes.data == other.ctypes.data == buffer.pointer
        np.testing.assert_array_equal(array, 2 * NUMBERS)
        patch.set(last, scale=-3.0)
        assert engine.step().update_level is UpdateLevel.HOT
        np.testing.assert_array_equal(array, -3 * NUMBERS)
    del buffer
    gc.collect()
    np.testing.assert_array_equal(other, -3 * NUMBERS)


def test_memory_stays_when_its_block_goes() -> None:
    """An array stays usable when an edit removes its block, and no later buffer lies in its memory."""
    patch = Patch()
    source, last = chain(patch, 2.0)
    with Engine(patch, device="host", share=False) as engine:
        array = np.asarray(engine.buffer(last["out"]))
        patch.remove(last)
        engine.step()
        array[...] = 5
        made = patch.add("math.scale_offset", scale=1.0)
        patch.connect(source["out"], made["x"])
        engine.step()
        np.testing.assert_array_equal(engine.read(made["out"]), NUMBERS)
        assert (array == 5).all()


def test_vectors_have_an_axis_of_their_own() -> None:
    """A picture is shared with its channels as the last axis, as `read` returns it."""
    patch = Patch()
    image = patch.add("image.gradient", width=5, height=3)
    with Engine(patch, device="host") as engine:
        np.testing.assert_array_equal(np.asarray(engine.buffer(image["out"])), engine.read(image["out"]))


def test_a_port_without_memory_of_its_own_is_refused() -> None:
    """A port that was fused is refused with a remedy, and shared where buffers are separate."""
    patch = Patch()
    _, middle, last = chain(patch, 2.0, 3.0)
    with Engine(patch, device="host") as engine:
        engine.step()
        with pytest.raises(PatchError, match=r"contents in one place after each frame to be shared, got one that was"):
            engine.buffer(middle["out"])
        np.testing.assert_array_equal(np.asarray(engine.buffer(last["out"])), 6 * NUMBERS)
    with Engine(patch, device="host", share=False) as engine:
        np.testing.assert_array_equal(np.asarray(engine.buffer(middle["out"])), 2 * NUMBERS)


def test_ports_that_carry_no_buffer() -> None:
    """A value, and a block that doesn't run, are refused."""
    patch = Patch()
    value = patch.add("value.slider")
    alone = patch.add("math.scale_offset")
    with Engine(patch, device="host") as engine:
        with pytest.raises(PatchError, match="must carry a buffer to be shared, got a value"):
            engine.buffer(value["value"])
        with pytest.raises(PatchError, match="must be part of the running graph"):
            engine.buffer(alone["out"])
