"""Keys of parameters and the timeline, as parts of the document."""

import json
import random
from itertools import pairwise

import numpy as np
import pytest

from tests.fuzzing import many, seeds
from warploom import Patch
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.animation.curves import Course
from warploom.engine.patch.animation.keys import Ease, Key, checked_curve
from warploom.engine.patch.editing.comparison import describe_difference
from warploom.engine.patch.files import dump_patch, parse_patch

RISE = [(0, 1.0), (2.5, 4.0, "hold")]


def a_patch() -> Patch:
    """Return a patch of two blocks and a value block."""
    patch = Patch()
    patch.add("math.scale_offset", node_id="one")
    patch.add("math.scale_offset", node_id="two")
    patch.add("value.lfo", node_id="lfo")
    return patch


def test_keys_are_sorted_kept_undone_and_saved() -> None:
    """Keys are in the file beside the parameter, one a line; undo and redo are exact."""
    patch = a_patch()
    before = dump_patch(patch)
    made = patch.animate("one", "scale", [(2.5, 4, "hold"), (1 / 3, 1.0)])
    assert made == (Key(0.333333, 1.0), Key(2.5, 4.0, Ease.HOLD)) == patch.curve("one", "scale")
    text = dump_patch(patch)
    assert '[0.333333, 1.0],\n          [2.5, 4.0, "hold"]' in text
    assert dump_patch(parse_patch(text)) == text
    assert describe_difference(parse_patch(before), patch) == ["changed: one (Scale Offset): keys of scale"]
    assert patch.undo() == "Animate scale of Scale Offset" and dump_patch(patch) == before
    patch.redo()
    assert dump_patch(patch) == text
    patch.animate("one", "scale", ())
    assert dump_patch(patch) == before


def test_a_gesture_is_one_undo_step() -> None:
    """A drag of a key makes many edits and one step."""
    patch = a_patch()
    for time in (0.1, 0.2, 0.3):
        patch.animate("one", "scale", [(time, 1.0)], gesture="drag")
    assert patch.curve("one", "scale")[0].time == 0.3
    patch.undo()
    assert patch.curve("one", "scale") == () and patch.nodes["one"].curves == {}


@pytest.mark.parametrize(
    ("node", "parameter", "keys", "text"),
    [
        ("one", "scale", [(0, 1), (0.0000001, 2)], "keys must have different times, got 0 s twice"),
        ("one", "scale", [(-1, 1)], "time of a key must be from 0"),
        ("one", "scale", [(0, 1, "ease")], "key must be hold, linear or smooth, got 'ease'"),
        ("one", "scale", [(0,)], "key must be a time, a value"),
        ("one", "scale", "abc", "keys must be a list such as"),
        ("one", "gone", RISE, "parameter must be one of"),
        (
            "lfo",
            "shape",
            RISE,
            "parameter lfo.shape must be a live number or boolean to have keys, got one that rebuilds",
        ),
        ("two", "scale", RISE, "parameter two.scale must not be connected to have keys, got it driven by lfo.value"),
    ],
)
def test_wrong_keys_are_refused(node: str, parameter: str, keys: object, text: str) -> None:
    """A refusal names the rule, and changes nothing."""
    patch = a_patch()
    patch.connect(patch["lfo"]["value"], patch["two"]["scale"])
    before = dump_patch(patch)
    with pytest.raises(PatchError, match=text.replace("(", r"\(")):
        patch.animate(node, parameter, keys)
    assert dump_patch(patch) == before


def test_a_file_with_wrong_keys_is_refused_with_the_place() -> None:
    """A key of a later Warploom, with more fields, is refused: without them another film would play."""
    patch = a_patch()
    patch.animate("one", "scale", RISE)
    text = dump_patch(patch).replace('[2.5, 4.0, "hold"]', '[2.5, 4.0, "hold", 1, 2, 3]')
    with pytest.raises(PatchError, match=r"nodes\[\d\] \(one.scale\): key must be a time, a value"):
        parse_patch(text)


