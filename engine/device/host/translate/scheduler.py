"""LLVM text of the scheduler: which phase of a waiting kernel runs next, for which threads.

As long as all threads of a thread block reach the same point, the next phase runs for all of them. When they part, one
round lets every warp go on whose members have all arrived, and else every barrier that is complete. When neither
moves and a thread still waits, it will wait for ever: that is a fault.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.device.host.translate import abi
from engine.device.host.translate.body import quoted
from engine.device.host.translate.points import BARRIER, COUNT, MEMBERS, NUMBER, WARP, YIELD, Point, exchange
from engine.device.host.translate.resolvers import ARRIVED, BARRIERS, STATE, element
from engine.device.host.translate.threads import block_loop, launch_i32
from engine.ptx.tree import Integer

EXITED = -1
_RELEASED = 1 << 30
# What runs only when threads part is kept small: it takes the optimiser longer than all the rest.
_RARE = "nounwind noinline minsize optsize"
_FRAME = "ptr %launch, ptr %params, ptr %worker, ptr %scratch, i32 %ctaid.x, i32 %ctaid.y, i32 %ctaid.z"
RUN = "ptr noalias %launch, ptr noalias %params, ptr noalias %worker, i64 %first, i64 %last"


def text(
    kernel: str,
    phases: Sequence[str],
    points: Sequence[Point],
    lines: Sequence[int],
    sure: Sequence[int],
    *,
    counts_arrivals: bool,
) -> str:
    """Return the entry of a waiting kernel, with its helpers; `counts_arrivals` when it has `bar.arrive`.

    `sure` gives the point that each phase surely leads to, 0 for none: such a phase leaves no state behind.
    """
    prefix = kernel + "|"
    parts = [
        _step(prefix, phases, points, sure),
        _resolve(prefix, points, "resolve.warp", WARP),
        _resolve(prefix, points, "resolve.barrier", BARRIER),
        _table(prefix, "kind", [0, *(point.kind for point in points)]),
        _table(prefix, "line", [0, *lines]),
        _warps(prefix),
        _barriers(prefix),
        _yields(prefix),
        _entry(kernel, prefix, phases, sure, counts_arrivals=counts_arrivals),
    ]
    return "\n".join(parts)


def _function(prefix: str, name: str) -> str:
    return "@" + quoted(prefix + name)


def _table(prefix: str, name: str, values: Sequence[int]) -> str:
    """Return a function from state to a constant; 0 for threads that have ended."""
    cases = " ".join(f"i32 {index}, label %s{index}" for index in range(1, len(values)))
    bodies = "".join(f"s{index}:\n  ret i32 {values[index]}\n" for index in range(1, len(values)))
    return (
        f"define internal i32 {_function(prefix, name)}(i32 %state) nounwind {{\nentry:\n"
        f"  switch i32 %state, label %none [{cases}]\n{bodies}none:\n  ret i32 0\n}}\n"
    )


def _resolve(prefix: str, points: Sequence[Point], name: str, kind: int) -> str:
    numbers = [index for index, point in enumerate(points, 1) if point.kind == kind and point.resolver]
    resolvers = list(dict.fromkeys(points[index - 1].resolver for index in numbers))
    cases = " ".join(f"i32 {index}, label %s{resolvers.index(points[index - 1].resolver)}" for index in numbers)
    bodies = "".join(
        f"s{index}:\n  call void @{resolver}(ptr %scratch, i32 %first, i32 %count, i32 %mask)\n  ret void\n"
        for index, resolver in enumerate(resolvers)
    )
    return (
        f"define internal void {_function(prefix, name)}(i32 %state, ptr %scratch, i32 %first, i32 %count, i32 %mask)"
        f" nounwind {{\nentry:\n  switch i32 %state, label %none [{cases}]\n{bodies}none:\n  ret void\n}}\n"
    )


def _step(prefix: str, phases: Sequence[str], points: Sequence[Point], sure: Sequence[int]) -> str:
    """Return the function that runs one thread from its state to its next point."""
    cases = " ".join(f"i32 {index}, label %s{index}" for index in range(len(phases)))
    bodies = "".join(
        f"s{index}:\n  call void {name}({_FRAME}, i32 %x, i32 %x1, i32 %y, i32 %y1, i32 %z, i32 %z1)\n"
        f"{_arrival(index, points, sure[index])}  ret void\n"
        for index, name in enumerate(phases)
    )
    return (
        f"define internal void {_function(prefix, 'step')}({_FRAME}, i32 %state, i32 %thread)"
        " nounwind noinline {\nentry:\n"
        + launch_i32("nx", abi.THREAD_BLOCK[0])
        + launch_i32("ny", abi.THREAD_BLOCK[1])
        + f"""  %x = urem i32 %thread, %nx
  %rows = udiv i32 %thread, %nx
  %y = urem i32 %rows, %ny
  %z = udiv i32 %rows, %ny
  %x1 = add i32 %x, 1
  %y1 = add i32 %y, 1
  %z1 = add i32 %z, 1
  switch i32 %state, label %none [{cases}]
{bodies}none:
  ret void
}}
"""
    )


def _arrival(index: int, points: Sequence[Point], sure: int) -> str:
    """Return what a thread that ran alone notes for the scheduler where the phase itself does not."""
    if not sure:
        return ""
    name, point = f"note.{index}", points[sure - 1]
    text = element(name, STATE, "%thread") + f"  store i32 {sure}, ptr %{name}\n"
    for place, operand, _ in point.given if point.is_plain_barrier else ():
        assert isinstance(operand, Integer)
        text += element(f"{name}.{place}", exchange(place), "%thread")
        text += f"  store i32 {operand.value}, ptr %{name}.{place}\n"
    return text


def _warps(prefix: str) -> str:
    """Return one round over the warps: every complete group of members goes on; true when any did."""
    return f"""
