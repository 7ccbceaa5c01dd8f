"""The copy of a graph that measures times: its spans, and the places of its clocks.

`test_random_patches` and `test_clone` show that the copy computes the same.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.compiler.executable.test_build import resources
from tests.compiler.support import patch_blocks as blocks
from tests.compiler.support.descriptions import FakeDevice, FakeGraph, FakeMemory, graph, i, launch, node, o, source
from tests.compiler.test_random_patches import planned
from warploom.engine.compiler.description import BlockNode
from warploom.engine.compiler.executable.build import build_graph
from warploom.engine.compiler.executable.clocks import Span, SpanTimer, spans
from warploom.engine.compiler.executable.span_order import spans_before
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import make_plan
from warploom.engine.profiling.levels import ProfilingLevel


class FakeClock:
    """Adds nodes that record which slot they write."""

    begin, end = "begin", "end"

    def add(self, graph: FakeGraph, kernel: str, slot: Any, after: Sequence[Any]) -> Any:
        return graph._add(kernel, after, slot.offset // 40)


def timed(plan: Plan, level: ProfilingLevel) -> tuple[FakeGraph, tuple[Span, ...]]:
    """Build a plan with clocks, on a device that only records."""
    device, found = FakeDevice(), spans(plan, level)
    timer = SpanTimer(plan, found, FakeClock(), FakeMemory(0, 40 * len(found)))  # type: ignore[arg-type]
    build_graph(plan, device, resources(plan), timer=timer)  # type: ignore[arg-type]  # the fakes only record
    return device.graphs[0], found


@pytest.mark.parametrize("level", [ProfilingLevel.PER_BLOCK, ProfilingLevel.PER_KERNEL])
@pytest.mark.parametrize("seed", range(12))
def test_spans_are_told_in_the_order_in_which_the_graph_runs_them(level: ProfilingLevel, seed: int) -> None:
    """A span counts as earlier than another exactly if its end clock precedes the other's begin clock in the graph."""
    plan = planned(seed, 4 + 3 * seed)[1]
    found = spans(plan, level)
    timer = SpanTimer(plan, found, FakeClock(), FakeMemory(0, 40 * len(found)))  # type: ignore[arg-type]
    graphs, handles = [FakeGraph() for _ in plan.scopes], dict[int, Any]()
    for index, operation in enumerate(plan.operations):
        body: Any = graphs[operation.scope]
        after = timer.before(body, index, [handles[earlier] for earlier in operation.after], handles)
        handles[index] = body._add("work", after)
        timer.behind(body, index, handles)
    known = [set(before) for before in spans_before(plan, found)]
    for number in sorted(range(len(found)), key=lambda number: found[number].operations[0]):
        known[number] |= {further for other in known[number] for further in known[other]}
    for recorded in graphs:
        places = {(n.kind, n.what[0]): k for k, n in enumerate(recorded.nodes) if n.kind != "work"}
        reached: list[set[int]] = []
        for step in recorded.nodes:
            reached.append({*step.after}.union(*(reached[index] for index in step.after)))
        for (kind, number), at in places.items():
            if kind == "begin":
                ended = {other for (what, other), end in places.items() if what == "end" and end in reached[at]}
                assert known[number] == ended


def test_what_is_timed_at_each_level() -> None:
    """The level of blocks times each block and scope, and the level of kernels each operation."""
    patch = graph(
        BlockNode("s", blocks.fresh(1, 4, 0)),
        BlockNode("loop", blocks.loop_while(0)),
        BlockNode("inner", blocks.mix(), "loop"),
        wires=["s.out loop.condition", "s.out inner.x"],
    )
    plan = make_plan(patch)
    assert spans(plan, ProfilingLevel.NONE) == spans(plan, ProfilingLevel.SUMMARY) == ()
    whole = spans(plan, ProfilingLevel.PER_BLOCK)
    places = [(span.node, {plan.operations[k].scope for k in span.operations}) for span in whole]
    assert all(len(scopes) == 1 for _, scopes in places), "no span reaches into a body"
    assert [scopes for node, scopes in places if node == "loop"] == [{0}, {1}]
    assert ("inner", {1}) in places
    assert sorted(k for span in whole for k in span.operations) == [k for k, o in enumerate(plan.operations) if o.node]
    single = [span.operations for span in spans(plan, ProfilingLevel.PER_KERNEL)]
    assert single == [(k,) for k in range(len(plan.operations))]


@pytest.mark.parametrize("level", [ProfilingLevel.PER_BLOCK, ProfilingLevel.PER_KERNEL])
def test_a_clock_stands_on_either_side_and_branches_stay_parallel(level: ProfilingLevel) -> None:
    """A span's begin clock follows the end clocks of the spans that it depends on, and no others."""
    ports = (i(), o(), o("more"))
    twice = node("t", *ports, entries=[launch(ports, "x", "out"), launch(ports, "x", "more")])
    patch = graph(source("s", 4), twice, node("u", i(), o()), wires=["s.out t.x", "s.out u.x"])
    plan = make_plan(patch)
    nodes, found = timed(plan, level)
    at = {(n.kind, n.what[0]): k for k, n in enumerate(nodes.nodes) if n.kind in ("begin", "end")}
    kernels = [k for k, n in enumerate(nodes.nodes) if n.kind == "kernel"]
    assert len(at) == 2 * len(found) and len(kernels) == len(plan.operations)
    for number, span in enumerate(found):
        begin, end = at["begin", number], at["end", number]
        assert all(nodes.reaches(kernels[k], begin) and nodes.reaches(end, kernels[k]) for k in span.operations)
        for before in range(number):
            first = found[before].node == "s"
            assert nodes.reaches(begin, at["end", before]) is first, "only the source precedes"
