"""The position of a thread: its element, its place in the thread block, and the thread block's place in the grid."""

from __future__ import annotations

from collections.abc import Callable

from warploom.engine.ops.emission import Emission, OpValue, constant
from warploom.engine.ops.rules import fixed
from warploom.engine.ops.table import OpCode, OpOutput, OpType, register
from warploom.engine.ops.types import F32, S32
from warploom.engine.types import f32, s32

_CATEGORY = "Indices"
_EXTENTS = ("width", "height", "depth")


def _element(emission: Emission, code: OpCode) -> dict[str, OpValue]:
    """Emit only outputs that are used, so that an unused size does not become an argument."""
    made: dict[str, OpValue] = {}
    for at, (axis, share, extent) in enumerate(zip("xyz", "uvw", _EXTENTS, strict=True)):
        if axis in code.used:
            made[axis] = OpValue(S32, (emission.place[at],))
        if extent in code.used:
            made[extent] = OpValue(S32, (emission.extent(extent),))
        if share in code.used:
            builder = emission.builder
            centre = builder.fadd(emission.scalar(emission.place[at], s32, f32), constant(f32, 0.5))
            made[share] = OpValue(F32, (builder.fdiv(centre, emission.scalar(emission.extent(extent), s32, f32)),))
    if "index" in code.used:
        made["index"] = OpValue(S32, (emission.index,))
    if "count" in code.used:
        made["count"] = OpValue(S32, (emission.extent("size"),))
    return made


_INDEX = (
    OpOutput("index", "Index of this thread's element, counted from 0; x is the fastest axis."),
    OpOutput("count", "Number of elements that are computed."),
)
register(
    OpType(
        "op.index",
        "Index",
        _CATEGORY,
        "Index of this thread's element in the buffer.",
        (),
        _INDEX,
        fixed(index=S32, count=S32),
        _element,
        tags=("i", "thread", "linear"),
    )
)


def _axes(rank: int) -> tuple[OpOutput, ...]:
    names = ("column", "row", "layer")[:rank]
    places = [
        OpOutput(axis, f"This thread's {name}, counted from 0.") for axis, name in zip("xyz", names, strict=False)
    ]
    shares = [
        OpOutput(share, f"The centre of the element along {axis}, from 0 to 1.")
        for share, axis in zip("uvw", "xyz"[:rank], strict=False)
    ]
    extents = [
        OpOutput(name, f"Number of elements along {axis}.") for name, axis in zip(_EXTENTS, "xyz"[:rank], strict=False)
    ]
    return (*places, *shares, *extents, *_INDEX)


for _rank, _id, _title, _doc in (
    (2, "op.position", "Position", "Position of this thread's element in an image."),
    (3, "op.position3", "Position 3-D", "Position of this thread's element in a volume."),
):
    _ports = _axes(_rank)
    _kinds = {port.name: F32 if port.name in "uvw" else S32 for port in _ports}
    register(
        OpType(
            _id,
            _title,
            _CATEGORY,
            _doc,
            (),
            _ports,
            fixed(**_kinds),
            _element,
            tags=("pixel", "coordinates", "uv"),
            rank=_rank,
        )
    )


def _registers(names: dict[str, str]) -> Callable[[Emission, OpCode], dict[str, OpValue]]:
    def emit(emission: Emission, code: OpCode) -> dict[str, OpValue]:
        return {port: OpValue(S32, (emission.special(name),)) for port, name in names.items() if port in code.used}

    return emit


def _define(name: str, title: str, doc: str, ports: dict[str, tuple[str, str]]) -> None:
    outputs = tuple(OpOutput(port, text) for port, (_, text) in ports.items())
    emit = _registers({port: register_name for port, (register_name, _) in ports.items()})
    rule = fixed(**dict.fromkeys(ports, S32))
    register(OpType(f"op.{name}", title, _CATEGORY, doc, (), outputs, rule, emit, tags=("cuda",), roams=True))


_define(
    "thread",
    "Thread",
    "Position of this thread in its thread block.",
    {
        **{axis: (f"tid.{axis}", f"The place along {axis}, from 0.") for axis in "xyz"},
        "lane": ("laneid", "Position in the warp, from 0 to 31."),
    },
)
_define(
    "thread_block",
    "Thread Block",
    "Position of this thread's thread block in the grid, and its extent in threads.",
    {
        **{axis: (f"ctaid.{axis}", f"The place along {axis}, from 0.") for axis in "xyz"},
        **{name: (f"ntid.{axis}", f"Threads along {axis}.") for name, axis in zip(_EXTENTS, "xyz", strict=True)},
    },
)
_define(
    "grid",
    "Grid",
    "Extent of the grid in thread blocks.",
    {name: (f"nctaid.{axis}", f"Thread blocks along {axis}.") for name, axis in zip(_EXTENTS, "xyz", strict=True)},
)
