"""Which operations become one kernel, and which buffers are no longer stored; every plan is verified too."""

import dataclasses
from itertools import pairwise

import msgspec
import pytest

from tests.compiler.support.descriptions import array, graph, i, node, o, source
from tests.compiler.support.regions import flag, region, within
from tests.compiler.support.stages import computing, stage, total
from warploom.engine.compiler.buffers import Lifetime
from warploom.engine.compiler.description import BlockNode
from warploom.engine.compiler.difference import plan_difference
from warploom.engine.compiler.executable.adjust import operations_in_place
from warploom.engine.compiler.fusion import fuse
from warploom.engine.compiler.fusion.groups import MOST_STAGES
from warploom.engine.compiler.inspection import plan_dot, plan_svg, plan_text
from warploom.engine.compiler.operations import FusedEntry
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import make_plan
from warploom.engine.descriptions.entries import (
    BufferArgument,
    DelayEntry,
    Display,
    ElementArgument,
    ReshapeView,
    SliceView,
    View,
)
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.ops import OpGraph, OpGraphBuilder
from warploom.engine.patch.changes import PortRef


def kernels(plan: Plan) -> list[str]:
    """Return the names of each fused kernel's blocks, in the order of operations."""
    return [" ".join(o.nodes) for o in plan.operations if isinstance(o.entry, FusedEntry)]


def dropped(plan: Plan) -> set[str]:
    """Return the buffers that are fused away."""
    return {str(owner) for owner, b in plan.buffers.allocations.items() if b.lifetime is Lifetime.FUSED}


def chain(length: int, *more: str, size: int = 6) -> Plan:
    """Return the plan of stages a00, a01 and so on, each of which reads the previous one, and of `more` connections."""
    stages = [stage(f"a{at:02}", "x * k + 1") for at in range(length)]
    wires = [f"a{at:02}.out a{at + 1:02}.x" for at in range(length - 1)]
    return make_plan(graph(array("in", size), *stages, wires=["in.out a00.x", *wires, *more]))


def test_a_chain_is_one_kernel_at_the_place_of_its_last_block() -> None:
    """A chain is one kernel in the place of its last block, which reads the chain's input and writes its output."""
    plan = chain(3)
    (operation,) = plan.operations
    assert (operation.node, operation.nodes, operation.place) == ("a02", ("a00", "a01", "a02"), 0)
    assert operation.reads == {PortRef("in", "out")} and operation.writes == {PortRef("a02", "out")}
    assert isinstance(operation.entry, FusedEntry)
    assert {node: [*names] for node, names in operation.entry.live_places.items()} == {
        "a00": ["k"],
        "a01": ["k"],
        "a02": ["k"],
    }
    assert dropped(plan) == {"a00.out", "a01.out"}
    assert plan.fused_into == {"a00": ("a02",), "a01": ("a02",)}


def test_a_reader_that_touches_no_element_keeps_no_buffer() -> None:
    """A buffer whose only other reader accesses no element is fused away."""
    idle = node("idle", i(), o(shape="[1]"), entries=())
    stages = [stage(f"a{at}", "x * k + 1") for at in range(2)]
    wires = ["in.out a0.x", "a0.out a1.x", "a0.out idle.x"]
    assert dropped(make_plan(graph(array("in", 6), *stages, idle, wires=wires))) == {"a0.out"}


def test_a_plan_tells_what_is_fused() -> None:
    """A plan's text, its drawing and its graph show the fused blocks."""
    plan = chain(3)
    text = plan_text(plan)
    assert "  0 a00 + a01 + a02: kernel kernel, grid 1x1x1 of 256x1x1; reads in.out; writes a02.out\n" in text
    assert "  a01.out: f32[6], 24 bytes, fused\n" in text
    assert "  memory of their own: 48 bytes for 2 buffers\n" in text
    assert "a00 + a01 + a02" in plan_dot(plan) and "a00 + a01 + a02" in plan_svg(plan)


def test_a_long_chain_is_cut() -> None:
    """A chain of more than MOST_STAGES blocks is split into two kernels."""
    assert [len(text.split()) for text in kernels(chain(MOST_STAGES + 3))] == [3, MOST_STAGES]


