"""Orders without a connection: they hold in the graph, through regions, composites and blocks without operations."""

import random

import msgspec
import pytest
from msgspec import structs

from tests.compiler.support import patch_blocks as blocks
from tests.compiler.support.descriptions import graph
from tests.compiler.support.random_patches import random_patch
from warploom.engine.compiler.description import BlockNode, GraphDescription
from warploom.engine.compiler.operations import RegionEntry
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import make_plan
from warploom.engine.compiler.verifying.verify import verify
from warploom.engine.descriptions.entries import SliceView
from warploom.engine.diagnostics import GraphValidationError


def ordered(description: GraphDescription, *pairs: str) -> Plan:
    """Return the plan of a description with orders such as "a b"."""
    return make_plan(replaced(description, [tuple(pair.split()) for pair in pairs]))


def replaced(description: GraphDescription, pairs: list[tuple[str, ...]]) -> GraphDescription:
    """Return a description with other orders."""
    orders = tuple((first, then) for first, then in pairs)
    return GraphDescription(description.nodes, description.connections, description.sentinels, (), orders)


def waits(plan: Plan, then: str, first: str) -> bool:
    """Return whether all operations of a block wait for all of another one; the compiler's own moves don't count."""
    numbered = [(index, operation) for index, operation in enumerate(plan.operations) if operation.place >= 0]
    ends = {index for index, operation in numbered if first in operation.nodes}
    found = [index for index, operation in numbered if then in operation.nodes]
    return all(ends <= _before(plan, index) for index in found)


def _before(plan: Plan, index: int) -> set[int]:
    """Return the operations that have ended when one begins."""
    found: set[int] = set()
    waiting = list(plan.operations[index].after)
    while waiting:
        earlier = waiting.pop()
        if earlier not in found:
            found.add(earlier)
            operation = plan.operations[earlier]
            waiting += operation.after
            if isinstance(operation.entry, RegionEntry):
                waiting += [member for scope in operation.entry.scopes for member in plan.scopes[scope].members]
    scope = plan.operations[index].scope
    return found | (_before(plan, plan.scopes[scope].region) if scope else set())


def test_an_order_is_a_dependency_of_the_graph() -> None:
    """Blocks that share nothing wait for each other, against the order of their names."""
    patch = graph(*(BlockNode(name, blocks.fresh(2, 3, 0)) for name in "abc"))
    plan = ordered(patch, "c a", "a b")
    assert waits(plan, "a", "c") and waits(plan, "b", "a") and waits(plan, "b", "c")
    assert not waits(make_plan(patch), "b", "a")


def test_an_order_goes_through_a_block_without_operations() -> None:
    """A view does nothing, so what runs after it waits for what runs before it."""
    patch = graph(
        *(BlockNode(name, blocks.fresh(4, 3, 0)) for name in "abs"),
        BlockNode("view", blocks.view(SliceView(0, 0, 2))),
        wires=["s.out view.x"],
    )
    assert waits(ordered(patch, "b view", "view a"), "a", "b")


def test_an_order_across_the_border_of_a_region_orders_the_region() -> None:
    """A block outside waits for a whole loop, and a loop for a block outside."""
    patch = graph(
        *(BlockNode(name, blocks.fresh(2, 3, 0)) for name in "ab"),
        BlockNode("loop", blocks.loop_for()),
        BlockNode("in", blocks.fresh(2, 3, 0), "loop"),
        BlockNode("on", blocks.fresh(2, 3, 0), "loop"),
    )
    plan = ordered(patch, "b in", "on a", "on in")
    assert waits(plan, "loop", "b") and waits(plan, "in", "b") and waits(plan, "a", "loop") and waits(plan, "in", "on")


def test_random_orders_hold_in_random_patches() -> None:
    """Orders along the order in which a random patch runs hold for whole blocks, and the plan breaks no rule."""
    tried = 0
    for seed in range(40):
        chance, description = random.Random(seed), random_patch(seed, 14).description
        try:
            plain = make_plan(description)
        except GraphValidationError:  # blocks of the patch conflict
            continue
        top = {node.id for node in description.nodes if not node.region and not node.group}
        ran = dict.fromkeys(node for o in plain.operations if not o.scope for node in o.nodes if node in top)
        pairs = [tuple(sorted(chance.sample(range(len(ran)), 2))) for _ in range(4 if len(ran) > 1 else 0)]
        names = list(ran)
        try:
            plan = make_plan(replaced(description, [(names[a], names[b]) for a, b in pairs]))
        except GraphValidationError as problem:  # the operations of both blocks alternate
            assert all("as their order says" in item.message for item in problem.errors)
            continue
        tried += bool(pairs)
        assert verify(plan) == []
        for a, b in pairs:
            holds = [description.by_id[names[n]].description.composition is None for n in (a, b)]
            assert not all(holds) or waits(plan, names[b], names[a])
    assert tried > 10


def test_an_order_against_a_connection_is_one_error() -> None:
    """Where connections and orders allow no order, as in an edited file, the message names both blocks."""
    patch = graph(BlockNode("a", blocks.fresh(2, 3, 0)), BlockNode("b", blocks.copy()), wires=["a.out b.x"])
    with pytest.raises(GraphValidationError, match="b must run before a, as their order says, got a before b") as found:
        ordered(patch, "b a")
    assert len(found.value.errors) == 1


def test_a_plan_without_its_order_breaks_a_rule() -> None:
    """The verifier reports an order that a plan does not keep."""
    patch = graph(*(BlockNode(name, blocks.fresh(2, 3, 0)) for name in "ab"))
    plan = ordered(patch, "b a")
    assert verify(plan) == []
    loose = tuple(structs.replace(operation, after=()) for operation in plan.operations)
    broken = msgspec.structs.replace(plan, schedule=plan.schedule._replace(operations=loose))
    assert any("by the order of b and a" in problem for problem in verify(broken))
