"""Special registers: table of name -> emitter of its value as i32."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.device.host.translate import abi

if TYPE_CHECKING:
    from engine.device.host.translate.body import Body


def launch_field(body: Body, index: int) -> str:
    """Return a field of the launch record as i32."""
    pointer = body.code.value(f"getelementptr i64, ptr %launch, i64 {index}")
    wide = body.code.value(f"load i64, ptr {pointer}, !invariant.load !0")
    return body.code.value(f"trunc i64 {wide} to i32")


def linear_thread(body: Body) -> str:
    """Return the thread's number in its thread block as i32."""
    code = body.code
    row = code.value(f"mul i32 %tid.z, {launch_field(body, abi.THREAD_BLOCK[1])}")
    row = code.value(f"add i32 {row}, %tid.y")
    row = code.value(f"mul i32 {row}, {launch_field(body, abi.THREAD_BLOCK[0])}")
    return code.value(f"add i32 {row}, %tid.x")


def _lane(body: Body) -> str:
    return body.code.value(f"and i32 {linear_thread(body)}, 31")


def _lane_mask(expression: str) -> Callable[[Body], str]:
    def emit(body: Body) -> str:
        bit = body.code.value(f"shl i32 1, {_lane(body)}")
        below = body.code.value(f"sub i32 {bit}, 1")
        if expression == "eq":
            return bit
        if expression == "lt":
            return below
        le = body.code.value(f"or i32 {below}, {bit}")
        if expression == "le":
            return le
        return body.code.value(f"xor i32 {le if expression == 'gt' else below}, -1")

    return emit


def _clock(body: Body) -> str:
    return body.code.value(f"trunc i64 {clock64(body)} to i32")


def clock64(body: Body) -> str:
    """Return the processor's cycle counter as i64."""
    return body.code.value("call i64 @llvm.readcyclecounter()")


def _field(index: int) -> Callable[[Body], str]:
    return lambda body: launch_field(body, index)


def _named(value: str) -> Callable[[Body], str]:
    return lambda _body: value


SPECIAL: dict[str, Callable[[Body], str]] = {
    **{f"%tid.{axis}": _named(f"%tid.{axis}") for axis in "xyz"},
    **{f"%ctaid.{axis}": _named(f"%ctaid.{axis}") for axis in "xyz"},
    **{f"%ntid.{axis}": _field(index) for axis, index in zip("xyz", abi.THREAD_BLOCK, strict=True)},
    **{f"%nctaid.{axis}": _field(index) for axis, index in zip("xyz", abi.GRID, strict=True)},
    **{f"%lanemask_{kind}": _lane_mask(kind) for kind in ("eq", "lt", "le", "gt", "ge")},
    "%laneid": _lane,
    "%warpid": lambda body: body.code.value(f"lshr i32 {linear_thread(body)}, 5"),
    "%nwarpid": _named("32"),
    "WARP_SZ": _named("32"),
    "%smid": _named("0"),
    "%nsmid": _named("1"),
    "%gridid": _named("0"),
    "%clock": _clock,
}
SPECIAL["%tid"], SPECIAL["%ctaid"] = SPECIAL["%tid.x"], SPECIAL["%ctaid.x"]
