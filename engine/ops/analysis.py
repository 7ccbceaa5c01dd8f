"""Type inference: the type of each connection of an op graph, its errors, and whether all threads reach a barrier."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from warploom.engine.arguments import shown
from warploom.engine.diagnostics import Diagnostic, Mend, Severity, error
from warploom.engine.ops.graph import TOP, OpGraph
from warploom.engine.ops.table import Misuse, OpCall, Signature
from warploom.engine.ops.types import F32, S32, Type, ValueType
from warploom.engine.ops.wiring import PlacedOp, Wiring, wire

#: The number of passes over a loop's region after which its types count as not converging.
_PASSES = 24
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*")
#: The ops that have names. A kernel's block uses these names for its ports and parameters.
NAMED_OPS = ("op.input", "op.output", "op.aggregate", "op.parameter")
_WEAK_F32, _WEAK_S32 = (ValueType(kind.scalar, weak=True) for kind in (F32, S32))


def literal_type(value: float) -> ValueType:
    """Return the weak type of a literal. A literal with a fraction turns whole numbers into f32."""
    return _WEAK_F32 if isinstance(value, float) and not value.is_integer() else _WEAK_S32


@dataclass
class Analysis:
    """An op graph with its types: a signature for each op that has one, and all errors."""

    wiring: Wiring
    signatures: dict[str, Signature] = field(default_factory=dict)
    #: Ops that an output or a write to memory depends on. The others are not emitted.
    live: set[str] = field(default_factory=set)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def ops(self) -> Mapping[str, PlacedOp]:
        """The ops by id, in the graph's order."""
        return self.wiring.ops

    def outputs(self, node_id: str) -> Mapping[str, Type]:
        """Return the types of an op's outputs; empty when they are not known."""
        signature = self.signatures.get(node_id)
        return signature.outputs if signature else {}

    def name(self, node_id: str) -> str:
        """Return the name of an input, output or parameter: its `name` setting, or else its id."""
        return str(self.ops[node_id].settings["name"]) or node_id


def check_op_graph(graph: OpGraph) -> list[Diagnostic]:
    """Return a graph's errors, each with its op and port, and warnings for unused ops."""
    return analyse(graph).diagnostics


def analyse(graph: OpGraph) -> Analysis:
    """Infer the types of a graph and find which of its ops are needed."""
    analysis = Analysis(wire(graph))
    analysis.live = _live(analysis)
    inference = _Inference(analysis)
    inference.scope(TOP)
    waits = divergent_waits(analysis.wiring)
    problems = [*analysis.wiring.problems, *inference.problems.values(), *_naming(analysis), *waits]
    analysis.diagnostics = [_weighed(problem, analysis) for problem in problems]
    is_wrong = any(problem.severity is Severity.ERROR for problem in analysis.diagnostics)
    missing = analysis.live - analysis.signatures.keys()
    unknown = [node_id for node_id in analysis.ops if node_id in missing]
    if unknown and not is_wrong:
        analysis.diagnostics.append(
            error("types must follow from connected inputs, got none with a known type", node=unknown[0])
        )
    if not analysis.live and not is_wrong:
        analysis.diagnostics.append(error("op graph must have an output or write to memory, got neither"))
    return analysis


def _weighed(problem: Diagnostic, analysis: Analysis) -> Diagnostic:
    """Return a problem, as a warning if no output needs its op."""
    if problem.node in analysis.ops and problem.node not in analysis.live:
        return msgspec.structs.replace(problem, severity=Severity.WARNING)
    return problem


def _live(analysis: Analysis) -> set[str]:
    live: set[str] = set()
    waiting = [node_id for node_id, placed in analysis.ops.items() if placed.op.acts]
    while waiting:
        node_id = waiting.pop()
        if node_id in live:
            continue
        live.add(node_id)
        placed = analysis.ops[node_id]
        waiting += [source for source, _ in placed.sources.values()]
        if placed.node.region:
            waiting.append(placed.node.region.partition(".")[0])
    return live


