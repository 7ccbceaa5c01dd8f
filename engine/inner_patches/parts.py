"""`Parts`: the nodes of a patch inside a block, in the order of their connections, and the patch's faults."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from graphlib import CycleError, TopologicalSorter
from keyword import iskeyword
from unicodedata import normalize

from warploom.engine.blocktypes.block import is_reserved
from warploom.engine.diagnostics import Diagnostic, Mend, error
from warploom.engine.patch.changes import Node, PortRef
from warploom.engine.patch.inner_patch import InnerPatch


class Parts:
    """The contents of a patch inside a block; subclasses define the part of each node.

    `problems` has the patch's faults, each with its node and port.
    """

    def __init__(self, patch: InnerPatch) -> None:
        self._patch = patch
        self.problems: list[Diagnostic] = []
        #: The outputs that feed each node, by the input or parameter that they feed.
        self._feeds: dict[str, dict[str, PortRef]] = {node: {} for node in patch.nodes}
        for connection in patch.connections:
            self._feeds[connection.target.node][connection.target.port] = connection.source

    def ends(self, *types: str) -> Iterator[tuple[str, str]]:
        """Yield the ends of some types: node and name."""
        for node in self._patch.nodes.values():
            if node.type in types:
                yield node.id, self._patch.end_name(node)

    def _misnamed(self, types: Collection[str], is_used: Callable[[str], bool] = lambda _: False) -> set[str]:
        """Report the ends whose names can't be those of the block's ports, and return them.

        `is_used` tells which names the block uses itself.
        """
        seen: set[str] = set()
        found: set[str] = set()
        for node, name in self.ends(*types):
            problem = ""
            if not _is_port_name(name):
                problem = f"name must be one that a port can have, got {name!r}"
            elif is_used(name):
                problem = f"name must not be one that the block uses itself, got {name!r}"
            elif name in seen:
                problem = f"name must be given once, got {name!r} twice"
            seen.add(name)
            if problem:
                self._report(node, problem, "rename it", "name")
                found.add(node)
        return found

    def _in_order(self, what: str) -> Iterator[Node]:
        """Yield the nodes, each after its sources; none when they form a circle, which is reported with `what`."""
        before = {node: {source.node for source in feeds.values()} for node, feeds in self._feeds.items()}
        try:
            order = list(TopologicalSorter(before).static_order())
        except CycleError as problem:
            self._report(problem.args[1][0], f"{what} must not wait for each other in a circle", "remove a connection")
            return
        yield from (self._patch.nodes[node] for node in order)

    def _is_fed(self, node: str, inputs: Collection[str]) -> bool:
        """Return whether all of these inputs are connected; report the others."""
        missing = [name for name in inputs if name not in self._feeds[node]]
        for name in missing:
            self._report(node, "input must be connected", "connect it", name, incomplete=True)
        return not missing

    def _report(self, node: str, text: str, remedy: str, port: str | None = None, *, incomplete: bool = False) -> None:
        self.problems.append(
            error(text, node=node, port=port, remedy=remedy, mend=Mend.CONNECT if incomplete else None)
        )


def _is_port_name(name: str) -> bool:
    """True for a valid port name that shape rules, which are Python expressions, can contain."""
    is_read = name.isidentifier() and not iskeyword(name) and name == normalize("NFKC", name)
    return is_read and not is_reserved(name)
