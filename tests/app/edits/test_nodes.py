"""Edits of nodes, and nodes as text."""

import itertools

import numpy as np
import pytest

from warploom.app.edits.compatible import fitting_types
from warploom.app.edits.nodes import (
    connect,
    copied,
    delete,
    insert,
    is_set,
    paste,
    place,
    put_into,
    reset_parameter,
    reset_values,
    set_parameter,
    snapped,
    swap_inputs,
)
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import Connected, Connection, Node, NodeAdded, PortRef
from warploom.engine.patch.document import Patch


def test_positions_snap_to_the_nearest_multiple_of_eight() -> None:
    """Positions snap to the nearest multiple of eight."""
    assert snapped(3.9, -12.1) == (0, -16)


@pytest.mark.parametrize(
    ("parameter", "value", "low", "high"),
    [
        ("glow.amount", 0.5, 0.0, 1.0),
        ("viewer.roll_off", 0.0, 0.0, 1.0),
        ("points.field_of_view", 42.0, 5.0, 120.0),  # up to ten times the value: all of the range
        ("points.orbit", 20.0, -16.0, 56.0),  # wider: a fifth, around the value
        ("points.orbit", 0.0, -36.0, 36.0),
        ("constant.value", 0.0, -1.0, 1.0),  # enormous: its bounds say nothing
        ("constant.value", 40.0, 0.0, 80.0),
        ("sobel.per_channel", False, 0.0, 1.0),
    ],
)
def test_a_connected_lfo_takes_a_range_that_suits_the_parameter(
    parameter: str, value: float, low: float, high: float
) -> None:
    """The first parameter that a person connects an LFO to sets its range, once and unless the person has set it."""
    patch = Patch()
    for node, kind in {
        "glow": "image.glow",
        "sobel": "image.sobel",
        "viewer": "io.viewer",
        "points": "particles.render_points",
        "constant": "buffer.constant",
        "lfo": "value.lfo",
        "own": "value.lfo",
    }.items():
        patch.add(kind, node_id=node)
    patch.set("own", amplitude=3.0)
    node, _, name = parameter.partition(".")
    patch.set(node, **{name: value})
    before = patch.nodes["lfo"]
    connect(patch, PortRef("lfo", "value"), PortRef(node, name))
    amplitude, offset = patch.value("lfo", "amplitude"), patch.value("lfo", "offset")
    assert (offset - amplitude, offset + amplitude) == pytest.approx((low, high))
    connect(patch, PortRef("lfo", "value"), PortRef("glow", "sigma"))
    assert patch.value("lfo", "amplitude") == amplitude
    connect(patch, PortRef("own", "value"), PortRef("glow", "sigma"))
    assert (patch.value("own", "amplitude"), patch.value("own", "offset")) == (3.0, 0.0)
    for _ in range(3):
        patch.undo()
    assert patch.nodes["lfo"] == before


def test_a_reset_knows_the_range_that_a_connection_gave() -> None:
    """It counts as not set, a reset returns to it, and it follows the connection until the person has set another."""
    patch = Patch()
    for node, kind in {"glow": "image.glow", "points": "particles.render_points", "slider": "value.slider"}.items():
        patch.add(kind, node_id=node)
    value, view, glow = PortRef("slider", "value"), PortRef("points", "field_of_view"), PortRef("glow", "amount")

    def shown() -> list[object]:
        return [patch.value("slider", name) for name in ("low", "high")]

    assert not is_set(patch, "slider", "high")
    connect(patch, value, view)
    assert shown() == [5.0, 120.0]
    assert not any(is_set(patch, "slider", name) for name in ("low", "high", "setting"))
    set_parameter(patch, ["slider"], "high", 80.0)
    assert is_set(patch, "slider", "high")
    reset_parameter(patch, ["slider"], "high")
    assert shown() == [5.0, 120.0] and not is_set(patch, "slider", "high")
    set_parameter(patch, ["slider"], "setting", 0.9)
    connect(patch, value, glow, Connection(value, view))
    assert shown() == [0.0, 1.0]
    set_parameter(patch, ["slider"], "high", 0.7)
    connect(patch, value, view, Connection(value, glow))
    assert shown() == [0.0, 0.7] and is_set(patch, "slider", "high")
    reset_parameter(patch, ["slider"], "high")
    assert shown() == [0.0, 120.0]


def test_pasted_nodes_have_new_ids_and_the_connections_between_them(patch: Patch) -> None:
    """Pasted nodes have new ids, and only the connections between them are copied."""
    patch.connect(PortRef("source", "out"), PortRef("scale", "gain"))
    added = paste(patch, copied(patch, ["source", "scale"]))
    assert set(added) == {"source_2", "scale_2"}
    assert {str(c) for c in patch.connections_of("scale_2")} == {
        "source_2.out -> scale_2.x",
        "source_2.out -> scale_2.gain",
    }
    assert patch.nodes["scale_2"].position == (24, 24)


def test_the_copy_of_a_copy_is_counted_on(patch: Patch) -> None:
    """The copy of a copy continues the numbering, so ids stay short."""
    paste(patch, copied(patch, ["scale"]))
    assert paste(patch, copied(patch, ["scale_2"])) == ["scale_3"]


