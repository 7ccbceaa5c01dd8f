"""A kernel's interface to the patch: constants, inputs, outputs, parameters, and the frame."""

from __future__ import annotations

from functools import partial

from llvmlite import ir
from msgspec.structs import replace

from warploom.engine.diagnostics import Mend
from warploom.engine.ops import memory
from warploom.engine.ops.emission import (
    GLOBAL,
    I8,
    I32,
    I64,
    LLVM,
    ElementNumber,
    Emission,
    FramePointer,
    InputPointer,
    LiveParameter,
    OpBuffer,
    OpValue,
    OutputPointer,
    constant,
)
from warploom.engine.ops.rules import OUT, take
from warploom.engine.ops.table import Misuse, OpCall, OpCode, OpOutput, OpSetting, OpType, Signature, register
from warploom.engine.ops.types import (
    ELEMENT_TYPES,
    F32,
    NUMBERS,
    S32,
    TOLD,
    TOLD_PORTS,
    U32,
    BufferType,
    ValueType,
    can_hold,
    read_as,
)
from warploom.engine.types import NAMED, DType, boolean, s64
from warploom.engine.types.element_numbers import BOOLEAN, FLOAT

_CATEGORY = "Kernel"
_SIZES = ("size", "width", "height", "depth")
_WEAK = {"number": ValueType(S32.scalar, weak=True), "float": ValueType(F32.scalar, weak=True)}
_NAME = OpSetting("name", "str", "", "Name at the block; the op's id when empty.")
_DOC = OpSetting("doc", "str", "", "Help of the port or parameter.")


def _constant_type(call: OpCall) -> Signature:
    kind = call.settings["type"]
    if kind == "number":
        has_fraction = not float(call.settings["value"]).is_integer()
        return Signature({}, {"out": _WEAK["float" if has_fraction else "number"]})
    return Signature({}, {"out": _WEAK.get(kind) or ValueType(NAMED[kind])})


def _constant(emission: Emission, code: OpCode) -> dict[str, OpValue]:
    kind = code.out
    if kind.weak:
        return {"out": OpValue(kind, (), code.settings["value"])}
    return {"out": OpValue(kind, (constant(kind.scalar, code.settings["value"]),))}


register(
    OpType(
        "op.constant",
        "Constant",
        _CATEGORY,
        "A constant number in the kernel.",
        (),
        OUT,
        _constant_type,
        _constant,
        settings=(
            OpSetting("value", "float", 0.0, "The number."),
            OpSetting(
                "type",
                "str",
                "number",
                "Type of the number. A number takes the type of the other operand; a number with a fraction, or a "
                "float, converts whole numbers to f32.",
                ("number", "float", *NUMBERS),
            ),
        ),
        tags=("number", "literal"),
    )
)


def _input_type(call: OpCall) -> Signature:
    name, sizes = call.settings["type"], dict.fromkeys(_SIZES, S32)
    if name in TOLD:
        return Signature({}, {"value": ValueType(TOLD[name]), **TOLD_PORTS, **sizes})
    dtype = ELEMENT_TYPES[name]
    return Signature({}, {"value": read_as(dtype), "buffer": BufferType(dtype), **sizes})


def input_buffer(emission: Emission, name: str, kind: str) -> OpBuffer:
    """Return the buffer of an input with elements of this type."""
    pointer, extent = emission.argument(InputPointer(name, kind), GLOBAL), partial(emission.extent, port=name)
    if kind in TOLD:
        return OpBuffer(BufferType(TOLD[kind]), pointer, extent, emission.argument(ElementNumber(name), I32))
    return OpBuffer(BufferType(ELEMENT_TYPES[kind]), pointer, extent)


def _input(emission: Emission, code: OpCode) -> dict[str, OpValue | OpBuffer]:
    buffer = input_buffer(emission, code.settings["name"], code.settings["type"])
    made: dict[str, OpValue | OpBuffer] = {"buffer": buffer}
    for size in _SIZES:
        if size in code.used:
            made[size] = OpValue(S32, (buffer.extent(size),))
    if "value" in code.used:
        made["value"] = own_element(emission, buffer)
    if buffer.told is not None:
        made |= _told(emission, code, buffer, buffer.told)
    return made


def _told(emission: Emission, code: OpCode, buffer: OpBuffer, number: ir.Value) -> dict[str, OpValue]:
    """Return the value of an input whose element type is passed at launch as a number."""
    made, zero = dict[str, OpValue](), ir.Constant(I32, 0)
    if "whole" in code.used:
        made["whole"] = own_element(emission, replace(buffer, type=BufferType(s64)))
    if "is_whole" in code.used:
        fraction = emission.builder.and_(number, ir.Constant(I32, FLOAT | BOOLEAN))
        made["is_whole"] = OpValue(ValueType(boolean), (emission.builder.icmp_unsigned("==", fraction, zero),))
    if "is_connected" in code.used:
        made["is_connected"] = OpValue(ValueType(boolean), (emission.builder.icmp_unsigned("!=", number, zero),))
    return made


