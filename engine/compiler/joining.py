"""Joined versions: what the branches of a region make of the same memory is one thing to those outside.

Only one branch runs. When both change some contents in place, a block outside that reads what one of them gives and a
block outside that changes what the other gives touch the same memory, so they need an order like two that read and
change one output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from engine.compiler.description import GraphDescription
from engine.compiler.nesting import Nesting
from engine.patch.changes import PortRef


def contents_of(description: GraphDescription, port: PortRef) -> PortRef:
    """Return the output whose contents a port shows: the port itself, or what a chain of views looks at."""
    while (view := description.by_id[port.node].description.view_of.get(port.port)) is not None:
        port = description.source_of[PortRef(port.node, view.source)]
    return port


def joined_versions(
    description: GraphDescription, nesting: Nesting, changed: Iterable[PortRef]
) -> dict[PortRef, list[PortRef]]:
    """Return, for outputs that the branches of a region leave in the same memory, all of them in order.

    `changed` are the outputs that some block changes in place, as `contents_of` gives them.
    """
    changers: dict[PortRef, list[PortRef]] = {contents: [] for contents in changed}
    for target, source in description.source_of.items():
        if target.port in description.by_id[target.node].description.changed_inputs:
            changers[contents_of(description, source)].append(target)
    joined: dict[PortRef, list[PortRef]] = {}
    for contents in sorted(changers, key=_name):
        for one, other in combinations(sorted(changers[contents], key=_name), 2):
            region, same = nesting.lift(one.node, other.node)
            if region != same:
                continue
            left = [*_last(description, nesting, changers, one, region)]
            left += _last(description, nesting, changers, other, region)
            found = {version for port in left for version in joined.get(port, [port])}
            joined |= dict.fromkeys(found, sorted(found, key=_name))
    return joined


def _last(
    description: GraphDescription,
    nesting: Nesting,
    changers: dict[PortRef, list[PortRef]],
    changer: PortRef,
    region: str,
) -> Iterator[PortRef]:
    """Give what is left of the contents that `changer` changes when the region is done."""
    waiting = [changer]
    while waiting:
        port = waiting.pop()
        for spec in description.by_id[port.node].description.outputs:
            if spec.inplace == port.port:
                made = PortRef(port.node, spec.name)
                inside = [other for other in changers.get(made, ()) if nesting.holds(region, other.node)]
                waiting += inside
                if not inside:
                    yield made


def _name(port: PortRef) -> tuple[str, str]:
    return port.node, port.port
