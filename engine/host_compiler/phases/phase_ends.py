"""The ends of a phase, and the values that its threads write there: operands, spills and their state."""

from collections.abc import Collection, Mapping

from warploom.engine.host_compiler import abi, blocks
from warploom.engine.host_compiler.analysis.control_flow import BasicBlock, ControlFlow, defined, used
from warploom.engine.host_compiler.analysis.suspension_points import (
    BARRIER,
    WARP,
    SuspensionPoint,
    is_suspension_point,
)
from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.phases.spills import Spills
from warploom.engine.host_compiler.phases.warp_values import WarpValues, is_direct
from warploom.engine.ptx.tree import Instruction, Integer

_LEAVING = ("ret", "exit", "trap", "call", "brx")


class PhaseEnds:
    """The ends of the phase that starts at block `start`, where the registers `restored` have been restored.

    `numbers` are those of the points, by their blocks. `pieces` are the blocks that the phase runs, `sites` those of
    them at which it ends: at a suspension point, or at a branch that leads straight to two of them. Threads go on past
    the points at the ends of the blocks `passed`. In the blocks `leaving` a thread may end. `is_single`: all threads
    reach the same site. `is_last`: all threads end here.
    """

    def __init__(
        self,
        flow: ControlFlow,
        points: Mapping[int, SuspensionPoint],
        numbers: Mapping[int, int],
        spills: Spills,
        start: int,
        restored: frozenset[str],
        passed: Collection[int] = (),
    ) -> None:
        self._flow, self._points, self._spills, self._passed = flow, points, spills, passed
        self.numbers = numbers
        self.pieces = blocks.reachable(flow, start, self.is_site)
        self.sites = [flow.blocks[index] for index in self.pieces if self.is_site(flow.blocks[index])]
        self.leaving = frozenset(index for index in self.pieces if self._may_leave(index))
        self.is_single = len(self.sites) == 1 and not self.leaving
        own = [
            item for index in self.pieces for item in flow.blocks[index].instructions if not is_suspension_point(item)
        ]
        self.is_last = not self.sites and not any(item.opcode in ("trap", "call", "brx") for item in own)
        self._restored = set(spills.kept(restored))
        written = {name for item in own for name in defined(item)}
        self._read = {name for item in own for name in used(item)}
        #: By the block of a site: what lives on after it and isn't computed again.
        self._kept: dict[int, list[str]] = {}
        #: Registers whose spilled values are still right, because the phase does not write them.
        self._unchanged = self._restored - written

    def is_site(self, block: BasicBlock) -> bool:
        """Whether threads that run a block stop at its end."""
        return (block.suspends and block.index not in self._passed) or bool(self._joined(block))

    def _joined(self, block: BasicBlock) -> tuple[BasicBlock, ...]:
        """Return the two suspension points that a block branches to, when their blocks hold nothing else."""
        last = block.instructions[-1] if block.instructions else None
        if last is None or last.opcode != "bra" or last.guard is None or len(set(block.successors)) != 2:
            return ()
        found = tuple(self._flow.blocks[index] for index in block.successors)
        return found if all(self._is_bare(item) for item in found) else ()

    def _is_bare(self, block: BasicBlock) -> bool:
        if not block.suspends or len(block.instructions) != 1:
            return False
        return self._points[block.index].is_idle

    def _may_leave(self, index: int) -> bool:
        block = self._flow.blocks[index]
        return any(item.opcode in _LEAVING for item in block.instructions) or not (
            block.successors or self.is_site(block)
        )

    def points(self, site: BasicBlock) -> tuple[BasicBlock, ...]:
        """Return the blocks whose points a site leads to: one, or the branch's target and the next block."""
        return self._joined(site) or (site,)

    def branch(self, site: BasicBlock) -> Instruction | None:
        """Return the branch that a site with two points ends with."""
        return site.instructions[-1] if self._joined(site) else None

    def spilled(self, site: BasicBlock, own: Collection[str] = ()) -> list[str]:
        """Return the registers that are spilled at a site.

        The spilled values of those in `own` are out of date, though the phase does not write them.
        """
        kept = self._kept.get(site.index)
        if kept is None:
            live: set[str] = set()
            for block in self.points(site):
                live |= self._flow.live_in(block.index + 1) - self._points[block.index].registers
            kept = self._kept[site.index] = self._spills.kept(live)
        return [name for name in kept if name not in self._unchanged or name in own]

    def needed(self, own: Collection[str] = ()) -> set[str]:
        """Return the registers that the phase may read, or spills at its ends, some of them only if it writes them.

        `own` is as in `spilled`.
        """
        spilled = {name for site in self.sites for name in self.spilled(site, own)}
        waits = {name for site in self.sites for block in self.points(site) for name in used(block.instructions[-1])}
        return self._read | waits | spilled

    def outputs(self) -> set[str]:
        """Return the registers that are read at the ends or after them."""
        found: set[str] = set()
        for block in (block for site in self.sites for block in self.points(site)):
            found |= self._flow.live_in(block.index + 1) | used(block.instructions[-1])
        return found

    def overwritten(self) -> set[str]:
        """Return the registers that a thread restores from its elements and spills to them again: it can't restore them
        twice.
        """
        spilled = {name for site in self.sites for name in self.spilled(site)}
        return {name for name in spilled & self._restored if not self._spills.is_uniform(name)}

    def written(self) -> frozenset[str]:
        """Return the registers that the phase writes, also at the points where it ends."""
        blocks_ = (self._flow.blocks[index] for index in self.pieces)
        return frozenset(name for block in blocks_ for item in block.instructions for name in defined(item))

    def shared(self) -> list[str]:
        """Return the spilled registers that are uniform, over all sites."""
        names = {name for site in self.sites for name in self.spilled(site)}
        return sorted(name for name in names if self._spills.is_uniform(name))


