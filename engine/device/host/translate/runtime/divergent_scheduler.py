"""LLVM text of the scheduler's rounds, for threads of a thread block that have parted.

One round lets every warp go on whose members have all arrived, then marks the threads of every barrier that is
complete, and threads that take turns. Marked threads run, neighbours at the same point together. When nothing moved
in a round and a thread still waits, it will wait for ever.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.device.host.translate import abi
from engine.device.host.translate.analysis.suspension_points import (
    BARRIER,
    COUNT,
    LOCKSTEP,
    MEMBERS,
    NUMBER,
    WARP,
    YIELD,
    exchange,
)
from engine.device.host.translate.runtime.collectives import ARRIVED, BARRIERS, STATE, element
from engine.device.host.translate.runtime.phase_plan import EXITED, FRAME, RARE, PhasePlan, function
from engine.device.host.translate.runtime.thread_loops import launch_i32
from engine.ptx.tree import Integer

_RELEASED = 1 << 30
#: How many operations a warp may do in one round before other threads have their turn.
STEPS = 64


def text(kernel: str, phases: Sequence[PhasePlan]) -> str:
    """Return `scatter`, which runs all threads from one point, and `round`, which runs those that may go on."""
    return "\n".join(
        (
            _run(kernel, phases),
            _advance(kernel),
            _scatter(kernel),
            _warps(kernel),
            _barriers(kernel, phases),
            _round(kernel),
        )
    )


def _run(kernel: str, phases: Sequence[PhasePlan]) -> str:
    """Return the function that runs `%count` neighbours from their state to their next points."""
    cases = " ".join(f"i32 {index}, label %s{index}" for index in range(len(phases)))
    results = "".join(f", [%settled.{index}, %s{index}]" for index in range(len(phases)))
    bodies = "".join(
        f"s{index}:\n  %settled.{index} = call i32 {phase.name}"
        f"({FRAME}, i32 %x, i32 %x1, i32 %y, i32 %y1, i32 %z, i32 %z1, i1 false)\n  br label %ran\n"
        for index, phase in enumerate(phases)
    )
    return (
        f"define internal void {function(kernel, 'run')}({FRAME}, i32 %state, i32 %thread, i32 %count)"
        f" {RARE} {{\nentry:\n"
        + launch_i32("nx", abi.THREAD_BLOCK[0])
        + launch_i32("ny", abi.THREAD_BLOCK[1])
        + f"""  %x = urem i32 %thread, %nx
  %rows = udiv i32 %thread, %nx
  %y = urem i32 %rows, %ny
  %z = udiv i32 %rows, %ny
  %x1 = add i32 %x, %count
  %y1 = add i32 %y, 1
  %z1 = add i32 %z, 1
  switch i32 %state, label %none [{cases}]
{bodies}ran:
  %settled = phi i32 {results.removeprefix(", ")}
  call void {function(kernel, "spread")}(ptr %scratch, i32 %state, i32 %thread, i32 %count)
  %unknown = icmp eq i32 %settled, 0
  br i1 %unknown, label %none, label %note
note:
  %n = phi i32 [0, %ran], [%n.next, %note]
  %noted = add i32 %thread, %n
{element("note.at", STATE, "%noted")}  store i32 %settled, ptr %note.at
  %n.next = add i32 %n, 1
  %more = icmp ult i32 %n.next, %count
  br i1 %more, label %note, label %none
none:
  ret void
}}
"""
    )


def _advance(kernel: str) -> str:
    """Return the function that runs the marked threads from `%from` to `%end`, like neighbours in a row together."""
    return f"""
define internal void {function(kernel, "advance")}({FRAME}, i32 %from, i32 %end) {RARE} {{
entry:
{launch_i32("nx", abi.THREAD_BLOCK[0])}  %x.from = urem i32 %from, %nx
  br label %thread
thread:
  %t = phi i32 [%from, %entry], [%t.next, %next]
  %x = phi i32 [%x.from, %entry], [%x.next, %next]
{element("s.at", STATE, "%t")}  %s = load i32, ptr %s.at
  %high = lshr i32 %s, 30
  %marked = icmp eq i32 %high, 1
  br i1 %marked, label %extend, label %next
extend:
  %n = phi i32 [1, %thread], [%n.next, %compare]
  %x.here = add i32 %x, %n
  %other = add i32 %t, %n
  %in.row = icmp ult i32 %x.here, %nx
  %in.range = icmp ult i32 %other, %end
  %more = and i1 %in.row, %in.range
  br i1 %more, label %look, label %found
look:
{element("o.at", STATE, "%other")}  %o = load i32, ptr %o.at
  %same = icmp eq i32 %o, %s
  br i1 %same, label %compare, label %found
compare:
  %n.next = add i32 %n, 1
  br label %extend
found:
  %state = and i32 %s, {_RELEASED - 1}
  %count = call i32 {function(kernel, "alike")}(ptr %scratch, i32 %state, i32 %t, i32 %n)
  call void {function(kernel, "run")}({FRAME}, i32 %state, i32 %t, i32 %count)
  br label %next
next:
  %done = phi i32 [1, %thread], [%count, %found]
  %t.next = add i32 %t, %done
  %x.after = add i32 %x, %done
  %x.ended = icmp uge i32 %x.after, %nx
  %x.next = select i1 %x.ended, i32 0, i32 %x.after
  %more.threads = icmp ult i32 %t.next, %end
  br i1 %more.threads, label %thread, label %ended
ended:
  ret void
}}
"""


def _scatter(kernel: str) -> str:
    """Return the function that runs all threads from one point, those with the same shared values together."""
    return f"""
