"""LLVM text of the scheduler's rounds, for threads of a thread block that have parted.

One round lets every warp go on whose members have all arrived, then marks the threads of every barrier that is
complete, and threads that take turns. Marked threads run, neighbours at the same point together. When nothing moved
in a round and a thread still waits, it will wait for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.device.host.translate import abi
from engine.device.host.translate.body import quoted
from engine.device.host.translate.points import BARRIER, COUNT, MEMBERS, NUMBER, TURN, WARP, YIELD, Point, exchange
from engine.device.host.translate.resolvers import ARRIVED, BARRIERS, STATE, element
from engine.device.host.translate.threads import launch_i32
from engine.ptx.tree import Integer

EXITED = -1
_RELEASED = 1 << 30
#: How many operations a warp may do in one round before other threads have their turn.
STEPS = 64
# What runs only when threads part is kept small: it takes the optimiser longer than all the rest.
RARE = "nounwind noinline minsize optsize"
FRAME = "ptr %launch, ptr %params, ptr %worker, ptr %scratch, i32 %ctaid.x, i32 %ctaid.y, i32 %ctaid.z"


Array = tuple[int, str]
"""Where an array of saved values lies in scratch memory, and the LLVM type of its elements."""


@dataclass(frozen=True)
class Phase:
    """One phase as the scheduler sees it.

    `name` is its function. `point` is where its threads waited before, None at the start, at PTX line `line`. It reads
    `shared` from its first thread only, writes `once` for its first thread only, and `each` for every thread.
    """

    name: str
    point: Point | None
    line: int
    shared: Sequence[Array]
    once: Sequence[Array]
    each: Sequence[Array]


def function(kernel: str, name: str) -> str:
    """Return the LLVM name of a kernel's own helper."""
    return "@" + quoted(f"{kernel}|{name}")


def text(kernel: str, phases: Sequence[Phase]) -> str:
    """Return the helpers of a kernel that its entry calls.

    `resolve.groups` and `resolve.barrier` compute what points hand over; `kind` and `line` tell about a point; `alike`
    counts threads with the same shared values; `spread` and `part` hand on what is kept once, after a phase and when
    threads part; `scatter` runs all threads from one point and `round` those that may go on, neighbours together.
    """
    return "\n".join(
        (
            _resolve(kernel, phases, "resolve.warp", WARP),
            _resolve(kernel, phases, "resolve.barrier", BARRIER),
            _table(kernel, "kind", [phase.point.kind if phase.point else 0 for phase in phases]),
            _table(kernel, "line", [phase.line for phase in phases]),
            _table(kernel, "number", [_constant(phase.point, NUMBER) for phase in phases]),
            _table(kernel, "count", [_constant(phase.point, COUNT) for phase in phases]),
            _groups(kernel, phases),
            _alike(kernel, phases),
            _hand_on(kernel, "spread", [phase.once for phase in phases]),
            _hand_on(kernel, "part", _kept_once(phases)),
            _run(kernel, phases),
            _advance(kernel),
            _scatter(kernel),
            _warps(kernel),
            _barriers(kernel, phases),
            _round(kernel),
        )
    )


def _table(kernel: str, name: str, values: Sequence[int]) -> str:
    """Return a function from state to a constant; 0 for threads that have ended or are marked."""
    known = values[1:]
    content = ", ".join(f"i32 {value}" for value in (0, *known))
    table = function(kernel, f"{name}s")
    return f"""{table} = internal constant [{len(known) + 1} x i32] [{content}]
define internal i32 {function(kernel, name)}(i32 %state) nounwind {{
entry:
  %known = icmp ule i32 %state, {len(known)}
  %index = select i1 %known, i32 %state, i32 0
  %at = getelementptr i32, ptr {table}, i32 %index
  %value = load i32, ptr %at
  ret i32 %value
}}
"""


def _resolve(kernel: str, phases: Sequence[Phase], name: str, kind: int) -> str:
    points = {number: phase.point for number, phase in enumerate(phases) if phase.point is not None}
    numbers = [number for number, point in points.items() if point.kind == kind and point.resolver]
    resolvers = list(dict.fromkeys(points[number].resolver for number in numbers))
    cases = " ".join(f"i32 {number}, label %s{resolvers.index(points[number].resolver)}" for number in numbers)
    bodies = "".join(
        f"s{index}:\n  call void @{resolver}(ptr %scratch, i32 %first, i32 %count, i32 %mask)\n  ret void\n"
        for index, resolver in enumerate(resolvers)
    )
    return (
        f"define internal void {function(kernel, name)}(i32 %state, ptr %scratch, i32 %first, i32 %count, i32 %mask)"
        f" nounwind {{\nentry:\n  switch i32 %state, label %none [{cases}]\n{bodies}none:\n  ret void\n}}\n"
    )


def _groups(kernel: str, phases: Sequence[Phase]) -> str:
    """Return the function that resolves one warp whose threads are all at one point.

    Where threads name their members themselves, each group of them is resolved by itself.
    """
    named = [number for number, phase in enumerate(phases) if phase.point is not None and phase.point.names_members]
    cases = " ".join(f"i32 {number}, label %group" for number in named)
    return f"""
define internal void {function(kernel, "resolve.groups")}(i32 %state, ptr %scratch, i32 %first, i32 %count, i32 %all)
 nounwind {{
entry:
  switch i32 %state, label %whole [{cases}]
whole:
  call void {function(kernel, "resolve.warp")}(i32 %state, ptr %scratch, i32 %first, i32 %count, i32 %all)
  ret void
group:
  %rest = phi i32 [%rest.next, %group]{", [%all, %entry]" * len(named)}
  %lead = call i32 @llvm.cttz.i32(i32 %rest, i1 false)
  %thread = add i32 %first, %lead
{element("m.at", exchange(MEMBERS), "%thread")}  %members = load i32, ptr %m.at
  %open = icmp eq i32 %members, 0
  %lead.bit = shl i32 1, %lead
  %named = and i32 %members, %rest
  %with.lead = or i32 %named, %lead.bit
  %mask = select i1 %open, i32 %rest, i32 %with.lead
  call void {function(kernel, "resolve.warp")}(i32 %state, ptr %scratch, i32 %first, i32 %count, i32 %mask)
  %others = xor i32 %mask, -1
  %rest.next = and i32 %rest, %others
  %more = icmp ne i32 %rest.next, 0
  br i1 %more, label %group, label %done
done:
  ret void
}}
"""


