"""LLVM text around a kernel's body: the loops over thread blocks and over the threads of one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from warploom.engine.host_compiler import abi
from warploom.engine.host_compiler.accesses import CACHE_LINE
from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.code import quoted
from warploom.engine.host_compiler.memory_layout import MemoryLayout

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


@dataclass(frozen=True)
class RowPart:
    """Some threads of a row, the body that they run, and the code of each before it, at an exit, and at the end.

    `finish` also runs after a jump from the body to `thread.done`. The threads are all of a row if `condition` (i1)
    holds; with `first` and `end` (i32), those from `first` on that come before `end`. `is_single`: at most one.
    `slots` are stack slots that the part shares with the first part, by their names here. A row in which `gate` (i1) is
    false leaves out this part and all that follow; `resolve` is text that runs before the first thread of any other.
    `kind` is the metadata of the loop if it differs from that of the other parts.
    """

    body: Body
    before: str = ""
    after: str = ""
    finish: str = ""
    condition: str = ""
    first: str = ""
    end: str = ""
    is_single: bool = False
    slots: Mapping[str, str] = field(default_factory=dict)
    gate: str = ""
    resolve: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Loops:
    """Text of the loops over threads: stack slots, the code before any thread, and the loops."""

    slots: str
    prologue: str
    text: str


def thread_loops(
    parts: Sequence[RowPart], ranges: Mapping[str, tuple[str, str]], done: str, kind: str = "", bounds: str = ""
) -> Loops:
    """Return loops over z and y, and in each row one over x for each part.

    `ranges` gives the first thread and the end of each axis; control leaves to `done`. `kind` is the metadata of the
    innermost loops. `bounds` computes in each row which threads run which part.
    """
    (z0, z1), (y0, y1), (x0, x1) = ranges["z"], ranges["y"], ranges["x"]
    accesses = parts[0].body.accesses
    at, leave, row, next_row, edges = "loop.y", "latch.y", "", "", (x0, x1)
    if width := accesses.row_width:
        at, leave, next_row, edges = "loop.row", "latch.row", _NEXT_ROW, ("0", str(width))
        row = _row(x0, x1, width) + (_WARP if accesses.in_warps else "")
    slots, prologue, loops = "", "", ""
    for number, part in enumerate(parts):
        following = f"part.{number + 1}" if number + 1 < len(parts) else leave
        lines = "".join(f"{line}\n" for line in part.body.accesses.row_lines) + ("" if number else bounds)
        head = f"{at}:\n" if number else ""
        if part.gate:
            at = f"{at}.gated"
            head += f"  br i1 {part.gate}, label %{at}, label %{leave}\n{at}:\n"
        head += part.resolve
        first = "%row.begin" if width else x0
        lines += "".join(f"{line}\n" for line in part.body.accesses.ahead_lines(first))
        inside, in_pieces = at, part.body.accesses.follows_turns and not width and not part.is_single
        if not in_pieces:
            ahead, inside = _look_ahead(part.body, at, first, edges)
            lines += ahead
        lines += _part(part, inside, following, edges, part.kind or kind, is_lane=bool(width), in_pieces=in_pieces)
        entry = [line for line in part.body.code.entry if line.split()[0] not in part.slots]
        texts = ["\n".join(entry), "\n".join(part.body.accesses.prologue), lines]
        if number:
            texts = _renamed(texts, f".{number}", part.slots)
        loops += head
        slots, prologue, loops = (
            before + text + end for before, text, end in zip((slots, prologue, loops), texts, "\n\n ", strict=True)
        )
        at = following
    return Loops(
        slots,
        prologue,
        f"""  br label %threads
threads:
  br label %loop.z
loop.z:
  %tid.z = phi i32 [{z0}, %threads], [%z.next, %latch.z]
  br label %loop.y
loop.y:
  %tid.y = phi i32 [{y0}, %loop.z], [%y.next, %latch.y]
{row}{loops}{next_row}latch.y:
  %y.next = add nuw nsw i32 %tid.y, 1
  %y.more = icmp slt i32 %y.next, {y1}
  br i1 %y.more, label %loop.y, label %latch.z
latch.z:
  %z.next = add nuw nsw i32 %tid.z, 1
  %z.more = icmp slt i32 %z.next, {z1}
  br i1 %z.more, label %loop.z, label %{done}