def test_copies_groups_and_functions_keep_keys() -> None:
    """Keys go with a block into copies and groups; instances of a function share them but for own parameters."""
    patch = a_patch()
    patch.animate("one", "scale", RISE)
    ids = patch.insert(patch.excerpt(["one"]))
    assert patch.curve(ids["one"], "scale") == patch.curve("one", "scale") != ()
    group = patch.group(["one"], "Group")
    patch.set(group, function="film")
    other = patch.insert(patch.excerpt([group.id]))
    twin = next(new for old, new in other.items() if old == "one")
    assert patch.curve(twin, "scale") == patch.curve("one", "scale")
    patch.animate(twin, "offset", [(1, 2.0)])
    assert patch.curve("one", "offset") == (Key(1.0, 2.0),)
    patch.promote(patch["one"]["offset"], "lift")
    assert patch.curve(group, "lift") == (Key(1.0, 2.0),)
    patch.animate(group, "lift", [(1, 3.0)])
    assert patch.curve("one", "offset") == (Key(1.0, 3.0),) and patch.curve(twin, "offset") == (Key(1.0, 2.0),)
    text = dump_patch(patch)
    assert dump_patch(parse_patch(text)) == text


def test_removing_a_block_and_undo_bring_its_keys_back() -> None:
    """A removed block comes back as it was."""
    patch = a_patch()
    patch.animate("one", "scale", RISE)
    before = dump_patch(patch)
    patch.remove("one")
    assert "curves" not in dump_patch(patch)
    patch.undo()
    assert dump_patch(patch) == before


def test_a_timeline_is_part_of_the_patch() -> None:
    """Each field is checked; in and out stay in a shorter film; undo takes it back; older files have none."""
    patch = a_patch()
    assert patch.timeline is None
    before = dump_patch(patch)
    patch.set_timeline(rate=24, length=48, first=10, last=40, loop=False)
    assert json.loads(dump_patch(patch))["timeline"] == [
        {"rate": 24.0, "length": 48, "first": 10, "last": 40, "loop": False, "every_frame": False}
    ]
    assert parse_patch(dump_patch(patch)).timeline == patch.timeline
    patch.set_timeline(length=20)
    assert patch.timeline is not None and (patch.timeline.first, patch.timeline.end) == (10, 19)
    for fields, text in (
        ({"rate": 0}, "rate of a timeline must be from 0.01"),
        ({"length": 0}, "length of a timeline must be from 1"),
        ({"first": 20}, "in of a timeline must be a frame from 0 to 19, got 20"),
        ({"last": 5}, "in of a timeline must be at most its out 5, got 10"),
        ({"fps": 5}, "field of a timeline must be one of rate"),
    ):
        with pytest.raises(PatchError, match=text):
            patch.set_timeline(**fields)  # type: ignore[arg-type]
    patch.undo()
    patch.undo()
    assert dump_patch(patch) == before
    for rate in (10**400, float("nan"), float("inf")):
        with pytest.raises(PatchError, match="rate of a timeline"):
            patch.set_timeline(rate=rate)
    patch.set_timeline(first=0, last=0)
    assert parse_patch(dump_patch(patch)).timeline == patch.timeline


@pytest.mark.parametrize("seed", seeds(3))
def test_a_curve_meets_its_keys_and_stays_between_them(seed: int) -> None:
    """A curve has each key's value at its time, is between neighbours without own slopes, and has no other jumps."""
    draw = random.Random(seed)
    for _ in range(many(30)):
        times = sorted(draw.sample(range(500), draw.randrange(1, 8)))
        keys = checked_curve([(t / 24, draw.uniform(-9, 9), draw.choice([*Ease])) for t in times])
        course = Course(keys)
        for key in keys:
            assert course.at(key.time) == course.at(round(key.time * 24) * (1 / 24)) or key.ease is not Ease.HOLD
            assert course.at(key.time) == pytest.approx(key.value)
        assert course.at(-1.0) == keys[0].value and course.at(1e9) == keys[-1].value
        for one, two in pairwise(keys):
            low, high = sorted((one.value, two.value))
            at = [course.at(t) for t in np.linspace(one.time, two.time, 50, endpoint=False)]
            assert low - 1e-6 <= min(at) and max(at) <= high + 1e-6
            if one.ease is Ease.HOLD:
                assert set(at[:-1]) == {one.value}
            else:
                assert max(map(abs, np.diff([*at, two.value]))) <= 3.1 * (high - low) / 50 + 1e-9


def test_own_slopes_are_the_bezier_curve_of_their_tangents() -> None:
    """A smooth way is the Bezier curve whose handles are a third of the way along the tangents."""
    course = Course(checked_curve([(0, 1.0, "smooth", None, 6.0), (3, 4.0, "smooth", -3.0, None)]))
    handles = np.array([1.0, 1.0 + 6.0, 4.0 + 3.0, 4.0])
    for t in np.linspace(0, 1, 13):
        bezier = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
        assert course.at(3 * t) == pytest.approx(float(handles @ np.array(bezier)))
