"""One phase of a waiting kernel, as LLVM functions.

A phase without loops has two: one whose accesses are checked for all threads before they run, and its twin, which
checks each and runs when one of them may be outside. Either returns the number of the point that all threads have
reached, -1 when all have ended, or 0 when each thread's state says where it is. A phase that is one round of a loop
repeats until the threads leave the loop.
"""

from engine.device.host.translate import abi, blocks, parallel
from engine.device.host.translate.analysis.control_flow import ControlFlow
from engine.device.host.translate.analysis.guards import Guards
from engine.device.host.translate.analysis.phase_values import phase_values
from engine.device.host.translate.analysis.ranges import Ranges
from engine.device.host.translate.analysis.suspension_points import BARRIER, SuspensionPoint
from engine.device.host.translate.analysis.uniformity import Uniform
from engine.device.host.translate.body import Body
from engine.device.host.translate.code import quoted
from engine.device.host.translate.errors import reading
from engine.device.host.translate.memory_layout import MemoryLayout
from engine.device.host.translate.phases import shuffles
from engine.device.host.translate.phases.phase_ends import PhaseEnds, PhaseEndWriter
from engine.device.host.translate.phases.spills import element
from engine.device.host.translate.phases.waiting_kernel import WaitingKernel
from engine.device.host.translate.row_parts import RowParts, Version
from engine.device.host.translate.runtime import scheduler
from engine.device.host.translate.runtime.scheduler import PhasePlan
from engine.device.host.translate.runtime.thread_loops import Part, memory_prologue, thread_loops
from engine.ptx.tree import Function

WARP_THREADS = 32
#: A loop over threads, one after the other, is unrolled when its body has no more instructions than this.
SHORT = 48


