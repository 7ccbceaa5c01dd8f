"""Keys drive parameters, in every frame and at no more than the cost of a slider."""

import random
from typing import Any

import numpy as np
import pytest

from tests.fuzzing import seeds
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.patch.animation.curves import Course
from warploom.engine.patch.files import dump_patch, parse_patch

KEYS = [(0, 1.0, "linear"), (0.1, 7.0)]


def a_patch() -> Patch:
    """Return a patch whose output `scaled.out` is its parameter `scale`."""
    patch = Patch()
    ones = patch.add("io.array", node_id="ones", data=np.ones(2, np.float32))
    scaled = patch.add("math.scale_offset", node_id="scaled")
    patch.connect(ones["out"], scaled["x"])
    return patch


def shown(engine: Engine) -> float:
    """Return the result of the last frame."""
    return float(engine.read(engine.patch["scaled"]["out"])[0])


def test_keys_drive_a_parameter_at_the_cost_of_a_slider() -> None:
    """Each frame has the curve's value; adding, moving and removing keys costs HOT; the set value comes back."""
    patch = a_patch()
    patch.set("scaled", scale=5.0)
    with Engine(patch, "host") as engine:
        engine.step()
        for edit in (
            lambda: patch.animate("scaled", "scale", KEYS),
            lambda: patch.animate("scaled", "scale", [(0, 3)]),
        ):
            edit()
            report = engine.step()
            course = Course(patch.curve("scaled", "scale"))
            assert report.update_level is UpdateLevel.HOT
            assert shown(engine) == np.float32(course.at(report.time_s))
            assert report.values["scaled.scale"] == course.at(report.time_s)
        patch.animate("scaled", "scale", ())
        assert engine.step().update_level is UpdateLevel.HOT and shown(engine) == 5.0
        patch.undo()
        assert engine.step().update_level is UpdateLevel.HOT and shown(engine) == 3.0
        assert engine.step().update_level is UpdateLevel.NONE


def test_a_connection_counts_before_keys_and_keys_before_a_value() -> None:
    """Keys wait while a connection drives the parameter, and count again without it."""
    patch = a_patch()
    patch.animate("scaled", "scale", [(0, 3.0)])
    slider = patch.add("value.slider", setting=0.25)
    with Engine(patch, "host") as engine:
        engine.step()
        assert shown(engine) == 3.0
        patch.set("scaled", scale=8.0)
        engine.step()
        assert shown(engine) == 3.0
        patch.connect(slider["value"], patch["scaled"]["scale"])
        engine.step()
        assert shown(engine) == 0.25
        patch.disconnect(patch["scaled"]["scale"])
        engine.step()
        assert shown(engine) == 3.0


def test_keys_beyond_the_range_are_kept_at_it_with_a_warning() -> None:
    """A slope may lead a curve beyond a parameter's range; a warning on the node says so."""
    patch = Patch()
    patch.add("value.lfo", node_id="lfo")
    patch.animate("lfo", "phase", [(0, 0.5, "smooth", None, 900.0), (0.2, 0.5)])
    with Engine(patch, "host") as engine:
        engine.step()
        (told,) = engine.step().diagnostics
    assert (told.node, told.port) == ("lfo", "phase")
    assert told.message == "parameter phase must be at most 1, got more from its keys"


def test_keys_of_a_parameter_that_is_gone_are_left_out_with_a_warning() -> None:
    """A file may have keys of what its block no longer has, or can't follow keys."""
    patch = parse_patch(dump_patch(_with_keys_of("shape")))
    with Engine(patch, "host") as engine:
        (told,) = engine.step().diagnostics
    assert told.message == "keys must be of a live number or boolean, got those of shape: they are left out"


def _with_keys_of(parameter: str) -> Patch:
    patch = Patch()
    patch.add("value.lfo", node_id="lfo")
    patch.animate("lfo", "phase", [(0, 0.5)])
    return parse_patch(dump_patch(patch).replace('"phase": [', f'"{parameter}": ['))


@pytest.mark.parametrize("seed", seeds(2))
def test_any_edits_leave_the_values_that_the_document_says(seed: int) -> None:
    """After random edits, in groups and bypassed and undone ones too, a frame is that of a new engine."""
    draw, patch = random.Random(seed), a_patch()
    patch.add("value.slider", node_id="slider", setting=0.5)
    patch.add("value.time", node_id="time")

    def edit() -> Any:
        which = draw.randrange(8)
        inside = patch["scaled"] if "scaled" in patch.nodes else None
        if which == 0 or inside is None:
            return patch.undo()
        if which == 1:
            patch.set(inside, scale=draw.uniform(-3, 3))
        elif which == 2 and patch.source_of(inside["scale"]) is None and not patch.group_of(inside):
            patch.connect(patch["slider"]["value"], inside["scale"])
        elif which == 3 and patch.source_of(inside["scale"]) is not None and not patch.group_of(inside):
            patch.disconnect(inside["scale"])
        elif which == 4:
            patch.set_mode(inside, draw.choice(["", "bypassed"]))
        elif which == 5 and not patch.group_of(inside):
            patch.group([inside])
        elif patch.source_of(inside["scale"]) is None:
            keys = [(draw.randrange(9) / 60, draw.uniform(-3, 3), draw.choice(["hold", "linear"])) for _ in range(3)]
            patch.animate(inside, "scale", dict(zip((k[0] for k in keys), keys, strict=True)).values())
        elif which == 6:
            patch.redo()
        return None

    with Engine(patch, "host") as engine:
        for frame in range(10):
            for _ in range(draw.randrange(3)):
                edit()
            report = engine.step()
            if not report.buffers.get("scaled.out"):
                continue
            with Engine(parse_patch(dump_patch(patch)), "host") as other:
                for _ in range(frame + 1):
                    other.step()
                assert shown(engine) == shown(other), (seed, frame)
