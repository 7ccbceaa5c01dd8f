"""Special registers: tables of name -> emitter of its value."""

from collections.abc import Callable

from warploom.engine.host_compiler import abi
from warploom.engine.host_compiler.code import Code
from warploom.engine.host_compiler.memory_layout import MemoryLayout

#: Writes the code for a register's value, and returns the value.
WriteRegister = Callable[[Code, MemoryLayout], str]


def launch_field(code: Code, index: int) -> str:
    """Return a field of the launch record as i32."""
    pointer = code.value(f"getelementptr i64, ptr %launch, i64 {index}")
    wide = code.value(f"load i64, ptr {pointer}, !invariant.load !0")
    return code.value(f"trunc i64 {wide} to i32")


def linear_thread(code: Code) -> str:
    """Return the thread's number in its thread block as i32."""
    row = code.value(f"mul i32 %tid.z, {launch_field(code, abi.THREAD_BLOCK[1])}")
    row = code.value(f"add i32 {row}, %tid.y")
    row = code.value(f"mul i32 {row}, {launch_field(code, abi.THREAD_BLOCK[0])}")
    return code.value(f"add i32 {row}, %tid.x")


def _lane(code: Code, _layout: MemoryLayout) -> str:
    return code.value(f"and i32 {linear_thread(code)}, 31")


def _lane_mask(test: str) -> WriteRegister:
    def emit(code: Code, layout: MemoryLayout) -> str:
        bit = code.value(f"shl i32 1, {_lane(code, layout)}")
        below = code.value(f"sub i32 {bit}, 1")
        if test == "eq":
            return bit
        if test == "lt":
            return below
        le = code.value(f"or i32 {below}, {bit}")
        if test == "le":
            return le
        return code.value(f"xor i32 {le if test == 'gt' else below}, -1")

    return emit


def _half(wide: WriteRegister, shift: int) -> WriteRegister:
    def emit(code: Code, layout: MemoryLayout) -> str:
        value = code.value(f"lshr i64 {wide(code, layout)}, {shift}")
        return code.value(f"trunc i64 {value} to i32")

    return emit


def _called(function: str) -> WriteRegister:
    return lambda code, _layout: code.value(f"call i64 @{function}()")


def _field(index: int) -> WriteRegister:
    return lambda code, _layout: launch_field(code, index)


def _dynamic_shared(code: Code, layout: MemoryLayout) -> str:
    return code.value(f"sub i32 {launch_field(code, abi.SHARED_BYTES)}, {layout.static_shared}")


def _named(value: str) -> WriteRegister:
    return lambda _code, _layout: value


#: The name of the variable with a grid's barrier, whose address is in `grid_barriers.REGISTERS`.
GRID_BARRIER = "%wl$grid"

_clock = _called("llvm.readcyclecounter")
_nanoseconds = _called("wl.nanoseconds")
_grid_barrier = _named(f'ptrtoint (ptr @"{GRID_BARRIER}" to i64)')


#: Registers of 32 bits and less. A cluster has one thread block.
SPECIAL: dict[str, WriteRegister] = {
    **{f"%tid.{axis}": _named(f"%tid.{axis}") for axis in "xyz"},
    **{f"%ctaid.{axis}": _named(f"%ctaid.{axis}") for axis in "xyz"},
    **{f"%ntid.{axis}": _field(index) for axis, index in zip("xyz", abi.THREAD_BLOCK, strict=True)},
    **{f"%nctaid.{axis}": _field(index) for axis, index in zip("xyz", abi.GRID, strict=True)},
    **{f"%clusterid.{axis}": _named(f"%ctaid.{axis}") for axis in "xyz"},
    **{f"%nclusterid.{axis}": _field(index) for axis, index in zip("xyz", abi.GRID, strict=True)},
    **{f"%cluster_ctaid.{axis}": _named("0") for axis in "xyz"},
    **{f"%cluster_nctaid.{axis}": _named("1") for axis in "xyz"},
    **{f"%{kind}{name}.w": _named("0") for kind in ("", "n") for name in ("tid", "ctaid", "clusterid")},
    **{f"%cluster_{kind}ctaid.w": _named("0") for kind in ("", "n")},
    **{f"%lanemask_{kind}": _lane_mask(kind) for kind in ("eq", "lt", "le", "gt", "ge")},
    **{f"%envreg{index}": _named("0") for index in range(32)},
    "%envreg1": _half(_grid_barrier, 32),
    "%envreg2": _half(_grid_barrier, 0),
    **{f"%pm{index}": _named("0") for index in range(8)},
    **{f"%reserved_smem_offset_{name}": _named("0") for name in ("begin", "end", "cap", "0", "1")},
    "%cluster_ctarank": _named("0"),
    "%cluster_nctarank": _named("1"),
    "%is_explicit_cluster": _named("0"),
    "%laneid": _lane,
    "%warpid": lambda code, _layout: code.value(f"lshr i32 {linear_thread(code)}, 5"),
    "%nwarpid": _named("32"),
    "%smid": _named("0"),
    "%nsmid": _named("1"),
    "%total_smem_size": _field(abi.SHARED_BYTES),
    "%aggr_smem_size": _field(abi.SHARED_BYTES),
    "%dynamic_smem_size": _dynamic_shared,
    "%clock": _half(_clock, 0),
    "%clock_hi": _half(_clock, 32),
    "%globaltimer_lo": _half(_nanoseconds, 0),
    "%globaltimer_hi": _half(_nanoseconds, 32),
}
for _name in ("tid", "ntid", "ctaid", "nctaid"):
    SPECIAL[f"%{_name}"] = SPECIAL[f"%{_name}.x"]

#: Registers of 64 bits.
SPECIAL_WIDE: dict[str, WriteRegister] = {
    "%clock64": _clock,
    "%globaltimer": _nanoseconds,
    "%gridid": _named("0"),
    "%current_graph_exec": _named("0"),
    **{f"%pm{index}_64": _named("0") for index in range(8)},
}