def _alike(kernel: str, phases: Sequence[Phase]) -> str:
    """Return the function that says how many threads from `%first` on, of `%count`, have the same shared values."""
    cases, bodies = "", ""
    for number, phase in enumerate(phases):
        if not phase.shared:
            continue
        cases += f" i32 {number}, label %s{number}"
        tests, all_equal = "", "true"
        for index, (offset, kind) in enumerate(phase.shared):
            raw = {"float": "i32", "double": "i64"}.get(kind, kind)
            name = f"s{number}.{index}"
            tests += f"""  %{name}.all = getelementptr i8, ptr %scratch, i64 {offset}
  %{name}.at = getelementptr {raw}, ptr %{name}.all, i32 %s{number}.thread
  %{name}.own = load {raw}, ptr %{name}.at
  %{name}.first.at = getelementptr {raw}, ptr %{name}.all, i32 %first
  %{name}.first = load {raw}, ptr %{name}.first.at
  %{name}.same = icmp eq {raw} %{name}.own, %{name}.first
  %{name}.so = and i1 {all_equal}, %{name}.same
"""
            all_equal = f"%{name}.so"
        bodies += f"""s{number}:
  %s{number}.n = phi i32 [1, %entry], [%s{number}.next, %s{number}.on]
  %s{number}.more = icmp ult i32 %s{number}.n, %count
  br i1 %s{number}.more, label %s{number}.test, label %s{number}.done
s{number}.test:
  %s{number}.thread = add i32 %first, %s{number}.n
{tests}  br i1 {all_equal}, label %s{number}.on, label %s{number}.done
s{number}.on:
  %s{number}.next = add nuw i32 %s{number}.n, 1
  br label %s{number}
s{number}.done:
  ret i32 %s{number}.n
"""
    return f"""
define internal i32 {function(kernel, "alike")}(ptr %scratch, i32 %state, i32 %first, i32 %count)
 nounwind {{
entry:
  switch i32 %state, label %all [{cases}]
{bodies}all:
  ret i32 %count
}}
"""


def _constant(point: Point | None, place: int) -> int:
    """Return a plain barrier's number or count; -1 where each thread says it."""
    if point is None or not point.is_plain_barrier:
        return -1
    operand = point.operand(place)
    assert isinstance(operand, Integer)
    return operand.value


def _kept_once(phases: Sequence[Phase]) -> list[list[Array]]:
    """Return what only the first thread has when threads part after a phase."""
    everywhere = dict.fromkeys(array for phase in phases for array in phase.once)
    return [[array for array in everywhere if array not in phase.each] for phase in phases]


def _hand_on(kernel: str, name: str, arrays: Sequence[Sequence[Array]]) -> str:
    """Return a function that gives all of `%count` threads the first one's elements of arrays, by phase."""
    cases, bodies = "", ""
    for number, items in enumerate(arrays):
        if not items:
            continue
        cases += f" i32 {number}, label %s{number}"
        loads, stores = "", ""
        for index, (offset, kind) in enumerate(items):
            at = f"s{number}.{index}"
            loads += f"""  %{at}.all = getelementptr i8, ptr %scratch, i64 {offset}
  %{at}.first = getelementptr {kind}, ptr %{at}.all, i32 %first
  %{at}.value = load {kind}, ptr %{at}.first
"""
            stores += f"""  %{at}.to = getelementptr {kind}, ptr %{at}.all, i32 %s{number}.thread
  store {kind} %{at}.value, ptr %{at}.to
"""
        bodies += f"""s{number}:
{loads}  br label %s{number}.on
s{number}.on:
  %s{number}.n = phi i32 [0, %s{number}], [%s{number}.next, %s{number}.on]
  %s{number}.thread = add i32 %first, %s{number}.n
{stores}  %s{number}.next = add i32 %s{number}.n, 1
  %s{number}.more = icmp ult i32 %s{number}.next, %count
  br i1 %s{number}.more, label %s{number}.on, label %done
"""
    return f"""
define internal void {function(kernel, name)}(ptr %scratch, i32 %phase, i32 %first, i32 %count) {RARE} {{
entry:
  switch i32 %phase, label %done [{cases}]
{bodies}done:
  ret void
}}
"""


def _run(kernel: str, phases: Sequence[Phase]) -> str:
    """Return the function that runs `%count` neighbours from their state to their next points."""
    cases = " ".join(f"i32 {index}, label %s{index}" for index in range(len(phases)))
    results = "".join(f", [%settled.{index}, %s{index}]" for index in range(len(phases)))
    bodies = "".join(
        f"s{index}:\n  %settled.{index} = call i32 {phase.name}"
        f"({FRAME}, i32 %x, i32 %x1, i32 %y, i32 %y1, i32 %z, i32 %z1)\n  br label %ran\n"
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


def _barriers(kernel: str, phases: Sequence[Phase]) -> str:
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
  %yields.bits = and i32 %kinds.next, {1 << YIELD | 1 << TURN}
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
