"""`compile_graph`: an op graph to a kernel: PTX, and what a block must know to launch it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Literal

import msgspec
from llvmlite import ir

from engine.diagnostics import Severity
from engine.ops.analysis import Analysis, analyse, number_type
from engine.ops.emission import GLOBAL, VOID, Aggregate, Argument, Buffer, Emission, InputPointer, OutputPointer, Value
from engine.ops.graph import TOP, OpError, OpGraph
from engine.ops.lanes import SHARE_THREADS, emit_lanes, emit_shares
from engine.ops.library.interface import input_buffer
from engine.ops.library.warps import aggregate
from engine.ops.places import FIRST, NOWHERE, PROGRAM, Place, llvm_lines, places_text, ptx_lines
from engine.ops.ptx import TRIPLE, check_calls, data_layout, functions_ptx, inlined, to_ptx
from engine.ops.table import OpCode, Region
from engine.ops.types import BufferType
from engine.ops.wiring import PlacedOp
from engine.types import NAMED

_AXES = ("x", "y", "z")
#: The thread block by the rank of kernels whose threads wait for each other: whole warps.
_BLOCKS = {1: (256, 1, 1), 2: (32, 8, 1), 3: (32, 4, 2)}


class OpInputPort(msgspec.Struct, frozen=True):
    """An input of a kernel; `is_own_element` when threads read it at their own index only."""

    name: str
    dtype: str
    doc: str
    is_own_element: bool


class OpOutputPort(msgspec.Struct, frozen=True):
    """An output of a kernel; `shape` is a shape rule, "" for the shape of what is computed.

    `initial` is "zeros" when it must be cleared before each launch. One that `is_aggregate` has an element for each
    thread block.
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


class OpKernel(msgspec.Struct, frozen=True, dict=True):
    """A compiled op graph. Threads count the elements along `rank` axes, x first, with `elements_per_thread` on x.

    The kernel calls `functions`, such as the sine, which its LLVM IR declares. `arguments` are in the order of the
    kernel's signature. Lines are counted from 1. The line that a `.loc` and so a KernelFault's `source_line` names is
    the place in `ops`, from 1.
    """

    entry: str
    llvm_ir: str
    arguments: tuple[Argument, ...]
    inputs: tuple[OpInputPort, ...]
    outputs: tuple[OpOutputPort, ...]
    parameters: tuple[OpParameter, ...]
    #: Each element is computed from the inputs' elements at the same index, so the graph can be fused with others.
    is_elementwise: bool
    rank: int
    elements_per_thread: int
    #: Threads on each axis of a thread block when ops count on it; otherwise any will do.
    thread_block: tuple[int, int, int] | None
    ops: tuple[str, ...]

    @cached_property
    def kernel_ptx(self) -> str:
        """The PTX of the kernel alone, which LLVM writes when it is asked for."""
        return to_ptx(self.llvm_ir)

    @property
    def ptx(self) -> str:
        """The PTX of the kernel, followed by the functions that it calls."""
        return self.kernel_ptx + functions_ptx(self.llvm_ir)

    def inlined_ptx(self) -> str:
        """Return PTX that computes the same bits without calls: it takes longer to compile, and runs faster."""
        return inlined(self.llvm_ir)

    @property
    def is_free(self) -> bool:
        """True when the threads don't know of each other, so that any thread block will do."""
        return self.is_elementwise and self.thread_block is None

    def ptx_lines(self) -> dict[int, str]:
        """Return the op that each line of the PTX comes from."""
        return self.lines_of(self.ptx)

    def lines_of(self, code: str) -> dict[int, str]:
        """Return the op that each line of other code with the `.loc` lines of this kernel comes from."""
        return ptx_lines(code, self.ops)

    def llvm_lines(self) -> dict[int, str]:
        """Return the op that each line of the LLVM IR comes from."""
        return llvm_lines(self.llvm_ir, self.ops)


def compile_graph(
    graph: OpGraph,
    *,
    entry: str = "kernel",
    rank: int = 0,
    elements_per_thread: Literal[1, 2, 4] = 1,
    is_quick: bool = False,
) -> OpKernel:
    """Return the kernel of an op graph; OpError when the graph is wrong.

    Threads count the elements along as many axes as the ops need, at least `rank`. With several elements per thread a
    GPU reads and writes faster. A kernel that is not element-wise or counts along several axes has one all the same, as
    its `elements_per_thread` says. The same graph gives the same PTX, and any number of elements the same bits. A quick
    kernel takes less time to compile and is launched alike: its threads compute one element after the other.
    """
    return lower(analyse(graph), entry, rank, elements_per_thread, is_quick=is_quick)


