"""A plan that is amended after an edit is the one that planning from scratch gives, but for where buffers lie.

The environment variable WARPLOOM_RANDOM_PATCHES asks for more than the usual number of patches.
"""

from __future__ import annotations

import os
import random

import pytest

from engine.compiler.description import GraphDescription
from engine.compiler.plan import Plan, make_plan
from engine.compiler.verifying import verify
from engine.diagnostics import GraphValidationError
from tests.compiler.compiler_support import ref
from tests.compiler.random_edits import random_edit
from tests.compiler.random_patches import RandomPatch, random_patch

SEEDS = range(int(os.environ.get("WARPLOOM_RANDOM_PATCHES", "30")))
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
                assert (
                    places[type(ref("a.b"))(operation.node, name)] == old_places[type(ref("a.b"))(operation.node, name)]
                )
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
