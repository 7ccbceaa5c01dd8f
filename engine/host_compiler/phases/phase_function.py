"""One LLVM function that runs threads from a suspension point to the next, or along a chain of phases.

It returns the number of the point that all threads have reached, -1 when all have ended, or 0 when each thread's state
has its point.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from warploom.engine.host_compiler import abi, blocks, parallel
from warploom.engine.host_compiler.accesses import space_of
from warploom.engine.host_compiler.analysis.control_flow import used
from warploom.engine.host_compiler.analysis.guards import Guards
from warploom.engine.host_compiler.analysis.phase_values import phase_values
from warploom.engine.host_compiler.analysis.ranges import Ranges
from warploom.engine.host_compiler.analysis.suspension_points import BARRIER, SuspensionPoint
from warploom.engine.host_compiler.analysis.uniformity import Uniform
from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.errors import reading
from warploom.engine.host_compiler.operands import width
from warploom.engine.host_compiler.phases import shuffles
from warploom.engine.host_compiler.phases.phase import Phase
from warploom.engine.host_compiler.phases.phase_ends import PhaseEndWriter
from warploom.engine.host_compiler.phases.spills import element
from warploom.engine.host_compiler.phases.waiting_kernel import WaitingKernel
from warploom.engine.host_compiler.phases.warp_chains import Link
from warploom.engine.host_compiler.phases.warp_values import WarpValues, is_direct
from warploom.engine.host_compiler.row_parts import RowParts, Version
from warploom.engine.host_compiler.runtime.thread_loops import RowPart, memory_prologue, thread_loops
from warploom.engine.host_compiler.types import TYPES

WARP_THREADS = 32
#: A loop over threads, one after the other, is unrolled when its body has no more instructions than this.
SHORT = 48


class NoFunction(Exception):  # no error: simpler functions take its place
    """A function can't be written.

    Either warps part inside a chain, or a phase before the chain's last one checks single accesses, or more than one
    thread of a row runs the loops of a phase.
    """


@dataclass(frozen=True)
class PhaseStep:
    """A phase that a function runs, and the link that leads to it."""

    phase: Phase
    link: Link


class PhaseFunction:
    """Writes a function that runs `steps`: a phase, or those of a chain up to the point `final`.

    `is_parallel`: many threads run at once. `is_hoisted`: accesses are checked before the threads run, where they can
    be; `text` then says whether the twin is needed.
    """

    def __init__(
        self,
        shared: WaitingKernel,
        steps: Sequence[PhaseStep],
        *,
        is_parallel: bool,
        is_hoisted: bool,
        final: int | None = None,
    ) -> None:
        self._shared, self._steps, self._is_parallel, self._is_hoisted = shared, steps, is_parallel, is_hoisted
        self._phase, self._final, self._is_chain = steps[0].phase, final, final is not None
        self._warp = WarpValues([step.link.way for step in steps[1:]]) if self._is_chain else None
        self._body = shared.body(branch_free=is_parallel)
        #: The number of steps that `text` has written.
        self.written = 0
        self._ranges: Ranges | None = None
        self._guards: Guards | None = None
        self._rows: RowParts | None = None
        if is_hoisted:
            pieces = sorted({index for step in steps for index in step.phase.ends.pieces})
            passed = self._phase.passed | {step.link.way for step in steps[1:]}
            start, flow = self._phase.start, shared.flow
            facts = shared.spills.facts(self._body, self._phase.restored)
            available = partial(shared.available, start)
            values = phase_values(shared.kernel, flow, pieces, start, facts, available, passed)
            self._guards = Guards(shared.kernel, flow, start, pieces, values.is_fresh, passed)
            self._ranges = Ranges(shared.kernel, shared.layout, values)
            in_warps = self._is_chain or (is_parallel and self._phase.reads_neighbours)
            width = WARP_THREADS if in_warps else 0
            if is_parallel and not in_warps:
                width = parallel.row_width(shared.kernel, shared.layout, flow, pieces, values)
            if width:
                self._ranges.require_whole_rows(width, are_warps=in_warps)
            if self._phase.passed:
                self._ranges.require_one_row()
            self._body.accesses.hoist(self._ranges, self._guards.of_blocks(), values, width, in_warps=in_warps)
            self._body.accesses.look_ahead()
            if self._phase.is_repeated:
                self._body.accesses.follow_turns(lambda name: shared.spills.place(name, 8))
            self._values = values
            self._rows = RowParts(self._body, flow, self._ranges, self._guards)
        self._writer = self._end_writer(self._phase, self._body, frozenset())

    @property
    def is_hopeful(self) -> bool:
        """Whether the twin may run often."""
        return self._ranges is not None and self._ranges.is_hopeful

    def text(self, suffix: str, twin: str) -> tuple[str, bool]:
        """Return the function, whose name ends with `suffix`, and whether it calls the one whose name ends with `twin`.

        Raise NoFunction when it can't be written.
        """
        shared, body, phase = self._shared, self._body, self._phase
        is_parallel, writer = self._is_parallel, self._writer
        common = self._common_point(writer)
        parts: list[RowPart] = []
        own = phase.point.registers if phase.point is not None else frozenset[str]()
        for step in self._steps:
            if self._is_chain and body.accesses.sites:
                raise NoFunction
            parts += self._parts(step, common, own if parts else frozenset(), is_first=not parts)
            own |= step.phase.ends.written()
            self.written += 1
        if self._warp is not None:
            parts[0] = replace(parts[0], resolve=self._warp.reset)
            writer.after = "".join(shared.spills.noted(body, name, slot) for name, slot in self._warp.common.items())
        fold = parallel.fault_fold(body, "phase.ran") if is_parallel else parallel.FaultFold(done="phase.ran")
        made = parallel.choice(body, phase.name(twin), "phase.done") if self._is_hoisted else ("", False)
        choice, needs_twin = made
        edges = {axis: (f"%{axis}0", f"%{axis}1") for axis in "xyz"}
        count = sum(len(shared.flow.blocks[index].instructions) for index in phase.ends.pieces)
        kind = parallel.VECTORS if is_parallel else parallel.UNROLLED if self._is_hoisted and count <= SHORT else ""
        bounds = self._rows.bounds if self._rows is not None else ""
        loops = thread_loops([fold.around(part) for part in parts], edges, fold.done, kind, bounds)
        uniform = shared.spills.uniform_text(body, f"{loops.prologue}{choice}{loops.text}")
        prologue = f"{memory_prologue(shared.layout)}{_FIRST_THREAD}{uniform}\n{loops.prologue}"
        note = common + "  store i32 %common.now, ptr %common\n" if common else ""
        rarity = "noinline" if self._is_hoisted or not suffix else parallel.twin(is_parallel=is_parallel)
        slots = fold.slots + (self._warp.slots if self._warp is not None else "")
        text = (
            f"define internal i32 {phase.name(suffix)}({shared.layout.formal(parallel.FRAME)}) #0 {rarity} {{\nentry:\n"
            f"  %common = alloca i32\n  store i32 0, ptr %common\n{slots}{loops.slots}\n"
            f"  br label %start\nstart:\n{prologue}\n{choice}{fold.reset}{loops.text}{fold.judge}"
            f"phase.ran:\n{writer.after}{note}  br label %phase.done\n"
            "phase.done:\n  %common.last = load i32, ptr %common\n  ret i32 %common.last\n}\n"
        )
        return text, needs_twin

    def _parts(self, step: PhaseStep, common: str, own: frozenset[str], *, is_first: bool) -> list[RowPart]:
        """Return the loops over threads of a step; each thread has spilled the registers `own` for itself."""
        shared, phase, rows = self._shared, step.phase, self._rows
        versions = [Version()]
        if rows is not None and phase.has_loop:
            ends = phase.ends
            versions = rows.apart(ends.pieces, ends.outputs(), ends.overwritten(), phase.passed)
            left = [index for index in phase.ends.pieces if index not in versions[0].skips] if versions else []
            if not left or not common or not parallel.is_parallel(shared.flow, left, shared.provenance):
                raise NoFunction
        elif rows is not None:
            versions = rows.versions(
                phase.ends.pieces,
                may_skip=bool(common) and not self._is_chain and self._is_idle(),
                is_vector=self._is_parallel,
            )
        after = "" if common else f"  store i32 {abi.EXITED}, ptr %state.at{self._body.accesses.suffix}\n"
        parts: list[RowPart] = []
        for version in versions:
            body, end = self._body, self._writer
            if not is_first or parts:
                body = shared.body(branch_free=self._is_parallel and version.acts is None)
                body.accesses.join(self._body.accesses)
                end = self._end_writer(phase, body, own)
                if common and not self._is_chain:
                    self._common_point(end)
            version.limit(body, self._guards)
            body.code.lines.clear()
            # Again: the guards may compare registers that the version knows. A register that has not been written yet
            # is restored only here: a chain that begins at the kernel's start restores none at first.
            shared.spills.restore(body, phase.restored, phase.ends.needed(own), self._warp, own)
            if phase.point is not None:
                with reading(shared.waiting[phase.number - 1].instructions[-1]):
                    _take(body, phase.point, None if is_first else self._warp, step.link.way)
            end.notes_states = not common
            body.code.jump(blocks.label(phase.start))
            blocks.translate(body, shared.flow, phase.start, "thread.exit", end)
            slots = dict(zip(end.slots, self._writer.slots, strict=True)) if parts and version.acts is None else {}
            then = after if version.acts is None else ""
            part = version.part(body, self._thread(), then, slots)
            parts.append(replace(part, kind=parallel.LANES[self._widest(phase)]) if self._is_chain else part)
        if self._warp is not None and not is_first and phase.point is not None:
            resolve = self._warp.resolved(step.link.way, phase.point)
            parts[0] = replace(parts[0], gate=self._gate(step), resolve=resolve)
        return parts

    def _widest(self, phase: Phase) -> int:
        """Return the bits of the widest element that a phase loads or stores: 32 or 64."""
        ends, spills, flow = phase.ends, self._shared.spills, self._shared.flow
        items = [item for index in ends.pieces for item in flow.blocks[index].instructions]
        read = {name for item in items for name in used(item)}
        kept = (read & {*spills.kept(phase.restored)}).union(*map(ends.spilled, ends.sites))
        sizes = [width(self._body.register_type(name)) for name in kept if not spills.is_uniform(name)]
        accesses = (item for item in items if item.opcode in ("ld", "st") and space_of(item) != "param")
        sizes += [TYPES.get(name, 0) for item in accesses for name in item.modifiers]
        return 64 if max(sizes, default=0) > 32 else 32

    @property
    def common(self) -> list[str]:
        """The uniform registers that the function spills beside those that the phase itself does."""
        return list(self._warp.common) if self._warp is not None else []

    def _end_writer(self, phase: Phase, body: Body, own: Collection[str]) -> PhaseEndWriter:
        return PhaseEndWriter(phase.ends, body, self._shared.spills, self._shared.points, self._warp, own)

    def _gate(self, step: PhaseStep) -> str:
        """Return the i1 that selects the rows in which a step follows; "" for all."""
        link = step.link
        if not link.others:
            return ""
        before = next(item.phase for item, after in zip(self._steps, self._steps[1:], strict=False) if after is step)
        assert self._rows is not None
        shared, values = self._shared, self._values
        known = Guards(shared.kernel, shared.flow, before.start, before.ends.pieces, values.is_fresh).of_blocks()
        gate = self._rows.gate(known[link.way], [known[index] for index in link.others])
        if not gate:
            raise NoFunction
        return gate

    def _common_point(self, writer: PhaseEndWriter) -> str:
        """Return the text that yields the point which all threads reach, `%common.now`; "" when they may differ."""
        shared, ends, ranges, guards = self._shared, self._phase.ends, self._ranges, self._guards
        if self._final is not None:
            return f"  %common.now = add i32 {self._final}, 0\n"
        if ends.is_last:
            return f"  %common.now = add i32 {abi.EXITED}, 0\n"
        if not ends.is_single or shared.parts_at_barriers:
            return ""
        (site,) = ends.sites
        points = [shared.points[block.index] for block in ends.points(site)]
        if any(point.kind == BARRIER and point.collective for point in points):  # reductions check the states
            return ""
        branch = ends.branch(site)
        if branch is None or branch.guard is None:
            return writer.uniform_state(site)
        if shared.kinds.get(branch.guard.register.name) == Uniform():
            return writer.uniform_state(site)
        comparison = guards.comparison(branch.guard) if guards is not None else None
        always = ranges.decided(comparison) if ranges is not None and comparison is not None else None
        return writer.decided_state(site, always) if always is not None else ""

    def _is_idle(self) -> bool:
        """Whether threads do nothing at the ends."""
        ends, points = self._phase.ends, self._shared.points
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


def _take(body: Body, point: SuspensionPoint, warp: WarpValues | None, index: int) -> None:
    """Write the results of the point at which the thread has waited to their registers.

    Inside a chain, they are in `warp`, for the point of a block.
    """
    code = body.code
    taken: tuple[str, ...] = ()
    if warp is not None and is_direct(point):
        if point.shuffle is not None:
            array, first = warp.given(index, point)
            taken = shuffles.take_in_warp(
                body, point.shuffle, code.value(f"getelementptr i8, ptr {array}, i64 {first}")
            )
        else:
            value = warp.vote(index, point)
            taken = (code.value(value) if " " in value else value,)
    elif point.shuffle is not None:
        taken = shuffles.take(body, point.shuffle)
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
