"""The facts about an op graph that a block needs: ports, parameters and numbers. Their types are enough; no code is
needed.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Iterator, Mapping

import msgspec

from warploom.engine.diagnostics import Severity
from warploom.engine.ops.analysis import Analysis
from warploom.engine.ops.graph import OpError, OpGraph, OpNode
from warploom.engine.ops.types import ELEMENT_TYPES, TOLD, BufferType, ValueType
from warploom.engine.ops.wiring import PlacedOp
from warploom.engine.types import DType, f64

#: Threads of a thread block in kernels with aggregates.
SHARE_THREADS = 256
#: The thread block for each rank, in kernels whose threads wait for each other. It consists of whole warps.
_BLOCKS = {1: (256, 1, 1), 2: (32, 8, 1), 3: (32, 4, 2)}
# fmt: off
#: Ops whose code is hardly faster with constants at their inputs. A kernel can take these numbers as launch
#: arguments. A divisor, an exponent and a loop's number of turns are always constants in the code.
_TOLD_TO = frozenset(f"op.{name}" for name in (
    "add", "subtract", "multiply", "multiply_add", "minimum", "maximum", "equal", "not_equal", "less", "less_equal",
    "greater", "greater_equal", "select", "clamp", "mix", "step", "vector2", "vector3", "vector4", "dot", "distance",
    "random", "value_noise", "gradient_noise", "simplex_noise", "sample_1d", "sample", "output", "element",
))
# fmt: on
#: The most numbers that a kernel takes as arguments, since a launch has 4 KB of arguments.
_MOST_TOLD = 256
_F32_MAX = 3.4028234663852886e38
#: Stands for a number that is passed at launch. It has a fraction, so it can't be mistaken for a whole number.
ANY_NUMBER = 0.5


class OpInputPort(msgspec.Struct, frozen=True):
    """An input of a kernel; `is_own_element` when threads read it at their own index only."""

    name: str
    dtype: str
    doc: str
    is_own_element: bool


class OpOutputPort(msgspec.Struct, frozen=True):
    """An output of a kernel; `shape` is a shape rule, or "" for the shape of the computation.

    `initial` is "zeros" if the output must be cleared before each launch. An output with `is_aggregate` has one element
    per thread block.
    """

    name: str
    dtype: str
    doc: str
    shape: str
    initial: str
    is_own_element: bool
    is_aggregate: bool = False


class OpParameter(msgspec.Struct, frozen=True):
    """A live parameter of a kernel."""

    name: str
    dtype: str
    default: float
    minimum: float | None
    maximum: float | None
    unit: str
    doc: str


class OpInterface(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about an op graph that a block needs. Threads count the elements along `rank` axes, x first."""

    inputs: tuple[OpInputPort, ...]
    outputs: tuple[OpOutputPort, ...]
    parameters: tuple[OpParameter, ...]
    #: Each element is computed from the inputs' elements at the same index, so the graph can be fused with others.
    is_elementwise: bool
    #: No thread reads what another thread writes.
    is_independent: bool
    rank: int
    #: Threads on each axis of a thread block, if ops depend on it; None if any thread block works.
    thread_block: tuple[int, int, int] | None

    @property
    def is_free(self) -> bool:
        """True when threads don't depend on each other, so any thread block works."""
        return self.is_independent and self.thread_block is None

    @property
    def takes_several(self) -> bool:
        """True when a thread may compute several elements. GPUs are slower with several vectors of 8 bytes or more."""
        names = {port.dtype for port in self.inputs} | {port.dtype for port in self.outputs}
        dtypes = [ELEMENT_TYPES[name] for name in names - TOLD.keys()]
        return self.is_free and self.rank == 1 and all(d.components == 1 or d.size_bytes < 8 for d in dtypes)


def interface_of(analysis: Analysis, rank: int = 0) -> OpInterface:
    """Return the interface of an analysed graph, whose threads count along at least `rank` axes.

    Raise OpError if the graph has errors.
    """
    errors = [problem for problem in analysis.diagnostics if problem.severity is Severity.ERROR]
    if errors:
        raise OpError(errors)
    live = [analysis.ops[node_id] for node_id in analysis.ops if node_id in analysis.live]
    roamed = {source for placed in live for source, port in placed.sources.values() if port == "buffer"}
    outputs = tuple(_outputs(analysis, roamed))
    rank = max([rank, 1, *(placed.op.rank for placed in live)])
    waits = any(placed.op.waits for placed in live)
    shares = (SHARE_THREADS, 1, 1) if any(port.is_aggregate for port in outputs) else None
    return OpInterface(
        inputs=tuple(
            OpInputPort(name, placed.settings["type"], placed.settings["doc"], placed.node.id not in roamed)
            for name, placed in named(analysis, "op.input")
        ),
        outputs=outputs,
        parameters=tuple(_parameters(analysis)),
        is_elementwise=not any(p.op.roams or p.op.waits or p.node.id in roamed for p in live),
        is_independent=not any(_meets_others(placed, roamed) for placed in live),
        rank=rank,
        thread_block=shares or (_BLOCKS[rank] if waits else None),
    )