class Phase:
    """A phase of a kernel: number 0 runs from the start, any other from after the point of that number."""

    def __init__(self, shared: WaitingKernel, number: int) -> None:
        self._shared, self._number = shared, number
        self._start = 0
        self._point: SuspensionPoint | None = None
        self._restored = frozenset[str]()
        if number:
            waited = shared.waiting[number - 1].index
            self._start, self._point = waited + 1, shared.points[waited]
            self._restored = shared.flow.live_in(waited + 1) - self._point.registers
        self._ends = PhaseEnds(shared.flow, shared.points, shared.spills, self._start, self._restored)

    def plan(self) -> PhasePlan:
        """Return what the scheduler must know."""
        spills, body = self._shared.spills, self._shared.body()
        waiting = self._shared.waiting
        common = [spills.array(body, name) for name in self._ends.shared()]
        return PhasePlan(
            self._name(),
            self._point,
            waiting[self._number - 1].instructions[-1].line if self._number else 0,
            [spills.array(body, name) for name in spills.uniform(self._restored)],
            common if self._ends.is_single else [],
            [] if self._ends.is_single else common,
        )

    def text(self) -> str:
        """Return the phase's functions."""
        shared, pieces = self._shared, self._ends.pieces
        if parallel.has_loop(shared.flow, pieces):
            return self._function(is_parallel=False)[0]
        is_parallel = parallel.is_parallel(shared.flow, pieces, shared.provenance)
        text, is_hoisted, is_hopeful = self._function(is_parallel=is_parallel, is_hoisted=True)
        if not is_hoisted:
            return text
        return text + self._function(is_parallel=is_parallel and is_hopeful, suffix="|checked")[0]

    def _name(self, suffix: str = "") -> str:
        return f"@{quoted(f'{self._shared.kernel.name}|phase.{self._number}{suffix}')}"

    def _function(self, *, is_parallel: bool, is_hoisted: bool = False, suffix: str = "") -> tuple[str, bool, bool]:
        """Return one function, whether it needs the checked twin, and whether that may run often."""
        shared, ends = self._shared, self._ends
        body = shared.body(branch_free=is_parallel)
        lines, restored = shared.spills.restore(body, self._restored)
        ranges, guards = None, None
        if is_hoisted:
            available = shared.available(self._start)
            values = phase_values(shared.kernel, shared.flow, ends.pieces, self._start, restored, available)
            guards = Guards(shared.kernel, shared.flow, self._start, ends.pieces, values.is_fresh)
            ranges = Ranges(shared.kernel, shared.layout, values)
            in_warps = is_parallel and self._point is not None and self._point.shuffle is not None
            width = WARP_THREADS if in_warps else 0
            if is_parallel and not in_warps:
                width = parallel.row_width(shared.kernel, shared.layout, shared.flow, ends.pieces, values)
            if width:
                ranges.require_whole_rows(width, are_warps=in_warps)
            body.accesses.hoist(ranges, guards.of_blocks(), values, width, in_warps=in_warps)
        writer = PhaseEndWriter(ends, body, shared.spills, shared.points)
        common = self._common_point(writer, ranges, guards)
        after = "" if common else f"  store i32 {abi.EXITED}, ptr %state.at{body.accesses.suffix}\n"
        versions, bounds = [Version()], ""
        if ranges is not None and guards is not None:
            rows = RowParts(body, shared.flow, ends.pieces, ranges, guards)
            versions = rows.versions(
                ends.outputs(),
                may_skip=bool(common) and self._is_idle(),
                may_repeat=ends.is_repeatable(),
                is_vector=is_parallel,
            )
            bounds = rows.bounds
        parts: list[Part] = []
        for version in versions:
            own, end = body, writer
            if parts:
                own = shared.body(branch_free=is_parallel)
                own.accesses.join(body.accesses)
                end = PhaseEndWriter(ends, own, shared.spills, shared.points)
                if common:
                    self._common_point(end, ranges, guards)
            version.limit(own, guards)
            own.code.lines.clear()
            shared.spills.restore(own, self._restored)  # again: it may compare what the version knows
            if self._point is not None:
                with reading(shared.waiting[self._number - 1].instructions[-1]):
                    _take(own, self._point)
            end.notes_states = not common
            own.code.jump(blocks.label(self._start))
            blocks.translate(own, shared.flow, self._start, "thread.exit", end)
            slots = dict(zip(end.slots, writer.slots, strict=True)) if parts and version.acts is None else {}
            then = after if version.acts is None else ""
            parts.append(version.part(own, self._thread() + end.begin, then, end.finish, slots))
        fold = parallel.fault_fold(body, "phase.ran") if is_parallel else parallel.FaultFold(done="phase.ran")
        choice = parallel.choice(body, self._name("|checked"), "phase.done") if is_hoisted else ""
        edges = {axis: (f"%{axis}0", f"%{axis}1") for axis in "xyz"}
        count = sum(len(shared.flow.blocks[index].instructions) for index in ends.pieces)
        kind = parallel.VECTORS if is_parallel else parallel.UNROLLED if is_hoisted and count <= SHORT else ""
        loops = thread_loops([fold.around(part) for part in parts], edges, fold.done, kind, bounds)
        prologue = memory_prologue(shared.layout) + _FIRST_THREAD + "\n".join([*lines, loops.prologue])
        note = common + "  store i32 %common.now, ptr %common\n" if common else ""
        rarity = parallel.twin(is_parallel=is_parallel) if suffix else "noinline"
        text = (
            f"define internal i32 {self._name(suffix)}({shared.layout.formal(parallel.FRAME)}) #0 {rarity} {{\nentry:\n"
            f"  %common = alloca i32\n  store i32 0, ptr %common\n{fold.slots}{loops.slots}\n"
            f"  br label %start\nstart:\n{prologue}\n{choice}{fold.reset}{loops.text}{fold.judge}"
            f"phase.ran:\n{writer.after}{note}{self._repeat() if common else '  br label %phase.done'}\n"
            "phase.done:\n  %common.last = load i32, ptr %common\n  ret i32 %common.last\n}\n"
        )
        return text, bool(choice), ranges is not None and ranges.is_hopeful

    def _common_point(self, writer: PhaseEndWriter, ranges: Ranges | None, guards: Guards | None) -> str:
        """Return the text that yields the point which all threads reach, `%common.now`; "" when they may differ."""
        shared, ends = self._shared, self._ends
        if ends.is_last:
            return f"  %common.now = add i32 {abi.EXITED}, 0\n"
        if not ends.is_single or shared.parts_at_barriers:
            return ""
        (site,) = ends.sites
        points = [shared.points[block.index] for block in ends.points(site)]
        if any(point.kind == BARRIER and point.collective for point in points):  # reductions look at the states
            return ""
        branch = ends.branch(site)
        if branch is None or branch.guard is None:
            return writer.uniform_state(site)
        if shared.kinds.get(branch.guard.register.name) == Uniform():
            return writer.uniform_state(site)
        comparison = guards.comparison(branch.guard) if guards is not None else None
        always = ranges.decided(comparison) if ranges is not None and comparison is not None else None
        return writer.decided_state(site, always) if always is not None else ""

    def _repeat(self) -> str:
        """Return the text that repeats a phase when all threads have reached the point where it starts: one round.

        Only while the threads are together; the scheduler runs those that have diverged.
        """
        if not any(
            block is self._shared.waiting[self._number - 1]
            for site in self._ends.sites
            for block in self._ends.points(site)
            if self._number
        ):
            return "  br label %phase.done"
        return f"""  %round.same = icmp eq i32 %common.now, {self._number}
  %round.next = and i1 %round.same, %together
  br i1 %round.next, label %round, label %phase.done
round:
  %round.fault.at = getelementptr i64, ptr %worker, i64 {abi.FAULT_KIND}
  %round.fault = load i64, ptr %round.fault.at
  %round.stop.at = getelementptr i64, ptr %launch, i64 {abi.STOP}
  %round.flag = load ptr, ptr %round.stop.at, !invariant.load !0
  %round.stop = load volatile i64, ptr %round.flag, align 8
  %round.any = or i64 %round.fault, %round.stop
  %round.fine = icmp eq i64 %round.any, 0
  br i1 %round.fine, label %start, label %phase.done"""

    def _is_idle(self) -> bool:
        """Whether threads do nothing at the ends."""
        ends, points = self._ends, self._shared.points
        return all(
            ends.branch(site) is None and not ends.spilled(site) and points[site.index].is_idle for site in ends.sites
        )

    def _thread(self) -> str:
        """Return the text at the start of each thread: where its local memory and its state lie."""
        return f"""  %linear.row = mul i32 %tid.z, %ny
  %linear.row2 = add i32 %linear.row, %tid.y
  %linear.start = mul i32 %linear.row2, %nx
  %linear = add i32 %linear.start, %tid.x
  %linear.first = zext i32 %linear.start to i64
  %linear.wide = add nuw nsw i64 %linear.first, %tid.x.wide
  %local.index = mul nuw nsw i64 %linear.wide, {self._shared.local_bytes}
  %local.all = getelementptr i8, ptr %scratch, i64 {self._shared.local_at}
  %local = getelementptr i8, ptr %local.all, i64 %local.index
  %state.at = getelementptr i32, ptr %scratch, i64 %linear.wide
"""


