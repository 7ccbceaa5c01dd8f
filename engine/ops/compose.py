"""`compose`: joins several op graphs into one, so that results pass between them without a buffer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from warploom.engine.diagnostics import error
from warploom.engine.ops.analysis import NAMED_OPS, analyse
from warploom.engine.ops.graph import OpConnection, OpError, OpGraph, OpNode
from warploom.engine.ops.types import TOLD, TOLD_PORTS, BufferType
from warploom.engine.types import NAMED, DType


def compose(parts: Mapping[str, OpGraph], links: Mapping[str, str], *, keep: Collection[str] = ()) -> OpGraph:
    """Return one graph with the combined work of several, bit for bit. Raise OpError when a link is not possible.

    `links` maps an input, written "part.input", to its source. The source is "part.output" of another part, or
    "part.input" of another input that reads the same buffer; the two then become one input. An output that feeds an
    input is stored only if `keep` has it. Inputs, outputs, parameters and ops are called "part/name" in the graph, or
    "name" where a part's name is empty.
    """
    found = {part: _Part(part, graph) for part, graph in parts.items()}
    nodes: list[OpNode] = []
    connections: list[OpConnection] = []
    targets = {_end(found, target): _end(found, source) for target, source in links.items()}
    fed = {source for source in targets.values() if source[0].nodes[source[1]].type == "op.output"}
    kept = {_end(found, name) for name in keep}
    for part in found.values():
        for node_id, node in part.nodes.items():
            end = (part, node_id)
            source = targets.get(end)
            if source is not None:
                nodes += _element(part, node_id, source)
            elif end not in fed or end in kept:
                nodes.append(part.renamed(node))
    for part in found.values():
        connections += _connections(part, targets, fed - kept)
    return OpGraph(tuple(nodes), tuple(connections))


def with_types(graph: OpGraph, types: Mapping[str, str]) -> OpGraph:
    """Return a graph that computes the same when its inputs have these element types; `types` has them by name.

    Facts about the types, which are otherwise passed at launch, are then constants. The type "" is for an input without
    a buffer. Other inputs stay as they are.
    """
    nodes, read = list[OpNode](), dict[str, str]()
    used = {tie.source for tie in graph.connections}
    for node in graph.nodes:
        name, told = _Part.called(node), node.parameters.get("type")
        if node.type != "op.input" or told not in TOLD or name not in types:
            nodes.append(node)
            continue
        if types[name]:
            nodes.append(OpNode(node.id, node.type, node.region, {**node.parameters, "type": types[name]}))
        for port, (made, settings) in _known(types[name], TOLD[told]).items():
            if f"{node.id}.{port}" in used:
                nodes.append(OpNode(f"{node.id}/{port}", made, node.region, settings))
                read[f"{node.id}.{port}"] = f"{node.id}/{port}"
    connections = [
        OpConnection(f"{read[tie.source]}.out" if tie.source in read else tie.source, tie.target)
        for tie in graph.connections
    ]
    kept = {node.id: node.type for node in nodes}
    connections += [
        OpConnection(f"{port.rpartition('.')[0]}.value", f"{made}.x")
        for port, made in read.items()
        if kept[made] == "op.convert"
    ]
    return OpGraph(tuple(nodes), tuple(connections))


def with_constants(graph: OpGraph, values: Mapping[str, float]) -> OpGraph:
    """Return a graph with numbers in place of some of its parameters, by name."""
    nodes = []
    for node in graph.nodes:
        name = _Part.called(node)
        if node.type == "op.parameter" and name in values:
            settings = {"value": values[name], "type": node.parameters.get("type", "f32")}
            node = OpNode(node.id, "op.constant", node.region, settings)
        nodes.append(node)
    return OpGraph(tuple(nodes), graph.connections)


def _known(dtype: str, told: DType) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the op and its settings for each port of an input whose element type is now constant."""
    known = {"is_whole": bool(dtype) and NAMED[dtype].kind == "integer", "is_connected": bool(dtype)}
    made: dict[str, tuple[str, dict[str, Any]]] = {
        port: ("op.constant", {"type": str(TOLD_PORTS[port]), "value": float(holds)}) for port, holds in known.items()
    }
    for port, kind in (("value", str(told)), ("whole", str(TOLD_PORTS["whole"]))):
        made[port] = ("op.convert", {"type": kind}) if dtype else ("op.constant", {"type": kind, "value": 0.0})
    return made