define internal i1 {_function(prefix, "warps")}({_FRAME}, i32 %threads, i1 %force) {_RARE} {{
entry:
  br label %warp
warp:
  %first = phi i32 [0, %entry], [%first.next, %warp.next]
  %moved = phi i1 [false, %entry], [%moved.warp, %warp.next]
  %rest = sub i32 %threads, %first
  %count = call i32 @llvm.umin.i32(i32 %rest, i32 32)
  br label %lane
lane:
  %lane.index = phi i32 [0, %warp], [%lane.next, %lane.done]
  %seen = phi i32 [0, %warp], [%seen.next, %lane.done]
  %moved.lane = phi i1 [%moved, %warp], [%moved.next, %lane.done]
  %lead = add i32 %first, %lane.index
{element("lead.at", STATE, "%lead")}  %state = load i32, ptr %lead.at
  %kind = call i32 {_function(prefix, "kind")}(i32 %state)
  %is.warp = icmp eq i32 %kind, {WARP}
  %seen.high = lshr i32 %seen, %lane.index
  %seen.here = trunc i32 %seen.high to i1
  %fresh = xor i1 %seen.here, true
  %try = and i1 %is.warp, %fresh
  br i1 %try, label %collect, label %skip
skip:
  br label %lane.done
collect:
  %c.lane = phi i32 [0, %lane], [%c.next, %collect]
  %arrived = phi i32 [0, %lane], [%arrived.next, %collect]
  %live = phi i32 [0, %lane], [%live.next, %collect]
  %c.thread = add i32 %first, %c.lane
{element("c.at", STATE, "%c.thread")}  %c.state = load i32, ptr %c.at
  %c.bit = shl i32 1, %c.lane
  %c.same = icmp eq i32 %c.state, %state
  %c.live = icmp ne i32 %c.state, {EXITED}
  %c.a = select i1 %c.same, i32 %c.bit, i32 0
  %c.l = select i1 %c.live, i32 %c.bit, i32 0
  %arrived.next = or i32 %arrived, %c.a
  %live.next = or i32 %live, %c.l
  %c.next = add i32 %c.lane, 1
  %c.more = icmp ult i32 %c.next, %count
  br i1 %c.more, label %collect, label %judge
judge:
{element("m.at", exchange(MEMBERS), "%lead")}  %members.raw = load i32, ptr %m.at
  %open = icmp eq i32 %members.raw, 0
  %wanted = select i1 %open, i32 %live.next, i32 %members.raw
  %wanted.live = and i32 %wanted, %live.next
  %absent.mask = xor i32 %arrived.next, -1
  %absent = and i32 %wanted.live, %absent.mask
  %complete = icmp eq i32 %absent, 0
  %forced = and i1 %open, %force
  %go = or i1 %complete, %forced
  %mask.closed = and i32 %arrived.next, %wanted
  %mask = select i1 %open, i32 %arrived.next, i32 %mask.closed
  br i1 %go, label %release, label %wait
wait:
  %seen.wait = or i32 %seen, %arrived.next
  br label %lane.done
release:
  call void {_function(prefix, "resolve.warp")}(i32 %state, ptr %scratch, i32 %first, i32 %count, i32 %mask)
  br label %run
run:
  %r.lane = phi i32 [0, %release], [%r.next, %run.next]
  %r.high = lshr i32 %mask, %r.lane
  %r.bit = trunc i32 %r.high to i1
  br i1 %r.bit, label %run.one, label %run.next
run.one:
  %r.thread = add i32 %first, %r.lane
  call void {_function(prefix, "step")}({_FRAME}, i32 %state, i32 %r.thread)
  br label %run.next
run.next:
  %r.next = add i32 %r.lane, 1
  %r.more = icmp ult i32 %r.next, %count
  br i1 %r.more, label %run, label %ran
ran:
  %seen.ran = or i32 %seen, %mask
  br label %lane.done
lane.done:
  %seen.next = phi i32 [%seen, %skip], [%seen.wait, %wait], [%seen.ran, %ran]
  %moved.next = phi i1 [%moved.lane, %skip], [%moved.lane, %wait], [true, %ran]
  %lane.next = add i32 %lane.index, 1
  %lane.more = icmp ult i32 %lane.next, %count
  br i1 %lane.more, label %lane, label %warp.next
warp.next:
  %moved.warp = phi i1 [%moved.next, %lane.done]
  %first.next = add i32 %first, 32
  %warp.more = icmp ult i32 %first.next, %threads
  br i1 %warp.more, label %warp, label %done
done:
  ret i1 %moved.warp
}}
"""


def _barriers(prefix: str) -> str:
    """Return one round over the barriers: the threads of each complete one go on; true when any did."""
    return f"""
