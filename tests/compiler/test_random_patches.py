"""Random patches compute on a device what a plain interpreter computes, with any sharing of memory and any planning."""

import random

import numpy as np
import pytest

from tests.compiler.support import patch_blocks as blocks
from tests.compiler.support.descriptions import graph
from tests.compiler.support.interpreter import Interpreter
from tests.compiler.support.patch_kernels import KERNELS
from tests.compiler.support.random_patches import RandomPatch, random_patch
from tests.compiler.support.running import Running
from tests.fuzzing import seeds
from warploom.engine.compiler.description import BlockNode, GraphDescription
from warploom.engine.compiler.inlining.inline import inline
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import make_plan, plan_what_can_run
from warploom.engine.compiler.verifying.touches import Reach, all_touches, is_fill
from warploom.engine.compiler.verifying.verify import verify
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import GraphValidationError
from warploom.engine.patch.changes import PortRef
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.runtime.model.module_cache import ModuleCache

SEEDS = seeds(32)
#: The measured frames compute the same as the others.
LEVELS = (ProfilingLevel.NONE, ProfilingLevel.PER_BLOCK, ProfilingLevel.PER_KERNEL)
FRAMES = 3


def planned(seed: int, size: int) -> tuple[RandomPatch, Plan]:
    """Return a random patch without conflicting blocks, and its plan."""
    patch = random_patch(seed, size)
    while True:
        try:
            return patch, make_plan(patch.description)
        except GraphValidationError as refused:
            # Random patches may have conflicts, and no other mistakes.
            assert all("Copy" in problem.remedy for problem in refused.errors), refused.errors
            without = patch.description.dependents(problem.node for problem in refused.errors if problem.node)
            patch = RandomPatch(patch.description.without(without), patch.values)


def size_of(seed: int) -> int:
    return 2 + seed % 47


def check_contents(running: Running, expected: Interpreter) -> None:
    """Compare the interpreter's arrays with the lasting buffers, and with every output as a later reader gets it.

    Append buffers are skipped, since the order of their elements is not determined.
    """
    ports = {PortRef(n.id, spec.name) for n in running.plan.description.nodes for spec in n.description.outputs}
    for owner in sorted({*running.lasting(), *(ports & running.plan.buffers.allocations.keys())}, key=str):
        block = running.plan.description.by_id[owner.node].description
        if owner.port.endswith(".next") or any(spec.append for spec in block.outputs):
            continue
        if owner.port in block.contents:  # a reader outside a skipped region reads a copy
            assert np.array_equal(running.read(owner), block.contents[owner.port])
            continue
        if "/" in owner.node:  # the buffer is such a copy
            owner, held = PortRef(*owner.node.split("/")), running.read_again(owner)
            assert np.array_equal(held, expected.array(owner)), owner
            continue
        held = running.read_again(owner) if owner in ports else running.read(owner)
        assert np.array_equal(held, expected.array(owner)), owner
    stopped = {owner.node for owner, word in running.status().items() if owner.port == "stopped" and word}
    assert stopped == expected.stopped


@pytest.mark.parametrize("seed", SEEDS)
def test_random_patches_do_what_the_interpreter_does(device: Device, modules: ModuleCache, seed: int) -> None:
    """Frames equal the interpreter's, measured or not, with shared or separate memory; the plan breaks no rule."""
    patch, plan = planned(seed, size_of(seed))
    assert verify(plan) == []
    alone = plan_what_can_run(inline(plan.description), [], frozenset(), shares=False).plan
    assert alone is not None and not alone.placement.offsets
    for each, level in ((plan, LEVELS[seed % 3]), (alone, ProfilingLevel.NONE)):
        expected = Interpreter(patch.description, patch.values, KERNELS)
        running = Running(each, device, modules, patch.values, level=level)
        try:
            for _ in range(FRAMES):
                expected.frame()
                running.frame()
                check_contents(running, expected)
        finally:
            running.close()


@pytest.mark.parametrize("seed", range(3))
def test_large_random_patches_do_what_the_interpreter_does(device: Device, modules: ModuleCache, seed: int) -> None:
    """Patches of some two hundred blocks agree with the interpreter."""
    patch, plan = planned(1000 + seed, 200)
    assert verify(plan) == []
    expected = Interpreter(patch.description, patch.values, KERNELS)
    running = Running(plan, device, modules, patch.values)
    try:
        for _ in range(2):
            expected.frame()
            running.frame()
            check_contents(running, expected)
    finally:
        running.close()


