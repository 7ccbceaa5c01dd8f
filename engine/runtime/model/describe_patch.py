"""The one function that describes a patch: from its nodes and connections to what the compiler plans.

It runs on any thread, for the engine, for `check`, and for whoever asks what an edit would cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from engine.compiler.description import BlockNode, GraphDescription
from engine.compiler.inlining import Inlined, inline
from engine.diagnostics import Diagnostic, warning
from engine.patch.changes import Connection
from engine.runtime.model.block_instantiation import PlacedNode, described


@dataclass(frozen=True)
class PatchSnapshot:
    """A patch at one moment: its nodes, the connections that carry buffers, and the parameter values by node and name.

    `notices` tell of block files that failed and that no node needs.
    """

    nodes: tuple[PlacedNode, ...]
    connections: tuple[Connection, ...]
    values: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    notices: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class PatchDescription:
    """What a snapshot asks for: its nodes as they are described now, and the graph of those that could be.

    `problems` keep single blocks from running. `notices` keep newest versions and connections out of what runs
    nevertheless. `values` are those of the versions that are described.
    """

    nodes: tuple[PlacedNode, ...]
    inlined: Inlined
    problems: tuple[Diagnostic, ...]
    notices: tuple[Diagnostic, ...]
    values: Mapping[str, Mapping[str, object]]

    @property
    def undescribed(self) -> frozenset[str]:
        """The nodes without a description; value blocks are among them."""
        return frozenset(node.id for node in self.nodes if node.block is None)


def describe_patch(patch: PatchSnapshot) -> PatchDescription:
    """Describe every block that has no description yet, and put the graph together.

    A block that can't be described is not in the graph. Its connections are, so that the blocks that depend on it are
    known. Connections at ports that no longer exist are left out.
    """
    nodes = tuple([described(node) if node.is_to_be_described else node for node in patch.nodes])
    succeeded = {new.id: new.values for old, new in zip(patch.nodes, nodes, strict=True) if new.took_over_from(old)}
    graph = GraphDescription(tuple([node.block for node in nodes if node.block is not None]), patch.connections)
    kept, dangling = _without_dangling(graph.by_id, graph.connections)
    if dangling:
        graph = GraphDescription(graph.nodes, kept)
    stale = [problem for node in nodes if node.stale for problem in node.stale]
    problems = [problem for node in nodes if node.problems for problem in node.problems]
    notices = (*stale, *patch.notices, *dangling)
    return PatchDescription(nodes, inline(graph), tuple(problems), notices, {**patch.values, **succeeded})


def _without_dangling(
    nodes: Mapping[str, BlockNode], connections: Iterable[Connection]
) -> tuple[tuple[Connection, ...], list[Diagnostic]]:
    """Return the connections whose ports exist, and a warning for each other one on the node that lacks the port."""
    kept, warnings = [], []
    ports: Iterable[str]
    for connection in connections:
        source, target = nodes.get(connection.source.node), nodes.get(connection.target.node)
        if source is not None and connection.source.port not in source.description.rules.output_of:
            end, kind, ports = connection.source, "output", source.description.rules.output_of
        elif target is not None and connection.target.port not in target.description.rules.input_of:
            end, kind, ports = connection.target, "input", target.description.rules.input_of
        else:
            kept.append(connection)
            continue
        text = f"connection {connection} must use an {kind} that {end.node} has, got {end.port!r}: it is left out"
        remedy, expected = f"connect it to another {kind}, or delete it", f"{kind}: {', '.join(ports) or 'none'}"
        warnings.append(warning(text, node=end.node, port=end.port, remedy=remedy, expected=expected, found=end.port))
    return tuple(kept), warnings