def with_own_elements(graph: OpGraph, inputs: Collection[str]) -> OpGraph:
    """Return a graph that computes the same, provided it computes as many elements along each axis as `inputs` have.

    A load from one of these inputs at the thread's own place in an image becomes a read of its own element.
    """
    types = {node.id: node.type for node in graph.nodes}
    sources = {tie.target: tie.source for tie in graph.connections}
    own = {f"{node.id}.buffer": f"{node.id}.value" for node in graph.nodes if _Part.called(node) in inputs}
    loaded = {}
    for node in graph.nodes:
        buffer, *place = (sources.get(f"{node.id}.{port}", "") for port in ("buffer", "x", "y"))
        if node.type == "op.load_2d" and buffer in own:
            ends = [source.partition(".") for source in place]
            if [(types.get(op), port) for op, _, port in ends] == [("op.position", "x"), ("op.position", "y")]:
                loaded[node.id] = own[buffer]
    nodes = [node for node in graph.nodes if node.id not in loaded]
    connections = [
        OpConnection(loaded.get(tie.source.partition(".")[0], tie.source), tie.target)
        for tie in graph.connections
        if tie.target.partition(".")[0] not in loaded
    ]
    return OpGraph(tuple(nodes), tuple(connections)) if loaded else graph


class _Part:
    """One graph of a composition, with its types."""

    def __init__(self, name: str, graph: OpGraph) -> None:
        self.name, self.graph = name, graph
        self.prefix = f"{name}/" if name else ""
        self.nodes = {node.id: node for node in graph.nodes}
        self.sources = {connection.target: connection.source for connection in graph.connections}
        self.used = {connection.source for connection in graph.connections}
        self.ends = {self.called(node): node.id for node in graph.nodes if node.type in NAMED_OPS}

    @staticmethod
    def called(node: OpNode) -> str:
        """Return the name of an input, output or parameter."""
        return str(node.parameters.get("name") or node.id)

    def dtype(self, node_id: str) -> str:
        """Return the element type of an input or output."""
        said = self.nodes[node_id].parameters.get("type", "f32" if self.nodes[node_id].type == "op.input" else "same")
        if said != "same":
            return str(said)
        analysis = analyse(self.graph)
        kind = analysis.outputs(node_id).get("buffer")
        if not isinstance(kind, BufferType):
            raise OpError(analysis.diagnostics)
        return str(kind.dtype)

    def renamed(self, node: OpNode) -> OpNode:
        """Return a node with its name in the composition."""
        region = f"{self.prefix}{node.region}" if node.region else ""
        parameters: dict[str, Any] = node.parameters
        if node.type in NAMED_OPS:
            parameters = {**parameters, "name": f"{self.prefix}{self.called(node)}"}
        return OpNode(f"{self.prefix}{node.id}", node.type, region, parameters)


_End = tuple[_Part, str]


def _end(found: Mapping[str, _Part], text: str) -> _End:
    name, _, port = text.rpartition(".")
    part = found.get(name)
    if part is None or port not in part.ends:
        raise OpError([error(f"link must be between inputs and outputs of the graphs, got {text}")])
    return part, part.ends[port]


def _element(part: _Part, node_id: str, source: _End) -> Iterable[OpNode]:
    """Return the nodes that replace an input; none if another input of the composition replaces it."""
    from_part, from_id = source
    for end, held in ((part, node_id), source):
        if end.nodes[held].type == "op.output" and f"{held}.value" not in end.sources:
            raise OpError([error("an output that feeds an input must have a value", node=f"{end.prefix}{held}")])
        if from_part.nodes[from_id].type == "op.output" and f"{held}.buffer" in end.used:
            raise OpError([error("a fused buffer must be read at the thread's own index", node=f"{end.prefix}{held}")])
    given, wanted = from_part.dtype(from_id), part.dtype(node_id)
    if given != wanted:
        message = f"{part.called(part.nodes[node_id])} must be fed with {wanted}, got {given}"
        raise OpError([error(message, node=f"{part.prefix}{node_id}")])
    if from_part.nodes[from_id].type == "op.output":
        yield OpNode(f"{part.prefix}{node_id}", "op.element", "", {"type": wanted})


def _connections(part: _Part, targets: Mapping[_End, _End], gone: Collection[_End]) -> Iterable[OpConnection]:
    for connection in part.graph.connections:
        source_id, _, port = connection.source.partition(".")
        if (part, connection.target.partition(".")[0]) in gone:
            continue
        yield OpConnection(f"{_place(part, source_id, targets)}.{port}", f"{part.prefix}{connection.target}")
    for (target, node_id), (source, output) in targets.items():
        if target is part and source.nodes[output].type == "op.output":
            read, _, port = source.sources[f"{output}.value"].partition(".")
            yield OpConnection(f"{_place(source, read, targets)}.{port}", f"{part.prefix}{node_id}.given")


def _place(part: _Part, node_id: str, targets: Mapping[_End, _End]) -> str:
    """Return a node's name in the composition. Inputs that read the same buffer share one name."""
    for _ in range(len(targets) + 1):
        source, output = targets.get((part, node_id), (part, ""))
        if not output or source.nodes[output].type == "op.output":
            return f"{part.prefix}{node_id}"
        part, node_id = source, output
    raise OpError([error("inputs must not be linked in a circle", node=f"{part.prefix}{node_id}")])