def test_equal_chains_share_a_kernel() -> None:
    """Equal chains of blocks with different names share a kernel."""
    stages = [stage(name, "x * k + 1") for name in "abcd"]
    wires = ["in.out a.x", "a.out b.x", "in.out c.x", "c.out d.x"]
    plan = make_plan(graph(array("in", 6), *stages, wires=wires))
    first, second = (o.entry for o in plan.operations if isinstance(o.entry, FusedEntry))
    assert first.kernel == second.kernel


def test_paths_that_meet_again_are_one_kernel() -> None:
    """Paths that split and meet again are one kernel, which reads an input that they share once."""
    stages = [stage("a", "x + y", inputs="xy"), stage("b", "sin(x)"), stage("c", "-x")]
    stages.append(stage("d", "x * y + z", inputs="xyz"))
    wires = ["in.out a.x", "in.out a.y", "a.out b.x", "a.out c.x", "b.out d.x", "c.out d.y", "a.out d.z"]
    plan = make_plan(graph(array("in", 6), *stages, wires=wires))
    assert kernels(plan) == ["a b c d"]
    (operation,) = plan.operations
    assert isinstance(operation.entry, FusedEntry)
    assert [type(a) for a in operation.entry.arguments].count(BufferArgument) == 2


def test_a_buffer_that_somebody_else_reads_is_stored() -> None:
    """If a block outside the chain reads a buffer, the buffer is stored and nothing is fused."""
    other = node("other", i(), o())
    plan = make_plan(
        graph(
            array("in", 6),
            stage("a", "x + 1"),
            stage("b", "x * 2"),
            other,
            wires=["in.out a.x", "a.out b.x", "a.out other.x"],
        )
    )
    assert kernels(plan) == [] and plan.schedule is plan.unfused and plan.before_fusing is plan


def test_a_buffer_that_is_shown_is_stored() -> None:
    """If a display reads a buffer in the middle of a chain, the buffer is stored and the kernel ends there."""
    middle = stage("b", "x * 2")
    shown = BlockNode("b", dataclasses.replace(middle.description, displays=(Display("out", "b.npy"),)))
    plan = make_plan(
        graph(
            array("in", 6),
            stage("a", "x + 1"),
            shown,
            stage("c", "-x"),
            wires=["in.out a.x", "a.out b.x", "b.out c.x"],
        )
    )
    assert kernels(plan) == ["a b"] and dropped(plan) == {"a.out"}
    assert make_plan(plan.description, fuses=False).fused_into == {}


def test_an_output_that_feeds_nothing_is_stored_beside_one_that_is_not() -> None:
    """A fused block may have one output that is stored and one that is fused away."""
    plan = make_plan(
        graph(array("in", 6), computing("a", two_outputs()), stage("b", "-x"), wires=["in.out a.x", "a.out b.x"])
    )
    assert kernels(plan) == ["a b"] and dropped(plan) == {"a.out"}
    assert plan.operations[0].writes == {PortRef("a", "more"), PortRef("b", "out")}


def two_outputs() -> OpGraph:
    """Return x + 1 as "out" and x + x as "more"."""
    g = OpGraphBuilder()
    x = g.add("op.input", "x")
    g.add("op.output", "out", value=g.add("op.add", a=x["value"], b=1.0)["out"])
    g.add("op.output", "more", value=g.add("op.add", a=x["value"], b=x["value"])["out"])
    return g.graph()


def test_a_reader_of_another_output_keeps_its_place_after_the_block() -> None:
    """A block is not moved behind a block that reads its other output, so it is not fused."""
    plan = make_plan(
        graph(
            array("in", 6),
            computing("a", two_outputs()),
            node("mid", i(), o()),
            stage("b", "x + y", inputs="xy"),
            wires=["in.out a.x", "a.out b.x", "a.more mid.x", "mid.out b.y"],
        )
    )
    assert kernels(plan) == []


