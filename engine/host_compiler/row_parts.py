"""Parts of a row of threads that run a separate body, because a guard holds or does not hold in them.

The optimiser runs many threads of a row at once and masks the operations that a guard forbids in some of them, which
costs as much as if all threads performed them, and much more for stores. Three kinds of guards need no masks:

- If all that a piece does is guarded by `i < n`, the loop over threads ends at `n`.
- If a guard has the same result in a whole row, rows in which it holds run one version, and the others another.
- If the loops of a piece are guarded by `t == 0` and leave no register behind, the whole row runs without them, and
  then that thread runs a version that stores nothing else.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from warploom.engine.host_compiler.accesses import space_of
from warploom.engine.host_compiler.analysis.control_flow import ControlFlow, defined, used
from warploom.engine.host_compiler.analysis.guards import Comparison, Guards, opposite
from warploom.engine.host_compiler.analysis.ranges import Ranges
from warploom.engine.host_compiler.analysis.suspension_points import is_suspension_point
from warploom.engine.host_compiler.analysis.uniformity import PURE
from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.runtime.thread_loops import RowPart
from warploom.engine.ptx.tree import Instruction

#: The cost of a masked store, in loads.
_STORE = 4


_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Version:
    """A version of a body: the comparisons that hold in its threads, and the blocks that it leaves out.

    Blocks that `never` run are not written. Those in `skips` are left out, with the blocks that come after them. Where
    `acts` is not None, one thread runs the version, and only these blocks store. `condition`, `first` and `end` select
    the threads of a row that run it, as in `thread_loops.RowPart`.
    """

    holds: tuple[Comparison, ...] = ()
    never: frozenset[int] = frozenset()
    skips: dict[int, int] = field(default_factory=dict)
    acts: frozenset[int] | None = None
    condition: str = ""
    first: str = ""
    end: str = ""

    def limit(self, body: Body, guards: Guards | None) -> None:
        """Restrict a body to this version's work."""
        body.never, body.skips, body.acts = self.never, self.skips, self.acts
        if guards is not None and self.holds:
            body.outcome = lambda setter: guards.outcome(setter, self.holds)

    def part(self, body: Body, before: str = "", after: str = "", slots: Mapping[str, str] = _NONE) -> RowPart:
        """Return the loop over the threads that run a body of this version."""
        threads = self.condition, self.first, self.end, self.acts is not None
        return RowPart(body, before, after, "", *threads, slots)


@dataclass(frozen=True)
class _Region:
    """Blocks that run where comparisons hold, and the block after them."""

    guard: tuple[Comparison, ...]
    blocks: frozenset[int]
    after: int


