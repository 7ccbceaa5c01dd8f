"""Orders in the document: one block runs before another without a connection."""

import random

import pytest

from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch, parse_patch
from warploom.engine.patch.rules import OrderRefused, WouldCycle, find_cycle

A, B, C = "abc"


@pytest.fixture
def patch() -> Patch:
    """Three blocks without connections, and an If Else."""
    patch = Patch()
    for name in (A, B, C):
        patch.add("math.scale_offset", node_id=name)
    patch.add("control.if_else", node_id="choice")
    return patch


def test_an_order_is_one_undo_step_and_part_of_the_file(patch: Patch) -> None:
    """An order can be undone, is saved, and is removed once."""
    before = dump_patch(patch)
    patch.order(patch[A], B)
    patch.order(A, B)  # is there
    assert patch.orders == [(A, B)] and patch.history.undo_name == "Run Scale Offset before Scale Offset"
    assert parse_patch(dump_patch(patch)).orders == [(A, B)]
    patch.remove_order(A, B)
    assert patch.orders == []
    with pytest.raises(PatchError, match="order to remove must be in the patch, got none of a before b"):
        patch.remove_order(A, B)
    patch.undo()
    assert patch.orders == [(A, B)]
    patch.undo()
    assert dump_patch(patch) == before


def test_no_cycle_is_made_by_orders_and_connections(patch: Patch) -> None:
    """Orders and connections together make no cycle; the message has the whole way."""
    patch.order(A, B)
    patch.connect(patch[B]["out"], patch[C]["x"])
    with pytest.raises(WouldCycle, match="order of c before a must not close a cycle, got c -> a -> b -> c"):
        patch.order(C, A)
    with pytest.raises(WouldCycle, match=r"connection c\.out -> a\.x must not close a cycle, got c -> a -> b -> c"):
        patch.connect(patch[C]["out"], patch[A]["x"])
    patch.remove_order(A, B)
    patch.connect(patch[C]["out"], patch[A]["x"])


def test_a_move_between_regions_makes_no_cycle(patch: Patch) -> None:
    """A move is refused if regions would then have to run before and after each other."""
    patch.order(A, "choice")
    patch.order("choice", B)
    with pytest.raises(WouldCycle, match="a move between regions must not close a cycle"):
        other = patch.add("control.if", node_id="other")
        patch.move_into([A, B], other)
    patch.move_into(A, patch["other"])
    assert patch.orders == [(A, "choice"), ("choice", B)]


def test_only_blocks_that_both_run_have_an_order(patch: Patch) -> None:
    """One block, a region and its contents, two branches, value blocks and groups have no order, for a reason each."""
    patch.move_into(A, "choice")
    patch.move_into(B, "choice.else")
    patch.add("value.lfo", node_id="lfo")
    group = patch.group([C])
    for first, then, why in (
        (A, A, "it is one block"),
        ("choice", A, "choice is around the other one"),
        (A, "choice", "choice is around the other one"),
        (A, B, "only one branch of choice runs"),
        ("lfo", A, "got lfo, which is a value block, and these run before the others"),
        (A, group, "order blocks inside it"),
    ):
        with pytest.raises(OrderRefused, match=why):
            patch.order(first, then)
    with pytest.raises(PatchError, match="node must be one of"):
        patch.order(A, "gone")
    patch.order(A, C)  # out of a region, and into a group
    assert patch.orders == [(A, C)]


def test_orders_follow_their_blocks(patch: Patch) -> None:
    """An order goes with a removed block, comes back with it, and is copied with both blocks."""
    patch.order(A, B)
    patch.order(B, C)
    patch.remove(B)
    assert patch.orders == []
    patch.undo()
    assert patch.orders == [(A, B), (B, C)]
    ids = patch.insert(patch.excerpt([A, B]))
    assert (ids[A], ids[B]) in patch.orders and len(patch.orders) == 3
    patch.undo()
    patch.group([A, B])
    patch.ungroup("group")
    assert patch.orders == [(A, B), (B, C)]


def test_instances_of_a_function_share_orders(patch: Patch) -> None:
    """An order inside one instance of a function, its removal and undo reach the others, in one undo step."""
    group = patch.group([A, B], "Pair")
    patch.set(group, function="pair")
    ids = patch.insert(patch.excerpt([group.id]))
    before = dump_patch(patch)
    patch.order(ids[B], ids[A])
    assert set(patch.orders) == {(B, A), (ids[B], ids[A])}
    patch.undo()
    assert dump_patch(patch) == before
    patch.redo()
    patch.order(A, C)  # leaves the instance, so it is of this one alone
    patch.remove_order(B, A)
    assert patch.orders == [(A, C)]
    patch.undo()
    patch.remove(A)
    assert patch.orders == [] and ids[A] not in patch.nodes
    patch.undo()
    assert set(patch.orders) == {(A, C), (B, A), (ids[B], ids[A])}


def test_random_orders_never_make_a_cycle() -> None:
    """Of random orders, connections and moves, those that are accepted have no cycle, also between regions."""
    chance = random.Random(4)
    for _ in range(20):
        patch = Patch()
        for number in range(9):
            regions = [n for n in patch.nodes if patch.nodes[n].type == "control.switch"]
            region = patch[chance.choice(regions)].branch(chance.randrange(3)) if regions and number > 3 else ""
            kind = "control.switch" if number % 3 == 2 else "math.scale_offset"
            patch.add(kind, node_id=f"n{number}", region=region)
        nodes = list(patch.nodes)
        for _ in range(40):
            a, b = chance.choice(nodes), chance.choice(nodes)
            try:
                match chance.randrange(3):
                    case 0:
                        patch.order(a, b)
                    case 1:
                        port = "index" if patch.nodes[b].type == "control.switch" else "x"
                        patch.connect(PortRef(a, "out"), PortRef(b, port))
                    case _:
                        patch.move_into(a, b)
            except PatchError:
                pass
            pairs = [*patch.orders, *((c.source.node, c.target.node) for c in patch.connections)]
            assert find_cycle(patch.scopes.lifted(pairs)) is None
