"""Kernels whose threads wait for each other.

The kernel is cut at the points where a thread waits. Each piece, a *phase*, runs from the start or from one point to
the next points, for all threads of a thread block in a plain loop. What a thread needs later is kept in arrays with
one element for each thread. The scheduler then runs the phase that follows the point all threads have reached.
"""

from __future__ import annotations

from engine.device.host.translate import scheduler
from engine.device.host.translate.body import Layout
from engine.device.host.translate.flow import Flow
from engine.device.host.translate.phase import Phase
from engine.device.host.translate.points import is_point
from engine.device.host.translate.waiting import WaitingKernel
from engine.ptx.tree import Function

suspends = is_point


def translate(kernel: Function, layout: Layout, callees: dict[str, Function], flow: Flow) -> tuple[str, int]:
    """Return a waiting kernel's LLVM text and the scratch bytes that a worker needs to run it."""
    shared = WaitingKernel(kernel, layout, callees, flow)
    phases = [Phase(shared, number) for number in range(len(shared.waiting) + 1)]
    text = [phase.text() for phase in phases]
    plan = [phase.plan() for phase in phases]
    text += shared.definitions
    text.append(scheduler.text(kernel.name, plan, shared.limits_text(), parts_at_barriers=shared.parts_at_barriers))
    return "\n".join(text), shared.saves.size + 64