define internal i1 {_function(prefix, "barriers")}({_FRAME}, i32 %threads) {_RARE} {{
entry:
  br label %number
number:
  %id = phi i32 [0, %entry], [%id.next, %number.next]
  br label %count
count:
  %t = phi i32 [0, %number], [%t.next, %count.next]
  %waiting = phi i32 [0, %number], [%waiting.next, %count.next]
  %live = phi i32 [0, %number], [%live.next, %count.next]
  %needed = phi i32 [0, %number], [%needed.next, %count.next]
  %leader = phi i32 [0, %number], [%leader.next, %count.next]
{element("s.at", STATE, "%t")}  %s = load i32, ptr %s.at
  %is.live = icmp ne i32 %s, {EXITED}
  %one = zext i1 %is.live to i32
  %live.next = add i32 %live, %one
  %kind = call i32 {_function(prefix, "kind")}(i32 %s)
  %is.barrier = icmp eq i32 %kind, {BARRIER}
{element("n.at", exchange(NUMBER), "%t")}  %n = load i32, ptr %n.at
{element("k.at", exchange(COUNT), "%t")}  %k = load i32, ptr %k.at
  %same = icmp eq i32 %n, %id
  %here = and i1 %is.barrier, %same
  br label %count.next
count.next:
  %here.one = zext i1 %here to i32
  %waiting.next = add i32 %waiting, %here.one
  %needed.next = select i1 %here, i32 %k, i32 %needed
  %leader.next = select i1 %here, i32 %t, i32 %leader
  %t.next = add i32 %t, 1
  %t.more = icmp ult i32 %t.next, %threads
  br i1 %t.more, label %count, label %judge
judge:
  %all = icmp eq i32 %needed.next, 0
  %wanted = select i1 %all, i32 %live.next, i32 %needed.next
  %some = icmp ne i32 %waiting.next, 0
  %arrived.all = getelementptr i8, ptr %scratch, i64 {ARRIVED}
  %arrived.at = getelementptr i32, ptr %arrived.all, i32 %id
  %arrived = load i32, ptr %arrived.at
  %present = add i32 %waiting.next, %arrived
  %enough = icmp uge i32 %present, %wanted
  %go = and i1 %some, %enough
  br i1 %go, label %release, label %number.next
release:
  %surplus = sub i32 %present, %wanted
  %arrived.rest = call i32 @llvm.umin.i32(i32 %surplus, i32 %arrived)
  store i32 %arrived.rest, ptr %arrived.at
{element("lead.at", STATE, "%leader.next")}  %lead.state = load i32, ptr %lead.at
  call void {_function(prefix, "resolve.barrier")}(i32 %lead.state, ptr %scratch, i32 0, i32 %threads, i32 %lead.state)
  br label %mark
mark:
  %m = phi i32 [0, %release], [%m.next, %mark]
{element("ms.at", STATE, "%m")}  %ms = load i32, ptr %ms.at
  %m.kind = call i32 {_function(prefix, "kind")}(i32 %ms)
  %m.is = icmp eq i32 %m.kind, {BARRIER}
{element("mn.at", exchange(NUMBER), "%m")}  %mn = load i32, ptr %mn.at
  %m.same = icmp eq i32 %mn, %id
  %m.here = and i1 %m.is, %m.same
  %m.flag = or i32 %ms, {_RELEASED}
  %m.state = select i1 %m.here, i32 %m.flag, i32 %ms
  store i32 %m.state, ptr %ms.at
  %m.next = add i32 %m, 1
  %m.more = icmp ult i32 %m.next, %threads
  br i1 %m.more, label %mark, label %run
run:
  %r = phi i32 [0, %mark], [%r.next, %run.next]
{element("rs.at", STATE, "%r")}  %rs = load i32, ptr %rs.at
  %r.live = icmp ne i32 %rs, {EXITED}
  %r.flag = and i32 %rs, {_RELEASED}
  %r.marked = icmp ne i32 %r.flag, 0
  %r.go = and i1 %r.live, %r.marked
  br i1 %r.go, label %run.one, label %run.next
run.one:
  %r.state = and i32 %rs, {_RELEASED - 1}
  call void {_function(prefix, "step")}({_FRAME}, i32 %r.state, i32 %r)
  br label %run.next
run.next:
  %r.next = add i32 %r, 1
  %r.more = icmp ult i32 %r.next, %threads
  br i1 %r.more, label %run, label %moved
moved:
  ret i1 true
number.next:
  %id.next = add i32 %id, 1
  %id.more = icmp ult i32 %id.next, {BARRIERS}
  br i1 %id.more, label %number, label %none
none:
  ret i1 false
}}
"""


def _yields(prefix: str) -> str:
    """Return one round over the threads that let others run: each goes on; true when there was one."""
    return f"""
