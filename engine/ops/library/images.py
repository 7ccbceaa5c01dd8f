"""Sampling: values interpolated between a buffer's elements."""

from __future__ import annotations

from functools import partial

from llvmlite import ir

from warploom.engine.ops import memory
from warploom.engine.ops.emission import Emission, OpBuffer, OpValue, constant
from warploom.engine.ops.library.buffers import load_at
from warploom.engine.ops.rules import OUT, scalar, take
from warploom.engine.ops.table import OpCall, OpCode, OpInput, OpSetting, OpType, Signature, register
from warploom.engine.ops.types import F32, ValueType, read_as
from warploom.engine.types import f32, s32

_SETTINGS = (
    OpSetting(
        "filter", "str", "linear", "Interpolate between neighbours, or use the nearest element.", ("linear", "nearest")
    ),
    OpSetting(
        "coordinates",
        "str",
        "unit",
        "Unit: 0 is the first edge and 1 the last, so the centres of the outer elements lie half an element inside. "
        "Elements: whole numbers are the centres of elements.",
        ("unit", "elements"),
    ),
    OpSetting("boundary", "str", "clamp", "Rule beyond the edge, as for a load.", memory.LOAD_BOUNDARIES),
)


def _sample_type(call: OpCall, axes: str) -> Signature:
    kind = read_as(call.buffer("buffer").dtype)
    for axis in axes:
        scalar(call, axis)
    return Signature(dict.fromkeys(axes, F32), {"out": kind if kind.is_float else kind.of(f32)})


def _sample(emission: Emission, code: OpCode, axes: str) -> dict[str, OpValue]:
    buffer, builder = code.buffer("buffer"), emission.builder
    kind = code.out
    places = [code.value(axis).parts[0] for axis in axes]
    if code.settings["coordinates"] == "unit":
        extents = [buffer.extent(name) for name in (("size",) if len(axes) == 1 else ("width", "height"))]
        sizes = [emission.scalar(extent, s32, f32) for extent in extents]
        half = constant(f32, 0.5)
        places = [builder.fsub(builder.fmul(p, n), half) for p, n in zip(places, sizes, strict=True)]
    if code.settings["filter"] == "nearest":
        near = [_floor(emission, builder.fadd(place, constant(f32, 0.5))) for place in places]
        return {"out": _at(emission, code, buffer, near, kind)}
    floors = [_floor(emission, place) for place in places]
    shares = [
        emission.scalar(builder.fsub(place, below), f32, kind.scalar)
        for place, below in zip(places, floors, strict=True)
    ]
    values = []
    for number in range(1 << len(axes)):
        corner = [
            builder.fadd(below, constant(f32, 1)) if number >> at & 1 else below for at, below in enumerate(floors)
        ]
        values.append(_at(emission, code, buffer, corner, kind).parts)
    for share in shares:
        values = [_blend(emission, kind, a, b, share) for a, b in zip(values[::2], values[1::2], strict=True)]
    return {"out": OpValue(kind, values[0])}


def _floor(emission: Emission, place: ir.Value) -> ir.Value:
    return emission.call("llvm.floor.f32", place.type, [place])


def _at(emission: Emission, code: OpCode, buffer: OpBuffer, place: list[ir.Value], kind: ValueType) -> OpValue:
    """Return an element as a float; the position is a whole number in f32, clamped to the range of s32."""
    indices = [emission.scalar(p, f32, s32) for p in place]
    return emission.convert(load_at(emission, buffer, indices, code.settings["boundary"]), kind)


def _blend(
    emission: Emission, kind: ValueType, a: tuple[ir.Value, ...], b: tuple[ir.Value, ...], share: ir.Value
) -> tuple[ir.Value, ...]:
    builder = emission.builder
    rest = builder.fsub(constant(kind.scalar, 1), share)
    return tuple(builder.fadd(builder.fmul(x, rest), builder.fmul(y, share)) for x, y in zip(a, b, strict=True))


for _axes, _id, _title, _doc in (
    (
        "u",
        "op.sample_1d",
        "Sample 1-D",
        "The value of a buffer, such as a table of colours, at a position between its elements.",
    ),
    ("uv", "op.sample", "Sample", "The value of an image at a position between its pixels. Whole numbers become f32."),
):
    register(
        OpType(
            _id,
            _title,
            "Images",
            _doc,
            (
                OpInput("buffer", "The image: the buffer of an input.", takes_buffer=True),
                *(take(axis, f"Position along {letter}.", 0.5) for axis, letter in zip(_axes, "xy", strict=False)),
            ),
            OUT,
            partial(_sample_type, axes=_axes),
            partial(_sample, axes=_axes),
            settings=_SETTINGS,
            tags=("texture", "lookup", "interpolate", "bilinear"),
            roams=True,
        )
    )
