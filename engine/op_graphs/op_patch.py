"""`OpPatch`: an op graph as a patch, with the types that flow in it; made from the JSON of a graph and back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import ClassVar

from engine.diagnostics import Diagnostic
from engine.kernel_blocks.graph_block import name_problems
from engine.kernel_sources.sources import OpGraphSource
from engine.op_graphs.op_blocks import OpBlock, op_catalogue
from engine.ops import OpConnection, OpGraph, OpNode
from engine.ops.analysis import Analysis
from engine.ops.types import BufferType, Type
from engine.ops.wiring import crossing
from engine.patch.changes import Change, Connection, PortRef
from engine.patch.inner_patch import InnerPatch
from engine.patch.rules import ConnectionRefused, TypeMismatch

#: What new inputs, outputs and parameters are called, which is also what the kernel's block calls them.
_STEMS = {"op.input": "x", "op.output": "result", "op.parameter": "amount"}


class OpPatch(InnerPatch):
    """An op graph that a person edits. Its nodes have the order of the graph, which is that of the kernel's ports."""

    kind: ClassVar[str] = "op graph"
    holds: ClassVar[str] = "ops of a kernel"

    def __init__(self) -> None:
        super().__init__(op_catalogue())
        self._analysis: Analysis | None = None

    def graph(self) -> OpGraph:
        """Return the graph as the compiler takes it."""
        nodes = (OpNode(n.id, n.type, n.region, n.parameters) for n in self.nodes.values())
        return OpGraph(tuple(nodes), tuple(OpConnection(str(c.source), str(c.target)) for c in self.connections))

    @property
    def analysis(self) -> Analysis:
        """The graph with its types, as it is now."""
        if self._analysis is None:
            self._analysis = OpGraphSource.of(self.graph()).analysis()  # which the block asks for too
        return self._analysis

    @property
    def problems(self) -> list[Diagnostic]:
        """What is wrong with the graph, each problem with its op and port."""
        return [*self.analysis.diagnostics, *name_problems(self.analysis)]

    @property
    def live(self) -> Collection[str]:
        """The ops that an output needs."""
        return self.analysis.live

    @property
    def types(self) -> Mapping[str, object]:
        """The signature of each op."""
        return self.analysis.signatures

    def flow(self, port: PortRef, *, is_input: bool) -> Type | None:
        """Return what flows through a port: the type to which an input converts, or what an output gives.

        None where it is not known.
        """
        if not is_input:
            return self.analysis.outputs(port.node).get(port.port)
        signature = self.analysis.signatures.get(port.node)
        if signature is not None and port.port in signature.inputs:
            return signature.inputs[port.port]
        source = self.source_of(port)
        return self.flow(source, is_input=False) if source is not None else None

    def title(self, node_id: str) -> str:
        """Return what the canvas calls an op: a constant by its number, an input or parameter with its name."""
        node = self._require(node_id)
        if node.title:
            return node.title
        title = super().title(node_id)
        if node.type in _STEMS:
            return f"{title} {self.value(node_id, 'name') or node_id}"
        return f"{self.value(node_id, 'value'):g}" if node.type == "op.constant" else title

    def check_connection(self, source: PortRef, target: PortRef) -> Connection:
        """Return the connection that `connect` would make, or raise what it would raise.

        Types that don't go together are no reason to refuse a connection, since a person may convert one of them; the
        op shows the error. A buffer never is a value.
        """
        connection = super().check_connection(source, target)
        reason = self._misfit(connection)
        if reason:
            raise TypeMismatch(reason)
        placed = self.analysis.ops
        start, end = placed.get(connection.source.node), placed.get(connection.target.node)
        if start is not None and end is not None:
            output, port = start.op.output(connection.source.port), end.op.input(connection.target.port)
            if output is not None and port is not None:
                reason = crossing(self.analysis.wiring, start, output, end, port)
                if reason:
                    raise ConnectionRefused(reason)
        return connection

    def fitting_ends(self, start: PortRef) -> set[PortRef]:
        """Return every end that a connection with `start` at its other end may have; its types may yet differ."""
        start = self.own(start)
        spec = self.find_end(start)
        is_target = spec is not None and getattr(spec, "is_input", True)
        ends = (
            (end, Connection(end, start) if is_target else Connection(start, end))
            for end in super().fitting_ends(start)
        )
        return {end for end, connection in ends if not self._misfit(connection)}

    def arrange(self, order: Iterable[str]) -> None:
        """Give the nodes an order, as undo must: a node that comes back would be the last one."""
        super().arrange(order)
        self._analysis = None

    def _misfit(self, connection: Connection) -> str:
        """Return why a buffer can't be connected to an input for values, or a value to one for buffers; else ""."""
        block_type = self._type_of(connection.target.node)
        port = block_type.op.input(connection.target.port) if block_type and issubclass(block_type, OpBlock) else None
        given = self.flow(connection.source, is_input=False)
        if port is None or given is None or isinstance(given, BufferType) == port.takes_buffer:
            return ""
        if port.takes_buffer:
            return f"{connection.target} must be a buffer, got {given}; connect the buffer of an input"
        return f"{connection.target} must be a value, got {given}; load an element of it"

    def _take(self, change: Change) -> None:
        super()._take(change)
        self._analysis = None

    def _stem(self, type_id: str) -> str:
        return _STEMS.get(type_id) or super()._stem(type_id)
