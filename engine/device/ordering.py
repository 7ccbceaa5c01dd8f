"""In what order the nodes of a graph can run."""

from __future__ import annotations

from collections.abc import Sequence

from engine.device.nodes import NodeRecord
from engine.device.protocol import Node
from engine.diagnostics import DeviceError


def execution_order(nodes: Sequence[NodeRecord]) -> Sequence[Node]:
    """Return all nodes, each after those that it waits for; as they were added, where that is such an order.

    DeviceError that names the nodes when some wait for each other in a circle.
    """
    later = [index for index, record in enumerate(nodes) if record.after and max(record.after) > index]
    if not later:
        return range(len(nodes))  # type: ignore[return-value]  # nodes are numbers
    order: list[Node] = []
    is_done = [False] * len(nodes)
    is_open = [False] * len(nodes)
    for first in range(len(nodes)):
        if is_done[first]:
            continue
        path = [(first, iter(nodes[first].after))]
        is_open[first] = True
        while path:
            node, rest = path[-1]
            before = next((other for other in rest if not is_done[other]), None)
            if before is None:
                path.pop()
                is_done[node], is_open[node] = True, False
                order.append(Node(node))
            elif is_open[before]:
                circle = [other for other, _ in path]
                raise DeviceError(_circular([*circle[circle.index(before) :], before]))
            else:
                is_open[before] = True
                path.append((before, iter(nodes[before].after)))
    return order


def _circular(circle: Sequence[int]) -> str:
    named = " after ".join(map(str, circle))
    return f"nodes must not wait for each other in a circle, got {named}; take out one of these dependencies"
