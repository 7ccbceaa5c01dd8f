"""LLVM text that compares what threads have in common across points, and hands on what only the first one has."""

from __future__ import annotations

from collections.abc import Sequence

from engine.device.host.translate.runtime.phase_plan import RARE, Array, PhasePlan, function


def text(kernel: str, phases: Sequence[PhasePlan]) -> str:
    """Return `alike`, which counts threads with the same values, and what hands values on: `spread` after a phase, and
    `part` when threads part.
    """
    return "\n".join(
        (
            _alike(kernel, phases),
            _hand_on(kernel, "spread", [phase.once for phase in phases]),
            _hand_on(kernel, "part", _kept_once(phases)),
        )
    )


def _alike(kernel: str, phases: Sequence[PhasePlan]) -> str:
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


def _kept_once(phases: Sequence[PhasePlan]) -> list[list[Array]]:
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