def _naming(analysis: Analysis) -> list[Diagnostic]:
    """Return the errors in the names of inputs, outputs and parameters."""
    problems: list[Diagnostic] = []
    owners: dict[str, str] = {}
    for node_id, placed in analysis.ops.items():
        if placed.op.id not in NAMED_OPS:
            continue
        name = analysis.name(node_id)
        if not _NAME.fullmatch(name):
            message = f"name must be letters, digits and underscores, got {shown(name)}"
            problems.append(error(message, node=node_id, port="name"))
        elif name in owners:
            message = f"name must differ from those of other inputs, outputs and parameters, got {name} twice"
            problems.append(error(message, node=node_id, port="name"))
        owners.setdefault(name, node_id)
    return problems


class _Inference:
    """Visits the scopes of a graph in order. A loop's region is visited again until its types converge."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.problems: dict[str, Diagnostic] = {}
        self._passes: dict[str, int] = {}

    def scope(self, scope: str) -> None:
        """Infer the types of all ops in a scope."""
        for node_id in self.analysis.wiring.order[scope]:
            placed = self.analysis.ops[node_id]
            self._infer(placed)
            if placed.op.regions:
                self._region(placed)

    def _region(self, placed: PlacedOp) -> None:
        node_id = placed.node.id
        while True:
            before = dict(self.analysis.outputs(node_id))
            for branch in placed.op.regions:
                self.scope(f"{node_id}.{branch}".rstrip("."))
            if node_id not in self.analysis.signatures:
                return
            self._infer(placed, comes_back=True)
            after = self.analysis.outputs(node_id)
            if node_id not in self.analysis.signatures:
                return
            inside = [port.name for port in placed.op.outputs if port.inside]
            if all(before.get(name) == after.get(name) for name in inside):
                return
            self._passes[node_id] = self._passes.get(node_id, 0) + 1
            if self._passes[node_id] > _PASSES:
                message = "carried values must keep their type from turn to turn, got types that change"
                self.problems[node_id] = error(message, node=node_id, remedy="convert the value that comes back")
                return

    def _infer(self, placed: PlacedOp, *, comes_back: bool = False) -> None:
        """Apply an op's type rule. If an input's type is unknown, all outputs' types are unknown."""
        node_id, known = placed.node.id, self.analysis
        self.problems.pop(node_id, None)
        previous = known.signatures.pop(node_id, None)
        inputs: dict[str, Type | None] = {}
        for port in placed.op.inputs:
            source = placed.sources.get(port.name)
            if source is not None:
                kind = known.outputs(source[0]).get(source[1])
                if kind is None and not (port.delayed and not comes_back):
                    if source[0] in known.signatures:
                        message = f"{port.name} must use an output that {source[0]} has now, got {source[1]}"
                        self.problems[node_id] = error(message, node=node_id, port=port.name, mend=Mend.DISCONNECT)
                    return
                inputs[port.name] = kind
            elif port.name in placed.refused:
                return
            elif port.default is not None:
                inputs[port.name] = literal_type(placed.settings[port.name])
            elif port.optional:
                inputs[port.name] = None
            else:
                problem = error(f"{port.name} must be connected, got nothing", node=node_id, port=port.name)
                self.problems[node_id] = msgspec.structs.replace(problem, mend=Mend.CONNECT)
                return
        try:
            known.signatures[node_id] = placed.op.rule(OpCall(placed.op, placed.node, inputs, placed.settings))
        except Misuse as misuse:
            place = {"node": node_id, "port": misuse.port, "expected": misuse.expected, "found": misuse.found}
            self.problems[node_id] = error(misuse.message, **place, mend=misuse.mend)
        if previous is not None and not comes_back and placed.op.regions and node_id in known.signatures:
            # A repeated pass over a region starts with the types of the last pass, so types only widen.
            known.signatures[node_id] = previous


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
