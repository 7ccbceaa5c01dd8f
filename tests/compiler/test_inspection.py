"""A plan as stable text, as graphs with every operation, and as the memory in use at each step."""

import re
from random import Random
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from tests.compiler.support.descriptions import array, graph, i, node, o, ref
from tests.compiler.support.schedules import Draft, random_draft
from warploom.engine.compiler.description import GraphDescription
from warploom.engine.compiler.inspection import memory_svg, memory_timeline, plan_dot, plan_svg, plan_text
from warploom.engine.compiler.inspection.drawing import arrange
from warploom.engine.compiler.operations import RegionEntry
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import make_plan
from warploom.engine.descriptions.entries import RegionKind
from warploom.engine.drawings.rect import Rect

SVG = "{http://www.w3.org/2000/svg}"


def chain(length: int = 4) -> Plan:
    """Return the plan of a row of blocks after an array of 100 numbers."""
    blocks = [node(f"n{index}", i(), o()) for index in range(length)]
    wires = ["a.out n0.x", *(f"n{k}.out n{k + 1}.x" for k in range(length - 1))]
    return make_plan(graph(array("a", 100), *blocks, wires=wires))


def test_the_text_of_a_plan() -> None:
    """A plan's text lists blocks, operations, buffers and totals, with sizes in bytes."""
    assert plan_text(chain()) == (
        "plan of 5 blocks: 4 operations, 5 buffers, 0 bodies\n"
        "\n"
        "blocks\n"
        "  a: out: f32[100]\n"
        "  n0: x from a.out; out: f32[100]\n"
        "  n1: x from n0.out; out: f32[100]\n"
        "  n2: x from n1.out; out: f32[100]\n"
        "  n3: x from n2.out; out: f32[100]\n"
        "\n"
        "operations\n"
        "  0 n0: kernel k, grid 1x1x1 of 256x1x1; reads a.out; writes n0.out\n"
        "  1 n1: kernel k, grid 1x1x1 of 256x1x1; reads n0.out; writes n1.out; after 0\n"
        "  2 n2: kernel k, grid 1x1x1 of 256x1x1; reads n1.out; writes n2.out; after 1\n"
        "  3 n3: kernel k, grid 1x1x1 of 256x1x1; reads n2.out; writes n3.out; after 2\n"
        "\n"
        "buffers\n"
        "  a.out: f32[100], 400 bytes, provided\n"
        "  n0.out: f32[100], 400 bytes, graph; at 0; shares with n2.out\n"
        "  n1.out: f32[100], 400 bytes, graph; at 512\n"
        "  n2.out: f32[100], 400 bytes, graph; at 0; shares with n0.out\n"
        "  n3.out: f32[100], 400 bytes, graph\n"
        "\n"
        "memory\n"
        "  arena: 1024 bytes for 3 buffers\n"
        "  arena without sharing: 1536 bytes; in use at once: 1024 bytes\n"
        "  memory of their own: 800 bytes for 2 buffers\n"
    )


def test_the_text_does_not_depend_on_the_order_of_blocks() -> None:
    """A patch's text is the same in any order of blocks and connections."""
    nodes = [array("a", 4), node("b", i(), o()), node("c", i(), o()), node("d", i(), i("y"), o())]
    wires = ["a.out b.x", "a.out c.x", "b.out d.x", "c.out d.y"]
    one, other = make_plan(graph(*nodes, wires=wires)), make_plan(graph(*nodes[::-1], wires=wires[::-1]))
    assert plan_text(one) == plan_text(other)


def test_the_dot_of_a_plan_has_every_operation_and_dependency() -> None:
    """The dot text contains one box for each operation and one arrow for each dependency."""
    plan = chain()
    text = plan_dot(plan)
    assert sorted(map(int, re.findall(r"^  o(\d+) \[label", text, re.M))) == [0, 1, 2, 3]
    assert re.findall(r"o(\d+) -> o(\d+);", text) == [("0", "1"), ("1", "2"), ("2", "3")]
    assert text.count("{") == text.count("}")


def test_the_drawing_names_every_block_and_kernel() -> None:
    """The drawing is well-formed XML with each operation's text and one arrow for each dependency."""
    plan = chain()
    root = ElementTree.fromstring(plan_svg(plan))
    words = [item.text or "" for item in root.iter(f"{SVG}text")]
    assert [word for word in words if word.endswith(("n0", "n1", "n2", "n3"))] == ["0  n0", "1  n1", "2  n2", "3  n3"]
    assert words.count("kernel k") == 4
    assert len(list(root.iter(f"{SVG}path"))) == 2 * 3  # a line and a head for each arrow


def test_names_are_escaped() -> None:
    """A name with special characters is escaped in the drawing and in the dot text."""
    name = '<b> "&'
    plan = make_plan(GraphDescription((node(name, o(shape="[4]")),), ()))
    root = ElementTree.fromstring(plan_svg(plan))
    assert f"0  {name}" in [item.text for item in root.iter(f"{SVG}text")]
    assert '0 <b> \\"&' in plan_dot(plan)