@pytest.mark.parametrize("seed", SEEDS[::2])
def test_the_plan_does_not_depend_on_the_order_of_blocks(seed: int) -> None:
    """The plan is the same in any order of blocks and connections, down to every offset."""
    _, plan = planned(seed, size_of(seed))
    nodes, connections = list(plan.description.nodes), list(plan.description.connections)
    chance = random.Random(seed)
    chance.shuffle(nodes)
    chance.shuffle(connections)
    again = make_plan(GraphDescription(tuple(nodes), tuple(connections)))
    assert (again.operations, again.scopes) == (plan.operations, plan.scopes)
    assert (again.buffers, again.placement, again.launches) == (plan.buffers, plan.placement, plan.launches)
    assert again.status_places == plan.status_places


@pytest.mark.parametrize("seed", SEEDS[::2])
def test_a_plan_made_from_the_last_one_equals_one_from_scratch(seed: int) -> None:
    """Plans made after a connection and its dependents are removed, and then restored, equal those from scratch."""
    _, plan = planned(seed, size_of(seed))
    whole = plan.description
    if not whole.connections:
        return
    gone = random.Random(seed).choice(whole.connections)
    less = GraphDescription(whole.nodes, tuple(c for c in whole.connections if c != gone))
    less = less.without(less.dependents([gone.target.node]))
    kept = make_plan(less, previous=plan)
    for made, anew in ((kept, make_plan(less)), (make_plan(whole, previous=kept), plan)):
        assert verify(made) == []
        assert (made.operations, made.scopes, made.buffers) == (anew.operations, anew.scopes, anew.buffers)
        assert (made.layouts, made.launches) == (anew.layouts, anew.launches)


@pytest.mark.parametrize("seed", SEEDS[::2])
def test_operations_wait_only_for_conflicting_accesses(seed: int) -> None:
    """Two operations of a scope depend on each other directly only if they, or their bodies, access the same bytes."""
    _, plan = planned(seed, size_of(seed))
    reach, touches = Reach(plan.operations, plan.scopes), all_touches(plan)
    inside: list[list[tuple[PortRef, int, int, bool]]] = [[] for _ in plan.operations]
    for touch in (touch for found in touches for touch in found):
        place = touch.place
        for index in reach.around(touch.operation):
            inside[index].append((place.owner, place.offset, place.offset + place.size_bytes, touch.writes))
    for index, operation in enumerate(plan.operations):
        for earlier in operation.after:
            assert any(
                a[0] == b[0] and a[1] < b[2] and b[1] < a[2] and (a[3] or b[3])
                for a in inside[earlier]
                for b in inside[index]
            ), (earlier, index)


@pytest.mark.parametrize("seed", range(8))
def test_parallel_branches_stay_parallel(seed: int) -> None:
    """Chains that share only their source don't depend on each other, even if they share memory or a region."""
    chance = random.Random(seed)
    region = chance.choice(("", "loop"))
    nodes = [BlockNode("s", blocks.fresh(3, 5, seed)), BlockNode("loop", blocks.loop_for())]
    wires, chains = [], []
    for number in range(chance.randint(2, 6)):
        before, chain = "s", []
        for step in range(chance.randint(1, 6)):
            name = f"c{number}_{step}"
            kinds = [blocks.mix, blocks.copy, blocks.scale] if step else [blocks.mix, blocks.copy]
            nodes.append(BlockNode(name, chance.choice(kinds)(), region))
            wires.append(f"{before}.out {name}.x")
            before = name
            chain.append(name)
        chains.append(chain)
    plan = make_plan(graph(*nodes, wires=wires))
    reach = Reach(plan.operations, plan.scopes)
    operations: dict[str, list[int]] = {}
    for index, operation in enumerate(plan.operations):
        if not is_fill(operation):
            operations.setdefault(operation.node, []).append(index)
    for one in chains:
        for other in chains:
            if one is not other:
                pairs = [(a, b) for n in one for m in other for a in operations[n] for b in operations[m]]
                assert all(reach.together(a, b) for a, b in pairs)