define internal void {function(kernel, "scatter")}({FRAME}, i32 %state, i32 %threads) {RARE} {{
entry:
  %marked = or i32 %state, {_RELEASED}
  br label %mark
mark:
  %t = phi i32 [0, %entry], [%t.next, %mark]
{element("s.at", STATE, "%t")}  store i32 %marked, ptr %s.at
  %t.next = add i32 %t, 1
  %more = icmp ult i32 %t.next, %threads
  br i1 %more, label %mark, label %marked.all
marked.all:
  call void {function(kernel, "advance")}({FRAME}, i32 0, i32 %threads)
  ret void
}}
"""


def _warps(kernel: str) -> str:
    """Return the function that lets every complete group of members of a warp go on; true when there was one.

    A warp whose members have all arrived goes on to its next operations at once: often the rest of the thread block
    waits for it at a barrier.
    """
    return f"""
define internal i1 {function(kernel, "warps")}({FRAME}, i32 %threads, i1 %force) {RARE} {{
entry:
  br label %warp
warp:
  %first = phi i32 [0, %entry], [%first.next, %warp.next]
  %moved = phi i1 [false, %entry], [%moved.warp, %warp.next]
  %rest = sub i32 %threads, %first
  %count = call i32 @llvm.umin.i32(i32 %rest, i32 32)
  %end = add i32 %first, %count
  br label %again
again:
  %steps = phi i32 [0, %warp], [%steps.next, %advance]
  %moved.before = phi i1 [%moved, %warp], [true, %advance]
  br label %lane
lane:
  %lane.index = phi i32 [0, %again], [%lane.next, %lane.done]
  %seen = phi i32 [0, %again], [%seen.next, %lane.done]
  %moved.lane = phi i1 [false, %again], [%moved.next, %lane.done]
  %lead = add i32 %first, %lane.index
{element("lead.at", STATE, "%lead")}  %state = load i32, ptr %lead.at
  %kind = call i32 {function(kernel, "kind")}(i32 %state)
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
  call void {function(kernel, "resolve.warp")}(i32 %state, ptr %scratch, i32 %first, i32 %count, i32 %mask)
  br label %run
run:
  %r.lane = phi i32 [0, %release], [%r.next, %run.next]
  %r.high = lshr i32 %mask, %r.lane
  %r.bit = trunc i32 %r.high to i1
  br i1 %r.bit, label %run.one, label %run.next
run.one:
  %r.thread = add i32 %first, %r.lane
{element("r.at", STATE, "%r.thread")}  %r.marked = or i32 %state, {_RELEASED}
  store i32 %r.marked, ptr %r.at
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
  br i1 %lane.more, label %lane, label %tried
tried:
  br i1 %moved.next, label %advance, label %warp.next
advance:
  call void {function(kernel, "advance")}({FRAME}, i32 %first, i32 %end)
  %steps.next = add i32 %steps, 1
  %steps.left = icmp ult i32 %steps.next, {STEPS}
  %steps.free = xor i1 %force, true
  %steps.more = and i1 %steps.left, %steps.free
  br i1 %steps.more, label %again, label %warp.next
warp.next:
  %moved.warp = phi i1 [%moved.before, %tried], [true, %advance]
  %first.next = add i32 %first, 32
  %warp.more = icmp ult i32 %first.next, %threads
  br i1 %warp.more, label %warp, label %done
done:
  ret i1 %moved.warp
}}
"""


def _barriers(kernel: str, phases: Sequence[PhasePlan]) -> str:
    """Return the function that marks the threads of a complete barrier; true when there was one."""
    points = [phase.point for phase in phases if phase.point is not None and phase.point.kind == BARRIER]
    numbers = [point.operand(NUMBER) for point in points]
    known = [item.value for item in numbers if isinstance(item, Integer)]
    first, end = (min(known), max(known) + 1) if known and len(known) == len(numbers) else (0, BARRIERS)
    own = _barrier_operand(kernel, "n", "number", NUMBER, "%s", "%t")
    own += _barrier_operand(kernel, "k", "count", COUNT, "%s", "%t")
    return f"""
