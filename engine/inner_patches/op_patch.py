"""Op graphs: `OpPatch`, with the type at each port, over a catalogue of ops, and `GraphBlock`, which holds one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache, cached_property
from typing import Any, ClassVar

from warploom.engine.blocktypes.adaptive import Interface
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.catalogue.fixed_catalogue import FixedCatalogue, RowBlock, row_block
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import Diagnostic
from warploom.engine.kernel_blocks.graph_block import ComputeBlock, graph_interface, name_problems
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.ops import (
    CATEGORIES,
    OPS,
    OpConnection,
    OpGraph,
    OpInput,
    OpNode,
    OpSetting,
    OpType,
    graph_from_json,
)
from warploom.engine.ops.analysis import Analysis
from warploom.engine.ops.types import BufferType, Type
from warploom.engine.ops.wiring import crossing
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.inner_patch import GRAPH, InnerBlock, InnerPatch
from warploom.engine.patch.rules import ConnectionRefused, TypeMismatch
from warploom.engine.types import any_type


def _op_block(op: OpType) -> type[RowBlock]:
    """Return an op as a block type. An input with a default is a parameter of the same name too."""
    shown = [port for port in op.outputs if not port.is_internal]
    outputs = [PortSpec(port.name, "out", any_type, port.doc, "") for port in shown]
    ports, parameters = [*map(_input, op.inputs), *outputs], list(map(_parameter, op.values))
    return row_block(op.id, op.title, op.category, op.doc, ports, parameters, tags=op.tags, regions=op.regions)


def _input(port: OpInput) -> PortSpec:
    optional = port.optional or port.default is not None
    return PortSpec(port.name, "in", any_type, port.doc, "same", optional=optional, delayed=port.delayed)


def _parameter(setting: OpSetting) -> ParameterSpec:
    kind = {"float": float, "int": int, "bool": bool, "str": str}[setting.type]
    # Structural, so that value blocks, which op graphs don't have, are not offered.
    return ParameterSpec(
        *(setting.name, setting.type, kind(setting.default), setting.doc, setting.minimum, setting.maximum),
        choices=setting.choices,
        structural=True,
    )


@cache
def op_catalogue() -> FixedCatalogue:
    """Return the catalogue of ops, by category, in the order of the table."""
    shown = sorted((op for op in OPS.values() if not op.is_internal), key=lambda op: CATEGORIES.index(op.category))
    return FixedCatalogue("an op", {op.id: _op_block(op) for op in OPS.values()}, [op.id for op in shown])


class OpPatch(InnerPatch):
    """An op graph that a person edits. Its nodes are in the order of the graph, which decides the order of ports."""

    kind: ClassVar[str] = "op graph"
    holds: ClassVar[str] = "ops of a kernel"
    own_types: ClassVar[Collection[str]] = OPS.keys()
    ends: ClassVar[Mapping[str, str]] = {"op.input": "x", "op.output": "result", "op.parameter": "amount"}
    infers_types: ClassVar[bool] = True
    derived: ClassVar[str] = "analysis"

    def __init__(self) -> None:
        super().__init__(op_catalogue())

    def graph(self) -> OpGraph:
        """Return the graph as the compiler's input."""
        nodes = (OpNode(n.id, n.type, n.region, n.parameters) for n in self.nodes.values())
        return OpGraph(tuple(nodes), tuple(OpConnection(str(c.source), str(c.target)) for c in self.connections))

    @cached_property
    def analysis(self) -> Analysis:
        """The current graph with its types."""
        return op_graphs.analysis(OpGraphSource.of(self.graph()))  # the same call as the block's, so that it is cached

    @property
    def problems(self) -> list[Diagnostic]:
        """The graph's faults, each with its op and port."""
        return [*self.analysis.diagnostics, *name_problems(self.analysis)]

    @property
    def live(self) -> Collection[str]:
        """The ops on which an output depends."""
        return self.analysis.live

    @property
    def types(self) -> Mapping[str, object]:
        """The signature of each op."""
        return self.analysis.signatures

    def flow(self, port: PortRef, *, is_input: bool) -> Type | None:
        """Return the type of a port: the type to which an input converts, or an output's.

        Return None if the type is not known.
        """
        if not is_input:
            return self.analysis.outputs(port.node).get(port.port)
        signature = self.analysis.signatures.get(port.node)
        if signature is not None and port.port in signature.inputs:
            return signature.inputs[port.port]
        source = self.source_of(port)
        return self.flow(source, is_input=False) if source is not None else None

    def title(self, node_id: str) -> str:
        """Return an op's title on the canvas: a constant's number."""
        node = self._require(node_id)
        is_number = node.type == "op.constant" and not node.title
        return f"{self.value(node_id, 'value'):g}" if is_number else super().title(node_id)

    def check_connection(self, source: PortRef, target: PortRef) -> Connection:
        """Return the connection that `connect` would make, or raise its error.

        A connection of types that don't match is allowed, since a person may add a conversion; the op shows the error.
        A connection between a buffer and a value is refused.
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
        """Return every port that can be connected to `start`; types may still differ."""
        start = self.own(start)
        spec = self.find_end(start)
        is_target = spec is not None and getattr(spec, "is_input", True)
        ends = (
            (end, Connection(end, start) if is_target else Connection(start, end))
            for end in super().fitting_ends(start)
        )
        return {end for end, connection in ends if not self._misfit(connection)}

    def _misfit(self, connection: Connection) -> str:
        """Return why a buffer can't be connected to an input for values, or a value to one for buffers; else ""."""
        op = OPS.get(self.nodes[connection.target.node].type)
        port = op.input(connection.target.port) if op is not None else None
        given = self.flow(connection.source, is_input=False)
        if port is None or given is None or isinstance(given, BufferType) == port.takes_buffer:
            return ""
        if port.takes_buffer:
            return f"{connection.target} must be a buffer, got {given}; connect the buffer of an input"
        return f"{connection.target} must be a value, got {given}; load an element of it"


class GraphBlock(ComputeBlock, InnerBlock, abstract=True):
    """A block type whose nodes run the op graph in the parameter `graph`, which is JSON."""

    @classmethod
    def inner_patch(cls) -> type[InnerPatch]:
        """Return the kind of patch that its nodes hold."""
        return OpPatch

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """Return the ports and parameters of the op graph; none while there is none."""
        graph = values[GRAPH]
        return graph_interface(graph_from_json(graph), values["constants"]) if graph else Interface()
