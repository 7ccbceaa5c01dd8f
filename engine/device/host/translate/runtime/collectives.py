"""LLVM text of what warps and barriers compute from the operands that their threads handed over.

Every collective is `(scratch, first thread, count, mask)`: `mask` has a bit for each thread that takes part. Warp
resolvers are called once for each warp. Formulas are those of the PTX manual.
"""

from __future__ import annotations

from itertools import product

from engine.device.host.translate.analysis.suspension_points import RESULTS, exchange, result

STATE = 0
#: How many threads have arrived at each barrier without waiting there.
ARRIVED = result(RESULTS)
BARRIERS = 17
SCRATCH_START = ARRIVED + 128


def element(name: str, offset: int | str, thread: str) -> str:
    """Return the address of one thread's element of an array, as text that defines `%name`."""
    return (
        f"  %{name}.base = getelementptr i8, ptr %scratch, i64 {offset}\n"
        f"  %{name} = getelementptr i32, ptr %{name}.base, i32 {thread}\n"
    )


_SHUFFLE = {
    "up": ("sub i32 %lane, %b", "sge"),
    "down": ("add i32 %lane, %b", "sle"),
    "bfly": ("xor i32 %lane, %b", "sle"),
    "idx": ("or i32 %low, %b.outside", "sle"),
}


def _shuffle(mode: str) -> str:
    step, test = _SHUFFLE[mode]
    each = f"""{element("b.at", exchange(1), "%thread")}  %b.raw = load i32, ptr %b.at
{element("c.at", exchange(2), "%thread")}  %c = load i32, ptr %c.at
  %b = and i32 %b.raw, 31
  %clamp = and i32 %c, 31
  %segment.high = lshr i32 %c, 8
  %segment = and i32 %segment.high, 31
  %outside = xor i32 %segment, 31
  %b.outside = and i32 %b, %outside
  %low = and i32 %lane, %segment
  %clamp.outside = and i32 %clamp, %outside
  %high = or i32 %low, %clamp.outside
  %other = {step}
  %fits = icmp {test} i32 %other, %high
  %source = select i1 %fits, i32 %other, i32 %lane
  %there = icmp ult i32 %source, %count
  %safe = select i1 %there, i32 %source, i32 %lane
  %from = add i32 %first, %safe
{element("a.at", exchange(0), "%from")}  %a = load i32, ptr %a.at
{element("r.at", result(0), "%thread")}  store i32 %a, ptr %r.at
{element("p.at", result(1), "%thread")}  %p = zext i1 %fits to i32
  store i32 %p, ptr %p.at
"""
    return _loop(f"wl.shfl.{mode}", each)


def _loop(name: str, each: str) -> str:
    """Return a collective that runs `each` for every `%thread`, which is `%lane` of its warp, in the mask."""
    return f"""
define internal void @{name}(ptr %scratch, i32 %first, i32 %count, i32 %mask) noinline nounwind {{
entry:
  br label %loop
loop:
  %lane = phi i32 [0, %entry], [%lane.next, %next]
  %bit.high = lshr i32 %mask, %lane
  %bit = trunc i32 %bit.high to i1
  %thread = add i32 %first, %lane
  br i1 %bit, label %each, label %next
each:
{each}  br label %next
next:
  %lane.next = add i32 %lane, 1
  %more = icmp ult i32 %lane.next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def _two_passes(name: str, start: str, step: str, finish: str) -> str:
    """Return a collective that folds the first exchange array over the mask and gives every thread the outcome.

    `step` makes %next.value from %value, %x and %bit.here; `finish` makes %outcome (and %flag) from %value.
    """
    return f"""
define internal void @{name}(ptr %scratch, i32 %first, i32 %count, i32 %mask) noinline nounwind {{
entry:
  br label %loop
loop:
  %lane = phi i32 [0, %entry], [%lane.next, %next]
  %value = phi i32 [{start}, %entry], [%merged, %next]
  %bit.high = lshr i32 %mask, %lane
  %bit = trunc i32 %bit.high to i1
  %bit.here = shl i32 1, %lane
  %thread = add i32 %first, %lane
  br i1 %bit, label %each, label %next
each:
{element("x.at", exchange(0), "%thread")}  %x = load i32, ptr %x.at
{step}  br label %next
next:
  %merged = phi i32 [%value, %loop], [%next.value, %each]
  %lane.next = add i32 %lane, 1
  %more = icmp ult i32 %lane.next, %count
  br i1 %more, label %loop, label %folded
folded:
{finish}
  br label %give
give:
  %to = phi i32 [0, %folded], [%to.next, %give]
  %receiver = add i32 %first, %to
  %to.high = lshr i32 %mask, %to
  %to.bit = trunc i32 %to.high to i1
{element("r.at", result(0), "%receiver")}  %r.before = load i32, ptr %r.at
  %r.now = select i1 %to.bit, i32 %outcome, i32 %r.before
  store i32 %r.now, ptr %r.at
  %to.next = add i32 %to, 1
  %give.more = icmp ult i32 %to.next, %count
  br i1 %give.more, label %give, label %done
done:
  ret void
}}
"""


_BALLOT = """  %set = icmp ne i32 %x, 0
  %with = or i32 %value, %bit.here
  %next.value = select i1 %set, i32 %with, i32 %value
