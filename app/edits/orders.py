"""Edits of the order of blocks without connections; each is one undo step of the patch."""

from collections.abc import Collection
from itertools import pairwise

from warploom.engine.figures import plural
from warploom.engine.patch.document import Patch


def run_in_order(patch: Patch, nodes: Collection[str]) -> None:
    """Let blocks run one after the other, as they lie from left to right. Raise PatchError when refused."""
    found = sorted(nodes, key=lambda node: patch.nodes[node].position)
    with patch.edit(f"Run {plural(len(found), 'block')} in order"):
        for first, then in pairwise(found):
            patch.order(first, then)


def orders_of(patch: Patch, nodes: Collection[str]) -> list[tuple[str, str]]:
    """Return the orders of any of these blocks."""
    chosen = set(nodes)
    return [pair for pair in patch.orders if not chosen.isdisjoint(pair)]


def remove_orders(patch: Patch, nodes: Collection[str]) -> None:
    """Remove the orders of blocks."""
    with patch.edit(f"Remove orders of {plural(len(nodes), 'block')}"):
        for first, then in orders_of(patch, nodes):
            patch.remove_order(first, then)
