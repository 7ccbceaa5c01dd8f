"""LLVM text around a kernel's body: the loops over thread blocks and over the threads of one."""

from engine.device.host.translate import abi
from engine.device.host.translate.body import Body
from engine.device.host.translate.code import quoted
from engine.device.host.translate.memory_layout import MemoryLayout

#: The parameters of a kernel's entry, which runs thread blocks `%first` to `%last`.
RUN = "ptr noalias %launch, ptr noalias %params, ptr noalias %worker, i64 %first, i64 %last"


def launch_i32(name: str, index: int) -> str:
    """Return the load of a launch field as i32 `%name`."""
    return (
        f"  %{name}.at = getelementptr i64, ptr %launch, i64 {index}\n"
        f"  %{name}.wide = load i64, ptr %{name}.at, !invariant.load !0\n"
        f"  %{name} = trunc i64 %{name}.wide to i32\n"
    )


def memory_prologue(layout: MemoryLayout) -> str:
    """Return the loads of the shared memory's address and size, and of the thread block's size."""
    size = (
        f"  %shared.bytes.at = getelementptr i64, ptr %launch, i64 {abi.SHARED_BYTES}\n"
        "  %shared.bytes = load i64, ptr %shared.bytes.at\n"
    )
    if layout.fixed_shared is not None:
        size = f"  %shared.bytes = add i64 0, {layout.fixed_shared}\n"
    return (
        f"  %shared.at = getelementptr i64, ptr %worker, i64 {abi.SHARED}\n"
        f"  %shared = load ptr, ptr %shared.at\n{size}"
        + "".join(launch_i32(f"n{axis}", index) for axis, index in zip("xyz", abi.THREAD_BLOCK, strict=True))
    )


def thread_loop(
    body: Body,
    before: str,
    after: str,
    ranges: dict[str, tuple[str, str]],
    done: str,
    finish: str = "",
    kind: str = "",
    bounds: str = "",
) -> str:
    """Return the loops over z, y and x around the body.

    `before` runs at the start of each thread and `after` when it exits. `finish` runs last, also after a jump from the
    body to `thread.done`. `ranges` gives the first thread and the end of each axis; control leaves to `done`. `kind` is
    the metadata of the innermost loop. `bounds` yields `%x.first` and `%x.end` where some threads of a row need not
    run.
    """
    (z0, z1), (y0, y1), (x0, x1) = ranges["z"], ranges["y"], ranges["x"]
    lines = "\n".join(body.code.lines)
    rows = "".join(f"{line}\n" for line in body.accesses.rows.lines)
    start = "  br label %loop.x"
    before_x, after_x, latch = "loop.y", "latch.y", ""
    if width := body.accesses.rows.width:
        before_x, after_x, rows, latch = "loop.row", "latch.row", _row(x0, x1, width) + rows, _NEXT_ROW
        x0, x1 = "%row.x0", "%row.x1"
    if bounds:
        x0, x1 = "%x.first", "%x.end"
        start = f"{bounds}  %x.any = icmp slt i32 %x.first, %x.end\n  br i1 %x.any, label %loop.x, label %{after_x}"
    return f"""  br label %threads
threads:
  br label %loop.z
loop.z:
  %tid.z = phi i32 [{z0}, %threads], [%z.next, %latch.z]
  br label %loop.y
loop.y:
  %tid.y = phi i32 [{y0}, %loop.z], [%y.next, %latch.y]
{rows}{start}
loop.x:
  %tid.x = phi i32 [{x0}, %{before_x}], [%x.next, %latch.x]
  %tid.x.wide = zext nneg i32 %tid.x to i64
{before}{body.cleared()}
  br label %body
body:
{lines}
thread.exit:
{after}  br label %thread.done
thread.done:
{finish}  br label %latch.x
latch.x:
  %x.next = add nuw nsw i32 %tid.x, 1
  %x.more = icmp slt i32 %x.next, {x1}
  br i1 %x.more, label %loop.x, label %{after_x}{kind}
{latch}latch.y:
  %y.next = add nuw nsw i32 %tid.y, 1
  %y.more = icmp slt i32 %y.next, {y1}
  br i1 %y.more, label %loop.y, label %latch.z
latch.z:
  %z.next = add nuw nsw i32 %tid.z, 1
  %z.more = icmp slt i32 %z.next, {z1}
  br i1 %z.more, label %loop.z, label %{done}
"""


def _row(x0: str, x1: str, width: int) -> str:
    """Return the beginning of the loop over rows of `width` threads, at multiples of it."""
    shift = width.bit_length() - 1
    return f"""  %row.start = lshr i32 {x0}, {shift}
  %row.end = sub i32 {x1}, 1
  %row.last = lshr i32 %row.end, {shift}
  br label %loop.row
loop.row:
  %row = phi i32 [%row.start, %loop.y], [%row.next, %latch.row]
  %row.begin = shl i32 %row, {shift}
  %row.first = zext i32 %row.begin to i64
  %row.x0 = call i32 @llvm.smax.i32(i32 {x0}, i32 %row.begin)
  %row.limit = add i32 %row.begin, {width}
  %row.x1 = call i32 @llvm.smin.i32(i32 {x1}, i32 %row.limit)
"""


_NEXT_ROW = """latch.row:
  %row.next = add i32 %row, 1
  %row.more = icmp sle i32 %row.next, %row.last
  br i1 %row.more, label %loop.row, label %latch.y
"""


def block_position() -> str:
    """Return the three coordinates of thread block `%block`."""
    return (
        "".join(launch_i32(f"g{axis}", index) for axis, index in zip("xy", abi.GRID, strict=False))
        + """  %block.narrow = trunc i64 %block to i32
  %ctaid.x = urem i32 %block.narrow, %gx
  %block.rows = udiv i32 %block.narrow, %gx
  %ctaid.y = urem i32 %block.rows, %gy
  %ctaid.z = udiv i32 %block.rows, %gy
"""
    )


def block_loop(prologue: str, inner: str) -> str:
    """Return the loop over thread blocks `%first` to `%last` around `inner`, which leaves to `block.done`.

    A fault ends it: the block's number goes to the worker record and the function returns 1.
    """
    return f"""start:
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  call void @wl.begin(ptr %worker, ptr %frame)
  %point.line.at = getelementptr i64, ptr %worker, i64 {abi.POINT_LINE}
  store i64 0, ptr %point.line.at
{prologue}
  br label %blocks
blocks:
  %block = phi i64 [%first, %start], [%block.next, %block.ok]
{block_position()}
{inner}
block.done:
  %block.ends = call zeroext i1 @wl.ends_after(ptr %launch, ptr %worker, i64 %block)
  br i1 %block.ends, label %failed, label %block.ok
block.ok:
  %block.next = add nuw nsw i64 %block, 1
  %block.more = icmp slt i64 %block.next, %last
  br i1 %block.more, label %blocks, label %finished
finished:
  ret i32 0
failed:
  ret i32 1
"""


def share(kernel: str) -> str:
    """Return the function `share.KERNEL`, by which workers take `%chunk` thread blocks at a time."""
    return f"""
define i32 @{quoted("share." + kernel)}(ptr %launch, ptr %params, ptr %worker, i64 %blocks, i64 %chunk) nounwind {{
  %result = call i32 @wl.share(
    ptr %launch, ptr %params, ptr %worker, i64 %blocks, i64 %chunk, ptr @{quoted("run." + kernel)})
  ret i32 %result
}}
"""
