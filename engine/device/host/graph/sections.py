"""Sections: instructions without a jump between them, which several workers may run in parallel."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from warploom.engine.device.host import team
from warploom.engine.device.host.graph import stepper
from warploom.engine.device.host.pool import WAKE_NS, chunk_for, workers_for

#: The shortest interval between checks of a section's node times.
LOOK_NS = 20_000_000
#: The team's own time for a node, mostly for reading the clock.
NODE_NS = 25
_CACHE_LINE = 64


@dataclass(slots=True, eq=False)
class Section:
    """The instructions in `range(slot + 1, end)`.

    The one at `slot` runs them in parallel, or continues with the first of them.
    """

    slot: int
    #: For each instruction, the instructions of the section that it waits for.
    after: list[tuple[int, ...]] = field(default_factory=list)
    is_chain: bool = True
    #: Instructions that Python must run, so that all others run one by one.
    held: set[int] = field(default_factory=set)
    #: Whether the plan is out of date; below, whether there is a plan.
    is_changed: bool = True
    is_planned: bool = False

    @property
    def first(self) -> int:
        """The index of the first instruction."""
        return self.slot + 1

    @property
    def end(self) -> int:
        """The index after the last instruction."""
        return self.slot + 1 + len(self.after)

    def add(self, after: tuple[int, ...]) -> None:
        """Append an instruction that waits for the instructions `after`."""
        self.is_chain = self.is_chain and after == ((self.end - 1,) if self.after else ())
        self.after.append(after)


class SectionPlan(msgspec.Struct, frozen=True):
    """How a team runs a section: the planned fields of its nodes and of its record, and its links."""

    nodes: Sequence[tuple[int, ...]]
    links: list[int]
    begins: int
    ends: int
    first_wakes: int


def plan_section(
    section: Section, operations: Sequence[int], work_ns: Sequence[float], blocks: Sequence[int], cores: int
) -> SectionPlan | None:
    """Return a plan to run a section on `cores` cores; None if one thread is about as fast.

    `operations`, `work_ns` (the time on one core) and `blocks` (thread blocks) belong to its instructions.
    """
    total = sum(work_ns)
    is_long = max(work_ns) >= WAKE_NS
    if not is_long and (section.is_chain or total < 2 * WAKE_NS):
        return None
    count, first = len(section.after), section.first
    successors: list[list[int]] = [[] for _ in range(count)]
    for index, after in enumerate(section.after):
        for other in after:
            successors[other - first].append(index)
    workers = [workers_for(work, wide, cores) for work, wide in zip(work_ns, blocks, strict=True)]
    # Going backwards: the longest path to the end, and the work that depends only on this node.
    rank, alone = [0.0] * count, list(work_ns)
    for index in reversed(range(count)):
        following = successors[index]
        following.sort(key=rank.__getitem__, reverse=True)
        rank[index] = work_ns[index] / workers[index] + (rank[following[0]] if following else 0.0)
        alone[index] += sum(alone[other] for other in following if len(section.after[other]) == 1)
    begins = sorted((i for i in range(count) if not section.after[i]), key=rank.__getitem__, reverse=True)
    longest = rank[begins[0]]
    first_wakes = min(cores - 1, int(total / longest - 0.5), int((total - longest) / WAKE_NS))
    if not is_long and first_wakes < 1:
        return None
    links = [first + index for index in begins]
    nodes = []
    for index, following in enumerate(successors):
        begin = len(links)
        links += [first + other for other in following]
        wakes = workers[index] - 1 or int(alone[index] >= WAKE_NS)
        chunk = chunk_for(blocks[index], workers[index])
        waits = len(section.after[index])
        nodes.append((operations[index], waits, begin, len(links), int(rank[index]), workers[index], chunk, wakes))
    assert len(nodes[0]) == team.PLANNED_FIELDS
    ends = sum(not following for following in successors)
    return SectionPlan(nodes, links, len(begins), ends, first_wakes)


def rows_apart(count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return rows of `team.NODE_FIELDS` zeros. Different workers write to them, so no two rows share a cache line."""
    memory = np.zeros(8 * team.NODE_FIELDS * count + _CACHE_LINE, np.uint8)
    start = -int(memory.ctypes.data) % _CACHE_LINE
    return memory[start : memory.size - _CACHE_LINE + start].view(np.int64).reshape(-1, team.NODE_FIELDS)


