"""An order in which nodes can be computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar, cast

from warploom.engine.tensor_ir.errors import TopologicalSortFailed
from warploom.engine.tensor_ir.graph import TensorNode

#: The most nodes of a cycle that a message names.
NAMED = 6

_N = TypeVar("_N", bound=TensorNode)


def topological_order(wanted: Iterable[_N], is_known: Callable[[_N], bool] = lambda node: False) -> list[_N]:
    """Return the wanted nodes and all nodes that they are computed from, each after its inputs.

    The order is depth first, so that a node comes soon after its inputs. Known nodes are left out, and so are nodes
    that only these need. TopologicalSortFailed names the nodes of a cycle.
    """
    order: list[_N] = []
    done: set[_N] = set()
    path: dict[_N, None] = {}  # from a wanted node to the current one
    waiting = [node for node in wanted if not is_known(node)][::-1]
    while waiting:
        node = waiting[-1]
        if node in done:
            waiting.pop()
        elif node in path:  # all inputs are done
            waiting.pop()
            del path[node]
            done.add(node)
            order.append(node)
        else:
            path[node] = None
            for other in reversed(cast(tuple[_N, ...], node.inputs)):
                if other in path:
                    raise _cycle(list(path), other)
                if other not in done and not is_known(other):
                    waiting.append(other)
    return order


def _cycle(path: Sequence[TensorNode], first: TensorNode) -> TopologicalSortFailed:
    members = path[path.index(first) :]
    origin = f" (made at {first.origin})" if first.origin else ""
    text = " of ".join(f"{node.label} {node.type}" for node in (*members[:NAMED], first))
    return TopologicalSortFailed(f"nodes must not be computed from themselves, got {text}{origin}")
