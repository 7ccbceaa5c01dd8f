"""Kernels whose threads wait for each other.

The kernel is cut at the points where a thread waits. Each piece, a *phase*, runs from the start or from one point to
the next points, for all threads of a thread block in a plain loop. What a thread needs later is kept in arrays with
one element for each thread. The scheduler then runs the phase that follows the point all threads have reached.
"""

from __future__ import annotations

from dataclasses import replace

from engine.device.host.translate import scheduler
from engine.device.host.translate.body import Body, Layout, quoted
from engine.device.host.translate.ends import Ends
from engine.device.host.translate.flow import Flow
from engine.device.host.translate.phase import Phase
from engine.device.host.translate.points import BARRIER, Point, is_point, point_of
from engine.device.host.translate.provenance import Root, roots
from engine.device.host.translate.saves import Saves
from engine.device.host.translate.uniformity import uniformity
from engine.ptx.tree import Function

suspends = is_point


class Suspended:
    """What the phases of one kernel share."""

    def __init__(self, kernel: Function, layout: Layout, callees: dict[str, Function], flow: Flow) -> None:
        self.kernel = kernel
        self.layout = layout
        self.callees = callees
        self.flow = flow
        self.waiting = [block for block in flow.blocks if block.suspends]
        self.points: dict[int, Point] = {block.index: point_of(block.instructions[-1]) for block in self.waiting}
        self.definitions = self._define_resolvers()
        #: Where threads only arrive at barriers, or name different ones, the scheduler must look at each.
        self.parts_at_barriers = any(
            item.opcode in ("bar", "barrier") and "arrive" in item.modifiers for item in kernel.instructions
        ) or any(point.kind == BARRIER and point.names_members for point in self.points.values())
        self.kinds = uniformity(kernel, flow)
        self.saves = Saves(kernel, self.kinds)
        self.roots: dict[str, Root | None] = roots(kernel, layout.parameters, set(layout.module))
        local = Body(kernel, layout, kernel.name).local_bytes
        self.local_bytes = -(-local // 16) * 16
        self.local_at = self.saves.place("local memory", self.local_bytes)
        self._limits: dict[Root, int] = {}

    def _define_resolvers(self) -> list[str]:
        """Name the resolvers that only this kernel has, and return their text."""
        found: dict[str, str] = {}
        for index, point in self.points.items():
            if point.definition is not None:
                name = quoted(f"{self.kernel.name}|{point.resolver}")
                if name not in found:
                    found[name] = point.definition(name)
                self.points[index] = replace(point, resolver=name)
        return list(found.values())

    def body(self) -> Body:
        """Return an empty body of the kernel."""
        return Body(self.kernel, self.layout, self.kernel.name)

    def limit(self, root: Root) -> int:
        """Return where in scratch memory the limits of a parameter's buffer lie: first byte and size."""
        if root not in self._limits:
            self._limits[root] = self.saves.reserve(16)
        return self._limits[root]

    def limits_text(self) -> str:
        """Return the text that looks up the limits before any thread block runs."""
        text = ""
        for (_, parameter), offset in self._limits.items():
            name = f"%limits.{offset}"
            text += (
                f"  {name}.parameter = getelementptr i8, ptr %params, i64 {parameter}\n"
                f"  {name}.pointer = load i64, ptr {name}.parameter, !invariant.load !0\n"
                f"  {name} = call {{i64, i64}} @wl.allocation(ptr %launch, ptr %worker, i64 {name}.pointer)\n"
                f"  {name}.at = getelementptr i8, ptr %scratch, i64 {offset}\n"
                f"  store {{i64, i64}} {name}, ptr {name}.at\n"
            )
        return text

    def phase(self, number: int) -> Phase:
        """Return a phase: 0 from the start, else from after that point."""
        if not number:
            return Phase(self, number, 0, None, frozenset(), Ends(self.flow, self.points, self.saves, 0, frozenset()))
        waited = self.waiting[number - 1].index
        point = self.points[waited]
        restored = self.flow.blocks[waited + 1].live_in - point.registers
        ends = Ends(self.flow, self.points, self.saves, waited + 1, restored)
        return Phase(self, number, waited + 1, point, restored, ends)


def translate(kernel: Function, layout: Layout, callees: dict[str, Function], flow: Flow) -> tuple[str, int]:
    """Return a waiting kernel's LLVM text and the scratch bytes that a worker needs to run it."""
    shared = Suspended(kernel, layout, callees, flow)
    phases = [shared.phase(number) for number in range(len(shared.waiting) + 1)]
    text = [phase.text() for phase in phases]
    plan = [phase.plan() for phase in phases]
    text += shared.definitions
    text.append(scheduler.text(kernel.name, plan, shared.limits_text(), parts_at_barriers=shared.parts_at_barriers))
    return "\n".join(text), shared.saves.size + 64