""",
    )


#: In a loop, prefetches for so many threads are followed by their work: a processor waits for few lines at once.
_PIECE = 64


def _look_ahead(body: Body, at: str, first: str, edges: tuple[str, str]) -> tuple[str, str]:
    """Return loops that prefetch the addresses of threads in the thread block after the next, or in a later turn of a
    loop, and the block where they end. The threads begin with `first`, and are as many as those between the edges.

    A thread block often lies in memory as lines that are far apart, which the processor does not expect.
    """
    text = ""
    for number, (pointer, slope) in enumerate(body.accesses.ahead):
        name = f"ahead.{number}"
        text += f"""  %{name}.first = mul i32 {first}, {slope}
  %{name}.threads = sub i32 {edges[1]}, {edges[0]}
  %{name}.bytes = mul i32 %{name}.threads, {slope}
  %{name}.end = add i32 %{name}.first, %{name}.bytes
  br label %{name}
{name}:
  %{name}.byte = phi i32 [%{name}.first, %{at}], [%{name}.next, %{name}]
  %{name}.at = getelementptr i8, ptr {pointer}, i32 %{name}.byte
  call void @llvm.prefetch.p0(ptr %{name}.at, i32 0, i32 3, i32 1)
  %{name}.next = add i32 %{name}.byte, {CACHE_LINE}
  %{name}.more = icmp slt i32 %{name}.next, %{name}.end
  br i1 %{name}.more, label %{name}, label %{name}.done
{name}.done:
"""
        at = f"{name}.done"
    return text, at


def _part(
    part: RowPart, at: str, leave: str, edges: tuple[str, str], kind: str, *, is_lane: bool, in_pieces: bool
) -> str:
    """Return the loop over x of a part, which is entered from the block `at`.

    With `in_pieces`, it is a loop over pieces, and in it loops over the threads of one.
    """
    first, end = edges
    inside = "pieces" if in_pieces else "loop.x"
    enter = f"  br label %{inside}\n"
    if part.condition:
        enter = f"  br i1 {part.condition}, label %{inside}, label %{leave}\n"
    if part.first:
        enter, begin, stop = "", part.first, part.end
        if is_lane:
            enter = f"  %x.begin = sub i32 {begin}, %row.begin\n  %x.stop = sub i32 {stop}, %row.begin\n"
            begin, stop = "%x.begin", "%x.stop"
        enter += f"  %x.any = icmp slt i32 {begin}, {stop}\n  br i1 %x.any, label %{inside}, label %{leave}\n"
        first, end = begin, stop
    latch = ""
    if in_pieces:
        ahead, entry = _look_ahead(part.body, "pieces", "%piece.first", ("%piece.first", "%piece.end"))
        enter += f"""pieces:
  %piece.first = phi i32 [{first}, %{at}], [%piece.end, %latch.piece]
  %piece.full = add i32 %piece.first, {_PIECE}
  %piece.end = call i32 @llvm.smin.i32(i32 %piece.full, i32 {end})
{ahead}  br label %loop.x
"""
        latch = f"""latch.piece:
  %piece.more = icmp slt i32 %piece.end, {end}
  br i1 %piece.more, label %pieces, label %{leave}
"""
        first, end, at, leave = "%piece.first", "%piece.end", entry, "latch.piece"
    counter, lane = ("%lane", _LANE) if is_lane else ("%tid.x", "")
    again, onward = ", [%x.next, %latch.x]", f"  br i1 %x.more, label %loop.x, label %{leave}{kind}\n"
    if part.is_single:
        again, onward = "", f"  br label %{leave}\n"
    lines = "\n".join(part.body.code.lines)
    return f"""{enter}loop.x:
  {counter} = phi i32 [{first}, %{at}]{again}
{lane}  %tid.x.wide = zext nneg i32 %tid.x to i64
{part.before}{part.body.cleared()}
  br label %body
