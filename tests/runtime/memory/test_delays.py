"""A delay's contents survive edits, whichever buffers change places before and after."""

import numpy as np
import pytest

from warploom import Engine, Patch
from warploom.engine.patch.document import NodeRef


def _delay(patch: Patch, name: str, initial: float, like: NodeRef) -> NodeRef:
    made = patch.add("buffer.frame_delay", node_id=name, initial=initial)
    patch.connect(like["out"], made["like"])
    return made


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_a_feedback_goes_on_when_other_delays_come_and_go(frames: int) -> None:
    """A count over frames continues although a second delay takes over a buffer that the first one swapped."""
    patch = Patch()
    one = patch.add("io.array", data=np.ones(4, np.float32))
    count, add = _delay(patch, "m", 5.0, one), patch.add("math.add")
    patch.connect(count["out"], add["x"])
    patch.connect(one["out"], add["y"])
    patch.connect(add["out"], count["x"])
    expected = 5.0
    with Engine(patch, device="host") as engine:

        def steps(number: int) -> None:
            nonlocal expected
            for _ in range(number):
                engine.step()
                assert engine.read(count["out"]).tolist() == [expected] * 4
                expected += 1

        steps(frames)
        other = _delay(patch, "a", 100.0, one)
        patch.connect(add["out"], other["x"])
        steps(1)
        assert engine.read(other["out"]).tolist() == [100.0] * 4
        steps(2)
        assert engine.read(other["out"]).tolist() == [expected - 1] * 4
        patch.remove(other)
        steps(frames)


@pytest.mark.parametrize("late", ["a", "b"])
def test_an_image_mixed_with_its_own_delayed_copy_needs_no_like(late: str) -> None:
    """An image mixed with its delayed copy has the image's size without `like`, even after a resize."""
    patches = []
    for told in (False, True):
        patch = Patch()
        noise = patch.add("image.noise", node_id="noise", width=6, height=4)
        delay, mix = patch.add("buffer.frame_delay", node_id="d"), patch.add("image.mix", node_id="mix", amount=0.25)
        patch.connect(noise["out"], mix["b" if late == "a" else "a"])
        patch.connect(delay["out"], mix[late])
        patch.connect(mix["out"], delay["x"])
        if told:
            patch.connect(noise["out"], delay["like"])
        patches.append(patch)
    found, expected = patches
    with Engine(found, device="host") as engine, Engine(expected, device="host") as other:
        for size in ((6, 4), (6, 4), (6, 4), (9, 5), (9, 5)):
            for patch in patches:
                patch.set("noise", width=size[0], height=size[1])
            assert engine.step().diagnostics == ()
            other.step()
            frame = engine.read(found["mix"]["out"])
            assert frame.shape[:2] == size[::-1]
            np.testing.assert_array_equal(frame, other.read(expected["mix"]["out"]))
