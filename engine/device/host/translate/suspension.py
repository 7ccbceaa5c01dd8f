"""Kernels whose threads wait for each other.

The kernel is cut at the points where a thread waits. Each piece, a *phase*, runs from the start or from one point to
the next points, for all threads of a thread block in a plain loop. What a thread needs later is kept in arrays with
one element for each thread. The scheduler then runs the phase that follows the point all threads have reached.
"""

from __future__ import annotations

from dataclasses import replace

from engine.device.host.translate import abi, blocks, parallel, resolvers, scheduler
from engine.device.host.translate.accesses import Accesses
from engine.device.host.translate.body import Body, Layout, quoted, width
from engine.device.host.translate.flow import Block, Flow
from engine.device.host.translate.guards import guards
from engine.device.host.translate.points import BARRIER, Point, exchange, is_point, point_of, result
from engine.device.host.translate.provenance import Root, roots
from engine.device.host.translate.ranges import Ranges
from engine.device.host.translate.recompute import recomputable
from engine.device.host.translate.table import OPCODES
from engine.device.host.translate.threads import memory_prologue, thread_loop
from engine.ptx.tree import Function

suspends = is_point

PHASE_FRAME = parallel.FRAME


class _Scratch:
    """The layout of one worker's scratch memory: states, exchange and result arrays, saved registers, local memory."""

    def __init__(self) -> None:
        self.size = resolvers.SCRATCH_START
        self._slots: dict[str, int] = {}

    def slot(self, name: str, size: int) -> int:
        """Return where the array of a saved register lies."""
        if name not in self._slots:
            self._slots[name] = self.size
            self.size += size * abi.MAX_THREADS
        return self._slots[name]


