"""`compile_graph`: compiles an op graph to a kernel: its PTX, and the facts that a block needs to launch it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

import msgspec
from llvmlite import ir

from warploom.engine.ops.analysis import Analysis, analyse, literal_type
from warploom.engine.ops.emission import (
    GLOBAL,
    I32,
    LLVM,
    VOID,
    Aggregate,
    ElementNumber,
    Emission,
    GraphNumbers,
    InputPointer,
    OpArgument,
    OpBuffer,
    OpValue,
    OutputPointer,
)
from warploom.engine.ops.graph import TOP, OpGraph
from warploom.engine.ops.interface import OpInterface, OpOutputPort, ToldNumbers, interface_of, named
from warploom.engine.ops.library.interface import input_buffer
from warploom.engine.ops.library.warps import aggregate
from warploom.engine.ops.lowering.lanes import emit_lanes, emit_shares
from warploom.engine.ops.lowering.places import FIRST, NOWHERE, PROGRAM, MetadataRef, llvm_lines, places_text, ptx_lines
from warploom.engine.ops.lowering.ptx import TRIPLE, check_calls, data_layout, functions_ptx, inlined, to_ptx
from warploom.engine.ops.table import OpCode, Region
from warploom.engine.ops.types import ELEMENT_TYPES, TOLD, BufferType, ValueType
from warploom.engine.ops.wiring import PlacedOp

_AXES = ("x", "y", "z")


class OpKernel(OpInterface, frozen=True, kw_only=True, dict=True, weakref=True):
    """A compiled op graph. Each thread computes `elements_per_thread` along x.

    The kernel calls functions such as the sine, which its LLVM IR declares. `arguments` are in the order of the
    kernel's signature; `numbers` are the bytes of its GraphNumbers argument. Lines are counted from 1. The line of a
    `.loc` directive, and so a KernelFault's `source_line`, is an op's place in `ops`, counted from 1.
    """

    entry: str
    llvm_ir: str
    arguments: tuple[OpArgument, ...]
    numbers: bytes
    elements_per_thread: int
    ops: tuple[str, ...]
    #: The PTX of the kernel alone, if LLVM has written it before.
    written: str = ""

    @cached_property
    def kernel_ptx(self) -> str:
        """The PTX of the kernel alone; LLVM writes it on first use."""
        return self.written or to_ptx(self.llvm_ir)

    @property
    def ptx(self) -> str:
        """The PTX of the kernel and of the functions that it calls."""
        return self.kernel_ptx + functions_ptx(self.llvm_ir)

    def inlined_ptx(self) -> str:
        """Return PTX without calls that computes the same bits. It takes longer to compile, and runs faster."""
        return inlined(self.llvm_ir)

    def ptx_lines(self) -> dict[int, str]:
        """Return the op of each line of the PTX."""
        return self.lines_of(self.ptx)

    def lines_of(self, code: str) -> dict[int, str]:
        """Return the op of each line of other code that has this kernel's `.loc` lines."""
        return ptx_lines(code, self.ops)

    def llvm_lines(self) -> dict[int, str]:
        """Return the op of each line of the LLVM IR."""
        return llvm_lines(self.llvm_ir, self.ops)


def compile_graph(
    graph: OpGraph,
    *,
    entry: str = "kernel",
    rank: int = 0,
    elements_per_thread: Literal[1, 2, 4] = 1,
    is_told: bool = False,
) -> OpKernel:
    """Return the kernel of an op graph. Raise OpError when the graph is wrong.

    Threads count the elements along as many axes as the ops need, and along at least `rank`. With several elements per
    thread, a GPU reads and writes faster, but the kernel takes longer to compile. Unless the interface `takes_several`,
    each thread computes one; `elements_per_thread` says so. In a kernel with aggregates, it then loads several at once.
    The same graph always gives the same PTX, and any number of elements per thread gives the same bits. A kernel with
    `is_told` reads `numbers` from its arguments. Otherwise the numbers are constants in its code, which compiles
    faster, and the kernel ignores the argument.
    """
    return lower(analyse(graph), entry, rank, elements_per_thread, is_told=is_told)


def lower(
    analysis: Analysis,
    entry: str = "kernel",
    rank: int = 0,
    elements_per_thread: Literal[1, 2, 4] = 1,
    *,
    is_told: bool = False,
) -> OpKernel:
    """Return the kernel of an analysed graph, as `compile_graph` does."""
    return _Lowering(analysis, entry, rank, is_told=is_told).kernel(elements_per_thread)


