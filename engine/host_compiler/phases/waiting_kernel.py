"""The common part of one kernel's phases."""

from dataclasses import replace

from warploom.engine.host_compiler.analysis.control_flow import ControlFlow
from warploom.engine.host_compiler.analysis.phase_values import availability
from warploom.engine.host_compiler.analysis.provenance import Root, provenance
from warploom.engine.host_compiler.analysis.suspension_points import BARRIER, SuspensionPoint, suspension_point
from warploom.engine.host_compiler.analysis.uniformity import uniformity
from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.code import quoted
from warploom.engine.host_compiler.memory_checks import range_of_argument
from warploom.engine.host_compiler.memory_layout import MemoryLayout
from warploom.engine.host_compiler.phases import shuffles
from warploom.engine.host_compiler.phases.spills import Spills
from warploom.engine.host_compiler.runtime import matrix_collectives
from warploom.engine.ptx.tree import Function


class WaitingKernel:
    """A kernel whose threads wait: its suspension points, its spills, and the limits of its buffers."""

    def __init__(self, kernel: Function, layout: MemoryLayout, callees: dict[str, Function], flow: ControlFlow) -> None:
        self.kernel = kernel
        self.layout = layout
        self.callees = callees
        self.flow = flow
        self.waiting = [block for block in flow.blocks if block.suspends]
        self.points: dict[int, SuspensionPoint] = {
            block.index: suspension_point(block.instructions[-1]) for block in self.waiting
        }
        #: The number of each point, by its block.
        self.numbers = {block.index: number for number, block in enumerate(self.waiting, 1)}
        self.points = shuffles.placed(kernel.name, flow, self.points)
        self.definitions = self._define_collectives() + shuffles.definitions(self.points.values())
        #: Whether threads may arrive at barriers without waiting, or name different ones. Then the scheduler checks
        #: each thread.
        self.parts_at_barriers = any(
            item.opcode in ("bar", "barrier") and "arrive" in item.modifiers for item in kernel.instructions
        ) or any(point.kind == BARRIER and point.names_members for point in self.points.values())
        self.kinds = uniformity(kernel)
        self.available = availability(kernel)
        self.spills = Spills(kernel, self.kinds)
        self.provenance = provenance(kernel, layout)
        local = self.body().local_bytes
        self.local_bytes = -(-local // 16) * 16
        self.local_at = self.spills.place("local memory", self.local_bytes)
        self._limits: dict[Root, int] = {}

    def _define_collectives(self) -> list[str]:
        """Name the collectives that only this kernel has, and return their text."""
        found: dict[str, str] = {}
        for index, point in self.points.items():
            if point.matrices is not None:
                name = quoted(f"{self.kernel.name}|{point.collective}")
                if name not in found:
                    found[name] = matrix_collectives.definition(name, point.matrices)
                self.points[index] = replace(point, collective=name)
        return list(found.values())

    def body(self, *, branch_free: bool = False) -> Body:
        """Return an empty body of the kernel."""
        return Body(
            self.kernel,
            self.layout,
            self.kernel.name,
            self.provenance,
            callees=self.callees,
            branch_free=branch_free,
            limits=self.limit,
        )

    def limit(self, root: Root) -> int:
        """Return where in scratch memory the limits of a parameter's buffer lie: first byte and size."""
        if root not in self._limits:
            self._limits[root] = self.spills.reserve(16)
        return self._limits[root]

    def limits_text(self) -> str:
        """Return the text that looks up the limits before any thread block runs."""
        text = ""
        for (_, parameter), offset in self._limits.items():
            name = f"%limits.{offset}"
            text += (
                f"{range_of_argument(name, parameter)}\n"
                f"  {name}.at = getelementptr i8, ptr %scratch, i64 {offset}\n"
                f"  store {{i64, i64}} {name}, ptr {name}.at\n"
            )
        return text