def test_an_input_that_changes_in_between_stays_where_it_is_read() -> None:
    """A block whose input changes before its reader runs is not fused with the reader."""
    change = node("change", i(), o(inplace="x"))
    plan = make_plan(
        graph(
            source("s", 6),
            stage("a", "x + 1"),
            change,
            stage("b", "x + y", inputs="xy"),
            wires=["s.out a.x", "s.out change.x", "a.out b.x", "change.out b.y"],
        )
    )
    assert kernels(plan) == []


def test_what_could_not_be_computed_again_is_stored() -> None:
    """A stage that reads state is fused only if the state does not change later in the frame."""
    count = node("count", i(), o(state=True, shape="[6]"))
    change = node("change", i(), i("y"), o(inplace="x"))
    blocks = (array("in", 6), count, stage("a", "x + 1"), stage("b", "-x"), change)
    wires = ["in.out count.x", "count.out a.x", "a.out b.x", "count.out change.x", "b.out change.y"]
    assert kernels(make_plan(graph(*blocks, wires=wires))) == []
    assert kernels(make_plan(graph(*blocks[:-1], wires=wires[:-2]))) == ["a b"]


def test_other_shapes_and_views_are_not_fused() -> None:
    """Stages are not fused through a slice or a reshaped view."""
    half = node("half", i(), o(shape="view"), entries=())
    sliced = dataclasses.replace(half.description, views=(View("out", "x", SliceView(0, 0, 3)),))
    flat = dataclasses.replace(half.description, views=(View("out", "x", ReshapeView((-1,))),))
    for view in (sliced, flat):
        blocks = (array("in", 6, 2), stage("a", "x + 1"), BlockNode("half", view), stage("b", "-x"))
        wires = ["in.out a.x", "a.out half.x", "half.out b.x"]
        assert kernels(make_plan(graph(*blocks, wires=wires))) == []


def test_threads_in_one_and_two_dimensions_are_fused_for_the_same_elements() -> None:
    """A stage with `u` counts along two axes; it is fused for a picture or a row, not for a stack of pictures."""
    for shape, together in (((4, 6), ["a b"]), ((6,), ["a b"]), ((2, 4, 6), [])):
        blocks = (array("in", *shape), stage("a", "x + 1"), stage("b", "x * u"))
        plan = make_plan(graph(*blocks, wires=["in.out a.x", "a.out b.x"]))
        assert kernels(plan) == together
        if together:
            assert plan.launches[0].thread_block == (16, 16, 1)


def test_blocks_in_a_region_are_fused_among_themselves() -> None:
    """Blocks on different sides of a region's border are not fused."""
    blocks = [stage(name, "x + 1") for name in "abcdef"]
    inside = [within("r", block) for block in blocks[2:4]]
    plan = make_plan(
        graph(
            array("in", 6),
            flag(),
            region("r"),
            *blocks[:2],
            *inside,
            *blocks[4:],
            wires=["in.out a.x", "flag.out r.condition"] + [f"{p}.out {q}.x" for p, q in pairwise("abcdef")],
        )
    )
    assert set(kernels(plan)) == {"a b", "c d", "e f"} and dropped(plan) == {"a.out", "c.out", "e.out"}


def test_blocks_of_different_child_graphs_are_not_fused() -> None:
    """Blocks of a composite that is a child graph are not fused with blocks outside."""
    for groups, together in ((("g", "g"), ["a b"]), (("g", ""), []), (("g", "h"), [])):
        blocks = [stage(name, "x + 1", group=group) for name, group in zip("ab", groups, strict=True)]
        plan = make_plan(graph(array("in", 6), *blocks, wires=["in.out a.x", "a.out b.x"]))
        assert kernels(plan) == together


