"""Random op graphs: valid ones, and nonsense."""

from __future__ import annotations

import random
from typing import Any

from tests.ops import reference_numbers
from warploom.engine.diagnostics import Severity
from warploom.engine.ops import OPS, OpConnection, OpGraph, OpGraphBuilder, OpNode, check_op_graph
from warploom.engine.ops.graph import OpPort

#: The inputs of every random graph, and their element types.
INPUTS = {
    "f": "f32",
    "g": "f32",
    "i": "s32",
    "n": "u32",
    "d": "f64",
    "b": "boolean",
    "v": "float2",
    "c": "uchar4",
    "h": "f16",
}
_EXACT = (
    *reference_numbers.NUMERIC,
    *reference_numbers.WHOLE,
    *reference_numbers.WHOLE_OR_BOOLEAN,
    *reference_numbers.FLOATS,
    *reference_numbers.COMPARISON,
    *reference_numbers.BOOLEAN,
    *reference_numbers.VECTORS,
    "any",
    "all",
    "select",
    "select",
    "convert",
    "vector2",
    "vector3",
    "split",
    "swizzle",
    "load",
    "constant",
    "parameter",
    "if",
    "for",
)
_NUMBERS = (0.0, 1.0, -1.0, 2.0, 0.5, -2.5, 3.0, 7.0, 31.0, 1e6, -0.0)


def valid_graph(seed: int, steps: int) -> OpGraph:
    """Return a valid graph: a random one without its wrong ops and the ops that these feed."""
    graph = _Maker(random.Random(seed)).make(steps)
    while True:
        wrong = {problem.node for problem in check_op_graph(graph) if problem.severity is Severity.ERROR}
        wrong |= {problem.node for problem in check_op_graph(graph)}
        if not wrong - {None}:
            return graph
        graph = _without(graph, wrong)


def _without(graph: OpGraph, wrong: set[str | None]) -> OpGraph:
    """Return a graph without some nodes, the contents of these nodes, and the nodes that they feed."""
    gone = {node for node in wrong if node is not None}
    while True:
        more = {node.id for node in graph.nodes if node.region.partition(".")[0] in gone}
        more |= {c.target.partition(".")[0] for c in graph.connections if c.source.partition(".")[0] in gone}
        if more <= gone:
            break
        gone |= more
    nodes = tuple(node for node in graph.nodes if node.id not in gone)
    left = (c for c in graph.connections if not {c.source.partition(".")[0], c.target.partition(".")[0]} & gone)
    return OpGraph(nodes, tuple(left))


class _Maker:
    def __init__(self, choose: random.Random) -> None:
        self._choose, self._graph = choose, OpGraphBuilder()
        self._buffers = [self._graph.add("op.input", name, type=kind)["buffer"] for name, kind in INPUTS.items()]

    def make(self, steps: int) -> OpGraph:
        pool = [OpPort(name, "value") for name in INPUTS]
        pool += [self._graph.add("op.index", "index")["index"], self._graph.add("op.position", "place")["u"]]
        made = self._ops(pool, steps, "", 0)
        for at, port in enumerate(made):
            self._graph.add("op.output", f"out{at}", value=port)
        return self._graph.graph()

    def _ops(self, pool: list[OpPort], steps: int, region: str, depth: int) -> list[OpPort]:
        pool, made = list(pool), []
        for _ in range(steps):
            name = self._choose.choice(_EXACT)
            if name in ("if", "for"):
                ports = self._region(name, pool, region, depth) if depth < 2 else []
            else:
                ports = [self._op(name, pool, region)]
            pool += ports
            made += ports
        return made

    def _op(self, name: str, pool: list[OpPort], region: str) -> OpPort:
        op, values = OPS[f"op.{name}"], dict[str, Any]()
        for port in op.inputs:
            if port.takes_buffer:
                values[port.name] = self._choose.choice(self._buffers)
            elif port.default is None or self._choose.random() < 0.7:
                values[port.name] = self._choose.choice(pool[-8:] if self._choose.random() < 0.6 else pool)
            elif self._choose.random() < 0.7:
                values[port.name] = self._choose.choice(_NUMBERS)
        for setting in op.settings:
            if setting.name == "precision":
                continue  # the bits of fast functions differ between devices
            if setting.choices:
                values[setting.name] = self._choose.choice(setting.choices)
            elif setting.name in ("value", "default"):
                values[setting.name] = self._choose.choice(_NUMBERS)
            elif setting.name == "pattern":
                values[setting.name] = "".join(self._choose.choices("xyxyzw", k=self._choose.randint(1, 4)))
        node = self._graph.add(f"op.{name}", region=region, **values)
        return node[self._choose.choice("xy") if name == "split" else "out"]

    def _region(self, name: str, pool: list[OpPort], region: str, depth: int) -> list[OpPort]:
        if name == "if":
            choice = self._graph.add("op.if", region=region, condition=self._choose.choice(pool))
            for branch, prefix in (("", "then"), ("else", "else")):
                made = self._ops(pool, 3, f"{choice.id}.{branch}".rstrip("."), depth + 1) + pool[-2:]
                for slot in "ab":
                    choice.connect(f"{prefix}_{slot}", self._choose.choice(made))
            return [choice["a"], choice["b"]]
        loop = self._graph.add("op.for", region=region, count=float(self._choose.randint(0, 4)))
        for slot in "ab":
            loop.connect(f"initial_{slot}", self._choose.choice(pool))
        carried = [loop["a"], loop["b"], loop["index"]]
        made = self._ops([*pool, *carried], 4, loop.id, depth + 1) + pool[-2:]
        for slot in "ab":
            loop.connect(f"next_{slot}", self._choose.choice(made))
        if self._choose.random() < 0.3:
            loop.connect("stop", self._choose.choice(made))
        return carried


def nonsense(seed: int, size: int) -> OpGraph:
    """Return a graph of ops, settings, regions and connections that seldom fit together."""
    choose = random.Random(seed)
    kinds = [*OPS, "op.nothing", ""]
    ids = [f"n{at}" for at in range(size)]
    scopes = ["", "", "", *ids[:3], f"{ids[0]}.else", "gone"]
    wild = [None, True, -1, 1e300, 2**70, float("nan"), "", "x", "f32", "xyz", "[3]", [], {}, "\x00", "a/b"]
    nodes, ports = [], dict[str, tuple[list[str], list[str]]]()
    for node_id in ids:
        kind = choose.choice(["op.output", "op.if", "op.for", "op.input"] if choose.random() < 0.35 else kinds)
        op = OPS.get(kind)
        settings: dict[str, Any] = {}
        for setting in op.values if op else ():
            if choose.random() < 0.4:
                fine = setting.choices or (setting.default,)
                settings[setting.name] = choose.choice(fine if choose.random() < 0.8 else wild)
        region = choose.choice(scopes) if choose.random() < 0.5 else ""
        held = choose.choice(ids) if choose.random() < 0.02 else node_id
        nodes.append(OpNode(held, kind, region, settings))
        ports[node_id] = ([p.name for p in op.inputs], [p.name for p in op.outputs]) if op else ([], [])
    connections = []
    for target in ids:
        for name in ports[target][0]:
            source = choose.choice(ids)
            outputs = ports[source][1] or ["out"]
            if choose.random() < 0.6:
                connections.append(OpConnection(f"{source}.{choose.choice(outputs)}", f"{target}.{name}"))
    if choose.random() < 0.1:
        connections.append(OpConnection("n0.out", "n1.wrong"))
    return OpGraph(tuple(nodes), tuple(connections))