define internal i1 {_function(prefix, "yields")}({_FRAME}, i32 %threads) nounwind {{
entry:
  br label %thread
thread:
  %t = phi i32 [0, %entry], [%t.next, %next]
  %moved = phi i1 [false, %entry], [%moved.next, %next]
{element("s.at", STATE, "%t")}  %s = load i32, ptr %s.at
  %kind = call i32 {_function(prefix, "kind")}(i32 %s)
  %yields = icmp eq i32 %kind, {YIELD}
  br i1 %yields, label %run, label %next
run:
  call void {_function(prefix, "step")}({_FRAME}, i32 %s, i32 %t)
  br label %next
next:
  %moved.next = or i1 %moved, %yields
  %t.next = add i32 %t, 1
  %more = icmp ult i32 %t.next, %threads
  br i1 %more, label %thread, label %done
done:
  ret i1 %moved.next
}}
"""


def _sure(index: int) -> str:
    """Return what follows a phase after which the point of all threads is known: look for a fault or a stop."""
    name = f"sure.{index}"
    return f"""{name}:
  %{name}.fault = load i64, ptr %fault.kind.at
  %{name}.stop = load volatile i64, ptr %stop, align 8
  %{name}.any = or i64 %{name}.fault, %{name}.stop
  %{name}.none = icmp eq i64 %{name}.any, 0
  br i1 %{name}.none, label %resolve, label %block.done
"""


def _entry(kernel: str, prefix: str, phases: Sequence[str], sure: Sequence[int], *, counts_arrivals: bool) -> str:
    cases = " ".join(f"i32 {index}, label %phase.{index}" for index in range(len(phases)))
    calls = "".join(
        f"phase.{index}:\n  call void {name}({_FRAME}, i32 0, i32 %nx, i32 0, i32 %ny, i32 0, i32 %nz)\n"
        f"  br label %{f'sure.{index}' if sure[index] else 'scan'}\n" + (_sure(index) if sure[index] else "")
        for index, name in enumerate(phases)
    )
    settled = "".join(f", [{point}, %sure.{index}]" for index, point in enumerate(sure) if point)
    prologue = "".join(launch_i32(f"n{axis}", index) for axis, index in zip("xyz", abi.THREAD_BLOCK, strict=True))
    prologue += f"""  %plane = mul i32 %nx, %ny
  %threads = mul i32 %plane, %nz
  %scratch.at = getelementptr i64, ptr %worker, i64 {abi.SCRATCH}
  %scratch = load ptr, ptr %scratch.at
"""
    # Threads that only arrive count at barriers, so those must be looked at one by one.
    together = "mixed" if counts_arrivals else "barrier"
    inner = f"""  %arrived.all = getelementptr i8, ptr %scratch, i64 {ARRIVED}
  call void @llvm.memset.p0.i64(ptr %arrived.all, i8 0, i64 {4 * BARRIERS}, i1 false)
  br label %uniform