def test_a_paste_is_one_undo_step(patch: Patch) -> None:
    """A paste is one undo step."""
    before = patch.nodes.copy()
    paste(patch, copied(patch, ["source", "scale"]), (100, 50))
    assert patch.nodes["source_2"].position == (100, 50)
    assert patch.undo() == "Paste"
    assert patch.nodes == before


def test_placeholders_survive_the_clipboard(patch: Patch) -> None:
    """A node of an unknown type is copied with its data and its connections."""
    old = Node(id="old", type="foo.bar", parameters={"data": np.arange(3), "mode": "x"})
    patch.restore([NodeAdded(old), Connected(Connection(PortRef("source", "out"), PortRef("old", "in")))])
    paste(patch, copied(patch, ["source", "old"]))
    copy = patch.nodes["old_2"]
    assert copy.type == "foo.bar"
    assert copy.parameters["mode"] == "x"
    np.testing.assert_array_equal(copy.parameters["data"], [0, 1, 2])
    assert patch.source_of(PortRef("old_2", "in")) == PortRef("source_2", "out")


@pytest.mark.parametrize("text", ["", "hello", "{}", '{"schema": 1}', '{"schema": 99, "nodes": []}'])
def test_text_that_is_no_patch_is_refused(patch: Patch, text: str) -> None:
    """Pasting text that is no patch changes nothing and raises an error with a reason."""
    with pytest.raises(PatchError, match="clipboard"):
        paste(patch, text)
    assert len(patch.nodes) == 3


def test_a_parameter_of_several_nodes_is_set_in_one_step(patch: Patch) -> None:
    """Setting a parameter of several nodes is one step, as is resetting it to the default."""
    blends = [patch.add("test_canvas.blend").id for _ in range(2)]
    set_parameter(patch, blends, "amount", 0.75)
    assert [patch.value(node, "amount") for node in blends] == [0.75, 0.75]
    assert patch.history.undo_name == "Set amount of 2 blocks"
    reset_parameter(patch, blends, "amount")
    assert [patch.value(node, "amount") for node in blends] == [0.25, 0.25]
    assert [patch.undo(), patch.undo()] == ["Reset amount of 2 blocks", "Set amount of 2 blocks"]


def test_a_refused_value_changes_no_node(patch: Patch) -> None:
    """If one node refuses a value, no node takes it."""
    blends = [patch.add("test_canvas.blend").id for _ in range(2)]
    with pytest.raises(PatchError, match="amount"):
        set_parameter(patch, blends, "amount", 7.0)
    assert [patch.value(node, "amount") for node in blends] == [0.25, 0.25]


def test_pasting_twice_at_one_place_covers_nothing(patch: Patch) -> None:
    """A second copy pasted at the same place is to the right of and below the first, and a third below the second."""
    text = copied(patch, ["source", "scale"])
    for _ in range(3):
        paste(patch, text, (100, 50))
    places = [patch.nodes[f"source_{number}"].position for number in (2, 3, 4)]
    assert places == [(100, 50), (124, 74), (148, 98)]


def test_pasting_where_no_node_can_lie_is_refused(patch: Patch) -> None:
    """Pasting at a position outside a file's limits is refused."""
    text, before = copied(patch, ["source"]), list(patch.nodes)
    for position in ((1e300, 1e300), (float("nan"), 0.0)):
        with pytest.raises(PatchError, match="position must be two numbers from -1e9 to 1e9, got"):
            paste(patch, text, position)
    assert list(patch.nodes) == before


def test_a_deleted_part_of_a_chain_is_healed_with_one_connection() -> None:
    """What fed the deleted part feeds what it fed; nothing is connected within the part on the way there."""
    patch = Patch()
    nodes = [patch.add("buffer.copy").id for _ in range(6)]
    for source, target in itertools.pairwise(nodes):
        patch.connect(PortRef(source, "out"), PortRef(target, "x"))
    made: list[Connection] = []
    patch.subscribe(lambda change: made.append(change.connection) if isinstance(change, Connected) else None)
    delete(patch, nodes[2:5], [])
    wanted = [Connection(PortRef(nodes[1], "out"), PortRef(nodes[5], "x"))]
    assert [line for line in patch.connections if line.target.node == nodes[5]] == wanted
    assert all(line.target == wanted[0].target for line in made)
    delete(patch, patch.nodes.copy(), [])
    assert not patch.nodes


@pytest.mark.parametrize(
    ("feed", "dtype"), [("random.uniform", "f32"), ("image.noise", "float4"), ("reduce.count", "u32")]
)
def test_a_formula_is_offered_for_any_numbers_and_reads_them(feed: str, dtype: str) -> None:
    """An Expression has ports that follow from its values: it is found for a port, and reads its elements."""
    patch = Patch()
    source = patch.add(feed)
    spec, formula = patch.find_end(source["out"]), patch.catalogue.require("kernel.expression")
    assert spec is not None and fitting_types([formula], spec) == [formula]
    placed = place(patch, formula, (0, 0), source["out"])
    assert patch.source_of(PortRef(placed, "x")) == source["out"]
    read = patch.find_end(PortRef(placed, "x"))
    assert isinstance(read, PortSpec) and str(read.dtype) == dtype
    assert patch.undo() == "Add Expression"
    assert placed not in patch.nodes


