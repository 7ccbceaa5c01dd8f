"""Finds values that all threads of a thread block share, and checks that all threads reach the ops that wait."""

from __future__ import annotations

from collections.abc import Iterator

from engine.diagnostics import Diagnostic, error
from engine.ops.graph import TOP
from engine.ops.wiring import PlacedOp, Wiring

#: Outputs that are the same in all threads of a thread block, by op; None stands for all outputs.
_COMMON: dict[str, tuple[str, ...] | None] = {
    "op.constant": None,
    "op.parameter": None,
    "op.frame": None,
    "op.grid": None,
    "op.thread_block": None,
    "op.input": ("size", "width", "height", "depth"),
    "op.index": ("count",),
    "op.position": ("width", "height", "count"),
    "op.position3": ("width", "height", "depth", "count"),
}


def divergent_waits(wiring: Wiring) -> Iterator[Diagnostic]:
    """Yield a problem for each op that waits for other threads where not all threads arrive."""
    waiting = [placed for placed in wiring.ops.values() if placed.op.waits]
    if any(placed.op.id == "op.aggregate" for placed in wiring.ops.values()):
        for placed in waiting:
            message = f"{placed.op.title} must be reached by all threads, but with an Aggregate each has its own number"
            yield error(f"{message} of elements", node=placed.node.id, remedy="take one of them out")
        return
    if not any(placed.node.region for placed in waiting):
        return
    common = _common(wiring)
    for placed in waiting:
        for scope in wiring.chain(placed.node.region)[1:]:
            region = wiring.ops[scope.partition(".")[0]]
            bad = [name for name in ("condition", "count", "stop") if not _is_common(region, name, common)]
            if bad:
                message = (
                    f"{placed.op.title} must be reached by all threads, but {bad[0]} of {region.node.id} may differ"
                )
                yield error(message, node=placed.node.id, remedy=f"move it out of {region.node.id}")
                break


def _is_common(placed: PlacedOp, name: str, common: set[tuple[str, str]]) -> bool:
    """Return whether the value at an input is the same in all threads; a number that a person sets always is."""
    source = placed.sources.get(name)
    return source is None or source in common


def _common(wiring: Wiring) -> set[tuple[str, str]]:
    """Return the outputs that are the same in all threads of a thread block."""
    common: set[tuple[str, str]] = set()

    def visit(scope: str) -> None:
        for node_id in wiring.order[scope]:
            placed = wiring.ops[node_id]
            names: tuple[str, ...] | None = ()
            if placed.op.id in _COMMON:
                names = _COMMON[placed.op.id]
            elif placed.op.id == "op.reduce" and placed.settings["scope"] == "thread block":
                names = None
            elif placed.op.id == "op.for":
                # `stop` is computed inside the region and not known yet. Assume that it differs between threads.
                names = ("index",) if _is_common(placed, "count", common) and "stop" not in placed.sources else ()
            elif not (placed.op.roams or placed.op.regions or placed.op.acts):
                names = None if all(source in common for source in placed.sources.values()) else ()
            chosen = [port.name for port in placed.op.outputs] if names is None else names
            common.update((node_id, name) for name in chosen)
            for branch in placed.op.regions:
                visit(f"{node_id}.{branch}".rstrip("."))

    visit(TOP)
    return common