class Sections:
    """The sections of a program: their plans in memory, and each instruction's time and number of thread blocks.

    `code` has the program's instructions; this class writes those at the sections' slots.
    """

    def __init__(
        self,
        sections: Sequence[Section],
        code: np.ndarray[Any, np.dtype[np.int64]],
        operations: Sequence[int],
        cores: int,
    ) -> None:
        self._code, self._operations, self._cores = code, operations, cores
        self._of = {index: section for section in sections for index in range(section.first, section.end)}
        #: For each instruction, the time on one core and the number of thread blocks.
        self.work_ns = [0.0] * len(code)
        self.blocks = [1] * len(code)
        self._nodes = rows_apart(len(code))
        self._records = np.zeros((len(sections), team.SECTION_FIELDS), np.int64)
        self._record_of = dict(zip(sections, self._records, strict=True))
        self._links: dict[Section, np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
        self._changed = set(sections)
        #: The sections that the team runs.
        self._on: set[Section] = set()
        self._look_ns = 0
        for section in sections:
            self._code[section.slot] = stepper.JUMP, section.first, 0, 0, 0, 0

    @property
    def is_any_on(self) -> bool:
        """Whether any section runs in parallel."""
        return bool(self._on)

    def is_on(self, index: int) -> bool:
        """Whether the team runs, and so measures, an instruction."""
        return self._of[index] in self._on

    def hold(self, index: int, *, is_held: bool) -> None:
        """Set whether Python runs an instruction."""
        section = self._of[index]
        (section.held.add if is_held else section.held.discard)(index)
        self._changed.add(section)

    def note(self, index: int, work_ns: float, blocks: int) -> None:
        """Record an instruction's time on one core; small changes are ignored."""
        section, before_ns = self._of[index], self.work_ns[index]
        if blocks != self.blocks[index] or not before_ns / 2 <= work_ns <= 2 * before_ns:
            self.work_ns[index], self.blocks[index] = work_ns, blocks
            section.is_changed = True
            self._changed.add(section)

    def refresh(self) -> None:
        """Plan the sections that changed, and let the team run those that get faster."""
        for section in self._changed:
            if section.is_changed and not section.held:
                self._plan(section)
            code = self._code[section.slot]
            if section.is_planned and not section.held:
                self._on.add(section)
                code[:3] = stepper.SECTION, self._record_of[section].ctypes.data, section.end
            else:
                self._on.discard(section)
                code[:3] = stepper.JUMP, section.first, 0
        self._changed.clear()

    def learn(self) -> Iterator[tuple[int, int]]:
        """Check the times of sections that ran. Yield instructions with times that differ much from the plan's."""
        now_ns = time.perf_counter_ns()
        if now_ns < self._look_ns:
            return
        self._look_ns = now_ns + LOOK_NS
        for section in self._on:
            record = self._record_of[section]
            if not record[team.RUNS]:
                continue
            record[team.RUNS] = 0
            first, end = section.first, section.end
            busy_ns = np.maximum(self._nodes[first:end, team.BUSY_NS] - NODE_NS, 0)
            before_ns = np.maximum(self.work_ns[first:end], WAKE_NS / 2)
            total_ns = sum(self.work_ns[first:end])
            if (
                (busy_ns > 2 * before_ns).any()
                or (np.maximum(busy_ns, WAKE_NS / 2) < before_ns / 2).any()
                or (not total_ns / 2 <= busy_ns.sum() <= 2 * total_ns)
            ):
                yield from zip(range(first, end), busy_ns.tolist(), strict=True)

    def _plan(self, section: Section) -> None:
        first, end = section.first, section.end
        found = plan_section(
            section, self._operations[first:end], self.work_ns[first:end], self.blocks[first:end], self._cores
        )
        section.is_changed, section.is_planned = False, found is not None
        if found is None:
            return
        self._nodes[first:end, : team.PLANNED_FIELDS] = found.nodes
        self._nodes[first:end, team.PENDING] = self._nodes[first:end, team.WAITS]
        self._links[section] = links = np.array(found.links, np.int64)
        record = self._record_of[section]
        record[team.NODES] = self._nodes.ctypes.data
        record[team.LINKS] = links.ctypes.data
        record[team.BEGINS : team.FIRST_WAKES + 1] = found.begins, found.ends, found.first_wakes
