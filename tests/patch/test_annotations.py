"""Frames, dots, bookmarks and presets are in the patch: with undo, in files and copies, and at no cost."""

import json

import numpy as np
import pytest

from warploom import Engine, Patch, UpdateLevel
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.editing.comparison import describe_difference
from warploom.engine.patch.files import dump_patch, parse_patch
from warploom.engine.patch.organise.annotations import Bookmark, Dots, Frame, Preset
from warploom.engine.patch.organise.osc import Osc, OscOut

FRAME = Frame(id="physics", title="Physics", comment="Two\nlines", colour="blue", position=(0, 8), size=(320, 200.5))
PRESET = Preset(type="math.scale_offset", name="soft", parameters={"scale": 0.5, "data": np.arange(3)})


def annotated() -> Patch:
    """Return a patch with one annotation of each kind."""
    patch = Patch()
    array = patch.add("io.array", data=np.arange(4, dtype=np.float32))
    scale = patch.add("math.scale_offset", node_id="scale")
    patch.connect(array["out"], scale["x"])
    patch.annotate(FRAME)
    patch.annotate(Dots(node="scale", port="x", points=((3, 4), (5.5, 6))))
    patch.annotate(Bookmark(number=1, title="All", centre=(10, -20), zoom=0.5))
    patch.annotate(PRESET)
    patch.annotate(Osc(port=9000))
    patch.annotate(OscOut(node="scale", port="scale", address="/fader/1"))
    return patch


def test_a_file_holds_them_and_keeps_fields_of_newer_versions() -> None:
    """Load inverts save, byte for byte; an unknown field of an annotation stays."""
    text = dump_patch(annotated())
    assert dump_patch(parse_patch(text)) == text
    document = json.loads(text)
    document["frames"][0]["shadow"] = True
    assert json.loads(dump_patch(parse_patch(json.dumps(document))))["frames"][0]["shadow"] is True


def test_a_patch_without_them_has_the_file_of_earlier_versions() -> None:
    """No empty lists are written, and undo leads back to that file."""
    patch = annotated()
    while patch.undo():
        pass
    assert dump_patch(patch) == dump_patch(Patch())
    assert json.loads(dump_patch(Patch())).keys() == {"schema", "nodes", "connections"}


def test_the_engine_is_not_affected() -> None:
    """Each of these edits has the update level NONE."""
    patch = annotated()
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.annotate(Frame(id="other"))
        assert engine.step().update_level is UpdateLevel.NONE
        patch.annotate(Dots(node="scale", port="x", points=((1, 1),)))
        patch.remove_annotation(PRESET.key)
        assert engine.step().update_level is UpdateLevel.NONE


def test_dots_go_with_their_connection() -> None:
    """They are removed in the same undo step, and stay if the input gets another source."""
    patch = annotated()
    other = patch.add("io.array", data=np.ones(4, np.float32))
    patch.connect(other["out"], patch["scale"]["x"])
    assert patch.dots(patch["scale"]["x"]) == ((3, 4), (5.5, 6))
    patch.disconnect(patch["scale"]["x"])
    assert patch.annotations_of(Dots) == []
    patch.undo()
    assert patch.dots(patch["scale"]["x"]) == ((3, 4), (5.5, 6))
    with pytest.raises(PatchError, match=r"dots must be of a connection, got scale\.gone, which nothing feeds"):
        patch.annotate(Dots(node="scale", port="gone", points=((1, 1),)))


def test_copies_have_frames_and_dots_at_their_new_places() -> None:
    """A copied frame gets an id of its own."""
    patch = annotated()
    ids = patch.insert(patch.excerpt(list(patch.nodes), ["physics"]), offset=(100, 50))
    assert patch.annotations["frame physics_2"].position == (100, 58)
    assert patch.dots(patch[ids["scale"]]["x"]) == ((103, 54), (105.5, 56))


def test_differences_name_them() -> None:
    """A reload says what has changed, and becomes equal."""
    patch, other = annotated(), annotated()
    other.annotate(Frame(id="physics", title="Forces"))
    other.remove_annotation("bookmark 1")
    assert describe_difference(patch, other) == ["changed: bookmark 1", "changed: frame physics"]
    patch.become(other, "Reload")
    assert dump_patch(patch) == dump_patch(other)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("frames", 3, '"frames" must be a list, got int'),
        ("frames", [{"title": "A"}], r'frames\[0\] must have "id"'),
        ("frames", [{"id": "a", "size": [1, 1]}], "size of a frame must be at least 48 each way"),
        ("frames", [{"id": "a", "colour": "red"}], "colour of a frame must be one of grey, blue"),
        ("frames", [{"id": "a"}, {"id": "a"}], r"frame must be in the patch once, got 'frame a' twice"),
        ("dots", [{"target": "scale"}], r'dots\[0\] must have a "target" such as "node.port"'),
        ("bookmarks", [{"number": 1, "zoom": 0}], "zoom of a bookmark must be from 0.01 to 100"),
        ("presets", [{"type": "a.b", "name": ""}], 'must have an object of "parameters"'),
    ],
)
def test_a_malformed_one_is_refused_with_its_place(field: str, value: object, reason: str) -> None:
    """The message names the list, the item and the rule."""
    document = {"schema": 1, "nodes": [], "connections": [], field: value}
    with pytest.raises(PatchError, match=reason):
        parse_patch(json.dumps(document))