class RowParts:
    """Finds the parts for bodies, before they are written; `bounds` computes their limits in each row."""

    def __init__(self, body: Body, flow: ControlFlow, ranges: Ranges, guards: Guards) -> None:
        self._flow, self._pieces = flow, list[int]()
        self._rows, self._ranges = body.accesses.rows, ranges
        self._known = guards.of_blocks()
        self._decided: dict[Comparison, bool] = {}
        self.bounds = ""
        self._count = 0
        self._passed: Collection[int] = ()

    def versions(self, pieces: Iterable[int], *, may_skip: bool, is_vector: bool) -> list[Version]:
        """Return the versions of the body that runs the blocks `pieces`, one at least.

        `may_skip`: threads for which nothing is left to do need not run. `is_vector`: the optimiser runs many threads
        at once.
        """
        self._pieces = sorted(pieces)
        if may_skip:
            common = self._common([index for index in self._pieces if self._acts(index)])
            first, end, held = self._interval(common)
            if held:
                return [Version(holds=held, first=first, end=end)]
        return self._by_guard() if is_vector else [Version()]

    def apart(
        self, pieces: Iterable[int], outputs: Collection[str], lost: Collection[str], passed: Collection[int]
    ) -> list[Version]:
        """Return two versions of a body with loops: one without them, for all, and one for the thread that runs them.

        Return None if threads can't run the body in this way. `outputs` are the registers that are read after the body;
        the registers `lost` have other values when a thread runs the body again. The body continues past the points of
        the blocks `passed`.
        """
        self._pieces, self._passed = sorted(pieces), passed
        looping = self._looping()
        common = self._known[looping[0]] if looping else ()
        for comparison in common:
            is_one = comparison[1] == "eq" and self._is_decidable(comparison) and not self._is_common(comparison)
            if not is_one or not all(comparison in self._known[index] for index in looping):
                continue
            region = self._region_of((comparison,), set(self._pieces), outputs)
            if region is None or not self._may_come_last(region, lost):
                continue
            first, end, held = self._interval(region.guard)
            skips = dict.fromkeys(region.blocks, region.after)
            alone = Version(held, acts=region.blocks, first=first, end=end)
            return [Version(skips=skips), alone]
        return []

    def _looping(self) -> list[int]:
        """Return the blocks that are in loops, or between them."""
        left = {index: {*self._flow.blocks[index].successors} & {*self._pieces} for index in self._pieces}
        for ended in [True, False]:
            while True:
                gone = {
                    index
                    for index, following in left.items()
                    if not (following if ended else {item for item, after in left.items() if index in after})
                }
                if not gone:
                    break
                left = {index: following - gone for index, following in left.items() if index not in gone}
        return sorted(left)

    def _may_come_last(self, region: _Region, lost: Collection[str]) -> bool:
        """Whether one thread may run a region after all others, and for that the rest of the body again."""
        rest = [index for index in self._pieces if index not in region.blocks]
        if any(self._acts(index) and index > min(region.blocks) for index in rest):
            return False
        stored = {space for index in rest for space in self._spaces(index, "st")}
        loaded = {space for index in rest for space in self._spaces(index, "ld")}
        if stored and (stored & loaded or "generic" in stored | loaded):
            return False
        own = [item for index in region.blocks for item in self._flow.blocks[index].instructions]
        needed = {name for item in own for name in used(item)}
        others = [item for index in rest for item in self._flow.blocks[index].instructions]
        needed |= {item.guard.register.name for item in others if item.guard is not None}
        while more := {name for item in others if defined(item) & needed for name in used(item)} - needed:
            needed |= more
        return not needed & set(lost)

    def gate(self, way: Sequence[Comparison], others: Sequence[Sequence[Comparison]]) -> str:
        """Return the i1 that is true for rows that take a path; "" when no comparison decides that for whole rows.

        `way` are the comparisons that hold on it, and `others` those that hold on each other way.
        """
        for comparison in way:
            excluded = opposite(comparison)
            if (
                self._is_decidable(comparison)
                and self._is_common(comparison)
                and all(excluded in known for known in others)
            ):
                first, end, _ = self._interval([comparison])
                gate = f"%row.gate.{self._count}"
                self.bounds += f"  {gate} = icmp slt i32 {first}, {end}\n"
                return gate
        return ""

    def _region_of(self, guard: tuple[Comparison, ...], left: set[int], outputs: Collection[str]) -> _Region | None:
        """Return the blocks in which a guard holds, if they leave no register behind and lead to one other block."""
        blocks = frozenset(item for item in left if set(guard) <= set(self._known[item]))
        if not guard or not blocks:
            return None
        flow = self._flow.blocks
        after = {following for item in blocks for following in flow[item].successors if following not in blocks}
        made = {name for item in blocks for instruction in flow[item].instructions for name in defined(instruction)}
        others = [flow[item] for item in self._pieces if item not in blocks]
        read = {name for block in others for instruction in block.instructions for name in used(instruction)}
        leaves = any(
            (flow[item].suspends and item not in self._passed) or instruction.opcode in ("ret", "exit")
            for item in blocks
            for instruction in flow[item].instructions
        )
        if leaves or len(after) != 1 or not after <= set(self._pieces) or made & (read | set(outputs)):
            return None
        return _Region(guard, blocks, after.pop())

    # -- two versions of a body ------------------------------------------------------------------------------------

    def _by_guard(self) -> list[Version]:
        """Return one version of the body, or two: where a guard holds, and where it does not."""
        best: tuple[Comparison, ...] = ()
        most = 0
        for index in self._pieces:
            guard = tuple(item for item in self._known[index] if self._is_decidable(item))
            if guard and all(map(self._is_common, guard)):
                weight = sum(self._weight(item) for item in self._pieces if set(guard) <= set(self._known[item]))
                if weight > most:
                    best, most = guard, weight
        if not best:
            return [Version()]
        first, end, held = self._interval(best)
        never = frozenset(item for item in self._pieces if set(held) <= set(self._known[item]))
        holds, fails = f"%row.holds.{self._count}", f"%row.fails.{self._count}"
        self.bounds += f"  {holds} = icmp slt i32 {first}, {end}\n  {fails} = xor i1 {holds}, true\n"
        return [Version(held, condition=holds), Version(never=never, condition=fails)]

    def _weight(self, index: int) -> int:
        """Return the expected cost of a block if it is masked."""
        weights = {"st": _STORE, "ld": 1}
        return sum(weights.get(item.opcode, 0) for item in self._flow.blocks[index].instructions)

    # -- guards ----------------------------------------------------------------------------------------------------

    def _common(self, blocks: Sequence[int]) -> tuple[Comparison, ...]:
        """Return the comparisons that hold in all of some blocks."""
        known = [set(self._known[index]) for index in blocks]
        return tuple(sorted(known[0].intersection(*known), key=str)) if known else ()

    def _is_decidable(self, comparison: Comparison) -> bool:
        """Whether a comparison holds in an interval of each row."""
        if comparison not in self._decided:
            self._decided[comparison] = self._ranges.attempt(
                lambda: self._rows.clipped(comparison, "0", "0") is not None and self._ranges.order(comparison)
            )
        return self._decided[comparison]

    def _is_common(self, comparison: Comparison) -> bool:
        """Whether a decidable comparison has the same result in a whole row."""
        row = self._rows.of(comparison[0])
        return row is not None and row.slope == 0

    def _interval(self, guard: Sequence[Comparison]) -> tuple[str, str, tuple[Comparison, ...]]:
        """Return the i32 bounds of the threads of a row that pass a guard, and those of its comparisons that decide."""
        rows = self._rows
        if rows.width:
            start = rows.value("zext i32 %row.begin to i64")
            last = rows.value(f"add i64 {start}, {rows.width}")
        else:
            start, last = (rows.value(f"zext i32 %x{number} to i64") for number in "01")
        first, end, held = start, last, []
        for comparison in guard:
            if self._is_decidable(comparison):
                found = rows.clipped(comparison, first, end)
                assert found is not None
                first, end = found
                held.append(comparison)
        if not held:
            return "", "", ()
        end = rows.value(f"call i64 @llvm.smax.i64(i64 {end}, i64 {start})")
        first = rows.value(f"call i64 @llvm.smin.i64(i64 {first}, i64 {end})")
        self._count += 1
        names = f"%row.first.{self._count}", f"%row.last.{self._count}"
        self.bounds += f"  {names[0]} = trunc i64 {first} to i32\n  {names[1]} = trunc i64 {end} to i32\n"
        return *names, tuple(held)

    # -- instructions ----------------------------------------------------------------------------------------------

    def _acts(self, index: int) -> bool:
        return any(_acts(item) for item in self._flow.blocks[index].instructions)

    def _spaces(self, index: int, opcode: str) -> set[str]:
        items = self._flow.blocks[index].instructions
        return {space_of(item) for item in items if item.opcode == opcode} - {"param", "const"}


def _acts(instruction: Instruction) -> bool:
    """Whether an instruction does more than compute registers."""
    return not (
        instruction.opcode in PURE
        or instruction.opcode in ("bra", "ret", "exit")
        or (instruction.opcode == "ld" and "param" in instruction.modifiers)
        or is_suspension_point(instruction)
    )
