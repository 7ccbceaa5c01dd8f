"""Blocks that random patches are made of; `patch_kernels.py` computes their kernels in numpy.

All buffers are matrices of u32, and all arithmetic is modulo 2^32, so that every result is exact.
"""

from pathlib import Path
from typing import Any

import numpy as np

from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.entries import (
    Argument,
    BufferArgument,
    ConditionArgument,
    Control,
    CopyEntry,
    DelayEntry,
    ElementArgument,
    Entry,
    ExtentArgument,
    FillEntry,
    FrameArgument,
    InternalBuffer,
    Kernel,
    KernelEntry,
    ParameterArgument,
    RegionKind,
    Status,
    StatusKind,
    Transform,
    ValueArgument,
    View,
)
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.types import u32

Array = np.ndarray[Any, Any]
FOLDER = str(Path(__file__).parent)
_WORD = InternalBuffer("stopped", u32, "[1]")
_CHOSEN = InternalBuffer("chosen", u32, "[1]")


def i(name: str = "x", **more: Any) -> PortSpec:
    """Return an input port of u32."""
    return PortSpec(name, "in", u32, "An input.", more.pop("shape", "same"), **more)


def o(name: str = "out", shape: str = "same(x)", **more: Any) -> PortSpec:
    """Return an output port of u32."""
    return PortSpec(name, "out", u32, "An output.", shape, **more)


def _read(name: str) -> BufferArgument:
    return BufferArgument(name, reads=True, writes=False)


def _write(name: str) -> BufferArgument:
    return BufferArgument(name, reads=False, writes=True)


def _change(name: str) -> BufferArgument:
    return BufferArgument(name, reads=True, writes=True)


def _extents(*names: str) -> tuple[ExtentArgument, ...]:
    return tuple(ExtentArgument(Extent(name)) for name in names)


def _launch(entry: str, size: str, *arguments: Argument, threads: int = 64) -> KernelEntry:
    count: int | Extent = Extent(size) if size else 1
    return KernelEntry(Kernel("patches.cu", entry), (count,), (threads if size else 1, 1, 1), arguments)


def block(*ports: PortSpec, entries: tuple[Entry, ...] = (), **more: Any) -> BlockDescription:
    """Return a block whose kernels are in this folder."""
    return BlockDescription(ports, entries, kernel_folders=(FOLDER,), **more)


_STRIDES = ("x.stride0", "x.stride1")
_WHOLE_X = (*_STRIDES, "x.dim1", "x.size")
_PARTNER = ("y.dim0", "y.dim1", "y.stride0", "y.stride1")


def array(contents: Array) -> BlockDescription:
    """Return a block that provides contents."""
    return block(o(shape="data"), contents={"out": contents})


def fresh(rows: int, columns: int, seed: int, default: float = 0.0) -> BlockDescription:
    """Return a block that computes numbers from the frame's index."""
    entry = _launch("fresh", "out.size", _write("out"), *_extents("out.size"), ValueArgument(seed), FrameArgument())
    return block(o(shape=f"[{rows}, {columns}]", default=default), entries=(entry,))


def blend(default: float = 0.0) -> BlockDescription:
    """Return a block that computes `x * a + y`, where `y` is repeated as needed."""
    arguments = (_read("x"), *_extents(*_STRIDES), _read("y"), *_extents(*_PARTNER), _write("out"))
    entry = _launch("blend", "out.size", *arguments, *_extents("out.dim1", "out.size"), ParameterArgument("a"))
    return block(i(strided=True), i("y", strided=True), o(default=default), entries=(entry,))


def scale() -> BlockDescription:
    """Return a block that computes `x = x * a + position`, in place."""
    entry = _launch("scale", "x.size", _change("x"), *_extents(*_WHOLE_X), ParameterArgument("a"))
    return block(i(strided=True), o(inplace="x"), entries=(entry,))


def absorb() -> BlockDescription:
    """Return a block that computes `x = x * 3 + y`, in place."""
    arguments = (_change("x"), *_extents(*_WHOLE_X), _read("y"), *_extents(*_PARTNER))
    entry = _launch("absorb", "x.size", *arguments)
    return block(i(strided=True), i("y", strided=True), o(inplace="x"), entries=(entry,))


def mix() -> BlockDescription:
    """Return a block with several entries that share an internal buffer."""
    entries = (
        FillEntry(_write("work"), 1),
        _launch("mix", "x.size", _read("x"), _change("work"), _write("out"), *_extents("x.size"), threads=32),
        _launch("unmix", "x.size", _read("work"), _change("out"), *_extents("x.size"), threads=128),
    )
    return block(i(), o(), entries=entries, buffers=(InternalBuffer("work", u32, "same(x)"),))


def total(default: float = 0.0) -> BlockDescription:
    """Return a block that sums all elements."""
    entry = _launch("total", "", _read("x"), *_extents(*_STRIDES, "x.dim0", "x.dim1"), _write("out"))
    return block(i(strided=True), o(shape="[1, 1]", default=default), entries=(entry,))


def is_rare(modulus: int) -> BlockDescription:
    """Return a block that outputs 1 if `modulus` divides the sum of all elements, else 0."""
    entry = _launch("is_rare", "", _read("x"), *_extents("x.size"), _write("out"), ValueArgument(modulus))
    return block(i(), o(shape="[1, 1]"), entries=(entry,))


