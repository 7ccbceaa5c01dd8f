"""Which bodies of a graph run more than once per launch."""

from typing import Any

from warploom.engine.device.nodes import NoWork
from warploom.engine.device.protocol import Condition, ConditionalKind
from warploom.engine.device.tree import ROOT, GraphTree


def conditional(tree: GraphTree, graph: int, kind: ConditionalKind) -> int:
    """Add a conditional node and return its first body."""
    condition = Condition(len(tree.owners))
    tree.add_condition(graph, condition)
    return tree.add_conditional(graph, kind, condition, ())[1][0]


def test_bodies_of_loops_repeat_with_all_that_is_in_them() -> None:
    """The bodies of a loop repeat, and so do the choices and child graphs in them; others run once."""
    tree, child = GraphTree(), GraphTree()
    inner = GraphTree()
    child.add_child(ROOT, inner, ())
    choice = conditional(tree, ROOT, ConditionalKind.IF_ELSE)
    loop = conditional(tree, choice, ConditionalKind.WHILE)
    inside = conditional(tree, loop, ConditionalKind.IF)
    tree.add_child(ROOT, child, ())
    once = len(tree.owners) - 1
    tree.add_child(inside, child, ())
    found: dict[str, Any] = {
        "whole": tree.repeats[ROOT],
        "choice": tree.repeats[choice],
        "else": tree.repeats[choice + 1],
        "loop": tree.repeats[loop],
        "in the loop": tree.repeats[inside],
        "child": tree.repeats[once],
        "child in the loop": tree.repeats[-1],
    }
    assert [name for name, repeats in found.items() if repeats] == ["loop", "in the loop", "child in the loop"]
    assert len(tree.repeats) == len(tree.owners)


def test_graphs_that_are_forgotten_leave_no_trace() -> None:
    """A clone does not list bodies that are added later, and forgetting a node removes later bodies."""
    tree = GraphTree()
    kept = tree.add_child(ROOT, GraphTree(), ())
    twin = tree.clone()
    node = tree.add(ROOT, NoWork(), ())
    loop = conditional(tree, ROOT, ConditionalKind.WHILE)
    assert tree.repeats[loop] and len(twin.repeats) == 2
    tree.forget(node)
    assert tree.repeats == [False, False] and kept == 0