"""
_VOTES = {
    "ballot": "  %outcome = add i32 %merged, 0",
    "any": "  %is = icmp ne i32 %merged, 0\n  %outcome = zext i1 %is to i32",
    "all": "  %is = icmp eq i32 %merged, %mask\n  %outcome = zext i1 %is to i32",
    "uni": "  %is.all = icmp eq i32 %merged, %mask\n  %is.none = icmp eq i32 %merged, 0\n"
    "  %is = or i1 %is.all, %is.none\n  %outcome = zext i1 %is to i32",
}
_REDUCTIONS = {
    "add": ("0", "add i32 %value, %x"),
    "and": ("-1", "and i32 %value, %x"),
    "or": ("0", "or i32 %value, %x"),
    "xor": ("0", "xor i32 %value, %x"),
    "umin": ("-1", "call i32 @llvm.umin.i32(i32 %value, i32 %x)"),
    "umax": ("0", "call i32 @llvm.umax.i32(i32 %value, i32 %x)"),
    "smin": ("2147483647", "call i32 @llvm.smin.i32(i32 %value, i32 %x)"),
    "smax": ("-2147483648", "call i32 @llvm.smax.i32(i32 %value, i32 %x)"),
}

_MATCH = f"""
define internal i32 @wl.same(ptr %scratch, i64 %array, i32 %first, i32 %count, i32 %mask, i32 %wanted)
 noinline nounwind {{
entry:
  br label %loop
loop:
  %lane = phi i32 [0, %entry], [%lane.next, %loop]
  %found = phi i32 [0, %entry], [%found.next, %loop]
  %thread = add i32 %first, %lane
{element("x.at", "%array", "%thread")}  %x = load i32, ptr %x.at
  %equal = icmp eq i32 %x, %wanted
  %bit = shl i32 1, %lane
  %with = or i32 %found, %bit
  %found.next = select i1 %equal, i32 %with, i32 %found
  %lane.next = add i32 %lane, 1
  %more = icmp ult i32 %lane.next, %count
  br i1 %more, label %loop, label %done
done:
  %members = and i32 %found.next, %mask
  ret i32 %members
}}
"""


def _match(mode: str, bits: int) -> str:
    keep = "  %outcome = add i32 %same, 0\n"
    if mode == "all":
        keep = "  %outcome = select i1 %is.all, i32 %same, i32 0\n"
    second = f"""{element("y.at", exchange(1), "%thread")}  %y = load i32, ptr %y.at
  %same.high = call i32 @wl.same(ptr %scratch, i64 {exchange(1)}, i32 %first, i32 %count, i32 %mask, i32 %y)
  %same = and i32 %same.low, %same.high
"""
    if bits == 32:
        second = "  %same = add i32 %same.low, 0\n"
    return _loop(
        f"wl.match.{mode}.b{bits}",
        f"""{element("x.at", exchange(0), "%thread")}  %x = load i32, ptr %x.at
  %same.low = call i32 @wl.same(ptr %scratch, i64 {exchange(0)}, i32 %first, i32 %count, i32 %mask, i32 %x)
{second}  %is.all = icmp eq i32 %same, %mask
{keep}{element("r.at", result(0), "%thread")}  store i32 %outcome, ptr %r.at
{element("p.at", result(1), "%thread")}  %p = zext i1 %is.all to i32
  store i32 %p, ptr %p.at
""",
    )


_ELECT = _loop(
    "wl.elect",
    f"""  %leader = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
{element("r.at", result(0), "%thread")}  store i32 %leader, ptr %r.at
  %is = icmp eq i32 %lane, %leader
{element("p.at", result(1), "%thread")}  %p = zext i1 %is to i32
  store i32 %p, ptr %p.at
