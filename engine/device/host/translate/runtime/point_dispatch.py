"""LLVM text of what is known of each point, and of the calls that compute what threads hand over there."""

from __future__ import annotations

from collections.abc import Sequence

from engine.device.host.translate.analysis.suspension_points import (
    BARRIER,
    COUNT,
    MEMBERS,
    NUMBER,
    WARP,
    SuspensionPoint,
    exchange,
)
from engine.device.host.translate.runtime.collectives import element
from engine.device.host.translate.runtime.phase_plan import PhasePlan, function
from engine.ptx.tree import Integer


def text(kernel: str, phases: Sequence[PhasePlan]) -> str:
    """Return `kind`, `line`, `number` and `count` of a point, and `resolve.` with `warp`, `groups` and `barrier`."""
    return "\n".join(
        (
            _table(kernel, "kind", [phase.point.kind if phase.point else 0 for phase in phases]),
            _table(kernel, "line", [phase.line for phase in phases]),
            _table(kernel, "number", [_constant(phase.point, NUMBER) for phase in phases]),
            _table(kernel, "count", [_constant(phase.point, COUNT) for phase in phases]),
            _resolve(kernel, phases, "resolve.warp", WARP),
            _resolve(kernel, phases, "resolve.barrier", BARRIER),
            _groups(kernel, phases),
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


def _constant(point: SuspensionPoint | None, place: int) -> int:
    """Return a plain barrier's number or count; -1 where each thread says it."""
    if point is None or not point.is_plain_barrier:
        return -1
    operand = point.operand(place)
    assert isinstance(operand, Integer)
    return operand.value


def _resolve(kernel: str, phases: Sequence[PhasePlan], name: str, kind: int) -> str:
    points = {number: phase.point for number, phase in enumerate(phases) if phase.point is not None}
    numbers = [number for number, point in points.items() if point.kind == kind and point.collective]
    resolvers = list(dict.fromkeys(points[number].collective for number in numbers))
    cases = " ".join(f"i32 {number}, label %s{resolvers.index(points[number].collective)}" for number in numbers)
    bodies = "".join(
        f"s{index}:\n  call void @{collective}(ptr %scratch, i32 %first, i32 %count, i32 %mask)\n  ret void\n"
        for index, collective in enumerate(resolvers)
    )
    return (
        f"define internal void {function(kernel, name)}(i32 %state, ptr %scratch, i32 %first, i32 %count, i32 %mask)"
        f" nounwind {{\nentry:\n  switch i32 %state, label %none [{cases}]\n{bodies}none:\n  ret void\n}}\n"
    )


def _groups(kernel: str, phases: Sequence[PhasePlan]) -> str:
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