class PhaseEndWriter:
    """Writes the ends of a phase in one body.

    At the single end of a phase uniform values are spilled once, by the text `after`, which runs after all threads.
    `notes_states`: each thread writes its state; False where the phase returns the point that all have reached. In a
    chain each thread spills its own values, those that phases before this one have written, `own`, at the end of the
    chain; inside it they are kept in `warp`.
    """

    def __init__(
        self,
        ends: PhaseEnds,
        body: Body,
        spills: Spills,
        points: Mapping[int, SuspensionPoint],
        warp: WarpValues | None = None,
        own: Collection[str] = (),
    ) -> None:
        self._ends, self._body, self._spills, self._points = ends, body, spills, points
        self._warp, self._own = warp, own
        self.notes_states = True
        self.after = ""
        #: The stack slots that are read after all threads.
        self.slots: list[str] = []

    def ends(self, block: BasicBlock) -> bool:
        """Whether threads that run a block stop at its end."""
        return self._ends.is_site(block)

    def write(self, block: BasicBlock) -> None:
        """Write operands, spills and the state of this thread, and end its part of the phase."""
        body, code = self._body, self._body.code
        if body.acts is not None:  # a part that stores only for some of its blocks
            code.jump("thread.done")
            return
        if self._warp is not None and block.index in self._warp.inner:
            self._hand_on(self._warp, block)
            code.jump("thread.done")
            return
        targets = self._ends.points(block)
        for target in targets:
            self._give(self._points[target.index], target.instructions[-1])
        for name in self._ends.spilled(block, self._own):
            if self._warp is not None and self._spills.is_uniform(name):
                self._spills.note(body, name, self._warp.slot(name, self._spills.array(body, name)[1]))
            elif self._ends.is_single and self._spills.is_uniform(name):
                slot, text = self._spills.spill_once(body, name)
                self.slots.append(slot)
                self.after += text
            else:
                self._spills.spill(body, name, self._store_in_scratch)
        if self.notes_states:
            state = str(self._ends.numbers[targets[0].index])
            branch = self._ends.branch(block)
            if branch is not None and branch.guard is not None:
                chosen = blocks.condition(body, branch.guard)
                state = code.value(f"select i1 {chosen}, i32 {state}, i32 {self._ends.numbers[targets[1].index]}")
            code.do(f"store i32 {state}, ptr %state.at{body.accesses.suffix}")
        code.jump("thread.done")

    def uniform_state(self, site: BasicBlock) -> str:
        """Return the text that yields `%common.now` from the last thread's branch, since all threads branch alike.

        Must be called before the site is written.
        """
        targets = [self._ends.numbers[target.index] for target in self._ends.points(site)]
        if len(targets) == 1:
            return f"  %common.now = add i32 {targets[0]}, 0\n"
        branch = self._ends.branch(site)
        assert branch is not None and branch.guard is not None
        slot, _ = self._body.register_slot(branch.guard.register.name)
        self.slots.append(slot)
        first, second = reversed(targets) if branch.guard.negated else targets
        return (
            f"  %common.taken = load i1, ptr {slot}\n"
            f"  %common.now = select i1 %common.taken, i32 {first}, i32 {second}\n"
        )

    def decided_state(self, site: BasicBlock, always: str) -> str:
        """Return the text that yields `%common.now` when `always` says whether all threads take the branch."""
        first, second = (self._ends.numbers[target.index] for target in self._ends.points(site))
        return f"  %common.now = select i1 {always}, i32 {first}, i32 {second}\n"

    def _give(self, point: SuspensionPoint, instruction: Instruction) -> None:
        body, code = self._body, self._body.code
        for index, operand, kind in () if point.is_plain_barrier else point.given:
            if point.kind == WARP and index == abi.MEMBERS:
                if isinstance(operand, Integer):  # constants are in the scheduler's table
                    if operand.value & 0xFFFFFFFF not in (0, 0xFFFFFFFF):
                        body.accesses.members(instruction, operand)
                    continue
                value = body.accesses.members(instruction, operand)
            elif point.kind == BARRIER and index in (abi.NUMBER, abi.COUNT):
                value = body.accesses.barrier(instruction, index, operand)
            else:
                value = body.read(operand, kind)
            if kind == "pred":
                value = code.value(f"zext i1 {value} to i32")
            if kind == "b64":
                high = code.value(f"trunc i64 {code.value(f'lshr i64 {value}, 32')} to i32")
                self._store_in_scratch(abi.exchange(index + 1), "i32", high)
                value = code.value(f"trunc i64 {value} to i32")
            self._store_in_scratch(abi.exchange(index), "i32", value)

    def _hand_on(self, warp: WarpValues, block: BasicBlock) -> None:
        """Write the stores of a thread's exchanged and kept values at a point inside a chain."""
        body, point = self._body, self._points[block.index]
        if is_direct(point):
            _, operand, kind = point.given[0]
            value = body.read(operand, kind)
            value = body.code.value(f"zext i1 {value} to i32") if kind == "pred" else value
            array, first = warp.given(block.index, point)
            self._store(f"getelementptr i8, ptr {array}, i64 {first}", "%lane.wide", "i32", value)
        else:
            self._give(point, block.instructions[-1])
        for name in self._ends.spilled(block):
            _, kind = self._spills.array(body, name)
            if self._spills.is_uniform(name):
                self._spills.note(body, name, warp.slot(name, kind))
                continue
            base = f"getelementptr i8, ptr {warp.register(name, kind)}, i64 0"
            self._spills.spill(body, name, lambda _, kind, value, at=base: self._store(at, "%lane.wide", kind, value))  # type: ignore[misc]

    def _store_in_scratch(self, offset: int, kind: str, value: str) -> None:
        self._store(f"getelementptr i8, ptr %scratch, i64 {offset}", "%linear.wide", kind, value)

    def _store(self, array: str, index: str, kind: str, value: str) -> None:
        """Store a value in this thread's element of an array, which an instruction gives."""
        code = self._body.code
        place = code.value(f"getelementptr {kind}, ptr {code.value(array)}, i64 {index}")
        code.do(f"store {kind} {value}, ptr {place}{self._body.accesses.suffix}")