_FIRST_THREAD = """  %first.row = mul i32 %z0, %ny
  %first.row2 = add i32 %first.row, %y0
  %first.start = mul i32 %first.row2, %nx
  %first.thread = add i32 %first.start, %x0
"""


def _take(body: Body, point: SuspensionPoint) -> None:
    """Write the results of the point at which the thread has waited to their registers."""
    code = body.code
    taken = shuffles.take(body, point.shuffle) if point.shuffle is not None else ()
    for index, operand, kind in point.results:
        if taken:
            body.write(operand, kind, taken[index])
            continue
        value = code.value(f"load i32, ptr {element(body, abi.result(index), 'i32')}{body.accesses.suffix}")
        if kind == "pred":
            value = code.value(f"icmp ne i32 {value}, 0")
        if kind == "b64":
            high = code.value(f"load i32, ptr {element(body, abi.result(index + 1), 'i32')}{body.accesses.suffix}")
            high = code.value(f"shl i64 {code.value(f'zext i32 {high} to i64')}, 32")
            value = code.value(f"or i64 {code.value(f'zext i32 {value} to i64')}, {high}")
        body.write(operand, kind, value)


def translate_waiting(
    kernel: Function, layout: MemoryLayout, callees: dict[str, Function], flow: ControlFlow
) -> tuple[str, int]:
    """Return the LLVM text of a kernel whose threads wait, and the scratch bytes that a worker needs to run it.

    The kernel is cut at its suspension points. Each piece, a *phase*, runs from the start or from one point to the next
    points, for all threads of a thread block in a plain loop. The scheduler then runs the phase that follows the point
    which the threads have reached.
    """
    shared = WaitingKernel(kernel, layout, callees, flow)
    phases = [Phase(shared, number) for number in range(len(shared.waiting) + 1)]
    text = [phase.text() for phase in phases]
    plan = [phase.plan() for phase in phases]
    text += shared.definitions
    text.append(scheduler.text(kernel.name, plan, shared.limits_text(), parts_at_barriers=shared.parts_at_barriers))
    return "\n".join(text), shared.spills.size + 64
