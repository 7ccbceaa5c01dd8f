"""Shared memory, barriers and atomics."""

from __future__ import annotations

from llvmlite import ir

from warploom.engine.ops import memory
from warploom.engine.ops.emission import I8, I32, LLVM, SHARED, VOID, Emission, OpBuffer, OpValue
from warploom.engine.ops.library.buffers import STORE_BOUNDARY, may_act, place
from warploom.engine.ops.library.interface import type_as_element
from warploom.engine.ops.rules import integer, take
from warploom.engine.ops.table import Misuse, OpCall, OpCode, OpInput, OpOutput, OpSetting, OpType, Signature, register
from warploom.engine.ops.types import ELEMENTS, BufferType, read_as
from warploom.engine.types import NAMED

_CATEGORY = "Threads"
#: The bytes of shared memory that a thread block has on every GPU without opting in to more.
_SHARED_BYTES = 48 * 1024


def _shared_type(call: OpCall) -> Signature:
    dtype, count = NAMED[call.settings["type"]], call.settings["count"]
    if dtype.size_bytes * count > _SHARED_BYTES:
        message = f"shared memory must have at most {_SHARED_BYTES} bytes, got {dtype.size_bytes * count}"
        raise Misuse(message, "count", f"at most {_SHARED_BYTES // dtype.size_bytes}", str(count))
    return Signature({}, {"buffer": BufferType(dtype, "shared", writable=True)})


def shared_array(emission: Emission, name: str, size_bytes: int) -> ir.Value:
    """Return the address of new, uninitialised shared memory."""
    layout = ir.ArrayType(I8, size_bytes)
    variable = ir.GlobalVariable(emission.module, layout, emission.module.get_unique_name(name), addrspace=3)
    variable.linkage, variable.align = "internal", 16
    variable.initializer = ir.Constant(layout, ir.Undefined)
    variable.type = SHARED  # llvmlite gives variables typed pointers, which LLVM no longer has
    return variable


def _shared(emission: Emission, code: OpCode) -> dict[str, OpBuffer]:
    kind, count = code.signature.outputs["buffer"], code.settings["count"]
    assert isinstance(kind, BufferType)
    pointer = shared_array(emission, "shared", kind.dtype.size_bytes * count)
    sizes = {"size": count, "width": count}
    return {"buffer": OpBuffer(kind, pointer, lambda extent: ir.Constant(I32, sizes.get(extent, 1)))}


register(
    OpType(
        "op.shared",
        "Shared Memory",
        _CATEGORY,
        "Uninitialised memory that the threads of a thread block share. In a kernel with barriers, threads beyond the "
        "last element run too; they write to shared memory, but not to outputs.",
        (),
        (OpOutput("buffer", "The buffer: store to it, wait at a barrier, and load from it."),),
        _shared_type,
        _shared,
        settings=(
            OpSetting("type", "str", "f32", "Element type.", ELEMENTS),
            OpSetting("count", "int", 256, "Number of elements.", minimum=1, maximum=_SHARED_BYTES),
        ),
        tags=("memory", "local"),
        roams=True,
    )
)


def barrier(emission: Emission) -> None:
    """Emit a barrier: all threads of the thread block wait for each other and then see each other's writes."""
    emission.call("llvm.nvvm.barrier.cta.sync.aligned.all", VOID, [ir.Constant(I32, 0)])


def _barrier_type(call: OpCall) -> Signature:
    outputs = {"after": call.buffer("buffer")}
    if call.inputs["other"] is not None:
        outputs["other_after"] = call.buffer("other")
    return Signature({}, outputs)


def _barrier(emission: Emission, code: OpCode) -> dict[str, OpBuffer]:
    barrier(emission)
    made = {"after": code.buffer("buffer")}
    if "other_after" in code.signature.outputs:
        made["other_after"] = code.buffer("other")
    return made


register(
    OpType(
        "op.barrier",
        "Barrier",
        _CATEGORY,
        "Waits until all threads of the thread block are at the barrier. Loads from the resulting buffer read what "
        "any of the threads stored before.",
        (
            OpInput("buffer", "The buffer that threads have written to.", takes_buffer=True),
            OpInput("other", "A second buffer that threads have written to.", optional=True, takes_buffer=True),
        ),
        (
            OpOutput("after", "The buffer, after the barrier."),
            OpOutput("other_after", "The second buffer, after the barrier."),
        ),
        _barrier_type,
        _barrier,
        tags=("synchronize", "wait"),
        acts=True,
        roams=True,
        waits=True,
    )
)