def count_down() -> BlockDescription:
    """Return a block that decrements the first element to 0, from at most 3, in place."""
    return block(i(), o(inplace="x"), entries=(_launch("count_down", "", _change("x")),))


def copy() -> BlockDescription:
    """Return a block that copies without a kernel."""
    return block(i(), o(), entries=(CopyEntry(_write("out"), _read("x")),))


def clear(value: int) -> BlockDescription:
    """Return a block that sets every byte, in place."""
    return block(i(), o(inplace="x"), entries=(FillEntry(_write("x"), value),))


def keep() -> BlockDescription:
    """Return a block with state: `out = out * 5 + x`."""
    entry = _launch("keep", "x.size", _read("x"), _change("out"), *_extents("x.size"))
    return block(i(), o(state=True), entries=(entry,))


def delay(initial: int) -> BlockDescription:
    """Return a block that outputs `x` of the previous frame or iteration."""
    ports = (i("like"), i(delayed=True, shape="same(like)"), o(shape="same(like)"))
    return block(*ports, entries=(DelayEntry(_write("out"), _read("x"), initial),))


def view(transform: Transform) -> BlockDescription:
    """Return a block that outputs a view of its input."""
    return block(i(strided=True), o(shape="view"), views=(View("out", "x", transform),))


def choose(modulus: int, capacity: int | None) -> BlockDescription:
    """Return a block that outputs the elements that `modulus` divides, in any order: at most `capacity`, or all."""
    count = Kernel("append.cu", "count_appended")
    shape = "same(x)" if capacity is None else f"[1, {capacity}]"
    size = ExtentArgument(Extent("out.size"))
    arguments = (_read("x"), *_extents("x.size"), _change("out"), _change("out_counter"), size, ValueArgument(modulus))
    entries = (
        FillEntry(_write("out_counter"), 0),
        _launch("choose", "x.size", *arguments),
        KernelEntry(count, (1,), (1, 1, 1), (_read("out_counter"), _write("out_count"), size)),
    )
    return block(
        i(),
        o(shape=shape, append=True),
        o("out_count", "[1, 1]"),
        entries=entries,
        buffers=(InternalBuffer("out_counter", u32, "[1]"),),
        statuses=(Status("out_counter", StatusKind.APPENDED, "out", size),),
    )


def sum_first() -> BlockDescription:
    """Return a block that sums the first `count` elements."""
    entry = _launch("sum_first", "", _read("x"), _read("count"), _write("out"))
    return block(i(), i("count"), o(shape="[1, 1]"), entries=(entry,))


def when(element: int, *, otherwise: bool) -> BlockDescription:
    """Return an If or IfElse whose condition is one element."""
    begin = _control("begin_if", *_looked_at(element), _write("chosen"))
    kind, branches = (RegionKind.IF_ELSE, ("", "else")) if otherwise else (RegionKind.IF, ("",))
    return block(i("condition"), control=Control(kind, (begin,), "chosen", branches=branches), buffers=(_CHOSEN,))


def switch(element: int, branches: tuple[str, ...]) -> BlockDescription:
    """Return a Switch whose number is one element of `condition`."""
    begin = _control("begin_switch", *_looked_at(element), ValueArgument(len(branches)), _write("chosen"))
    control = Control(RegionKind.SWITCH, (begin,), "chosen", branches=branches)
    return block(i("condition"), control=control, buffers=(_CHOSEN,))


def loop_while(element: int) -> BlockDescription:
    """Return a While with the parameter `limit`."""
    looked_at, limit = _looked_at(element), ParameterArgument("limit")
    begin = _control("begin_while", *looked_at, _write("turns"), _change("stopped"), limit, _write("chosen"))
    turn = _control("turn_while", *looked_at, _change("turns"), _change("stopped"), limit)
    return _loop(RegionKind.WHILE, begin, turn, i("condition"), "turns")


def loop_for() -> BlockDescription:
    """Return a For with parameters `count` and `limit`; the input `counts` overrides `count`."""
    times, limit = (ParameterArgument("count"), _read("counts"), ElementArgument("counts")), ParameterArgument("limit")
    begin = _control("begin_for", *times, _write("index"), _change("stopped"), limit, _write("chosen"))
    turn = _control("turn_for", *times, _change("index"), _change("stopped"), limit)
    return _loop(RegionKind.FOR, begin, turn, i("counts", optional=True), "index")


def _loop(kind: RegionKind, begin: KernelEntry, turn: KernelEntry, given: PortSpec, counter: str) -> BlockDescription:
    return block(
        given,
        o(counter, "[1, 1]"),
        control=Control(kind, (begin,), "chosen", (turn,)),
        buffers=(_WORD, _CHOSEN),
        statuses=(Status("stopped", StatusKind.STOPPED, counter, ParameterArgument("limit")),),
    )


def _control(entry: str, *arguments: Argument) -> KernelEntry:
    return KernelEntry(Kernel("control.cu", entry), (1,), (1, 1, 1), (ConditionArgument(), *arguments))


def _looked_at(element: int) -> tuple[Argument, ...]:
    return _read("condition"), ElementArgument("condition"), ValueArgument(element)