@pytest.mark.parametrize("shape", [(70,), (7, 10)])
def test_a_reduction_takes_in_what_is_computed_for_it(shape: tuple[int, ...]) -> None:
    """The first kernel of a reduction also computes its elements, with the reduction's own grid."""
    blocks = (array("in", *shape), stage("a", "x * k"), stage("b", "x * u"), total("sum"))
    plan = make_plan(graph(*blocks, wires=["in.out a.x", "a.out b.x", "b.out sum.x"]))
    assert kernels(plan) == ["a b sum"] and dropped(plan) == {"a.out", "b.out"}
    assert [plan.launches[at].grid for at in range(2)] == [(3, 1, 1), (1, 1, 1)]
    assert plan.launches[0] == plan.before_fusing.launches[2]
    assert plan.fused_into == {"a": ("sum",), "b": ("sum",)}
    assert "  0 a + b + sum: kernel kernel, grid 3x1x1 of 256x1x1; reads in.out; writes sum.parts\n" in plan_text(plan)


def test_a_reduction_alone_has_the_type_of_its_elements_in_its_code() -> None:
    """A kernel that would be told the element type at launch is one without this argument."""
    plan = make_plan(graph(array("in", 6), total("sum"), wires=["in.out sum.x"]))
    assert kernels(plan) == ["sum"] and not dropped(plan)
    entry = plan.operations[0].entry
    assert isinstance(entry, FusedEntry) and not any(isinstance(given, ElementArgument) for given in entry.arguments)
    assert not plan.fused_into


def test_nothing_is_fused_behind_a_reduction() -> None:
    """The stages behind a reduction are fused with each other, not with the reduction."""
    blocks = (array("in", 6), total("sum", reads="f32"), stage("a", "x + 1"), stage("b", "-x"))
    plan = make_plan(graph(*blocks, wires=["in.out sum.x", "sum.out a.x", "a.out b.x"]))
    assert kernels(plan) == ["a b"]


def test_a_reduction_of_other_elements_than_are_computed_stays_alone() -> None:
    """A reduction is not fused with a stage that counts its elements along other axes."""
    stack = (array("in", 2, 4, 6), stage("a", "x * 2 + 1"), stage("b", "x * u"), total("sum"))
    assert kernels(make_plan(graph(*stack, wires=["in.out a.x", "a.out b.x", "b.out sum.x"]))) == ["sum"]


def test_reductions_of_one_buffer_are_one_kernel() -> None:
    """Reductions of one buffer, and the stages that only they read, are one kernel with separate results."""
    blocks = (array("in", 6), stage("a", "x + 1"), stage("b", "x * x"), total("one"), total("two"), total("three"))
    wires = ["in.out a.x", "a.out one.x", "a.out b.x", "b.out two.x", "a.out three.x"]
    plan = make_plan(graph(*blocks, wires=wires))
    (members,) = kernels(plan)
    assert sorted(members.split()) == ["a", "b", "one", "three", "two"]
    assert dropped(plan) == {"a.out", "b.out"}
    assert plan.operations[0].writes == {PortRef(name, "parts") for name in ("one", "two", "three")}
    assert set(plan.fused_into.values()) == {(plan.operations[0].node,)}
    plan = make_plan(graph(array("in", 6), *blocks[3:5], wires=["in.out one.x", "in.out two.x"]))
    assert kernels(plan) == ["one two"] and dropped(plan) == set()


def test_readers_that_are_launched_alike_are_one_kernel() -> None:
    """Readers of one buffer with equal launches are one kernel; a result that another block reads is stored."""
    stages = [stage("a", "x + 1"), stage("b", "sin(x)"), stage("c", "-x")]
    plan = make_plan(graph(array("in", 6), *stages, wires=["in.out a.x", "a.out b.x", "a.out c.x"]))
    assert kernels(plan) == ["a b c"] and dropped(plan) == {"a.out"}
    stages[2] = stage("c", "x - y", inputs="xy")
    wires = ["in.out a.x", "a.out b.x", "a.out c.x", "b.out c.y", "b.out other.x"]
    plan = make_plan(graph(array("in", 6), *stages, node("other", i(), o()), wires=wires))
    assert not dropped(plan) & {"b.out"}