body:
{lines}
thread.exit:
{part.after}  br label %thread.done
thread.done:
{part.finish}  br label %latch.x
latch.x:
  %x.next = add nuw nsw i32 {counter}, 1
  %x.more = icmp slt i32 %x.next, {end}
{onward}{latch}"""


_DEFINED = re.compile(r"^(?:  %([\w.]+) =|([\w.]+):)", re.M)
_NAME = re.compile(r"%([\w.]+)|^([\w.]+)(?=:)", re.M)


def _renamed(texts: Sequence[str], suffix: str, slots: Mapping[str, str]) -> list[str]:
    """Return texts whose own names end with a suffix; shared slots get their names elsewhere."""
    own = {first or second for text in texts for first, second in _DEFINED.findall(text)}

    def name(found: re.Match[str]) -> str:
        if found[0] in slots:
            return slots[found[0]]
        return found[0] + suffix if (found[1] or found[2]) in own else found[0]

    return [_NAME.sub(name, text) for text in texts]


def _row(x0: str, x1: str, width: int) -> str:
    """Return the beginning of the loop over rows of `width` threads."""
    shift = width.bit_length() - 1
    return f"""  %row.start = lshr i32 {x0}, {shift}
  %row.end = lshr i32 {x1}, {shift}
  br label %loop.row
loop.row:
  %row = phi i32 [%row.start, %loop.y], [%row.next, %latch.row]
  %row.begin = shl i32 %row, {shift}
  %row.first = zext i32 %row.begin to i64
"""


#: Whole warps: the number of the first thread, and each thread's lane.
_WARP = """  %warp.row = mul i32 %tid.z, %ny
  %warp.row2 = add i32 %warp.row, %tid.y
  %warp.start = mul i32 %warp.row2, %nx
  %warp = add i32 %warp.start, %row.begin
  %warp.wide = zext i32 %warp to i64
"""
_LANE = """  %lane.wide = zext nneg i32 %lane to i64
  %tid.x = add nuw nsw i32 %row.begin, %lane
"""

_NEXT_ROW = """latch.row:
  %row.next = add i32 %row, 1
  %row.more = icmp slt i32 %row.next, %row.end
  br i1 %row.more, label %loop.row, label %latch.y
"""


def block_position() -> str:
    """Return the three coordinates of thread block `%block`; only the number of rows before it needs 64 bits."""
    return (
        "".join(launch_i32(f"g{axis}", index) for axis, index in zip("xy", abi.GRID, strict=False))
        + """  %block.row.wide = udiv i64 %block, %gx.wide
  %block.row = trunc i64 %block.row.wide to i32
  %block.before = mul i32 %block.row, %gx
  %block.narrow = trunc i64 %block to i32
  %ctaid.x = sub i32 %block.narrow, %block.before
  %ctaid.y = urem i32 %block.row, %gy
  %ctaid.z = udiv i32 %block.row, %gy
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


def share(kernel: str, missed_bytes: int | None = None, choice: str = "") -> str:
    """Return the function `share.KERNEL`, by which workers take `%chunk` thread blocks at a time.

    `choice` is text that yields the function `%run` of the version that runs them, if there are several. With
    `missed_bytes`, the size of the arguments, there is also `missed.KERNEL`: the number of thread blocks in launches
    that may be worth a version of their own, and the arguments of the last such launch.
    """
    run = "%run" if choice else f"@{quoted('run.' + kernel)}"
    taken, missed = "ptr %launch, ptr %params, ptr %worker, i64 %blocks, i64 %chunk", ""
    if missed_bytes is not None:
        missed = f"@{quoted('missed.' + kernel)} = global [{8 + missed_bytes} x i8] zeroinitializer, align 16\n"
    return f"""
{missed}define i32 @{quoted("share." + kernel)}({taken}) nounwind {{
{choice}  %result = call i32 @wl.share({taken}, ptr {run})
  ret i32 %result
}}
"""


def noted_if_missed(kernel: str, size: int, is_served: str) -> str:
    """Return the text that notes a launch in `missed.KERNEL` unless `is_served` holds; its arguments have `size` bytes.

    The worker that comes first does that. What several launches write at once may mix their arguments, which only makes
    a worse guess.
    """
    missed = f"@{quoted('missed.' + kernel)}"
    return f"""  br i1 {is_served}, label %served, label %missed, !prof !2
missed:
  %next.at = getelementptr i64, ptr %launch, i64 {abi.NEXT}
  %next = load atomic i64, ptr %next.at monotonic, align 8
  %is.first = icmp eq i64 %next, 0
  br i1 %is.first, label %first, label %served
first:
  %noted = getelementptr i8, ptr {missed}, i64 8
  call void @llvm.memcpy.inline.p0.p0.i64(ptr %noted, ptr %params, i64 {size}, i1 false)
  %before = atomicrmw add ptr {missed}, i64 %blocks monotonic
  br label %served
served:
"""
