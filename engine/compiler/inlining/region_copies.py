"""Copies of buffers that leave a region which does not write them: uploaded arrays and the user's memory.

When a region is skipped, readers outside see its outputs' defaults. Uploaded arrays and the user's memory must not be
overwritten with a default. So readers outside get a copy, which the region makes when it runs, and which is an output
like any other. If a view of such a buffer lies in an inner region, the copy is still made in the buffer's own region:
a view does no work, so it has contents even when the inner region is skipped.
"""

from collections.abc import Mapping

from warploom.engine.compiler.description import BlockNode, GraphDescription, Nesting
from warploom.engine.descriptions.copies import COPY
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.regions import RegionRefused


def with_copies(
    description: GraphDescription, outputs: Mapping[PortRef, PortRef]
) -> tuple[GraphDescription, dict[PortRef, PortRef]]:
    """Return the description with a copy block for each of these buffers; connections and ports then lead to the copy.

    `outputs` maps ports of composites to ports of blocks; the returned mapping includes the copies.
    """
    blocks = (node.description for node in description.nodes if node.region)
    if not any(block.contents or block.externals for block in blocks):
        return description, dict(outputs)
    try:
        leaving, looked_at = _leaving(description)
    except RegionRefused:  # a region inside itself, which the check reports
        return description, dict(outputs)
    roots = {**{c.source: root for c, root in leaving.items()}, **looked_at}
    if not roots:
        return description, dict(outputs)
    copies = {port: PortRef(f"{port.node}/{port.port}", "out") for port in roots}
    nodes = [BlockNode(copies[port].node, COPY, root.region, root.group) for port, root in roots.items()]
    connections = [Connection(copies[c.source], c.target) if c in leaving else c for c in description.connections]
    connections += [Connection(port, PortRef(copy.node, "x")) for port, copy in copies.items()]
    ends = {outer: copies.get(inner, inner) for outer, inner in outputs.items()} | copies
    return GraphDescription((*description.nodes, *nodes), tuple(connections), orders=description.orders), ends


def _leaving(description: GraphDescription) -> tuple[dict[Connection, BlockNode], dict[PortRef, BlockNode]]:
    """Return the connections that lead uploaded or the user's memory out of a region, and unconnected outputs that show
    it, each with the block that has the memory.
    """
    nesting, by_id, source_of = Nesting(description), description.by_id, description.source_of
    roots: dict[PortRef, str | None] = {}

    def around(root: str, node: str) -> list[str]:
        return nesting.regions_between(nesting.scope_of(root), nesting.scope_of(node))

    def root_of(port: PortRef) -> str | None:
        """Return the block in a region whose array a port shows, if no border of a region lies between them."""
        if port in roots or port.node not in by_id:
            return roots.get(port)
        roots[port] = None  # ends a cycle, which the check reports
        block = by_id[port.node].description
        if port.port in block.contents or port.port in block.externals:
            roots[port] = port.node if by_id[port.node].region else None
            return roots[port]
        rule, view = block.rules.output_of.get(port.port), block.view_of.get(port.port)
        through = view.source if view is not None else rule.spec.inplace if rule is not None else None
        source = source_of.get(PortRef(port.node, through)) if through is not None else None
        root = root_of(source) if source is not None else None
        roots[port] = root if root is not None and not around(root, port.node) else None
        return roots[port]

    leaving = {}
    for connection in description.connections:
        root, target = root_of(connection.source), connection.target.node
        if root is not None and target in by_id and target not in (regions := around(root, target)) and regions:
            leaving[connection] = by_id[root]
    looked_at = sorted(description.looked_at, key=str)
    return leaving, {port: by_id[root] for port in looked_at if (root := root_of(port)) is not None}