def test_a_formula_goes_into_a_connection_of_images() -> None:
    """It reads the image, and its result is one as well."""
    patch = Patch()
    noise, viewer = patch.add("image.noise"), patch.add("io.viewer")
    patch.connect(noise["out"], viewer["image"])
    formula, ends = patch.catalogue.require("kernel.expression"), [noise["out"], viewer["image"]]
    source, target = (patch.find_end(end) for end in ends)
    assert source is not None and target is not None
    assert fitting_types([formula], source) == fitting_types([formula], target, source=source) == [formula]
    assert fitting_types([formula], target, source=patch.find_end(patch.add("random.uniform")["out"])) == []
    placed = insert(patch, formula, (0, 0), Connection(*ends))
    assert patch.source_of(ends[1]) == PortRef(placed, "out")
    assert patch.source_of(PortRef(placed, "x")) == ends[0]


def test_a_block_that_is_dropped_on_a_driver_takes_the_range_of_the_parameter() -> None:
    """Map between a Mouse and an angle covers the angle's range in its own unit, as if Map had been connected to it."""
    patch = Patch()
    mouse, render, between = patch.add("value.mouse"), patch.add("particles.render_points"), patch.add("value.map")
    line = patch.connect(mouse["x"], render["orbit"])
    put_into(patch, between.id, line)
    spec = patch.parameter(render.id, "orbit")
    assert (spec.unit, spec.minimum, spec.maximum) == ("degrees", -180, 180)
    assert [patch.value(between.id, name) for name in ("to_low", "to_high")] == [-180, 180]


def test_inputs_are_swapped() -> None:
    """What feeds two inputs changes places; a single connection goes to the next input, and back."""
    patch = Patch()
    for name in ("one", "two"):
        patch.add("image.noise", node_id=name)
    mix = patch.add("image.mix", node_id="mix")
    patch.connect(patch["one"]["out"], mix["a"])

    def fed() -> dict[str, str]:
        return {line.target.port: line.source.node for line in patch.connections}

    swap_inputs(patch, "mix")
    assert fed() == {"b": "one"}
    swap_inputs(patch, "mix")
    assert fed() == {"a": "one"}
    patch.connect(patch["two"]["out"], mix["b"])
    swap_inputs(patch, "mix")
    assert fed() == {"a": "two", "b": "one"}
    assert patch.undo() == "Swap inputs of Mix"
    assert fed() == {"a": "one", "b": "two"}
    with pytest.raises(PatchError, match="block must have two inputs, one of them connected, to swap them, got Noise"):
        swap_inputs(patch, patch.add("image.noise").id)


def test_inputs_of_other_types_are_not_swapped() -> None:
    """The refusal has the reason, and the patch stays as it was."""
    patch = Patch()
    render = patch.add("particles.render_points")
    patch.connect(patch.add("particles.emitter")["particles"], render["particles"])
    before = list(patch.connections)
    with pytest.raises(PatchError, match="count"):
        swap_inputs(patch, render.id)
    assert list(patch.connections) == before


def test_copies_are_fed_like_the_originals() -> None:
    """A duplicate with inputs has the same sources, and its own connections between the copies."""
    patch = Patch()
    noise, blur, tone = (patch.add(f"image.{name}", node_id=name) for name in ("noise", "gaussian_blur", "tone"))
    lfo = patch.add("value.lfo", node_id="lfo")
    patch.connect(noise["out"], blur["image"])
    patch.connect(blur["out"], tone["image"])
    patch.connect(lfo["value"], tone["exposure"])
    made = paste(patch, copied(patch, ["gaussian_blur", "tone"]), None, "Duplicate", with_inputs=True)
    lines = {str(line) for line in patch.connections if line.target.node in made}
    assert lines == {
        "noise.out -> gaussian_blur_2.image",
        "gaussian_blur_2.out -> tone_2.image",
        "lfo.value -> tone_2.exposure",
    }
    assert patch.undo() == "Duplicate"
    assert not set(made) & set(patch.nodes)


def test_values_are_reset_together() -> None:
    """Numbers, switches and choices get their defaults in one step; files, texts and code stay."""
    patch = Patch()
    load = patch.add("io.load_image", node_id="load", file="a.png", pixels="uchar4")
    blur = patch.add("image.gaussian_blur", node_id="blur", sigma=9.0)
    kernel = patch.add("kernel.expression", node_id="kernel", expression="2*x")
    reset_values(patch, [load.id, blur.id, kernel.id])
    assert (patch.nodes["load"].parameters, patch.nodes["blur"].parameters) == ({"file": "a.png"}, {})
    assert patch.nodes["kernel"].parameters == {"expression": "2*x"}
    assert patch.undo() == "Reset values of 3 blocks"
    assert patch.value("blur", "sigma") == 9.0
