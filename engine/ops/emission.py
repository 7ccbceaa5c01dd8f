"""`Emission`: the state of a kernel while it is written as LLVM IR: its values, arguments and this thread's element."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
from llvmlite import ir

from warploom.engine.ops.types import BufferType, ValueType
from warploom.engine.types import DType, boolean, f32, f64, s32, s64, u32, u64

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
VOID = ir.VoidType()
GLOBAL = ir.PointerType(addrspace=1)
SHARED = ir.PointerType(addrspace=3)
LLVM: dict[DType, ir.Type] = {
    boolean: I1,
    s32: I32,
    u32: I32,
    s64: I64,
    u64: I64,
    f32: ir.FloatType(),
    f64: ir.DoubleType(),
}


class InputPointer(msgspec.Struct, frozen=True, tag="input"):
    """The address of an input's elements; `dtype` is "number" or "any" if their type is passed at launch."""

    name: str
    dtype: str


class ElementNumber(msgspec.Struct, frozen=True, tag="element"):
    """The element type of an input as a u32: see `engine.types.element_numbers`."""

    name: str


class OutputPointer(msgspec.Struct, frozen=True, tag="output"):
    """The address of an output's elements."""

    name: str
    dtype: str


class LiveParameter(msgspec.Struct, frozen=True, tag="parameter"):
    """The value of a live parameter; a boolean is one byte."""

    name: str
    dtype: str


class OpExtent(msgspec.Struct, frozen=True, tag="extent"):
    """A size as an s32: "size" (elements), "width", "height" or "depth" of a port; port "" is the whole computation."""

    kind: str
    port: str = ""


class FramePointer(msgspec.Struct, frozen=True, tag="frame"):
    """The address of the frame uniforms, as `engine.compiler.frame.Frame` lays them out."""


class GraphNumbers(msgspec.Struct, frozen=True, tag="numbers"):
    """The numbers in the graph that its kernel takes as arguments, as a struct of floats."""


OpArgument = InputPointer | ElementNumber | OutputPointer | LiveParameter | OpExtent | FramePointer | GraphNumbers


class OpValue(NamedTuple):
    """A value in registers, with one LLVM value per component. A constant has a `number` instead, and no parts."""

    type: ValueType
    parts: tuple[ir.Value, ...] = ()
    number: float | None = None


class OpBuffer(msgspec.Struct, frozen=True):
    """A handle in a kernel: the address of the elements, and their count along each axis.

    If the element type is known only at launch, `told` is its number, and `type` is the type that elements are read as.
    """

    type: BufferType
    pointer: ir.Value
    extent: Callable[[str], ir.Value]
    told: ir.Value | None = None


class Aggregate(msgspec.Struct, frozen=True):
    """An output with one element per thread block, which combines the values that its threads computed."""

    buffer: OpBuffer
    operation: str
    #: The values' type, the neutral value, and the function that combines two values.
    kind: ValueType
    none: ir.Value
    both: Callable[[ir.Value, ir.Value], ir.Value]


def constant(scalar: DType, number: float) -> ir.Constant:
    """Return a number as a constant of a scalar type; whole numbers wrap and lose their fraction."""
    kind = LLVM[scalar]
    if scalar is boolean:
        return ir.Constant(kind, int(bool(number)))
    if scalar.kind == "float":
        return ir.Constant(kind, float(number))
    whole = int(number) if math.isfinite(number) else 0
    bits = scalar.size_bytes * 8
    whole &= (1 << bits) - 1
    return ir.Constant(kind, whole - (1 << bits) if whole >> (bits - 1) else whole)