@pytest.mark.parametrize(("text", "is_repeated"), [("x * k + 1", True), ("sin(sin(x))", False), ("x * u", True)])
def test_what_costs_less_than_its_bytes_is_computed_again(text: str, *, is_repeated: bool) -> None:
    """A stage that costs less than storing its result is computed again in each reader's kernel."""
    blocks = (array("in", 6), stage("a", text), stage("b", "-x"), total("sum"))
    plan = make_plan(graph(*blocks, wires=["in.out a.x", "a.out b.x", "a.out sum.x"]))
    assert sorted(kernels(plan)) == (["a b", "a sum"] if is_repeated else ["sum"])
    assert dropped(plan) == ({"a.out"} if is_repeated else set())
    assert plan.fused_into.get("a", ()) == (tuple(o.node for o in plan.operations[:2]) if is_repeated else ())


def test_a_group_is_computed_again_as_a_whole() -> None:
    """If a group is computed again, all its members are computed again in each kernel that reads the group's result."""
    blocks = (array("in", 6), stage("a", "x + 1"), stage("b", "x * k"), stage("c", "-x"), total("sum"))
    plan = make_plan(graph(*blocks, wires=["in.out a.x", "a.out b.x", "b.out c.x", "b.out sum.x"]))
    assert sorted(kernels(plan)) == ["a b c", "a b sum"] and dropped(plan) == {"a.out", "b.out"}


def test_what_one_of_several_kernels_cannot_compute_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A buffer is stored if the kernel of one of its readers can't be composed."""
    compose = fuse._composed

    def composed(parts: tuple[OpGraphSource, ...], links: tuple[tuple[str, str], ...]) -> OpGraphSource | None:
        return None if any("op.aggregate" in part.graph for part in parts) else compose(parts, links)

    monkeypatch.setattr(fuse, "_composed", composed)
    blocks = (array("in", 6), stage("a", "x + 1"), stage("b", "-x"), total("sum"))
    plan = make_plan(graph(*blocks, wires=["in.out a.x", "a.out b.x", "a.out sum.x"]))
    assert kernels(plan) == [] and dropped(plan) == set()


def test_what_a_delay_keeps_is_stored() -> None:
    """A buffer that a delay reads in the next frame is stored."""
    ports = (i(delayed=True, optional=True), o(shape="[6]"))
    entry = DelayEntry(BufferArgument("out", False, True), BufferArgument("x", True, False))
    delay = node("delay", *ports, entries=[entry])
    blocks = (delay, stage("a", "x + 1"), stage("b", "-x"), stage("c", "x * x"))
    wires = ["delay.out a.x", "a.out b.x", "b.out delay.x", "b.out c.x"]
    plan = make_plan(graph(*blocks, wires=wires))
    assert kernels(plan) == ["a b"] and dropped(plan) == {"a.out"}


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_another_size_changes_launch_and_numbers_alone(size: int) -> None:
    """Another size changes only the launch and its numbers, so the running graph's operation is updated in place."""
    before = chain(3)
    now = make_plan(chain(3, size=size).description, previous=before)
    changes = plan_difference(before, now)
    assert operations_in_place(changes) == [0]


def test_planning_again_gives_the_same_objects() -> None:
    """An edit beside a fused kernel renews only the edited operation."""
    before = chain(3)
    description = graph(*before.description.nodes, stage("z", "x + 3"), wires=["in.out z.x"])
    wires = (*before.description.connections, *description.connections)
    now = make_plan(msgspec.structs.replace(description, connections=wires), previous=before)
    kept = next(o for o in now.operations if o.node == "a02")
    assert kept.entry is before.operations[0].entry and kept.access is before.operations[0].access
    assert plan_difference(before, now).renewed == {next(k for k, o in enumerate(now.operations) if o.node == "z")}


def test_a_buffer_with_more_readers_than_a_kernel_has_stages_is_stored() -> None:
    """A buffer with more readers than a kernel has stages is stored."""
    readers = [stage(f"r{at:03}", "x * k") for at in range(MOST_STAGES + 1)]
    wires = ["in.out a.x", *(f"a.out r{at:03}.x" for at in range(MOST_STAGES + 1))]
    assert kernels(make_plan(graph(array("in", 6), stage("a", "x + 1"), *readers, wires=wires))) == []
