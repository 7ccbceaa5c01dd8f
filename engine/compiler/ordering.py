"""Phase 2, order: topological levels of the blocks.

Connections give most of the order. In-place blocks add some: a block that changes its input's memory comes after
everything else that reads the same output. The order is stable: the same description gives the same levels.
"""

from __future__ import annotations

from engine.compiler.description import BlockNode, GraphDescription
from engine.diagnostics import Diagnostic, error
from engine.patch.changes import PortRef
from engine.patch.rules import find_path

Levels = tuple[tuple[str, ...], ...]
_COPY = "put a Copy block in front of one of them"


def topological_levels(description: GraphDescription) -> tuple[Levels, list[Diagnostic]]:
    """Return the levels of an acyclic description, and errors where in-place blocks allow no order."""
    after, problems = _in_place_order(description)
    if problems:
        return (), problems
    for connection in description.connections:
        after.setdefault(connection.target.node, set()).add(connection.source.node)
    remaining = {node.id: after.get(node.id, set()) for node in description.nodes}
    levels: list[tuple[str, ...]] = []
    done: set[str] = set()
    while remaining:
        level = tuple(sorted(node for node, needs in remaining.items() if needs <= done))
        if not level:
            node = min(remaining)
            return (), [error("in-place blocks must have an order, got a circle", node=node, remedy=_COPY)]
        levels.append(level)
        done.update(level)
        for node in level:
            del remaining[node]
    return tuple(levels), []


def _in_place_order(description: GraphDescription) -> tuple[dict[str, set[str]], list[Diagnostic]]:
    readers: dict[PortRef, list[PortRef]] = {}
    for connection in description.connections:
        readers.setdefault(connection.source, []).append(connection.target)
    after: dict[str, set[str]] = {}
    problems: list[Diagnostic] = []
    for source, targets in sorted(readers.items(), key=lambda item: str(item[0])):
        writers = sorted((t for t in targets if _changes(description.by_id[t.node], t.port)), key=str)
        problems += [
            error(
                f"one block must change {source} in place, got {writers[0].node} and {extra.node}",
                node=extra.node,
                port=extra.port,
                remedy=_COPY,
            )
            for extra in writers[1:]
        ]
        if writers and source.port in description.by_id[source.node].description.contents:
            # They are uploaded once: every frame would change what the frame before left.
            problems.append(
                error(
                    f"contents of {source} must stay as they are, got {writers[0].node}, which changes them in place",
                    node=writers[0].node,
                    port=writers[0].port,
                    remedy=f"put a Copy block between {source} and {writers[0].node}",
                )
            )
        for target in targets if len(writers) == 1 else ():
            writer = writers[0]
            if target.node == writer.node:
                continue
            if find_path(description.connections, writer.node, target.node):
                problems.append(
                    error(
                        f"{target.node} must read {source} before {writer.node} changes it in place, "
                        f"got a connection from {writer.node} to {target.node}",
                        node=target.node,
                        port=target.port,
                        remedy=f"put a Copy block between {source} and {target.node}",
                    )
                )
            after.setdefault(writer.node, set()).add(target.node)
    return after, problems


def _changes(node: BlockNode, port: str) -> bool:
    return any(spec.inplace == port for spec in node.description.ports)
