"""A plan that is amended after an edit is the one that planning from scratch gives, but for where buffers lie."""

from __future__ import annotations

import random

import pytest

from engine.compiler.description import GraphDescription
from engine.compiler.plan import Plan, make_plan
from engine.compiler.verifying.verify import verify
from engine.diagnostics import GraphValidationError
from engine.patch.changes import PortRef
from tests.compiler.support.descriptions import array, graph, i, node, o, ref
from tests.compiler.support.random_edits import random_edit
from tests.compiler.support.random_patches import RandomPatch, random_patch
from tests.fuzzing import seeds

SEEDS = seeds(30)
EDITS = 12


def again(description: GraphDescription) -> GraphDescription:
    """Return the same description as a new object, of which nothing is known yet."""
    return GraphDescription(description.nodes, description.connections)


def plan_of(seed: int, size: int) -> tuple[RandomPatch, Plan]:
    """Return a random plain patch, without the blocks that are in each other's way, and its plan."""
    patch = random_patch(seed, size, plain=True)
    while True:
        try:
            return patch, make_plan(patch.description)
        except GraphValidationError as refused:
            gone = patch.description.dependents(problem.node for problem in refused.errors if problem.node)
            patch = RandomPatch(patch.description.without(gone), patch.values)


def assert_same(amended: Plan, anew: Plan) -> None:
    """Everything that can be told of the two plans, but the placement, is the same."""
    assert amended.order == anew.order
    assert amended.ranks is not None and anew.ranks is not None
    assert amended.ranks.levels == anew.ranks.levels
    assert amended.ranks.in_place == anew.ranks.in_place
    assert amended.buffers.allocations == anew.buffers.allocations
    assert amended.buffers.places == anew.buffers.places
    assert amended.operations == anew.operations
    assert amended.scopes == anew.scopes
    assert amended.launches == anew.launches
    assert amended.layouts == anew.layouts
    assert amended.placement.lasting == anew.placement.lasting


def assert_told(amended: Plan, before: Plan) -> None:
    """What the amendment does not name is in the plan as it was before, but for indices."""
    amendment = amended.amendment
    if amendment is None:
        return
    assert amendment.base is before.operations
    places, old_places = amended.buffers.places, before.buffers.places
    for index, operation in enumerate(amended.operations):
        old = amendment.earlier[index]
        if index not in amendment.renewed:
            was = before.operations[old]
            assert (operation.node, operation.entry, operation.place) == (was.node, was.entry, was.place)
            assert (operation.reads, operation.writes) == (was.reads, was.writes)
            for name in {port.port for port in places if port.node == operation.node}:
                assert places[PortRef(operation.node, name)] == old_places[PortRef(operation.node, name)]
        if index not in amendment.retied:
            then = {amendment.earlier[other] for other in operation.after}
            assert then == set(before.operations[old].after)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_edits_give_what_planning_from_scratch_gives(seed: int) -> None:
    """One after the other, each from the plan before; what can't run is refused for the same reasons."""
    chance = random.Random(seed)
    patch, plan = plan_of(seed, 5 + seed % 60)
    amended = 0
    for _ in range(EDITS):
        edited = random_edit(chance, patch, plan)
        try:
            anew = make_plan(again(edited.description))
        except GraphValidationError as refused:
            with pytest.raises(GraphValidationError) as found:
                make_plan(again(edited.description), previous=plan)
            assert sorted(map(str, found.value.errors)) == sorted(map(str, refused.errors))
            continue
        now = make_plan(again(edited.description), previous=plan)
        assert_same(now, anew)
        assert_told(now, plan)
        assert verify(now) == []
        amended += now.amendment is not None
        patch, plan = edited, now
    assert amended or len(patch.description.nodes) < 4


def chain(length: int, count: int = 1 << 14) -> GraphDescription:
    """Return blocks in a row, each of which also takes a second input, optional."""
    blocks = [node(f"n{k:03}", i(), i("y", optional=True), o()) for k in range(1, length)]
    return graph(array("n000", count), *blocks, wires=[f"n{k:03}.out n{k + 1:03}.x" for k in range(length - 1)])


def connected(patch: GraphDescription, *wires: str) -> GraphDescription:
    """Return the patch with more connections."""
    return GraphDescription(patch.nodes, (*patch.connections, *graph(wires=wires).connections))


def test_one_connection_concerns_one_operation() -> None:
    """All others are the same objects, and no buffer that another block does not read longer moves."""
    patch = chain(60)
    before = make_plan(patch)
    after = make_plan(connected(patch, "n010.out n012.y"), previous=before)
    assert after.amendment is not None
    changed = [old.node for old, new in zip(before.operations, after.operations, strict=True) if old is not new]
    assert changed == ["n012"]
    assert {o for o in before.placement.offsets if o not in after.placement.offsets} <= {
        ref("n010.out"),
        ref("n012.out"),
    }
    assert all(after.placement.offsets[o] == before.placement.offsets[o] for o in after.placement.offsets)
    assert after.placement.size_bytes == before.placement.size_bytes


def test_what_lies_beside_the_arena_is_placed_when_it_is_much() -> None:
    """New buffers have memory of their own up to a tenth of the arena, or 256 KB; then all are placed anew."""
    count = 1 << 14
    patch = chain(30, count)
    plan = make_plan(patch)
    most = max(plan.placement.size_bytes // 10, 1 << 18)
    placed_anew = 0
    for k in range(12):
        new = node(f"m{k}", i(), o())
        patch = GraphDescription((*patch.nodes, new), patch.connections)
        patch = connected(patch, f"n{k + 3:03}.out m{k}.x", f"m{k}.out n{k + 9:03}.y")
        before, plan = plan, make_plan(patch, previous=plan)
        beside = [owner for owner in make_plan(again(patch)).placement.offsets if owner not in plan.placement.offsets]
        assert 4 * count * len(beside) <= most
        placed_anew += plan.placement.packed_bytes != before.placement.packed_bytes
    assert placed_anew


def test_what_is_left_out_of_an_amendment_is_planned_as_a_whole() -> None:
    """Such as an edit of very many blocks; the plan is right all the same."""
    patch = chain(80)
    before = make_plan(patch)
    half = GraphDescription(patch.nodes[:2], patch.connections[:1])
    assert make_plan(half, previous=before).amendment is None
    assert_same(make_plan(half, previous=before), make_plan(again(half)))


def test_a_connection_may_put_one_row_of_blocks_after_another() -> None:
    """What was before by chance comes after now, and the way back would be a circle."""
    rows = [[node(f"{row}{k}", i(), i("y", optional=True), o()) for k in range(1, 6)] for row in "ab"]
    wires = [f"{row}{k}.out {row}{k + 1}.x" for row in "ab" for k in range(5)]
    patch = graph(array("a0", 8), array("b0", 8), *rows[0], *rows[1], wires=wires)
    plan = make_plan(patch)
    for wire in ("a5.out b1.y", "b2.out a1.y"):
        tied = connected(patch, wire)
        amended = make_plan(tied, previous=plan)
        assert amended.amendment is not None
        assert_same(amended, make_plan(again(tied)))
    circle = connected(patch, "a5.out b1.y", "b5.out a1.y")
    with pytest.raises(GraphValidationError, match="depend on themselves"):
        make_plan(circle, previous=make_plan(connected(patch, "a5.out b1.y"), previous=plan))
