"""A block of another type takes the place of a node."""

import pytest

from warploom.app.edits.nodes import function_types
from warploom.app.edits.replacing import ends_to_keep, replace
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import Mode, NodeColoured
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch
from warploom.engine.patch.organise.annotations import PinnedViewer, RunOrder
from warploom.engine.patch.organise.osc import OscOut


@pytest.fixture
def patch() -> Patch:
    """A noise that is blurred and shown twice, with an LFO on the blur."""
    patch = Patch()
    for type_id, name in (("image.noise", "noise"), ("io.viewer", "one"), ("io.viewer", "two"), ("value.lfo", "lfo")):
        patch.add(type_id, node_id=name)
    blur = patch.add("image.gaussian_blur", node_id="blur", title="Soft", position=(80, 40), sigma=7.0)
    patch.connect(patch["noise"]["out"], blur["image"])
    patch.connect(blur["out"], patch["one"]["image"])
    patch.connect(blur["out"], patch["two"]["image"])
    return patch


def _lines(patch: Patch) -> set[str]:
    return set(map(str, patch.connections))


def test_connections_and_values_stay(patch: Patch) -> None:
    """Ports are found by name or by type; place, title, mode and driver stay, and one undo brings everything back."""
    patch.connect(patch["lfo"]["value"], patch["blur"]["sigma"])
    patch.set_mode("blur", Mode.BYPASSED)
    before, nodes = _lines(patch), dict(patch.nodes)
    assert set(map(str, ends_to_keep(patch, ["blur"])[:2])) == {"noise.out", "lfo.value"}
    (new,), lost = replace(patch, ["blur"], patch.catalogue.require("image.glow"))
    assert lost == 0 and _lines(patch) == {line.replace("blur", new) for line in before}
    node = patch.nodes[new]
    assert (node.type, node.title, node.position, node.mode) == ("image.glow", "Soft", (80, 40), Mode.BYPASSED)
    assert patch.value(new, "sigma") == 7.0
    assert patch.undo() == "Replace Soft by Glow"
    assert (_lines(patch), patch.nodes) == (before, nodes)


def test_ports_with_other_names_are_used_once(patch: Patch) -> None:
    """Two inputs of a mixer don't go to the same input of the new block; a driver goes to no other parameter."""
    mix = patch.add("image.mix", node_id="mix")
    patch.connect(patch["noise"]["out"], mix["a"])
    patch.connect(patch["blur"]["out"], mix["b"])
    patch.connect(patch["lfo"]["value"], mix["amount"])
    (new,), lost = replace(patch, ["mix"], patch.catalogue.require("image.displace"))
    fed = {line.target.port for line in patch.connections if line.target.node == new}
    assert (fed, lost) == ({"image", "map", "amount"}, 0)
    (new,), lost = replace(patch, [new], patch.catalogue.require("image.sobel"))
    assert lost == 2 and [line.target.port for line in patch.connections if line.target.node == new] == ["image"]


def test_a_value_out_of_range_is_left_out(patch: Patch) -> None:
    """The new block then has its default."""
    patch.set("blur", sigma=0.01)
    block_type = patch.catalogue.require("image.glow")
    least = block_type.parameters["sigma"].minimum
    (new,), _ = replace(patch, ["blur"], block_type)
    assert least is None or patch.value(new, "sigma") in (0.01, block_type.parameters["sigma"].default)


def test_several_blocks_are_replaced_in_one_step(patch: Patch) -> None:
    """Blocks that feed each other stay connected."""
    second = patch.add("image.gaussian_blur", node_id="second")
    patch.connect(patch["blur"]["out"], second["image"])
    before = _lines(patch)
    (first, then), lost = replace(patch, ["blur", "second"], patch.catalogue.require("image.sobel"))
    assert lost == 0 and f"{first}.out -> {then}.image" in _lines(patch)
    assert patch.undo() == "Replace 2 blocks by Sobel"
    assert _lines(patch) == before


def test_groups_regions_and_the_same_type_are_refused(patch: Patch) -> None:
    """What they hold would be lost; the patch stays as it is."""
    patch.group(["one", "two"])
    group = next(node for node in patch.nodes if patch.is_group(node))
    before = dict(patch.nodes)
    with pytest.raises(PatchError, match="block to replace must hold no other blocks, got"):
        replace(patch, [group], patch.catalogue.require("image.sobel"))
    with pytest.raises(PatchError, match="block must be replaced by one of another type, got Gaussian Blur"):
        replace(patch, ["blur"], patch.catalogue.require("image.gaussian_blur"))
    assert patch.nodes == before


def test_a_function_replaces_a_block(patch: Patch) -> None:
    """The new group has the function's blocks, and is connected as the block was."""
    sobel = patch.add("image.sobel", node_id="sobel")
    patch.connect(patch["noise"]["out"], sobel["image"])
    group = patch.group(["blur"], "Soft").id
    patch.set(group, function="Soft")
    before, nodes = _lines(patch), dict(patch.nodes)
    (function,) = function_types(patch, "")
    (new,), lost = replace(patch, ["sobel"], function)
    assert patch.is_group(new) and len(patch.within(new)) == len(patch.within(group)) and lost == 0
    assert [line.source.node for line in patch.connections_of(new) if line.target.node == new] == ["noise"]
    assert patch.undo() == f"Replace Sobel by {function.title}"
    assert (_lines(patch), patch.nodes) == (before, nodes)


@pytest.mark.parametrize(("colour", "kept"), [("teal", "teal"), ("newer", "")])
def test_colours_and_comments_stay(patch: Patch, colour: str, kept: str) -> None:
    """A block is replaced even if it has a colour that only a newer version knows."""
    patch.set_comment("blur", "for the glow")
    patch.restore([NodeColoured("blur", colour, "")])
    (new,), _ = replace(patch, ["blur"], patch.catalogue.require("image.glow"))
    assert (patch.nodes[new].colour, patch.nodes[new].comment) == (kept, "for the glow")
    patch.undo()
    assert patch.nodes["blur"].colour == colour


def test_checks_viewers_osc_and_orders_stay(patch: Patch) -> None:
    """They go to the port of the same name, and one undo brings back the patch as it was."""
    other = patch.add("math.scale_offset", node_id="other").id
    patch.set_sentinel(patch["blur"]["out"], maximum=2.0)
    patch.annotate(OscOut(node="blur", port="sigma"))
    patch.annotate(PinnedViewer(node="blur", port="out"))
    patch.order(other, "blur")
    before = dump_patch(patch)
    (new,), _ = replace(patch, ["blur"], patch.catalogue.require("image.glow"))
    assert [(str(port), check.maximum) for port, check in patch.sentinels.items()] == [(f"{new}.out", 2.0)]
    assert set(patch.annotations) == {
        OscOut(node=new, port="sigma").key,
        PinnedViewer(node=new, port="out").key,
        RunOrder(first=other, then=new).key,
    }
    patch.undo()
    assert dump_patch(patch) == before