def _meets_others(placed: PlacedOp, roamed: Container[str]) -> bool:
    """True for an op that makes threads depend on each other. Loads from elements that no op writes don't."""
    if placed.op.id == "op.output":
        return placed.node.id in roamed
    return placed.op.waits or (placed.op.roams and placed.op.id != "op.load")


def named(analysis: Analysis, op: str) -> Iterator[tuple[str, PlacedOp]]:
    """Yield the ops of one type, each with its name."""
    return ((analysis.name(p.node.id), p) for p in analysis.ops.values() if p.op.id == op)


def _outputs(analysis: Analysis, roamed: set[str]) -> Iterator[OpOutputPort]:
    for name, placed in named(analysis, "op.output"):
        kind = analysis.outputs(placed.node.id)["buffer"]
        assert isinstance(kind, BufferType)
        settings = placed.settings
        texts = (settings["doc"], settings["shape"], settings["initial"])
        yield OpOutputPort(name, str(kind.dtype), *texts, placed.node.id not in roamed)
    for name, placed in named(analysis, "op.aggregate"):
        yield OpOutputPort(name, placed.settings["type"], "", "", "undefined", False, True)


def _parameters(analysis: Analysis) -> Iterator[OpParameter]:
    for name, placed in named(analysis, "op.parameter"):
        s = placed.settings
        least, most = (s["minimum"], s["maximum"]) if s["bounded"] else (None, None)
        yield OpParameter(name, s["type"], s["default"], least, most, s["unit"], s["doc"])


class ToldNumbers:
    """The numbers of an analysed graph that its kernel can take at launch.

    `at` maps the node and input that takes a number to the number's index. `kinds` and `values` hold the types and the
    numbers; `places` holds the node and setting that each number comes from.
    """

    def __init__(self, analysis: Analysis) -> None:
        self.at: dict[tuple[str, str], int] = {}
        self.kinds: list[DType] = []
        self.values: list[float] = []
        self.places: list[tuple[str, str]] = []
        #: The inputs that read each constant, with the type that they convert it to; None if they need a constant.
        readers: dict[str, list[tuple[tuple[str, str], ValueType | None]]] = {}
        for node_id, placed in analysis.ops.items():
            if node_id not in analysis.live:
                continue
            takes = analysis.signatures[node_id].inputs if placed.op.id in _TOLD_TO else {}
            for port, (source, _) in placed.sources.items():
                if analysis.ops[source].op.id == "op.constant":
                    readers.setdefault(source, []).append(((node_id, port), takes.get(port)))
            for port, kind in takes.items():
                number = placed.settings.get(port) if port not in placed.sources else None
                if isinstance(number, (int, float)) and _can_be_told(kind, number):
                    self._tell((node_id, port), number, {kind.scalar: [(node_id, port)]})
        for source, read in readers.items():
            own, number = analysis.outputs(source)["out"], analysis.ops[source].settings["value"]
            assert isinstance(own, ValueType)
            if not own.weak:  # a person has chosen a constant of this type
                continue
            by_kind: dict[DType, list[tuple[str, str]]] = {}
            for place, taken in read:
                if taken is None or not _can_be_told(taken, number):
                    break
                by_kind.setdefault(taken.scalar, []).append(place)
            else:
                self._tell((source, "value"), number, by_kind)

    def _tell(self, place: tuple[str, str], number: float, readers: Mapping[DType, list[tuple[str, str]]]) -> None:
        """Add the number at a place, once for each type that it is converted to, unless the limit is exceeded."""
        if len(self.values) + len(readers) > _MOST_TOLD:
            return
        for kind, read in readers.items():
            self.at |= dict.fromkeys(read, len(self.values))
            self.kinds.append(kind)
            self.values.append(float(number))
            self.places.append(place)

    def packed(self) -> bytes:
        """Return the numbers as the struct that the kernel takes."""
        codes = "".join("d" if kind is f64 else "f" for kind in self.kinds)
        return struct.pack(f"@{codes}{'0d' if 'd' in codes else ''}", *self.values)


def _can_be_told(kind: ValueType, number: float) -> bool:
    return kind.is_float and (abs(number) <= _F32_MAX or kind.scalar is f64)


def without_numbers(graph: OpGraph, told: ToldNumbers) -> OpGraph:
    """Return the graph with ANY_NUMBER in place of each number passed at launch; equal results can share a kernel."""
    settings: dict[str, dict[str, float]] = {}
    for node, name in told.places:
        settings.setdefault(node, {})[name] = ANY_NUMBER
    nodes = tuple(
        OpNode(n.id, n.type, n.region, {**n.parameters, **settings[n.id]}) if n.id in settings else n
        for n in graph.nodes
    )
    return OpGraph(nodes, graph.connections)
