"""A placement is kept while every buffer fits in its place; buffers that have grown are given spare room."""

from itertools import pairwise

import pytest

from tests.compiler.support import patch_blocks as blocks
from warploom.engine.compiler.description import BlockNode, GraphDescription
from warploom.engine.compiler.memory.placement import MOST_DOUBLED_BYTES, room_for
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import make_plan
from warploom.engine.compiler.verifying.verify import verify
from warploom.engine.patch.changes import Connection, PortRef


def chain(rows: int, length: int = 6) -> GraphDescription:
    """Return blocks in a row, of (rows, 64) numbers each."""
    names = ["first", *(f"mix{k}" for k in range(length))]
    nodes = [BlockNode("first", blocks.fresh(rows, 64, 1)), *(BlockNode(name, blocks.mix()) for name in names[1:])]
    wires = [Connection(PortRef(a, "out"), PortRef(b, "x")) for a, b in pairwise(names)]
    return GraphDescription(tuple(nodes), tuple(wires))


def followed(plan: Plan, rows: int) -> Plan:
    """Return the verified plan for another size, made from an earlier plan."""
    made = make_plan(chain(rows), previous=plan)
    assert not verify(made)
    return made


def test_sizes_that_fit_move_nothing() -> None:
    """The placement is kept if sizes fall, or rise within the room of the buffers, and not beyond it."""
    plan = make_plan(chain(4))
    smaller = followed(plan, 1)
    assert smaller.placement is plan.placement
    assert followed(smaller, 4).placement is plan.placement
    larger = followed(smaller, 5)
    assert larger.placement.size_bytes > plan.placement.size_bytes
    assert followed(larger, 10).placement is larger.placement  # the room is twice the size
    assert followed(larger, 11).placement is not larger.placement


def test_a_changed_connection_makes_a_new_placement() -> None:
    """A moved connection leads to a new placement that breaks no rule."""
    plan = make_plan(chain(4))
    patch = chain(4)
    wire = Connection(PortRef("first", "out"), PortRef("mix3", "x"))
    others = tuple(c for c in patch.connections if c.target != wire.target)
    made = make_plan(GraphDescription(patch.nodes, (*others, wire)), previous=plan)
    assert made.placement is not plan.placement and not verify(made)


@pytest.mark.parametrize(
    ("size", "known", "room"),
    [
        (512, None, 512),
        (512, 512, 512),
        (512, 256, 1024),
        (256, 512, 512),
        (256, 5 * MOST_DOUBLED_BYTES, 256),
        (256, 4 * MOST_DOUBLED_BYTES, 4 * MOST_DOUBLED_BYTES),
        (8 * MOST_DOUBLED_BYTES, 256, 10 * MOST_DOUBLED_BYTES),
        (2 * MOST_DOUBLED_BYTES, 256, 3 * MOST_DOUBLED_BYTES),
    ],
)
def test_room_is_limited(size: int, known: int | None, room: int) -> None:
    """A small buffer that has grown is given room for twice its size, a large one for a quarter more."""
    assert room_for(size, known) == room
