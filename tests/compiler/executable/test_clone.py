"""A graph that is cloned after an edit computes the same as one built from scratch, and reuses what it can."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from tests.compiler.support.interpreter import Interpreter
from tests.compiler.support.patch_kernels import KERNELS
from tests.compiler.support.random_edits import random_edit
from tests.compiler.support.random_patches import RandomPatch
from tests.compiler.support.running import Running
from tests.compiler.test_plan_after_edits import again, plan_of
from tests.compiler.test_random_patches import LEVELS, check_contents
from tests.fuzzing import seeds
from warploom.engine.compiler.buffers import Lifetime
from warploom.engine.compiler.difference import plan_difference
from warploom.engine.compiler.operations import FRAME
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import make_plan
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import GraphValidationError
from warploom.engine.runtime.model.module_cache import ModuleCache

SEEDS = seeds(8)
EDITS = 8
FRAMES = 2


def edits(seed: int) -> Iterator[tuple[RandomPatch, Plan]]:
    """Yield a random plain patch and its plan, then the patch and its new plan after each edit."""
    chance = random.Random(seed)
    patch, plan = plan_of(seed, 5 + seed % 50)
    yield patch, plan
    for _ in range(EDITS):
        edited = random_edit(chance, patch, plan)
        try:
            plan = make_plan(again(edited.description), previous=plan)
        except GraphValidationError:
            continue
        patch = edited
        yield patch, plan


def in_use(running: Running) -> int:
    """Return the bytes of the pool that the running graph needs."""
    memory = running.memory
    pooled = {id(m): m for m in memory.pooled} | {id(s.memory): s.memory for s in memory.states.values()}
    return sum(m.size_bytes for m in pooled.values()) + memory.by_owner[FRAME].size_bytes


@pytest.mark.parametrize("seed", SEEDS)
def test_edited_graphs_do_what_the_interpreter_does(device: Device, modules: ModuleCache, seed: int) -> None:
    """After each edit, with live values in between, all results are the interpreter's, overwritten buffers included.

    The pool has allocated exactly the memory that the graph uses.
    """
    chance = random.Random(seed)
    running: Running | None = None
    values: dict[str, dict[str, int]] = {}
    for patch, plan in edits(seed):
        values = {node: values.get(node, given) for node, given in patch.values.items()}
        before = running
        running = Running(plan, device, modules, values, before, LEVELS[seed % 3])
        live = [(node, name) for node, given in values.items() for name in given if node in plan.description.by_id]
        if live:
            node, name = chance.choice(live)
            values[node] = {**values[node], name: chance.randrange(1, 2**32)}
            running.compiled.set_parameters({(node, name): values[node][name]})
        expected = Interpreter(patch.description, values, KERNELS)
        for _ in range(FRAMES):
            expected.frame()
            running.frame()
            check_contents(running, expected)
        assert running.pool.used_bytes == in_use(running)
        for owner in list(plan.placement.offsets)[:: max(1, len(plan.placement.offsets) // 4)]:
            if not any(spec.append for spec in plan.description.by_id[owner.node].description.outputs):
                assert np.array_equal(running.read_again(owner), expected.array(owner)), owner
    assert running is not None
    running.close()


@pytest.mark.parametrize("seed", SEEDS[::4])
def test_objects_of_unchanged_blocks_are_reused(device: Device, modules: ModuleCache, seed: int) -> None:
    """After an edit, blocks that it does not concern keep their argument blocks and memory."""
    running: Running | None = None
    for patch, plan in edits(seed):
        before = running
        old = (
            {(k.node, plan_before.operations[k.operation].place): k.arguments for k in before.compiled.kernels}
            if before is not None and (plan_before := before.plan)
            else {}
        )
        old_memory = dict(before.memory.by_owner) if before is not None else {}
        running = Running(plan, device, modules, patch.values, before)
        if before is None:
            continue
        changes = plan_difference(before.plan, plan)
        moved = {
            owner
            for owner, memory in running.memory.by_owner.items()
            if owner in old_memory and old_memory[owner].pointer != memory.pointer
        }
        kept = 0
        for kernel in running.compiled.kernels:
            operation = plan.operations[kernel.operation]
            if kernel.operation not in changes.renewed and not moved & (operation.reads | operation.writes):
                assert kernel.arguments is old[kernel.node, operation.place]
                kept += 1
        assert kept or moved or len(changes.renewed) == len(plan.operations)
        for owner, buffer in plan.buffers.allocations.items():
            is_kept = plan.description.by_id[owner.node] is before.plan.description.by_id.get(owner.node)
            if buffer.lifetime is Lifetime.PROVIDED and is_kept:
                assert running.memory.by_owner[owner] is old_memory[owner]
    assert running is not None
    running.close()