def own_element(emission: Emission, buffer: OpBuffer) -> OpValue:
    """Return the element at this thread's own index, or zeros if the thread has no element."""
    kind = read_as(buffer.type.dtype)
    known = emission.own.get(buffer.pointer.name)
    if known is not None and known.type == kind:
        return known
    if emission.inside is None:
        return memory.load(emission, buffer, emission.index)
    parts = emission.when(
        emission.inside, lambda: list(memory.load(emission, buffer, emission.index).parts), memory.zeros(kind)
    )
    return OpValue(kind, tuple(parts))


register(
    OpType(
        "op.input",
        "Input",
        _CATEGORY,
        "An input of the kernel: the element at the thread's own index, and the buffer for loads of other elements.",
        (),
        (
            OpOutput(
                "value",
                "The element at this thread's own index. Elements of fewer than 32 bits are widened. With type number, "
                "the element is f64; with type any, it is a boolean that is false if the element is 0 in all its "
                "parts.",
            ),
            OpOutput("buffer", "The buffer, to load and sample from."),
            OpOutput("size", "Number of elements of the buffer."),
            OpOutput("width", "Extent of the last axis."),
            OpOutput("height", "Extent of the second-last axis."),
            OpOutput("depth", "Extent of the third-last axis."),
            OpOutput(
                "whole", "The element of an input of type number as s64, exact for whole numbers.", is_internal=True
            ),
            OpOutput(
                "is_whole", "Whether the elements of an input of type number are whole numbers.", is_internal=True
            ),
            OpOutput("is_connected", "Whether the input of type number or any has elements.", is_internal=True),
        ),
        _input_type,
        _input,
        settings=(_NAME, OpSetting("type", "str", "f32", "Element type.", (*ELEMENT_TYPES, *TOLD)), _DOC),
        tags=("port", "read", "load"),
    )
)


def _element_type(call: OpCall) -> Signature:
    kind = type_as_element(call.value("given"), ELEMENT_TYPES[call.settings["type"]], "given")
    return Signature({"given": kind}, {"value": kind, **dict.fromkeys(_SIZES, S32)})


def _element(emission: Emission, code: OpCode) -> dict[str, OpValue]:
    made = {size: OpValue(S32, (emission.extent(size),)) for size in _SIZES if size in code.used}
    value = memory.through_memory(emission, ELEMENT_TYPES[code.settings["type"]], code.value("given"))
    if emission.inside is not None:
        zeros = memory.zeros(value.type)
        parts = (emission.builder.select(emission.inside, p, z) for p, z in zip(value.parts, zeros, strict=True))
        value = OpValue(value.type, tuple(parts))
    return {"value": value, **made}


register(
    OpType(
        "op.element",
        "Element",
        _CATEGORY,
        "A value as it would be read back after it was stored as an element; it replaces an input whose buffer another "
        "graph fills.",
        (take("given", "The value to store."),),
        (
            OpOutput("value", "The value read back."),
            OpOutput("size", "How many elements are computed."),
            *(OpOutput(name, f"Extent as in op.input: {name}.") for name in _SIZES[1:]),
        ),
        _element_type,
        _element,
        settings=(OpSetting("type", "str", "f32", "Element type.", tuple(ELEMENT_TYPES)),),
        tags=("fuse", "round"),
        is_internal=True,
    )
)


def _output_type(call: OpCall) -> Signature:
    name = call.settings["type"]
    given = None if call.inputs["value"] is None else call.value("value").strong()
    if name == "same":
        dtype = given.element() if given else None
        if dtype is None:
            rule = "the type of value or one of its own" if given is None else "that of elements in memory"
            raise Misuse(f"type must be {rule}, got {given or 'nothing connected'}", "value" if given else "type")
    else:
        dtype = ELEMENT_TYPES[name]
    if given is None:
        return Signature({}, {"buffer": BufferType(dtype, writable=True)})
    if call.settings["shape"]:
        message = f"value must not be connected to an output with a shape of its own, got {given}; store elements"
        raise Misuse(message, "value")
    if call.node.region:
        raise Misuse("output with a value must lie outside all regions; give the value to the region's op", "value")
    return Signature({"value": type_as_element(given, dtype, "value")}, {"buffer": BufferType(dtype, writable=True)})