def lower(
    analysis: Analysis,
    entry: str = "kernel",
    rank: int = 0,
    elements_per_thread: Literal[1, 2, 4] = 1,
    *,
    is_quick: bool = False,
) -> OpKernel:
    """Return the kernel of a graph that was analysed, as `compile_graph` does."""
    errors = [problem for problem in analysis.diagnostics if problem.severity is Severity.ERROR]
    if errors:
        raise OpError(errors)
    return _Lowering(analysis, entry, rank).kernel(elements_per_thread, is_quick=is_quick)


class _Lowering:
    """Writes the live ops of an analysed graph, scope by scope."""

    def __init__(self, analysis: Analysis, entry: str, rank: int) -> None:
        self._analysis = analysis
        self._entry = entry
        self._live = [analysis.ops[node_id] for node_id in analysis.ops if node_id in analysis.live]
        self._values: dict[tuple[str, str], Value | Buffer] = {}
        self._used: dict[str, set[str]] = {placed.node.id: set() for placed in self._live}
        for placed in self._live:
            for source, port in placed.sources.values():
                self._used[source].add(port)
        module = ir.Module("ops")
        module.triple, module.data_layout = TRIPLE, data_layout()
        function = ir.Function(module, ir.FunctionType(VOID, []), entry)
        function.calling_convention = "ptx_kernel"
        self._emission = Emission(
            module,
            function,
            ir.IRBuilder(function.append_basic_block("entry")),
            [],
            max([rank, 1, *(placed.op.rank for placed in self._live)]),
            any(placed.op.waits for placed in self._live),
        )
        function.set_metadata("dbg", Place(PROGRAM))
        self._places = {placed.node.id: Place(FIRST + at) for at, placed in enumerate(self._live)}

    def kernel(self, elements_per_thread: int, *, is_quick: bool) -> OpKernel:
        """Emit everything."""
        emission = self._emission
        ends = [placed for op in ("op.input", "op.output", "op.aggregate") for _, placed in self._named(op)]
        for argument, placed in zip(self._pointers(), ends, strict=True):
            pointer = emission.argument(argument, GLOBAL)
            emission.origins[pointer.name] = self._places.get(placed.node.id)
        is_elementwise = not any(placed.op.roams or placed.op.waits or self._is_roamed(placed) for placed in self._live)
        aggregates = self._aggregates()
        count = elements_per_thread if is_elementwise and emission.rank == 1 and not aggregates else 1
        if aggregates:
            emit_shares(emission, self._own_inputs(), aggregates, self._body)
        elif count > 1:
            wide = None if is_quick else (self._own_inputs(), self._own_outputs())
            emit_lanes(emission, count, wide, self._body)
        else:
            self._begin()
            self._body()
            emission.builder.ret_void()
        check_calls(emission.module)
        return OpKernel(
            self._entry,
            str(emission.module) + places_text(self._entry, len(self._live)),
            tuple(emission.arguments),
            tuple(self._inputs()),
            tuple(self._outputs()),
            tuple(self._parameters()),
            is_elementwise,
            emission.rank,
            count,
            (SHARE_THREADS, 1, 1) if aggregates else _BLOCKS[emission.rank] if emission.waits else None,
            tuple(placed.node.id for placed in self._live),
        )

    def _body(self) -> None:
        """Emit all ops for the present element."""
        self._values.clear()
        self._scope(TOP)
        self._emission.builder.debug_metadata = Place(NOWHERE)

    def _own_inputs(self) -> list[Buffer]:
        """Return the inputs of which each thread reads its own elements."""
        return [
            input_buffer(self._emission, name, placed.settings["type"])
            for name, placed in self._named("op.input")
            if "value" in self._used.get(placed.node.id, ())
        ]

    def _own_outputs(self) -> list[Buffer]:
        return [self._output_buffer(port) for port in self._outputs()]

    def _output_buffer(self, port: OpOutputPort) -> Buffer:
        pointer = self._emission.argument(OutputPointer(port.name, port.dtype), GLOBAL)
        return Buffer(BufferType(NAMED[port.dtype], writable=True), pointer, self._emission.extent)

    def _aggregates(self) -> list[Aggregate]:
        ports = {port.name: port for port in self._outputs()}
        made = []
        for name, placed in self._named("op.aggregate"):
            kind = self._analysis.signatures[placed.node.id].inputs["value"]
            buffer = self._output_buffer(ports[name])
            made.append(aggregate(self._emission, buffer, kind, placed.settings["operation"]))
        return made

    def _begin(self) -> None:
        """Find this thread's element; threads without one return, unless others wait for them."""
        emission = self._emission
        builder = emission.builder
        inside: ir.Value | None = None
        for axis, extent in zip(_AXES[: emission.rank], ("width", "height", "depth"), strict=False):
            first = builder.mul(emission.special(f"ctaid.{axis}"), emission.special(f"ntid.{axis}"))
            place = builder.add(first, emission.special(f"tid.{axis}"))
            is_in = builder.icmp_signed("<", place, emission.extent(extent if emission.rank > 1 else "size"))
            inside = is_in if inside is None else builder.and_(inside, is_in)
            emission.place.append(place)
        emission.index = emission.place[-1]
        for at in range(emission.rank - 2, -1, -1):
            extent = ("width", "height")[at]
            emission.index = builder.add(builder.mul(emission.index, emission.extent(extent)), emission.place[at])
        if emission.waits:
            emission.inside = inside
            return
        element, done = emission.block("element"), emission.block("done")
        builder.cbranch(inside, element, done)
        builder.position_at_end(done)
        builder.ret_void()
        builder.position_at_end(element)

    def _scope(self, scope: str) -> None:
        for node_id in self._analysis.wiring.order[scope]:
            if node_id in self._analysis.live:
                self._op(self._analysis.ops[node_id])

    def _op(self, placed: PlacedOp) -> None:
        node_id, op, emission = placed.node.id, placed.op, self._emission
        signature = self._analysis.signatures[node_id]
        inputs = {port.name: self._input(placed, port.name) for port in op.inputs if not port.delayed}
        settings = placed.settings
        if "name" in settings:
            settings = settings | {"name": self._analysis.name(node_id)}
        region = Region(
            lambda made: self._keep(node_id, made),
            lambda branch: self._scope(f"{node_id}.{branch}".rstrip(".")),
            lambda name: self._back(placed, name),
        )
        emission.builder.debug_metadata = self._places[node_id]
        code = OpCode(placed.node, signature, inputs, settings, self._used[node_id], region)
        self._keep(node_id, op.emit(emission, code))

    def _keep(self, node_id: str, made: Mapping[str, Value | Buffer]) -> None:
        for port, value in made.items():
            self._values[node_id, port] = value

    def _back(self, placed: PlacedOp, name: str) -> Value | Buffer | None:
        """Return what a delayed input gets, at the end of the region that computes it."""
        value = self._input(placed, name)
        self._emission.builder.debug_metadata = self._places[placed.node.id]
        return value

    def _input(self, placed: PlacedOp, name: str) -> Value | Buffer | None:
        source = placed.sources.get(name)
        if source is not None:
            value = self._values[source]
        else:
            number = placed.settings.get(name)
            if number is None:
                return None
            value = Value(number_type(number), (), number)
        to = self._analysis.signatures[placed.node.id].inputs.get(name)
        return self._emission.convert(value, to) if isinstance(value, Value) and to is not None else value

    def _named(self, op: str) -> Iterable[tuple[str, PlacedOp]]:
        return ((self._analysis.name(p.node.id), p) for p in self._analysis.ops.values() if p.op.id == op)

    def _pointers(self) -> list[Argument]:
        """Return the arguments that come first: all inputs, then all outputs."""
        inputs = [InputPointer(name, placed.settings["type"]) for name, placed in self._named("op.input")]
        outputs = [OutputPointer(port.name, port.dtype) for port in self._outputs()]
        return [*inputs, *outputs]

    def _inputs(self) -> list[OpInputPort]:
        return [
            OpInputPort(name, placed.settings["type"], placed.settings["doc"], not self._is_roamed(placed))
            for name, placed in self._named("op.input")
        ]

    def _outputs(self) -> list[OpOutputPort]:
        made = []
        for name, placed in self._named("op.output"):
            kind = self._analysis.outputs(placed.node.id)["buffer"]
            assert isinstance(kind, BufferType)
            settings = placed.settings
            texts = (settings["doc"], settings["shape"], settings["initial"])
            made.append(OpOutputPort(name, str(kind.dtype), *texts, not self._is_roamed(placed)))
        for name, placed in self._named("op.aggregate"):
            made.append(OpOutputPort(name, placed.settings["type"], "", "", "undefined", False, True))
        return made

    def _is_roamed(self, placed: PlacedOp) -> bool:
        return "buffer" in self._used.get(placed.node.id, ())

    def _parameters(self) -> list[OpParameter]:
        made = []
        for name, placed in self._named("op.parameter"):
            s = placed.settings
            least, most = (s["minimum"], s["maximum"]) if s["bounded"] else (None, None)
            made.append(OpParameter(name, s["type"], s["default"], least, most, s["unit"], s["doc"]))
        return made