uniform:
  %state = phi i32 [0, %blocks], [%settled, %again]
  switch i32 %state, label %block.done [{cases}]
{calls}scan:
  %scan.fault = load i64, ptr %fault.kind.at
  %scan.fine = icmp eq i64 %scan.fault, 0
  br i1 %scan.fine, label %scan.on, label %block.done
scan.on:
  %scan.stop = load volatile i64, ptr %stop, align 8
  %scan.free = icmp eq i64 %scan.stop, 0
  br i1 %scan.free, label %scan.start, label %block.done
scan.start:
{element("zero.at", STATE, "0")}  %scan.first = load i32, ptr %zero.at
  br label %scan.loop
scan.loop:
  %scan.t = phi i32 [0, %scan.start], [%scan.next, %scan.loop]
  %scan.other = phi i32 [0, %scan.start], [%scan.other.next, %scan.loop]
{element("scan.at", STATE, "%scan.t")}  %scan.state = load i32, ptr %scan.at
  %scan.changed = xor i32 %scan.state, %scan.first
  %scan.other.next = or i32 %scan.other, %scan.changed
  %scan.next = add nuw nsw i32 %scan.t, 1
  %scan.more = icmp ult i32 %scan.next, %threads
  br i1 %scan.more, label %scan.loop, label %scanned
scanned:
  %same = icmp eq i32 %scan.other.next, 0
  br i1 %same, label %together, label %mixed
together:
  %over = icmp eq i32 %scan.first, {EXITED}
  br i1 %over, label %block.done, label %resolve
resolve:
  %settled = phi i32 [%scan.first, %together]{settled}
  %kind = call i32 {_function(prefix, "kind")}(i32 %settled)
  switch i32 %kind, label %{together} [i32 {WARP}, label %warps i32 {YIELD}, label %again]
barrier:
  call void {_function(prefix, "resolve.barrier")}(i32 %settled, ptr %scratch, i32 0, i32 %threads, i32 %settled)
  br label %again
warps:
  %w = phi i32 [0, %resolve], [%w.next, %warps]
  %w.rest = sub i32 %threads, %w
  %w.count = call i32 @llvm.umin.i32(i32 %w.rest, i32 32)
  %w.empty = sub i32 32, %w.count
  %w.mask = lshr i32 -1, %w.empty
  call void {_function(prefix, "resolve.warp")}(i32 %settled, ptr %scratch, i32 %w, i32 %w.count, i32 %w.mask)
  %w.next = add i32 %w, 32
  %w.more = icmp ult i32 %w.next, %threads
  br i1 %w.more, label %warps, label %again
again:
  br label %uniform
mixed:
  %moved.warps = call i1 {_function(prefix, "warps")}({_FRAME}, i32 %threads, i1 false)
  %moved.barriers = call i1 {_function(prefix, "barriers")}({_FRAME}, i32 %threads)
  %moved.some = or i1 %moved.warps, %moved.barriers
  br i1 %moved.some, label %mixed.yields, label %mixed.open
mixed.open:
  %moved.forced = call i1 {_function(prefix, "warps")}({_FRAME}, i32 %threads, i1 true)
  br label %mixed.yields
mixed.yields:
  %moved.open = phi i1 [true, %mixed], [%moved.forced, %mixed.open]
  %moved.yields = call i1 {_function(prefix, "yields")}({_FRAME}, i32 %threads)
  %moved.any = or i1 %moved.open, %moved.yields
  br i1 %moved.any, label %scan, label %stuck
stuck:
  %stuck.t = phi i32 [0, %mixed.yields], [%stuck.next, %stuck.on]
{element("stuck.at", STATE, "%stuck.t")}  %stuck.state = load i32, ptr %stuck.at
  %stuck.live = icmp ne i32 %stuck.state, {EXITED}
  br i1 %stuck.live, label %stuck.report, label %stuck.on
stuck.on:
  %stuck.next = add i32 %stuck.t, 1
  br label %stuck
stuck.report:
  %stuck.line = call i32 {_function(prefix, "line")}(i32 %stuck.state)
  %stuck.wide = zext i32 %stuck.line to i64
  call void @wl.fault(ptr %worker, i64 {abi.DEADLOCK}, i64 %stuck.wide, i32 %stuck.t, i64 0)
  br label %block.done
"""
    return (
        f"define i32 @{quoted('run.' + kernel)}({RUN}) #0 {{\nentry:\n  br label %start\n"
        f"{block_loop(prologue, inner)}}}\n"
    )