# The memory timeline


def test_the_memory_of_a_chain_step_by_step() -> None:
    """In each step of a chain, the buffers that are written or read are live; the last one has its own memory."""
    timeline = memory_timeline(chain())
    live = [[str(owner) for owner in step.buffers] for step in timeline.steps]
    assert live == [["n0.out"], ["n0.out", "n1.out"], ["n1.out", "n2.out"], ["n2.out"]]
    assert [step.live_bytes for step in timeline.steps] == [512, 1024, 1024, 512]
    assert timeline.own_bytes == 800
    assert timeline.spans == {ref("n0.out"): (0, 1), ref("n1.out"): (1, 2), ref("n2.out"): (2, 3)}


def test_the_peak_is_the_highest_step() -> None:
    """The live bytes of the highest step are the arena's peak in a connected patch."""
    plan = chain(9)
    assert max(step.live_bytes for step in memory_timeline(plan).steps) == plan.placement.peak_bytes


def test_the_memory_drawing_has_a_bar_for_every_buffer() -> None:
    """The memory drawing shows a bar for each buffer, with its name, size, offset and operations."""
    root = ElementTree.fromstring(memory_svg(chain()))
    tips = [item.text for item in root.iter(f"{SVG}title")]
    assert tips[:3] == [
        "n0.out: 512 B at 0, 0 to 1",
        "n1.out: 512 B at 512, 1 to 2",
        "n2.out: 512 B at 0, 2 to 3",
    ]
    assert len(tips) == 3 + 4  # one tip for each bar and one for each step


def test_an_empty_plan_can_be_shown() -> None:
    """An empty plan can be printed and drawn, and uses memory in no step."""
    plan = make_plan(graph())
    assert plan_text(plan).startswith("plan of 0 blocks: 0 operations, 0 buffers, 0 bodies\n")
    for drawing in (plan_svg(plan), memory_svg(plan)):
        ElementTree.fromstring(drawing)
    assert memory_timeline(plan).steps == ()


# Positions in drawings


def overlap(a: Rect, b: Rect) -> bool:
    """Return whether two boxes overlap."""
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height


def inside(a: Rect, b: Rect) -> bool:
    """Return whether a box lies in another one, but for the rounding of sums."""
    right, bottom = b.x + b.width + 1e-9, b.y + b.height + 1e-9
    return a.x >= b.x and a.y >= b.y and a.x + a.width <= right and a.y + a.height <= bottom


@given(st.integers(0, 10**9), st.integers(1, 30))
def test_boxes_never_overlap_and_bodies_hold_what_runs_in_them(seed: int, count: int) -> None:
    """Boxes of a scope don't overlap and are inside their body, and arrows go down beside other boxes."""
    draft = random_draft(Random(seed), count)
    operations, scopes = draft.operations, draft.finished_scopes()
    arranged = arrange(operations, scopes, [(90.0 + index % 40, 40.0) for index in range(len(operations))])
    everything = Rect(0, 0, arranged.width, arranged.height)
    for index, operation in enumerate(operations):
        box = arranged.operations[index]
        assert inside(box, arranged.bodies[operation.scope] if operation.scope else everything)
        siblings = scopes[operation.scope].members
        assert not any(overlap(box, arranged.operations[other]) for other in siblings if other < index)
        assert all(arranged.operations[e].y + arranged.operations[e].height < box.y for e in operation.after)
        if isinstance(operation.entry, RegionEntry):
            assert all(inside(arranged.bodies[body], box) for body in operation.entry.scopes)
    for (earlier, later), way in arranged.ways.items():
        for x, top, bottom in way:
            passed = scopes[operations[later].scope].members
            assert arranged.operations[earlier].y < top <= bottom < arranged.operations[later].y
            assert not any(overlap(Rect(x, top, 0.1, bottom - top), arranged.operations[other]) for other in passed)


def test_arrows_that_others_imply_are_left_out() -> None:
    """An arrow that two others imply is left out."""
    draft = Draft()
    draft.op("a")
    draft.op("b", ["a"])
    draft.op("c", ["a", "b"])
    arranged = arrange(draft.operations, draft.finished_scopes(), [(10.0, 10.0)] * 3)
    assert set(arranged.ways) == {(0, 1), (1, 2)}


def test_a_region_is_drawn_around_its_bodies() -> None:
    """The bodies of a region's two branches are side by side."""
    draft = Draft()
    draft.op("n")
    branches = draft.region("choice", RegionKind.IF_ELSE, "n")
    for branch in branches:
        draft.op(f"in{branch}", ["n"], scope=branch)
    draft.end(branches)
    arranged = arrange(draft.operations, draft.finished_scopes(), [(50.0, 20.0)] * len(draft.operations))
    left, right = (arranged.bodies[branch] for branch in branches)
    assert left.x + left.width < right.x
    assert left.y == right.y