define internal i1 {function(kernel, "barriers")}(ptr %scratch, i32 %threads) {RARE} {{
entry:
  br label %number
number:
  %id = phi i32 [{first}, %entry], [%id.next, %number.next]
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
  %kind = call i32 {function(kernel, "kind")}(i32 %s)
  %is.barrier = icmp eq i32 %kind, {BARRIER}
{own}  %same = icmp eq i32 %n, %id
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
  %lead.marked = or i32 %lead.state, {_RELEASED}
  br label %mark
mark:
  %m = phi i32 [0, %release], [%m.next, %mark]
{element("ms.at", STATE, "%m")}  %ms = load i32, ptr %ms.at
  %m.kind = call i32 {function(kernel, "kind")}(i32 %ms)
  %m.is = icmp eq i32 %m.kind, {BARRIER}
{_barrier_operand(kernel, "mn", "number", NUMBER, "%ms", "%m")}  %m.same = icmp eq i32 %mn, %id
  %m.here = and i1 %m.is, %m.same
  %m.flag = or i32 %ms, {_RELEASED}
  %m.state = select i1 %m.here, i32 %m.flag, i32 %ms
  store i32 %m.state, ptr %ms.at
  %m.next = add i32 %m, 1
  %m.more = icmp ult i32 %m.next, %threads
  br i1 %m.more, label %mark, label %moved
moved:
  call void {function(kernel, "resolve.barrier")}(i32 %lead.state, ptr %scratch, i32 0, i32 %threads, i32 %lead.marked)
  ret i1 true
number.next:
  %id.next = add i32 %id, 1
  %id.more = icmp ult i32 %id.next, {end}
  br i1 %id.more, label %number, label %none
none:
  ret i1 false
}}
"""


def _barrier_operand(kernel: str, name: str, table: str, place: int, state: str, thread: str) -> str:
    """Return the text that reads a waiting thread's barrier number or count as `%name`."""
    return f"""  %{name}.known = call i32 {function(kernel, table)}(i32 {state})
{element(f"{name}.at", exchange(place), thread)}  %{name}.own = load i32, ptr %{name}.at
  %{name}.is.own = icmp slt i32 %{name}.known, 0
  %{name} = select i1 %{name}.is.own, i32 %{name}.own, i32 %{name}.known
"""


def _round(kernel: str) -> str:
    """Return one round over all threads; true when any went on."""
    return f"""
define internal i1 {function(kernel, "round")}({FRAME}, i32 %threads) {RARE} {{
entry:
  br label %look
look:
  %t = phi i32 [0, %entry], [%t.next, %look]
  %kinds = phi i32 [0, %entry], [%kinds.next, %look]
{element("s.at", STATE, "%t")}  %s = load i32, ptr %s.at
  %kind = call i32 {function(kernel, "kind")}(i32 %s)
  %bit = shl i32 1, %kind
  %kinds.next = or i32 %kinds, %bit
  %turns = icmp uge i32 %kind, {YIELD}
  %marked = or i32 %s, {_RELEASED}
  %s.next = select i1 %turns, i32 %marked, i32 %s
  store i32 %s.next, ptr %s.at
  %t.next = add i32 %t, 1
  %more = icmp ult i32 %t.next, %threads
  br i1 %more, label %look, label %looked
looked:
  %yields.bits = and i32 %kinds.next, {1 << YIELD | 1 << LOCKSTEP}
  %yields = icmp ne i32 %yields.bits, 0
  %spins = icmp eq i32 %yields.bits, {1 << YIELD}
  %waits.bits = and i32 %kinds.next, {1 << WARP | 1 << BARRIER}
  %waits = icmp ne i32 %waits.bits, 0
  br i1 %waits, label %waiting, label %judge
waiting:
  %warps = call i1 {function(kernel, "warps")}({FRAME}, i32 %threads, i1 false)
  %barriers = call i1 {function(kernel, "barriers")}(ptr %scratch, i32 %threads)
  %some = or i1 %warps, %barriers
  br i1 %some, label %judge, label %force
force:
  %forced = call i1 {function(kernel, "warps")}({FRAME}, i32 %threads, i1 true)
  br label %judge
judge:
  %released = phi i1 [false, %looked], [true, %waiting], [%forced, %force]
  %any = or i1 %released, %yields
  br i1 %any, label %move, label %stuck
move:
  %moves = xor i1 %released, true
  %waits.only = and i1 %spins, %moves
  br i1 %waits.only, label %give.way, label %go
give.way:
  %given = call i32 @sched_yield()
  br label %go
go:
  call void {function(kernel, "advance")}({FRAME}, i32 0, i32 %threads)
  ret i1 true
stuck:
  ret i1 false
}}
"""