_ATOMICS = {
    "add": ("fadd", "add", "add"),
    "minimum": ("fminimum", "min", "umin"),
    "maximum": ("fmaximum", "max", "umax"),
    "exchange": ("xchg", "xchg", "xchg"),
    "and": ("", "and", "and"),
    "or": ("", "or", "or"),
    "xor": ("", "xor", "xor"),
}


def _atomic_type(call: OpCall) -> Signature:
    buffer = call.buffer("buffer")
    kind = read_as(buffer.dtype)
    if not buffer.writable:
        raise Misuse("buffer must be that of an output or of shared memory, got an input", "buffer", "output", "input")
    if buffer.dtype is not kind.scalar or kind.is_boolean:
        message = f"buffer must have elements of 32 or 64 bits, got {buffer.dtype}"
        raise Misuse(message, "buffer", "s32, u32, f32 ...", str(buffer.dtype))
    if kind.is_float and call.settings.get("operation") in ("and", "or", "xor"):
        raise Misuse(f"buffer must have whole numbers for this operation, got {kind}", "buffer", found=str(kind))
    values = {
        name: type_as_element(call.value(name), buffer.dtype, name)
        for name in ("value", "expected")
        if call.op.input(name)
    }
    return Signature({"index": integer(call, "index"), **values}, {"old": kind, "after": buffer})


def _atomic(emission: Emission, code: OpCode) -> dict[str, OpValue | OpBuffer]:
    buffer, builder = code.buffer("buffer"), emission.builder
    kind = read_as(buffer.type.dtype)
    index, inside = place(emission, buffer, [code.value("index").parts[0]], code.settings["boundary"])
    word = ir.IntType(kind.scalar.size_bytes * 8)
    (value,) = code.value("value").parts

    def change() -> list[ir.Value]:
        address = memory.address(emission, buffer, index)
        if "expected" in code.inputs:
            words = [builder.bitcast(part, word) for part in (code.value("expected").parts[0], value)]
            old = builder.extract_value(builder.cmpxchg(address, *words, "monotonic"), 0)
            return [builder.bitcast(old, LLVM[kind.scalar])]
        of_float, of_signed, of_unsigned = _ATOMICS[code.settings["operation"]]
        name = of_float if kind.is_float else of_signed if kind.is_signed else of_unsigned
        if name == "xchg":
            old = builder.atomic_rmw(name, address, builder.bitcast(value, word), "monotonic")
            return [builder.bitcast(old, LLVM[kind.scalar])]
        return [builder.atomic_rmw(name, address, value, "monotonic")]

    conditions = [condition for condition in (inside, may_act(emission, buffer)) if condition is not None]
    if not conditions:
        return {"old": OpValue(kind, tuple(change())), "after": buffer}
    both = conditions[0] if len(conditions) == 1 else builder.and_(*conditions)
    return {"old": OpValue(kind, tuple(emission.when(both, change, memory.zeros(kind)))), "after": buffer}


def _register_atomic(name: str, title: str, doc: str, inputs: tuple[OpInput, ...], *settings: OpSetting) -> None:
    op = OpType(
        f"op.{name}",
        title,
        _CATEGORY,
        doc,
        (
            OpInput("buffer", "The buffer that holds the element.", takes_buffer=True),
            take("index", "Index of the element, counted from 0.", 0.0),
            *inputs,
        ),
        (
            OpOutput("old", "Value of the element before the change."),
            OpOutput("after", "The buffer, after the change."),
        ),
        _atomic_type,
        _atomic,
        settings=(*settings, STORE_BOUNDARY),
        tags=("histogram", "counter", "atomic"),
        acts=True,
        roams=True,
    )
    register(op)


_register_atomic(
    "atomic",
    "Atomic",
    "Changes an element of an output or of shared memory atomically.",
    (take("value", "Operand of the change.", 1.0),),
    OpSetting("operation", "str", "add", "The change to apply.", tuple(_ATOMICS)),
)
_register_atomic(
    "compare_exchange",
    "Compare and Exchange",
    "Replaces an element atomically if its bits equal those of the expected value.",
    (take("expected", "The expected value.", 0.0), take("value", "The new value.", 1.0)),
)
