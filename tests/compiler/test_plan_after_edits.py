"""A plan made from an earlier one equals a plan from scratch, except for the placement of buffers."""

import random

import pytest

from tests.compiler.support.descriptions import array, graph, i, node, o, ref
from tests.compiler.support.random_edits import random_edit
from tests.compiler.support.random_patches import RandomPatch, random_patch
from tests.fuzzing import seeds
from warploom.engine.compiler.description import GraphDescription
from warploom.engine.compiler.difference import plan_difference
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import make_plan
from warploom.engine.compiler.verifying.verify import verify
from warploom.engine.diagnostics import GraphValidationError
from warploom.engine.patch.changes import Connection, PortRef

SEEDS = seeds(20)
EDITS = 12


def again(description: GraphDescription) -> GraphDescription:
    """Return the same description as a new object, for which nothing is memoised."""
    return GraphDescription(description.nodes, description.connections)


def plan_of(seed: int, size: int) -> tuple[RandomPatch, Plan]:
    """Return a random plain patch without conflicting blocks, and its plan."""
    return sound_part(random_patch(seed, size, plain=True))


def sound_part(patch: RandomPatch) -> tuple[RandomPatch, Plan]:
    """Return the part of a patch that can run, and its plan."""
    while True:
        try:
            return patch, make_plan(patch.description)
        except GraphValidationError as refused:
            gone = patch.description.dependents(problem.node for problem in refused.errors if problem.node)
            patch = RandomPatch(patch.description.without(gone), patch.values)


def assert_same(made: Plan, anew: Plan) -> None:
    """Assert that two plans are equal except for the offsets of buffers."""
    assert made.buffers.allocations == anew.buffers.allocations
    assert made.buffers.places == anew.buffers.places
    assert made.operations == anew.operations
    assert made.scopes == anew.scopes
    assert list(made.schedule.users.items()) == list(anew.schedule.users.items())
    assert made.launches == anew.launches
    assert made.layouts == anew.layouts
    assert made.placement.lasting == anew.placement.lasting


def assert_told(now: Plan, before: Plan) -> None:
    """Assert that everything outside the plans' difference is as in the earlier plan, except for indices."""
    changes = plan_difference(before, now)
    places, old_places = now.buffers.places, before.buffers.places
    for index, operation in enumerate(now.operations):
        old = changes.earlier[index]
        if index not in changes.renewed:
            was = before.operations[old]
            assert (operation.node, operation.entry, operation.place) == (was.node, was.entry, was.place)
            assert (operation.reads, operation.writes) == (was.reads, was.writes)
            for name in {port.port for port in places if port.node == operation.node}:
                assert places[PortRef(operation.node, name)] == old_places[PortRef(operation.node, name)]
            assert now.launches.get(index) == before.launches.get(old)
        if index not in changes.retied:
            then = {changes.earlier[other] for other in operation.after}
            assert then == set(before.operations[old].after)
    assert sorted([*(old for old in changes.earlier if old >= 0), *changes.gone]) == list(range(len(before.operations)))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_edits_give_what_planning_from_scratch_gives(seed: int) -> None:
    """Plans made from previous ones, after random edits, equal those from scratch, and so do their refusals."""
    chance = random.Random(seed)
    patch, plan = plan_of(seed, 5 + seed % 60)
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
        patch, plan = edited, now


@pytest.mark.parametrize("seed", SEEDS)
def test_patches_with_regions_and_delays_are_planned_again_as_from_scratch(seed: int) -> None:
    """After a block or connection is removed or moved in a patch with regions, the plan equals one from scratch."""
    chance = random.Random(seed)
    patch, plan = sound_part(random_patch(seed, 5 + seed % 40))
    for _ in range(EDITS // 2):
        nodes, wires = patch.description.nodes, list(patch.description.connections)
        edited = patch.description
        match chance.choice(["block", "connection", "rewired"]) if wires else "block":
            case "block" if len(nodes) > 3:
                edited = edited.without([chance.choice(nodes).id])
            case "connection":
                wires.remove(chance.choice(wires))
                edited = GraphDescription(nodes, tuple(wires))
            case "rewired":
                number = chance.randrange(len(wires))
                wires[number] = Connection(chance.choice(wires).source, wires[number].target)
                edited = GraphDescription(nodes, tuple(wires))
        patch, anew = sound_part(RandomPatch(edited, patch.values))
        plan = make_plan(again(patch.description), previous=plan)
        assert_same(plan, anew)
        assert verify(plan) == []


def chain(length: int, count: int = 1 << 14) -> GraphDescription:
    """Return blocks in a row, each of which has an optional second input."""
    blocks = [node(f"n{k:03}", i(), i("y", optional=True), o()) for k in range(1, length)]
    return graph(array("n000", count), *blocks, wires=[f"n{k:03}.out n{k + 1:03}.x" for k in range(length - 1)])


def connected(patch: GraphDescription, *wires: str) -> GraphDescription:
    """Return the patch with more connections."""
    return GraphDescription(patch.nodes, (*patch.connections, *graph(wires=wires).connections))


def test_one_connection_concerns_one_operation() -> None:
    """A new connection renews only the operation that reads it, and moves only buffers whose use it extends."""
    patch = chain(60)
    before = make_plan(patch)
    after = make_plan(connected(patch, "n010.out n012.y"), previous=before)
    changed = [old.node for old, new in zip(before.operations, after.operations, strict=True) if old is not new]
    assert changed == ["n012"]
    assert {o for o in before.placement.offsets if o not in after.placement.offsets} <= {
        ref("n010.out"),
        ref("n012.out"),
    }
    assert all(after.placement.offsets[o] == before.placement.offsets[o] for o in after.placement.offsets)
    assert after.placement.size_bytes == before.placement.size_bytes


def test_many_buffers_beside_the_arena_make_a_new_placement() -> None:
    """New buffers lie outside the arena up to a tenth of its size or 256 KB; beyond that, all are placed again."""
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
        placed_anew += plan.placement.size_bytes != before.placement.size_bytes
    assert placed_anew


def test_an_edit_of_very_many_blocks_gives_the_same_plan() -> None:
    """A plan made after nearly all blocks were deleted in one edit equals one from scratch."""
    patch = chain(80)
    before = make_plan(patch)
    half = GraphDescription(patch.nodes[:2], patch.connections[:1])
    assert_same(make_plan(half, previous=before), make_plan(again(half)))


def test_a_connection_may_put_one_row_of_blocks_after_another() -> None:
    """A connection between two rows reorders them as a plan from scratch does, and one back is refused as a cycle."""
    rows = [[node(f"{row}{k}", i(), i("y", optional=True), o()) for k in range(1, 6)] for row in "ab"]
    wires = [f"{row}{k}.out {row}{k + 1}.x" for row in "ab" for k in range(5)]
    patch = graph(array("a0", 8), array("b0", 8), *rows[0], *rows[1], wires=wires)
    plan = make_plan(patch)
    for wire in ("a5.out b1.y", "b2.out a1.y"):
        tied = connected(patch, wire)
        made = make_plan(tied, previous=plan)
        assert_same(made, make_plan(again(tied)))
    circle = connected(patch, "a5.out b1.y", "b5.out a1.y")
    with pytest.raises(GraphValidationError, match="depend on themselves"):
        make_plan(circle, previous=make_plan(connected(patch, "a5.out b1.y"), previous=plan))
