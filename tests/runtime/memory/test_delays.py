"""A delay's contents survive edits, whichever buffers change places before and after."""

import random

import numpy as np
import pytest

from tests.fuzzing import seeds
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


@pytest.mark.parametrize("seed", seeds(2))
def test_a_delay_of_an_output_does_not_restart_its_block(seed: int) -> None:
    """A block goes on where it was when its delayed output changes its size, and when the delay comes or goes then."""
    chance, patch, at = random.Random(seed), Patch(), 0
    rows = patch.add("io.array", data=np.arange(1000, dtype=np.float32).reshape(-1, 1))
    batches = patch.add("tensor.batches", order="in order", size=1)
    for name in ("x", "y"):
        patch.connect(rows["out"], batches[name])
    with Engine(patch, device="host") as engine:
        for _ in range(12):
            with patch.edit("size"):
                size = chance.randint(1, 3)
                patch.set(batches, size=size)
                if "late" not in patch.nodes:
                    patch.connect(batches["x_batch"], patch.add("buffer.frame_delay", node_id="late")["x"])
                elif chance.random() < 0.4:
                    patch.remove("late")
            for _ in range(chance.randint(1, 2)):
                engine.step()
                assert engine.read(batches["x_batch"]).ravel().tolist() == list(range(at, at + size))
                at += size


def test_a_block_that_begins_again_keeps_the_delay_of_its_output() -> None:
    """When a block's state is reset or changes its size, a delay still outputs what the block made a frame before."""
    patch = Patch()
    sound = patch.add("io.array", data=np.arange(1, 65, dtype=np.float32))
    cloth, echo = patch.add("geometry.cloth", rows=5, columns=4), patch.add("signal.echo", live=True, longest=0.01)
    patch.connect(sound["out"], echo["x"])
    delayed = {cloth["normals"]: patch.add("buffer.frame_delay"), echo["out"]: patch.add("buffer.frame_delay")}
    for source, late in delayed.items():
        patch.connect(source, late["x"])
    before = None
    with Engine(patch, device="host") as engine:
        for frame in range(9):
            patch.set(cloth, reset=frame % 4 == 3)
            patch.set(echo, longest=0.01 + 0.001 * (frame // 3))
            engine.step()
            if before is not None:
                for late, held in zip(delayed.values(), before, strict=True):
                    np.testing.assert_array_equal(engine.read(late["out"]), held)
            before = [engine.read(source) for source in delayed]