@dataclass
class Emission:
    """A kernel being written. `builder` writes at the current position."""

    module: ir.Module
    function: ir.Function
    builder: ir.IRBuilder
    arguments: list[OpArgument]
    #: Threads count the elements along this many axes.
    rank: int
    #: True when all threads must run to the end, since they wait for each other.
    waits: bool = False
    #: This thread's element: its place on each axis and in the buffer, and whether it exists (None: it always does).
    place: list[ir.Value] = field(default_factory=list)
    index: Any = None
    inside: Any = None
    #: Elements already loaded, by their pointer's name; and, unless None, a dict that takes results instead of memory.
    own: dict[str, OpValue] = field(default_factory=dict)
    results: dict[str, OpValue] | None = None
    #: The current element's contribution to each aggregate, by the pointer's name.
    aggregated: dict[str, OpValue] = field(default_factory=dict)
    #: Whole numbers of at most 16 bits, as i32, by the f32 or f64 that they were converted to.
    shorts: dict[ir.Value, ir.Value] = field(default_factory=dict)
    #: The debug information of loads and stores that no op emits, by their pointer's name.
    origins: dict[str, Any] = field(default_factory=dict)
    _given: dict[OpArgument, ir.Value] = field(default_factory=dict)

    def argument(self, argument: OpArgument, kind: ir.Type) -> ir.Value:
        """Return a kernel argument; its first use adds it to the signature."""
        value = self._given.get(argument)
        if value is None:
            value = ir.Argument(self.function, kind)
            self.function.args = (*self.function.args, value)
            value.name = f"a{len(self.arguments)}"
            self.arguments.append(argument)
            self._given[argument] = value
        return value

    def extent(self, kind: str, port: str = "") -> ir.Value:
        """Return a size. The number of all elements is the product of the sizes along the axes that threads count."""
        if kind == "size" and not port and self.rank > 1:
            axes = [self.extent(axis) for axis in ("width", "height", "depth")[: self.rank]]
            size = axes[0]
            for axis in axes[1:]:
                size = self.builder.mul(size, axis)
            return size
        return self.argument(OpExtent(kind, port), I32)

    def call(self, name: str, result: ir.Type, arguments: list[ir.Value]) -> ir.Value:
        """Call an intrinsic of LLVM by its full name."""
        function = self.module.globals.get(name)
        if function is None:
            function = ir.Function(self.module, ir.FunctionType(result, [a.type for a in arguments]), name)
        return self.builder.call(function, arguments)

    def special(self, name: str) -> ir.Value:
        """Return a special register, such as "tid.x", as an i32."""
        return self.call(f"llvm.nvvm.read.ptx.sreg.{name}", I32, [])

    def parts(self, value: OpValue) -> tuple[ir.Value, ...]:
        """Return a value's components; a literal number becomes one component."""
        if value.number is None:
            return value.parts
        return (constant(value.type.scalar, value.number),) * value.type.components

    def convert(self, value: OpValue, to: ValueType) -> OpValue:
        """Return a value as another type; a scalar is repeated for each component."""
        to = to.strong()
        if value.number is not None:
            return OpValue(to, (constant(to.scalar, value.number),) * to.components)
        if value.type == to:
            return value
        parts = [self.scalar(part, value.type.scalar, to.scalar) for part in value.parts]
        return OpValue(to, tuple(parts) if len(parts) == to.components else tuple(parts * to.components))

    def scalar(self, part: ir.Value, source: DType, to: DType) -> ir.Value:
        """Return a number as another scalar type.

        Conversion follows C++, except from floats to whole numbers: fractions are dropped, NaN becomes 0, and a number
        out of range becomes the nearest one in range.
        """
        builder, kind = self.builder, LLVM[to]
        if source is to:
            return part
        if to is boolean:
            if source.kind == "float":
                return builder.fcmp_unordered("!=", part, ir.Constant(part.type, 0.0))
            return builder.icmp_unsigned("!=", part, ir.Constant(part.type, 0))
        is_signed = source in (s32, s64)
        if to.kind == "float":
            if source.kind == "float":
                return builder.fpext(part, kind) if to is f64 else builder.fptrunc(part, kind)
            if to is f64 and part.type == I32:
                result = self._exact(part, is_signed)
            else:
                result = builder.sitofp(part, kind) if is_signed else builder.uitofp(part, kind)
            is_short = isinstance(part, ir.CastInstr) and part.operands[0].type in (I8, I16)
            if is_short and (is_signed or part.opname == "zext"):
                self.shorts[result] = part
            return result
        if source.kind == "float":
            name = "fptosi" if to in (s32, s64) else "fptoui"
            return self.call(f"llvm.{name}.sat.{kind}.{source}", kind, [part])
        if to.size_bytes > source.size_bytes or source is boolean:
            return builder.sext(part, kind) if is_signed else builder.zext(part, kind)
        return part if to.size_bytes == source.size_bytes else builder.trunc(part, kind)

    def _exact(self, part: ir.Value, is_signed: bool) -> ir.Value:
        """Return an i32 as an f64, by an addition: a GPU converts at a quarter of that speed."""
        builder, above = self.builder, 2.0**52  # from which on the last bit of an f64 is 1
        if is_signed:
            part, above = builder.xor(part, ir.Constant(I32, -(2**31))), above + 2.0**31
        bits = builder.or_(builder.zext(part, I64), ir.Constant(I64, 0x433 << 52))
        return builder.fsub(builder.bitcast(bits, LLVM[f64]), ir.Constant(LLVM[f64], above))

    def block(self, name: str) -> ir.Block:
        """Return a new basic block, placed after the existing ones."""
        return self.function.append_basic_block(name)

    def when(self, holds: ir.Value, emit: Callable[[], list[ir.Value]], otherwise: list[ir.Value]) -> list[ir.Value]:
        """Emit code that runs only if a condition holds. Return its values if it does, and `otherwise` if not."""
        builder = self.builder
        before, then, after = builder.block, self.block("then"), self.block("after")
        builder.cbranch(holds, then, after)
        builder.position_at_end(then)
        values = emit()
        end = builder.block
        builder.branch(after)
        builder.position_at_end(after)
        merged = []
        for value, other in zip(values, otherwise, strict=True):
            phi = builder.phi(value.type)
            phi.add_incoming(value, end)
            phi.add_incoming(other, before)
            merged.append(phi)
        return merged
