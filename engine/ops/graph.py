"""`OpGraph`: a kernel drawn from ops, as plain data in the form that patches store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from warploom.engine.arguments import shown
from warploom.engine.decoding import convert
from warploom.engine.diagnostics import Diagnostic, WarploomError, error

#: The scope outside all regions. A region op's id names the scope of its body, "id.else" that of its other branch.
TOP = ""
#: The branch of an If that runs when its condition is 0, in a patch too.
OTHERWISE = "else"
#: The most ops of a graph. A person would draw less, and a graph is compiled in this process.
MOST_OPS = 50_000


class OpError(WarploomError):
    """An op graph is wrong; `errors` holds a diagnostic for each reason, with its op and port."""

    def __init__(self, errors: Sequence[Diagnostic]) -> None:
        super().__init__("; ".join(map(str, errors)))
        self.errors = list(errors)


class OpNode(msgspec.Struct, frozen=True):
    """A placed op: `type` is an op's id such as "op.add", `region` is its scope, `parameters` are its settings."""

    id: str
    type: str
    region: str = TOP
    parameters: dict[str, Any] = {}


class OpConnection(msgspec.Struct, frozen=True):
    """A connection from an output to an input; both are written "node.port"."""

    source: Annotated[str, msgspec.Meta(pattern=r"\.")]
    target: Annotated[str, msgspec.Meta(pattern=r"\.")]


class OpGraph(msgspec.Struct, frozen=True):
    """Ops and their connections. The order of inputs, outputs and parameters is that of their nodes."""

    nodes: tuple[OpNode, ...] = ()
    connections: tuple[OpConnection, ...] = ()

    def key(self) -> str:
        """Return the content address; graphs share it if they have the same nodes, in one order, and connections."""
        return hashlib.blake2b(json.dumps(graph_to_json(self), sort_keys=True).encode(), digest_size=16).hexdigest()


class OpPort(msgspec.Struct, frozen=True):
    """An output of a node in a graph that is being built."""

    node: str
    name: str


class OpGraphBuilder:
    """Builds an op graph in code: ``g.add("op.add", a=x["value"], b=2.0)["out"]``."""

    def __init__(self) -> None:
        self._nodes: list[OpNode] = []
        self._connections: list[OpConnection] = []

    def add(self, type_id: str, node_id: str = "", *, region: str = TOP, **values: OpPort | Any) -> NodeHandle:
        """Place an op. A value that is an `OpPort` is connected; others are settings. The type gives the default id."""
        stem = type_id.rpartition(".")[2]
        node = node_id or f"{stem}{len(self._nodes) + 1}"
        settings = {name: value for name, value in values.items() if not isinstance(value, OpPort)}
        self._nodes.append(OpNode(node, type_id, region, settings))
        handle = NodeHandle(self, node)
        for name, value in values.items():
            if isinstance(value, OpPort):
                handle.connect(name, value)
        return handle

    def connect(self, source: OpPort, target: str, name: str) -> None:
        """Connect an output to an input of a node."""
        self._connections.append(OpConnection(f"{source.node}.{source.name}", f"{target}.{name}"))

    def graph(self) -> OpGraph:
        """Return the graph so far."""
        return OpGraph(tuple(self._nodes), tuple(self._connections))


class NodeHandle:
    """A node of a graph that is being built; ``node["out"]`` is its output "out"."""

    def __init__(self, builder: OpGraphBuilder, node_id: str) -> None:
        self._builder, self.id = builder, node_id

    def __getitem__(self, name: str) -> OpPort:
        return OpPort(self.id, name)

    def connect(self, name: str, source: OpPort) -> None:
        """Connect an output to an input later, such as a loop's input that takes a result of its own region."""
        self._builder.connect(source, self.id, name)


def graph_to_json(graph: OpGraph) -> dict[str, Any]:
    """Return a graph as a JSON object. Connections are sorted, since their order has no meaning."""
    nodes = [{name: value for name, value in msgspec.structs.asdict(node).items() if value} for node in graph.nodes]
    ties = sorted({(tie.target, tie.source) for tie in graph.connections})
    return {"nodes": nodes, "connections": [{"source": source, "target": target} for target, source in ties]}


def graph_from_json(data: object) -> OpGraph:
    """Return the graph of a JSON object, without fields that only an editor uses. Raise OpError if it is malformed."""
    if not isinstance(data, dict):
        raise OpError([error(f"op graph must be an object, got {shown(data)}")])
    try:
        graph = convert(data, OpGraph)
        if len(graph.nodes) > MOST_OPS:
            raise OpError([error(f"op graph must have at most {MOST_OPS:,} ops, got {len(graph.nodes):,}")])
        return graph
    except (msgspec.ValidationError, UnicodeEncodeError) as problem:  # half a surrogate pair can't be encoded
        raise OpError([error(f"op graph must have the form of one, got {problem}")]) from None