def type_as_element(given: ValueType, dtype: DType, port: str) -> ValueType:
    """Return a value's type when it is stored as an element. Raise Misuse if the conversion would lose too much."""
    kind = read_as(dtype)
    if given.components not in (1, kind.components):
        message = f"{port} must have the components of {dtype}, got {given}"
        raise Misuse(message, port, str(dtype), str(given))
    if given.is_float and not given.weak and not kind.is_float:
        message = f"{port} must be a whole number to be stored as {dtype}, got {given}; convert it"
        raise Misuse(message, port, str(kind.scalar), str(given), Mend.CONVERT)
    return kind


def _output(emission: Emission, code: OpCode) -> dict[str, OpValue | OpBuffer]:
    name = code.settings["name"]
    kind = code.signature.outputs["buffer"]
    assert isinstance(kind, BufferType)
    pointer = emission.argument(OutputPointer(name, str(kind.dtype)), GLOBAL)
    buffer = OpBuffer(kind, pointer, partial(emission.extent, port=name))
    value = code.inputs.get("value")
    if isinstance(value, OpValue):
        parts = value.parts
        if emission.results is not None:
            emission.results[pointer.name] = value
        elif emission.inside is None:
            memory.store(emission, buffer, emission.index, parts)
        else:
            with emission.builder.if_then(emission.inside):
                memory.store(emission, buffer, emission.index, parts)
    return {"buffer": buffer}


register(
    OpType(
        "op.output",
        "Output",
        _CATEGORY,
        "An output of the kernel: each thread stores its value at its own index, and ops may store elsewhere.",
        (take("value", "The element at this thread's own index.", optional=True),),
        (OpOutput("buffer", "The buffer, to store to."),),
        _output_type,
        _output,
        settings=(
            _NAME,
            OpSetting("type", "str", "same", "Element type.", ("same", *ELEMENT_TYPES)),
            OpSetting(
                "shape",
                "str",
                "",
                "Shape of the output, as a rule such as [256]; the shape of the computed elements when empty.",
            ),
            OpSetting(
                "initial", "str", "undefined", "Contents of the output before the kernel runs.", ("undefined", "zeros")
            ),
            _DOC,
        ),
        tags=("port", "write", "store"),
        acts=True,
    )
)


def _parameter_type(call: OpCall) -> Signature:
    dtype = NAMED[call.settings["type"]]
    for name in ("default", "minimum", "maximum") if call.settings["bounded"] else ("default",):
        number = call.settings[name]
        if not can_hold(dtype, number):
            message = f"{name} must be a number that {dtype} can hold, got {number:g}"
            raise Misuse(message, name, str(dtype), f"{number:g}")
    return Signature({}, {"out": ValueType(dtype)})


def _parameter(emission: Emission, code: OpCode) -> dict[str, OpValue]:
    dtype = NAMED[code.settings["type"]]
    given = LiveParameter(code.settings["name"], str(dtype))
    if dtype is boolean:
        is_set = emission.builder.icmp_unsigned("!=", emission.argument(given, I8), ir.Constant(I8, 0))
        return {"out": OpValue(ValueType(dtype), (is_set,))}
    return {"out": OpValue(ValueType(dtype), (emission.argument(given, LLVM[dtype]),))}


register(
    OpType(
        "op.parameter",
        "Parameter",
        _CATEGORY,
        "A parameter of the kernel: a number that a person sets while the kernel runs.",
        (),
        OUT,
        _parameter_type,
        _parameter,
        settings=(
            _NAME,
            OpSetting("type", "str", "f32", "Its type.", NUMBERS),
            OpSetting("default", "float", 0.0, "Default value."),
            OpSetting("bounded", "bool", False, "Whether the parameter has a smallest and a largest value."),
            OpSetting("minimum", "float", 0.0, "Smallest value, when bounded."),
            OpSetting("maximum", "float", 1.0, "Largest value, when bounded."),
            OpSetting("unit", "str", "", "Unit of the parameter."),
            _DOC,
        ),
        tags=("slider", "uniform"),
    )
)


def _frame(emission: Emission, code: OpCode) -> dict[str, OpValue]:
    pointer = emission.argument(FramePointer(), GLOBAL)
    made = {}
    for at, (name, kind) in enumerate((("index", U32), ("time", F32), ("time_step", F32))):
        if name in code.used:
            place = emission.builder.gep(pointer, [ir.Constant(I64, at)], source_etype=I32)
            made[name] = OpValue(kind, (emission.builder.load(place, align=4, typ=LLVM[kind.scalar]),))
    return made


register(
    OpType(
        "op.frame",
        "Frame",
        _CATEGORY,
        "Time and number of the current frame.",
        (),
        (
            OpOutput("time", "Time at the frame's start, in seconds."),
            OpOutput("index", "Frame number, counted from 0; wraps at 2^32."),
            OpOutput("time_step", "Time since the previous frame, in seconds."),
        ),
        lambda call: Signature({}, {"time": F32, "index": U32, "time_step": F32}),
        _frame,
        tags=("time", "clock", "animation"),
    )
)
