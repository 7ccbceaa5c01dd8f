"""Loads and stores at any index, with rules for indices beyond the edge."""

from __future__ import annotations

from llvmlite import ir

from warploom.engine.ops import memory
from warploom.engine.ops.emission import Emission, OpBuffer, OpValue
from warploom.engine.ops.library.interface import type_as_element
from warploom.engine.ops.rules import OUT, integer, take
from warploom.engine.ops.table import Misuse, OpCall, OpCode, OpInput, OpOutput, OpSetting, OpType, Signature, register
from warploom.engine.ops.types import ValueType, read_as

_CATEGORY = "Buffers"
_LOAD_BOUNDARY = OpSetting(
    "boundary",
    "str",
    "clamp",
    "Rule for an index beyond the edge: read the edge's element (clamp), repeat the elements (wrap), mirror them "
    "(mirror), or read 0 (zero).",
    memory.LOAD_BOUNDARIES,
)
STORE_BOUNDARY = OpSetting(
    "boundary",
    "str",
    "skip",
    "Rule for an index beyond the edge: write nothing (skip), or as for a load.",
    memory.STORE_BOUNDARIES,
)
_BUFFER = OpInput("buffer", "The buffer that holds the elements.", takes_buffer=True)


def _indices(is_2d: bool) -> tuple[OpInput, ...]:
    if is_2d:
        return take("x", "The column, counted from 0.", 0.0), take("y", "The row, counted from 0.", 0.0)
    return (take("index", "The index of the element, counted from 0.", 0.0),)


def _index_types(call: OpCall) -> dict[str, ValueType]:
    return {name: integer(call, name) for name in ("x", "y", "index") if call.op.input(name)}


def _load_type(call: OpCall) -> Signature:
    kind = read_as(call.buffer("buffer").dtype)
    return Signature(_index_types(call), {"out": kind})


def place(
    emission: Emission, buffer: OpBuffer, indices: list[ir.Value], boundary: str
) -> tuple[ir.Value, ir.Value | None]:
    """Return an element's index within bounds, and for "zero" and "skip" whether the given index is inside."""
    builder = emission.builder
    extents = [buffer.extent(kind) for kind in (("size",) if len(indices) == 1 else ("width", "height"))]
    inside: ir.Value | None = None
    if boundary in ("zero", "skip"):
        for index, extent in zip(indices, extents, strict=True):
            is_in = memory.is_inside(emission, index, extent)
            inside = is_in if inside is None else builder.and_(inside, is_in)
    bounded = [memory.bounded(emission, boundary, i, n) for i, n in zip(indices, extents, strict=True)]
    if len(bounded) == 1:
        return bounded[0], inside
    return builder.add(builder.mul(bounded[1], extents[0]), bounded[0]), inside


def load_at(emission: Emission, buffer: OpBuffer, indices: list[ir.Value], boundary: str) -> OpValue:
    """Return the element at indices (i32), which may be out of bounds."""
    index, inside = place(emission, buffer, indices, boundary)
    if inside is None:
        return memory.load(emission, buffer, index)
    kind = read_as(buffer.type.dtype)
    parts = emission.when(inside, lambda: list(memory.load(emission, buffer, index).parts), memory.zeros(kind))
    return OpValue(kind, tuple(parts))


def _parts(code: OpCode) -> list[ir.Value]:
    return [code.value(name).parts[0] for name in ("index", "x", "y") if name in code.inputs]


def _load(emission: Emission, code: OpCode) -> dict[str, OpValue]:
    return {"out": load_at(emission, code.buffer("buffer"), _parts(code), code.settings["boundary"])}


def _store_type(call: OpCall) -> Signature:
    buffer = call.buffer("buffer")
    if not buffer.writable:
        raise Misuse(
            "buffer must be that of an output or of shared memory, got an input's", "buffer", "output", "input"
        )
    return Signature(
        {**_index_types(call), "value": type_as_element(call.value("value"), buffer.dtype, "value")}, {"after": buffer}
    )


def may_act(emission: Emission, buffer: OpBuffer) -> ir.Value | None:
    """Return whether this thread may write to a buffer: threads without an element must not write to global memory."""
    return emission.inside if buffer.type.space == "global" else None


def _store(emission: Emission, code: OpCode) -> dict[str, OpBuffer]:
    buffer = code.buffer("buffer")
    index, inside = place(emission, buffer, _parts(code), code.settings["boundary"])
    acts = may_act(emission, buffer)
    conditions = [condition for condition in (inside, acts) if condition is not None]
    if not conditions:
        memory.store(emission, buffer, index, code.value("value").parts)
        return {"after": buffer}
    both = conditions[0] if len(conditions) == 1 else emission.builder.and_(*conditions)
    with emission.builder.if_then(both):
        memory.store(emission, buffer, index, code.value("value").parts)
    return {"after": buffer}


for _is_2d, _suffix, _words in ((False, "", ""), (True, "_2d", " 2-D")):
    register(
        OpType(
            f"op.load{_suffix}",
            f"Load{_words}",
            _CATEGORY,
            "The element of a buffer at any index.",
            (_BUFFER, *_indices(_is_2d)),
            OUT,
            _load_type,
            _load,
            settings=(_LOAD_BOUNDARY,),
            tags=("read", "gather", "neighbour"),
            roams=True,
        )
    )
    register(
        OpType(
            f"op.store{_suffix}",
            f"Store{_words}",
            _CATEGORY,
            "Writes an element of an output or of shared memory, at any index. Ops that use the resulting buffer read "
            "the new element.",
            (_BUFFER, *_indices(_is_2d), take("value", "The value to write.")),
            (OpOutput("after", "The buffer, after the write."),),
            _store_type,
            _store,
            settings=(STORE_BOUNDARY,),
            tags=("write", "scatter"),
            acts=True,
            roams=True,
        )
    )
