"""Keys and mouse: the table of inputs, and the blocks that read it."""

import numpy as np
import pytest

from tests.values.running import moments, place
from warploom import Engine, Patch
from warploom.engine.protocol.messages import SetInput, SetRunning
from warploom.engine.values.sources.listening import MOST_NAMES, Inputs


def test_the_table_holds_finite_numbers_and_is_bounded() -> None:
    """The table of inputs ignores values that are not finite, and names beyond its limit."""
    inputs = Inputs()
    for value in (1, True, 2.5, float("nan"), float("inf")):
        inputs.set("a", value)
    assert inputs.table == {"a": 2.5}
    for index in range(MOST_NAMES + 100):
        inputs.set(f"n{index}", 1.0)
    assert len(inputs.table) == MOST_NAMES
    inputs.set("a", 3.0)
    assert inputs.table["a"] == 3.0


def test_a_post_counts_how_often_something_rose_from_zero() -> None:
    """A post counts each rise from zero; repeated keys don't count."""
    inputs = Inputs()
    for value in (0, 1, 1, 1, 0, 0, 1, 0.5, 0):
        inputs.post("key.a", value)
    assert inputs.table == {"key.a": 0.0, "key.a#": 2.0}


def test_keyboard_tells_presses_and_switches() -> None:
    """A key held for three frames is down three times, pressed once, and switches the toggle once."""
    block, inputs = place("value.keyboard", key=" A "), Inputs()
    block.controls = inputs.table
    block.check()
    seen = []
    for now in moments(10):
        if now.frame in (2, 7):
            inputs.post("key.a", 1.0)
        if now.frame in (5, 8):
            inputs.post("key.a", 0.0)
        inputs.post("key.b", now.frame % 2)
        block.update(now)
        seen.append([block.__dict__[name] for name in ("down", "pressed", "toggle", "presses")])
    np.testing.assert_array_equal(
        np.array(seen).T,
        [
            [0, 0, 1, 1, 1, 0, 0, 1, 0, 0],
            [0, 0, 1, 0, 0, 0, 0, 1, 0, 0],
            [0, 0, 1, 1, 1, 1, 1, 0, 0, 0],
            [0, 0, 1, 1, 1, 1, 1, 2, 2, 2],
        ],
    )


def test_no_key_is_never_down() -> None:
    """A block without a key is never down, even when a key without a name is pressed."""
    block, inputs = place("value.keyboard", key=" "), Inputs()
    block.controls = inputs.table
    block.check()
    for now in moments(3):
        inputs.post("key.", float(now.frame == 1))
        block.update(now)
        assert (block.down, block.presses) == (False, 0)  # type: ignore[attr-defined]


def test_a_tap_shorter_than_a_frame_is_a_press() -> None:
    """A key that goes down and up before the next frame counts as one press."""
    patch = Patch()
    key = patch.add("value.keyboard", key="space")
    with Engine(patch, device="host") as engine:
        engine.step()
        for value in (1.0, 0.0):
            engine.post(SetInput("key.space", value))
        values = engine.step().values
        assert (values[str(key["pressed"])], values[str(key["down"])], values[str(key["toggle"])]) == (
            True,
            False,
            True,
        )
        assert engine.step().values[str(key["pressed"])] is False


def test_presses_before_a_reset_do_not_count() -> None:
    """A block doesn't count presses from before its start."""
    block, inputs = place("value.keyboard"), Inputs()
    block.controls = inputs.table
    for _ in range(3):
        inputs.post("key.a", 1.0)
        inputs.post("key.a", 0.0)
    for now in moments(2):
        block.update(now)
    assert (block.presses, block.toggle) == (0, False)  # type: ignore[attr-defined]


def test_mouse_is_in_the_middle_until_it_comes() -> None:
    """Before the first input the mouse is in the middle; the wheel counts from the block's start."""
    block, inputs = place("value.mouse", wheel_step=0.5), Inputs()
    block.controls = inputs.table
    inputs.add("mouse.wheel", 5.0)
    first, second = moments(2)
    block.update(first)
    assert [block.__dict__[n] for n in ("x", "y", "left", "wheel")] == [0.5, 0.5, False, 0.0]
    for name, value in (("x", 0.25), ("y", 1.0), ("left", 1.0), ("wheel", 8.0)):
        inputs.post(f"mouse.{name}", value)
    block.update(second)
    assert [block.__dict__[n] for n in ("x", "y", "left", "right", "wheel")] == [0.25, 1.0, True, False, 1.5]


@pytest.mark.parametrize("name", ["mouse.x", "key.é", "osc:/x/0"])
def test_inputs_reach_the_engine_while_it_is_paused(name: str) -> None:
    """An input requests a frame that shows it, though time stands still while paused."""
    patch = Patch()
    patch.add("value.mouse")
    with Engine(patch, device="host") as engine:
        engine.post(SetRunning(False))
        engine.post(SetInput(name, 0.75))
        assert engine.step().values["mouse.x"] == (0.75 if name == "mouse.x" else 0.5)