""",
)


def _float_reduction(mode: str, absolute: int, keeps_nan: int) -> str:
    """Return a minimum or maximum of f32; without .NaN a NaN loses against any number."""
    function = f"llvm.{mode}imum" + ("" if keeps_nan else "num")
    start = {"min": 0x7F800000, "max": 0xFF800000}[mode] if keeps_nan else 0x7FFFFFFF
    name = f"wl.redux.f{mode}" + (".abs" if absolute else "") + (".NaN" if keeps_nan else "")
    given = "call float @llvm.fabs.f32(float %x.raw)" if absolute else "fadd float %x.raw, -0.0"
    step = f"""  %x.raw = bitcast i32 %x to float
  %x.here = {given}
  %value.here = bitcast i32 %value to float
  %least = call float @{function}.f32(float %value.here, float %x.here)
  %next.value = bitcast float %least to i32
"""
    finish = """  %merged.here = bitcast i32 %merged to float
  %none = fcmp uno float %merged.here, %merged.here
  %outcome = select i1 %none, i32 2147483647, i32 %merged"""
    return _two_passes(name, str(start), step, finish)


def _barrier(mode: str) -> str:
    """Return a reduction over all threads that wait at the same point as thread `%first` (`%mask` is that state)."""
    finish = {
        "popc": "  %outcome = add i32 %sum.next, 0",
        "or": "  %is = icmp ne i32 %sum.next, 0\n  %outcome = zext i1 %is to i32",
        "and": "  %is = icmp eq i32 %sum.next, %here.next\n  %outcome = zext i1 %is to i32",
    }[mode]
    return f"""
define internal void @wl.bar.{mode}(ptr %scratch, i32 %first, i32 %count, i32 %mask) noinline nounwind {{
entry:
  br label %loop
loop:
  %thread = phi i32 [0, %entry], [%thread.next, %loop]
  %sum = phi i32 [0, %entry], [%sum.next, %loop]
  %here = phi i32 [0, %entry], [%here.next, %loop]
{element("s.at", STATE, "%thread")}  %s = load i32, ptr %s.at
{element("x.at", exchange(0), "%thread")}  %x = load i32, ptr %x.at
  %waits = icmp eq i32 %s, %mask
  %one = zext i1 %waits to i32
  %part = select i1 %waits, i32 %x, i32 0
  %sum.next = add i32 %sum, %part
  %here.next = add i32 %here, %one
  %thread.next = add i32 %thread, 1
  %more = icmp ult i32 %thread.next, %count
  br i1 %more, label %loop, label %folded
folded:
{finish}
  br label %give
give:
  %to = phi i32 [0, %folded], [%to.next, %give]
{element("to.at", STATE, "%to")}  %to.state = load i32, ptr %to.at
  %to.waits = icmp eq i32 %to.state, %mask
{element("r.at", result(0), "%to")}  %r.before = load i32, ptr %r.at
  %r.now = select i1 %to.waits, i32 %outcome, i32 %r.before
  store i32 %r.now, ptr %r.at
  %to.next = add i32 %to, 1
  %give.more = icmp ult i32 %to.next, %count
  br i1 %give.more, label %give, label %done
done:
  ret void
}}
"""


DECLARATIONS = "declare i32 @clock_gettime(i32, ptr)\ndeclare i32 @sched_yield()\n"
# CLOCK_REALTIME is 0 on every system that has it.
_NANOSECONDS = """
define internal i64 @wl.nanoseconds() nounwind {
entry:
  %pair = alloca [2 x i64]
  %result = call i32 @clock_gettime(i32 0, ptr %pair)
  %seconds = load i64, ptr %pair
  %rest.at = getelementptr i64, ptr %pair, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}
"""


def text() -> str:
    """Return every collective, and the clock."""
    parts = [_NANOSECONDS]
    parts += [_shuffle(mode) for mode in _SHUFFLE]
    parts += [_two_passes(f"wl.vote.{mode}", "0", _BALLOT, finish) for mode, finish in _VOTES.items()]
    for mode, (start, step) in _REDUCTIONS.items():
        parts.append(
            _two_passes(f"wl.redux.{mode}", start, f"  %next.value = {step}\n", "  %outcome = add i32 %merged, 0")
        )
    parts.append(_loop("wl.activemask", f"{element('r.at', result(0), '%thread')}  store i32 %mask, ptr %r.at\n"))
    parts += [_MATCH, *(_match(mode, bits) for mode in ("any", "all") for bits in (32, 64)), _ELECT]
    parts += [_float_reduction(mode, *options) for mode in ("min", "max") for options in product((0, 1), (0, 1))]
    parts += [_barrier(mode) for mode in ("popc", "or", "and")]
    return "".join(parts)