class _Phases:
    """Writes the phases of one kernel."""

    def __init__(self, kernel: Function, layout: Layout, callees: dict[str, Function], flow: Flow) -> None:
        self.kernel = kernel
        self.layout = layout
        self.callees = callees
        self.flow = flow
        self.waiting = [block for block in flow.blocks if block.suspends]
        self.points: dict[int, Point] = {block.index: point_of(block.instructions[-1]) for block in self.waiting}
        self.numbers = {block.index: number for number, block in enumerate(self.waiting, 1)}
        self.counts_arrivals = any(
            item.opcode in ("bar", "barrier") and "arrive" in item.modifiers for item in kernel.instructions
        )
        self.scratch = _Scratch()
        self.recomputed = recomputable(kernel)
        self.roots: dict[str, Root | None] = roots(kernel, layout.parameters, set(layout.module))
        local = Body(kernel, layout, kernel.name).local_bytes
        self.local_bytes = -(-local // 16) * 16
        self.local_at = self.scratch.slot("local memory", self.local_bytes)

    def definitions(self) -> list[str]:
        """Name the resolvers that only this kernel has, and return their text."""
        found: dict[str, str] = {}
        for index, point in self.points.items():
            if point.definition is not None:
                name = quoted(f"{self.kernel.name}|{point.resolver}")
                if name not in found:
                    found[name] = point.definition(name)
                self.points[index] = replace(point, resolver=name)
        return list(found.values())

    def sure_point(self, number: int) -> int:
        """Return the point that every thread reaches from the start of a phase; 0 when it may also be another."""
        if self.counts_arrivals:  # the scheduler then looks at every thread's state
            return 0
        start = self.waiting[number - 1].index + 1 if number else 0
        found: set[int] = set()
        for index in blocks.reachable(self.flow, start):
            block = self.flow.blocks[index]
            last = block.instructions[-1] if block.instructions else None
            ends = last is not None and last.opcode in ("ret", "exit", "trap", "call", "brx")
            found.add(self.numbers.get(index, 0) if block.suspends or ends or not block.successors else -1)
            if any(item.opcode in ("call", "trap") for item in block.instructions):
                found.add(0)
        found.discard(-1)
        point = found.pop() if len(found) == 1 else 0
        # Reductions at barriers look at the states.
        is_read = point and self.points[self.waiting[point - 1].index].kind == BARRIER
        return 0 if is_read and self.points[self.waiting[point - 1].index].resolver else point

    def name(self, number: int, suffix: str = "") -> str:
        return f"@{quoted(f'{self.kernel.name}|phase.{number}{suffix}')}"

    def write(self, number: int) -> str:
        """Return phase `number`: 0 from the start, else from after that point."""
        start = self.waiting[number - 1].index + 1 if number else 0
        plain = Accesses(Body(self.kernel, self.layout, self.kernel.name), self.roots, branch_free=False)
        if not parallel.is_parallel(self.flow, blocks.reachable(self.flow, start), plain):
            return self._write(number, is_parallel=False)[0]
        text, is_hoisted = self._write(number, is_parallel=True)
        return text + (self._write(number, is_parallel=False, suffix="|checked")[0] if is_hoisted else "")

    def _write(self, number: int, *, is_parallel: bool, suffix: str = "") -> tuple[str, bool]:
        """Return a phase as one function, and whether it needs its checked twin."""
        body = Body(self.kernel, self.layout, self.kernel.name)
        body.callees = self.callees
        ranges = Ranges(body) if is_parallel else None
        start = self.waiting[number - 1].index + 1 if number else 0
        known = guards(self.flow, start, blocks.reachable(self.flow, start)) if is_parallel else None
        body.accesses = Accesses(body, self.roots, branch_free=is_parallel, ranges=ranges, guards=known)
        if number:
            block = self.waiting[number - 1]
            self._restore(body, self.points[block.index], self.flow.blocks[start].live_in)
        sure = self.sure_point(number)
        body.code.jump(blocks.label(start))
        blocks.translate(body, self.flow, start, "thread.exit", lambda block: self._suspend(body, block, sure))
        before = f"""  %linear.row = mul i32 %tid.z, %ny
  %linear.row2 = add i32 %linear.row, %tid.y
  %linear.start = mul i32 %linear.row2, %nx
  %linear = add i32 %linear.start, %tid.x
  %local.index = mul i32 %linear, {self.local_bytes}
  %local.all = getelementptr i8, ptr %scratch, i64 {self.local_at}
  %local = getelementptr i8, ptr %local.all, i32 %local.index
{resolvers.element("state.at", resolvers.STATE, "%linear")}"""
        after = f"  store i32 {scheduler.EXITED}, ptr %state.at{body.accesses.suffix}\n"
        fold = parallel.fault_fold(body, "phase.done") if is_parallel else parallel.FaultFold(done="phase.done")
        choice = parallel.choice(body, self.name(number, "|checked"), "phase.done") if is_parallel else ""
        edges = {axis: (f"%{axis}0", f"%{axis}1") for axis in "xyz"}
        loop = thread_loop(body, before + fold.begin, after, edges, fold.done, fold.finish)
        entry = "\n".join(body.code.entry)
        prologue = memory_prologue() + "\n".join(body.accesses.prologue)
        rarity = parallel.TWIN if suffix else "noinline"
        text = (
            f"define internal void {self.name(number, suffix)}({PHASE_FRAME}) #0 {rarity} {{\nentry:\n{fold.slots}"
            f"{entry}\n  br label %start\nstart:\n{prologue}\n{choice}{fold.reset}{loop}{fold.judge}"
            "phase.done:\n  ret void\n}\n"
        )
        return text, bool(choice)

    def _place(self, body: Body, offset: int, kind: str) -> str:
        base = body.code.value(f"getelementptr i8, ptr %scratch, i64 {offset}")
        return body.code.value(f"getelementptr {kind}, ptr {base}, i32 %linear")

    def _suspend(self, body: Body, block: Block, sure: int) -> None:
        """Save what is needed later, hand over the operands and stop this thread.

        Where all threads come to the same point, the scheduler knows that without a note from each.
        """
        code, point = body.code, self.points[block.index]
        code_suffix = body.accesses.suffix
        line = block.instructions[-1].line
        given = () if sure and point.is_plain_barrier else point.given
        for index, operand, kind in given:
            value = body.read(operand, kind, line)
            if kind == "pred":
                value = code.value(f"zext i1 {value} to i32")
            if kind == "b64":
                high = code.value(f"trunc i64 {code.value(f'lshr i64 {value}, 32')} to i32")
                code.do(f"store i32 {high}, ptr {self._place(body, exchange(index + 1), 'i32')}{code_suffix}")
                value = code.value(f"trunc i64 {value} to i32")
            code.do(f"store i32 {value}, ptr {self._place(body, exchange(index), 'i32')}{code_suffix}")
        results = {operand.name for _, operand, _ in point.results if hasattr(operand, "name")}
        for name in sorted(self.flow.blocks[block.index + 1].live_in - results - set(self.recomputed)):
            if name not in self.kernel.registers:
                continue
            slot, kind = body.register_slot(name, line)
            stored = "i8" if kind == "i1" else kind
            value = code.value(f"load {kind}, ptr {slot}")
            if kind == "i1":
                value = code.value(f"zext i1 {value} to i8")
            place = self._place(body, self.scratch.slot(name, max(width(kind), 8) // 8), stored)
            code.do(f"store {stored} {value}, ptr {place}{code_suffix}")
        if not sure:
            code.do(f"store i32 {self.numbers[block.index]}, ptr %state.at{code_suffix}")
        code.jump("thread.done")

    def _restore(self, body: Body, point: Point, live: frozenset[str]) -> None:
        """Compute and load what the thread had before it waited, and take the point's results."""
        needed = self._needed(live)
        for name, instruction in self.recomputed.items():
            if name in needed:
                OPCODES[instruction.opcode](body, instruction)
        code = body.code
        results = {operand.name for _, operand, _ in point.results if hasattr(operand, "name")}
        for name in sorted(live - results - set(self.recomputed)):
            if name not in self.kernel.registers:
                continue
            slot, kind = body.register_slot(name, 0)
            stored = "i8" if kind == "i1" else kind
            place = self._place(body, self.scratch.slot(name, max(width(kind), 8) // 8), stored)
            value = code.value(f"load {stored}, ptr {place}{body.accesses.suffix}")
            if kind == "i1":
                value = code.value(f"trunc i8 {value} to i1")
            code.do(f"store {kind} {value}, ptr {slot}")
        for index, operand, kind in point.results:
            value = code.value(f"load i32, ptr {self._place(body, result(index), 'i32')}{body.accesses.suffix}")
            if kind == "pred":
                value = code.value(f"icmp ne i32 {value}, 0")
            if kind == "b64":
                high = code.value(f"load i32, ptr {self._place(body, result(index + 1), 'i32')}{body.accesses.suffix}")
                high = code.value(f"shl i64 {code.value(f'zext i32 {high} to i64')}, 32")
                value = code.value(f"or i64 {code.value(f'zext i32 {value} to i64')}, {high}")
            body.write(operand, kind, value)

    def _needed(self, live: frozenset[str]) -> set[str]:
        """Return the live registers that are recomputed, with the recomputed ones those are made from."""
        from engine.device.host.translate.flow import used

        needed, pending = set[str](), [name for name in live if name in self.recomputed]
        while pending:
            name = pending.pop()
            if name not in needed:
                needed.add(name)
                pending += [item for item in used(self.recomputed[name]) if item in self.recomputed]
        return needed


def translate(kernel: Function, layout: Layout, callees: dict[str, Function], flow: Flow) -> tuple[str, int]:
    """Return a waiting kernel's LLVM text and the scratch bytes that a worker needs to run it."""
    phases = _Phases(kernel, layout, callees, flow)
    text = [phases.write(number) for number in range(len(phases.waiting) + 1)]
    text += phases.definitions()
    lines = [block.instructions[-1].line for block in phases.waiting]
    points = [phases.points[block.index] for block in phases.waiting]
    names = [phases.name(number) for number in range(len(points) + 1)]
    sure = [phases.sure_point(number) for number in range(len(points) + 1)]
    text.append(scheduler.text(kernel.name, names, points, lines, sure, counts_arrivals=phases.counts_arrivals))
    return "\n".join(text), phases.scratch.size + 64