class _Lowering:
    """Writes the live ops of an analysed graph, scope by scope."""

    def __init__(self, analysis: Analysis, entry: str, rank: int, *, is_told: bool) -> None:
        self._analysis = analysis
        self._interface = interface_of(analysis, rank)
        self._numbers, self._is_told = ToldNumbers(analysis), is_told
        self._entry = entry
        self._live = [analysis.ops[node_id] for node_id in analysis.ops if node_id in analysis.live]
        self._values: dict[tuple[str, str], OpValue | OpBuffer] = {}
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
            self._interface.rank,
            any(placed.op.waits for placed in self._live),
        )
        function.set_metadata("dbg", MetadataRef(PROGRAM))
        self._places = {placed.node.id: MetadataRef(FIRST + at) for at, placed in enumerate(self._live)}

    def kernel(self, elements_per_thread: int) -> OpKernel:
        """Emit the whole kernel."""
        emission, interface = self._emission, self._interface
        ends = [placed for op in ("op.input", "op.output", "op.aggregate") for _, placed in named(self._analysis, op)]
        for argument, placed in zip(self._pointers(), ends, strict=True):
            pointer = emission.argument(argument, GLOBAL)
            emission.origins[pointer.name] = self._places.get(placed.node.id)
        if kinds := self._numbers.kinds:
            self._number_struct = emission.argument(
                GraphNumbers(), ir.LiteralStructType([LLVM[kind] for kind in kinds])
            )
        for port in interface.inputs:  # first, so that their order does not depend on the number of elements per thread
            if port.dtype in TOLD:
                emission.argument(ElementNumber(port.name), I32)
        aggregates = self._aggregates()
        count = elements_per_thread if interface.takes_several else 1
        if aggregates:
            is_adjacent = elements_per_thread > 1 and all(port.is_aggregate for port in interface.outputs)
            emit_shares(emission, self._own_inputs(), aggregates, self._body, is_adjacent=is_adjacent)
        elif count > 1:
            emit_lanes(emission, count, self._own_inputs(), self._own_outputs(), self._body)
        else:
            self._begin()
            self._body()
            emission.builder.ret_void()
        check_calls(emission.module)
        return OpKernel(
            **msgspec.structs.asdict(interface),
            entry=self._entry,
            llvm_ir=str(emission.module) + places_text(self._entry, len(self._live)),
            arguments=tuple(emission.arguments),
            numbers=self._numbers.packed(),
            elements_per_thread=count,
            ops=tuple(placed.node.id for placed in self._live),
        )

    def _body(self) -> None:
        """Emit all ops for the current element."""
        self._values.clear()
        self._scope(TOP)
        self._emission.builder.debug_metadata = MetadataRef(NOWHERE)

    def _own_inputs(self) -> list[OpBuffer]:
        """Return the inputs that are read at each thread's own index."""
        return [
            input_buffer(self._emission, name, placed.settings["type"])
            for name, placed in named(self._analysis, "op.input")
            if "value" in self._used.get(placed.node.id, ())
        ]

    def _own_outputs(self) -> list[OpBuffer]:
        return [self._output_buffer(port) for port in self._interface.outputs]

    def _output_buffer(self, port: OpOutputPort) -> OpBuffer:
        pointer = self._emission.argument(OutputPointer(port.name, port.dtype), GLOBAL)
        return OpBuffer(BufferType(ELEMENT_TYPES[port.dtype], writable=True), pointer, self._emission.extent)

    def _aggregates(self) -> list[Aggregate]:
        ports = {port.name: port for port in self._interface.outputs}
        made = []
        for name, placed in named(self._analysis, "op.aggregate"):
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
        code = OpCode(signature, inputs, settings, self._used[node_id], region)
        self._keep(node_id, op.emit(emission, code))

    def _keep(self, node_id: str, made: Mapping[str, OpValue | OpBuffer]) -> None:
        for port, value in made.items():
            self._values[node_id, port] = value

    def _back(self, placed: PlacedOp, name: str) -> OpValue | OpBuffer | None:
        """Return the value of a delayed input, at the end of the region that computes it."""
        value = self._input(placed, name)
        self._emission.builder.debug_metadata = self._places[placed.node.id]
        return value

    def _input(self, placed: PlacedOp, name: str) -> OpValue | OpBuffer | None:
        source = placed.sources.get(name)
        told = self._numbers.at.get((placed.node.id, name)) if self._is_told else None
        if told is not None:
            number_read = self._emission.builder.extract_value(self._number_struct, told)
            value: OpValue | OpBuffer = OpValue(ValueType(self._numbers.kinds[told]), (number_read,))
        elif source is not None:
            value = self._values[source]
        else:
            number = placed.settings.get(name)
            if number is None:
                return None
            value = OpValue(literal_type(number), (), number)
        to = self._analysis.signatures[placed.node.id].inputs.get(name)
        return self._emission.convert(value, to) if isinstance(value, OpValue) and to is not None else value

    def _pointers(self) -> list[OpArgument]:
        """Return the leading arguments: all inputs, then all outputs."""
        inputs = [InputPointer(port.name, port.dtype) for port in self._interface.inputs]
        outputs = [OutputPointer(port.name, port.dtype) for port in self._interface.outputs]
        return [*inputs, *outputs]
