"""Memory accesses with their bounds checks.

There are two styles. In a branching body, a failed check records the fault and ends the thread. In a branch-free body,
which the optimiser may run for many threads at once, the access is skipped and the fault is folded into one number per
thread; the smallest number over all threads encodes the thread that faulted first, the place and the address.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from warploom.engine.host_compiler import abi
from warploom.engine.host_compiler.analysis.guards import Comparison
from warploom.engine.host_compiler.analysis.phase_values import PhaseValues
from warploom.engine.host_compiler.analysis.provenance import Provenance, Root
from warploom.engine.host_compiler.analysis.range_arithmetic import Range
from warploom.engine.host_compiler.analysis.ranges import Ranges
from warploom.engine.host_compiler.memory_checks import MemoryChecks
from warploom.engine.host_compiler.operands import Operands
from warploom.engine.host_compiler.special_registers import linear_thread
from warploom.engine.ptx.tree import Address, Instruction, Integer, Operand, Register, Symbol

SPACES = ("global", "shared", "local", "const", "param")
_KINDS = {"shared": abi.BAD_SHARED, "local": abi.BAD_LOCAL, "param": abi.BAD_PARAMETER}
#: Bytes that a processor fetches at once.
CACHE_LINE = 64
#: Data is prefetched for the next turn of a loop; for some turns later, if these together move on by no more bytes.
SHORT_TURNS, SHORT_BYTES = 4, 16384
#: Loads of one base that are so far apart are of different rows of threads; those in between mostly share cache lines.
_ROW_BYTES = 1024
SITE_BITS = 6
LAST_SITE = (1 << SITE_BITS) - 1


def space_of(instruction: Instruction) -> str:
    """Return the state space an instruction names; "generic" when it names none."""
    for modifier in instruction.modifiers:
        base = modifier.split("::")[0].split("[")[0]
        if base in SPACES:
            return base
    return "generic"


@dataclass(frozen=True)
class _Span:
    """Hoisted accesses from one base: its range, the bytes covered (`first` to `end` from it), the largest size."""

    range: Range
    first: int
    end: int
    size: int


class Accesses:
    """Writes the accesses of one body.

    `branch_free` selects the style. `limits` returns where the limits of a parameter's buffer lie in scratch memory;
    without it they are looked up in the prologue.
    """

    def __init__(
        self,
        body: Operands,
        provenance: Provenance,
        *,
        branch_free: bool,
        limits: Callable[[Root], int] | None = None,
    ) -> None:
        self._body = body
        self._provenance = provenance
        self.branch_free = branch_free
        self._checks = MemoryChecks(body, provenance, limits)
        #: Instructions that run once, before any thread.
        self.prologue = self._checks.prologue
        self._ranges_of_threads: Ranges | None = None
        self._hoisted: dict[tuple[Root | str, Operand, tuple[Comparison, ...]], _Span] = {}
        self._guards: dict[int, tuple[Comparison, ...]] = {}
        #: The block that is being written.
        self.block = 0
        self._values = PhaseValues()
        #: How many threads a row has, 0 when the loop over threads isn't cut into rows.
        self.row_width = 0
        self._row_pointers: dict[tuple[Root | str | None, Operand], tuple[str, int] | None] = {}
        #: Whether the loop over threads runs whole warps, whose threads are adjacent.
        self.in_warps = False
        self._later_block: Ranges | None = None
        #: Pointers to the data that each row of the thread block after the next accesses, and the bytes from thread to
        #: thread.
        self.ahead: list[tuple[str, int]] = []
        #: Whether some of these are of later turns of a loop.
        self.follows_turns = False
        self._noted: dict[tuple[Root, Operand], list[int]] = {}
        #: Returns where a row's pointer of the last turn of a loop lies in scratch memory; None outside loops.
        self._last_turns: Callable[[str], int] | None = None
        self._repeated: dict[tuple[Root, Operand], list[int]] = {}
        self._fold = "%fault.thread" if branch_free else ""
        self.sites: list[tuple[int, int]] = []  # PTX line, kind of fault
        self.suffix = ", !llvm.access.group !1" if branch_free else ""

    def hoist(
        self,
        ranges: Ranges,
        guards: dict[int, tuple[Comparison, ...]],
        values: PhaseValues,
        width: int = 0,
        *,
        in_warps: bool = False,
    ) -> None:
        """Check accesses with known ranges once for all threads that pass the guards, before the threads run.

        `hoisted` returns these checks. With `in_warps`, each row is a whole warp.
        """
        self._ranges_of_threads, self._guards, self._values = ranges, guards, values
        ranges.limits = self._limits
        self.in_warps = in_warps
        self.row_width = width
        vars(self).pop("rows", None)

    @cached_property
    def rows(self) -> Ranges:
        """Addresses at the start of each row of threads."""
        function, layout, whole = self._body.function, self._body.layout, self._ranges_of_threads
        rows = Ranges(function, layout, self._values, row=True, width=self.row_width, whole=whole)
        rows.limits = self._limits
        return rows

    def is_common(self, address: Operand) -> bool:
        """Whether an access that is checked before the threads run goes to one place for all of them."""
        if self._ranges_of_threads is None or not isinstance(address, Address):
            return False
        found = self._ranges_of_threads.guarded(self._guards.get(self.block, ())).of(Address(address.base, 0))
        return found is not None and found.is_single and found.slope == 0

    def _limits(self, address: Operand, size: int) -> tuple[str, str, str] | None:
        """Return the limits of the buffer that an address points into, as `Ranges.limits` does."""
        root = self._provenance.root(address)
        return None if root is None else self._checks.limit(root, size)

    @property
    def row_lines(self) -> list[str]:
        """The values that are computed once for each row."""
        return self.rows.lines if "rows" in vars(self) else []

    def look_ahead(self) -> None:
        """Note the addresses that the thread block after the next will access, as far as they follow from its number.

        The next one's data must have arrived already, since this thread block may read the first of it, as a halo.
        """
        body = self._body
        self._later_block = Ranges(
            body.function, body.layout, PhaseValues(), row=True, width=self.row_width, block_x="%ctaid.later"
        )

    def follow_turns(self, place: Callable[[str], int]) -> None:
        """Note the addresses that the next turns of a loop will access, where those of later thread blocks are unknown.

        `place` returns where an array of pointers, one for each thread, lies in scratch memory.
        """
        self._last_turns = place

    def ahead_lines(self, first: str) -> list[str]:
        """Return the lines that compute the pointers `ahead` in each row, whose first thread is `first`."""
        lines = []
        if self._later_block is not None and self.ahead:
            lines = ["  %ctaid.later = add i32 %ctaid.x, 2", *self._later_block.lines]
        return lines + self._turn_lines(first)

    def _turn_lines(self, first: str) -> list[str]:
        """Return the lines that note each row's pointers for the next turn of a loop, and compute those of later turns.

        If nothing else changes, a pointer moves as far as it did in the last turn. The first turn has a wrong pointer,
        which does no harm: a prefetch is no access.
        """
        found = [(key, offsets, self._row_pointers[key]) for key, offsets in self._repeated.items()]
        rows = [(*key, offsets, row) for key, offsets, row in found if row is not None and 0 <= row[1] <= CACHE_LINE]
        lines: list[str] = []
        for number, (_, base, offsets, (pointer, slope)) in enumerate(rows):
            assert self._last_turns is not None
            at = f"%turn.{number}"
            if not number:
                lines += [
                    "  %turn.z = mul i32 %tid.z, %ny",
                    "  %turn.y = add i32 %turn.z, %tid.y",
                    "  %turn.x = mul i32 %turn.y, %nx",
                    f"  %turn.row = add i32 %turn.x, {first}",
                ]
            lines += [
                f"  {at}.all = getelementptr i8, ptr %scratch, i64 {self._last_turns(f'turns of {base}')}",
                f"  {at}.at = getelementptr i64, ptr {at}.all, i32 %turn.row",
                f"  {at}.before = load i64, ptr {at}.at",
                f"  {at}.now = ptrtoint ptr {pointer} to i64",
                f"  store i64 {at}.now, ptr {at}.at",
                f"  {at}.step = sub i64 {at}.now, {at}.before",
                f"  {at}.more = mul i64 {at}.step, {SHORT_TURNS}",
                f"  {at}.size = call i64 @llvm.abs.i64(i64 {at}.more, i1 false)",
                f"  {at}.is.short = icmp ule i64 {at}.size, {SHORT_BYTES}",
                f"  {at}.far = select i1 {at}.is.short, i64 {at}.more, i64 {at}.step",
                f"  {at}.pointer = getelementptr i8, ptr {pointer}, i64 {at}.far",
            ]
            for index, offset in enumerate(offsets):
                lines.append(f"  {at}.row.{index} = getelementptr i8, ptr {at}.pointer, i64 {offset}")
                self.ahead.append((f"{at}.row.{index}", slope))
        self._repeated, self.follows_turns = {}, bool(rows)
        return lines

    def join(self, other: "Accesses") -> None:
        """Check accesses together with those of another body of the same threads."""
        if other._ranges_of_threads is not None:
            guards, values, width = other._guards, other._values, other.row_width
            self.hoist(other._ranges_of_threads, guards, values, width, in_warps=other.in_warps)
        self.sites, self._hoisted = other.sites, other._hoisted

    @contextmanager
    def at(self, instruction: Instruction, operand: Operand, size: int, space: str | None = None) -> Iterator[str]:
        """Yield the pointer for an access of `size` bytes, which is written inside the context."""
        space = space or space_of(instruction)
        if space == "generic":
            space = self._space_of_variable(operand)
        if space == "param":
            pointer = self._checks.named_parameter(instruction, operand, size)
            if pointer:
                yield pointer
                return
        address = self._body.address(operand)
        if self._is_hoisted(instruction, operand, size, space):
            self._note_later(instruction, operand, space)
            yield self._hoisted_pointer(operand, address, size, space)
            return
        check, address, pointer = self._checks.check(instruction, operand, address, size, space)
        if check is None:
            yield self._body.code.value(pointer)
            return
        code = self._body.code
        kind = _KINDS.get(space, abi.BAD_ADDRESS) | size << abi.SIZE_SHIFT
        if self.branch_free:
            self._record(instruction, check, address, kind)
            inside, after = code.name("inside"), code.name("after")
            code.branch(check, inside, after)
            code.label(inside)
            yield code.value(pointer)
            code.label(after)
        else:
            self._end_unless(instruction, check, address, kind)
            yield code.value(pointer)

    def require(self, instruction: Instruction, check: str, value: str, kind: int) -> None:
        """Write a check that belongs to no access; where it fails, the thread ends and the fault reports `value`."""
        if self.branch_free:
            self._record(instruction, check, value, kind)
        else:
            self._end_unless(instruction, check, value, kind)

    def barrier(self, instruction: Instruction, place: int, operand: Operand) -> str:
        """Return the number of a barrier, or of its threads, as i32; a bad one is a fault."""
        code, value = self._body.code, self._body.read(operand, "b32")
        if isinstance(operand, Integer):
            return value
        mask, kind = (31, abi.BAD_BARRIER_COUNT) if place == abi.COUNT else (~abi.LAST_BARRIER, abi.BAD_BARRIER)
        fine = code.value(f"icmp eq i32 {code.value(f'and i32 {value}, {mask}')}, 0")
        self.require(instruction, fine, code.value(f"zext i32 {value} to i64"), kind)
        return code.value(f"and i32 {value}, {~mask}")

    def members(self, instruction: Instruction, operand: Operand) -> str:
        """Return the mask of a warp's members, as i32; one without the thread itself is a fault."""
        code, value = self._body.code, self._body.read(operand, "b32")
        lane = self._body.read(Register("%laneid"), "u32")
        own = code.value(f"trunc i32 {code.value(f'lshr i32 {value}, {lane}')} to i1")
        self.require(instruction, own, code.value(f"zext i32 {value} to i64"), abi.BAD_MEMBERS)
        return value

    def _end_unless(self, instruction: Instruction, check: str, value: str, kind: int) -> None:
        code = self._body.code
        failed, after = code.name("fault"), code.name("after")
        code.branch(check, after, failed, ", !prof !2")
        code.label(failed)
        report(self._body, kind, instruction.line, value)
        code.jump(self._body.exit_label)
        code.label(after)

    def _space_of_variable(self, operand: Operand) -> str:
        """Return the space of the variable that an address names, for an instruction that names no space."""
        if isinstance(operand, Address) and isinstance(operand.base, Symbol):
            name, body = operand.base.name, self._body
            if name in body.layout.shared:
                return "shared"
            if name in body.local:
                return "local"
            if name in body.layout.parameters or name in body.param_pointers:
                return "param"
        return "generic"

    # -- checks for all threads at once ----------------------------------------------------------------------------

    def _is_hoisted(self, instruction: Instruction, operand: Operand, size: int, space: str) -> bool:
        ranges = self._ranges_of_threads
        if ranges is None or not isinstance(operand, Address) or operand.offset % size:
            return False
        if isinstance(operand.base, Register) and not self._values.is_fresh(operand.base, instruction):
            return False
        place: Root | str | None = "shared" if space == "shared" else self._provenance.root(operand)
        if place is None or space == "local":
            return False
        guards = self._guards.get(self.block, ())
        found = ranges.guarded(guards).of(Address(operand.base, 0))
        if found is None or found.granule < size:
            return False
        key = (place, operand.base, guards)
        before = self._hoisted.get(key, _Span(found, operand.offset, operand.offset, 1))
        self._hoisted[key] = _Span(
            found, min(before.first, operand.offset), max(before.end, operand.offset + size), max(before.size, size)
        )
        return True

    def _hoisted_pointer(self, operand: Operand, address: str, size: int, space: str) -> str:
        """Return the pointer of an access that needs no check: a base and a step along x that the optimiser sees."""
        assert isinstance(operand, Address)
        code, rows = self._body.code, self.rows
        place: Root | str | None = "shared" if space == "shared" else self._provenance.root(operand)
        key = (place, operand.base)
        if key not in self._row_pointers:
            row = rows.of(Address(operand.base, 0))
            pointer = None
            if row is not None and row.slope is not None:
                if space == "shared":
                    pointer = rows.value(f"getelementptr i8, ptr %shared, i64 {row.low}")
                else:
                    base, _, start = self._checks.limit(place, 1)  # type: ignore[arg-type]  # every other place is a root
                    distance = rows.value(f"sub i64 {row.low}, {base}")
                    pointer = rows.value(f"getelementptr i8, ptr {start}, i64 {distance}")
            self._row_pointers[key] = (pointer, row.slope) if row and pointer and row.slope is not None else None
        found = self._row_pointers[key]
        if found is None:
            if space == "shared":
                return code.value(f"getelementptr i8, ptr %shared, i64 {address}")
            return code.value(self._checks.pointer(operand, address))
        pointer, slope = self._for_one_thread(*found, size)
        if slope:
            step = code.value(f"mul nuw nsw i64 %tid.x.wide, {slope}" if slope > 0 else f"mul i64 %tid.x.wide, {slope}")
            pointer = code.value(f"getelementptr i8, ptr {pointer}, i64 {step}")
        return code.value(f"getelementptr i8, ptr {pointer}, i64 {operand.offset}") if operand.offset else pointer

    def _note_later(self, instruction: Instruction, operand: Operand, space: str) -> None:
        """Note the addresses that the thread block after the next will access, or the next turn of a loop.

        Accesses to other rows of a base that is noted are noted too, and so are stores to its other cache lines, since
        later stores wait for them. An address that follows from a number in memory has no relation to that of the last
        turn.
        """
        assert isinstance(operand, Address)
        following, place, base = self._later_block, self._provenance.root(operand), operand.base
        if following is None or space != "global" or place is None or self._is_rare():
            return
        noted = self._noted.setdefault((place, base), [])
        apart = CACHE_LINE if instruction.opcode == "st" else _ROW_BYTES
        if any(abs(operand.offset - offset) < apart for offset in noted):
            return
        noted.append(operand.offset)
        row = following.of(Address(base, 0))
        if row is not None and row.slope is not None and 0 < row.slope <= CACHE_LINE:
            first, _, start = self._checks.limit(place, 1)
            distance = following.value(f"sub i64 {row.low}, {first}")
            distance = following.value(f"add i64 {distance}, {operand.offset}")
            self.ahead.append((following.value(f"getelementptr i8, ptr {start}, i64 {distance}"), row.slope))
        elif self._last_turns is not None and row is None and not self._is_looked_up(base):
            self._repeated.setdefault((place, base), []).append(operand.offset)

    def _is_rare(self) -> bool:
        """Whether few threads run the block that is being written, as in `if (threadIdx.y == 0)`."""
        whole = self._ranges_of_threads
        equal = [register for register, order, _, _ in self._guards.get(self.block, ()) if order == "eq"]
        found = [whole.of(register) for register in equal] if whole is not None else []
        return any(item is not None and not item.is_single for item in found)

    def _is_looked_up(self, base: Operand) -> bool:
        return isinstance(base, Register) and base.name in self._values.looked_up

    def _for_one_thread(self, pointer: str, slope: int, size: int) -> tuple[str, int]:
        """Return a row's pointer and slope, changed where only one thread of the row gets there.

        In `if (threadIdx.x == 15) edge[y] = v`, every slope is right that meets the address of thread 15. With the
        slope of neighbouring elements, the optimiser writes a masked store, which takes a tenth of the time of a
        scatter.
        """
        rows = self.rows
        if slope != size:
            for register, comparison, other, _ in self._guards.get(self.block, ()):
                at, bound = (rows.of(register), rows.of(other)) if comparison == "eq" else (None, None)
                if at is not None and bound is not None and at.slope == 1 and bound.is_single and bound.slope == 0:
                    thread = rows.value(f"sub i64 {bound.low}, {at.low}")
                    distance = rows.value(f"mul i64 {thread}, {slope - size}")
                    return rows.value(f"getelementptr i8, ptr {pointer}, i64 {distance}"), size
        return pointer, slope

    def hoisted(self) -> tuple[list[str], str]:
        """Return the lines that compute ranges, and the i1 value that is true when every hoisted access is inside.

        The value is "" if no launch has one outside.
        """
        ranges = self._ranges_of_threads
        if ranges is None:
            return [], ""
        for (place, _, _), span in self._hoisted.items():
            low, high = span.range.low, span.range.high
            if place == "shared":
                base, limit = "0", ranges.value("call i64 @llvm.usub.sat.i64(i64 %shared.bytes, i64 1)")
            else:
                base, limit, _ = self._checks.limit(place, 1)  # type: ignore[arg-type]  # every other place is a root
            first = ranges.value(f"add i64 {low}, {span.first}")
            last = ranges.value(f"add i64 {high}, {span.end - 1}")
            starts = ranges.value(f"sub i64 {first}, {base}")
            ends = ranges.value(f"sub i64 {limit}, {ranges.value(f'sub i64 {last}, {base}')}")
            outside = ranges.value(f"or i64 {starts}, {ends}")
            # When no thread passes the guards, there is nothing to check.
            any_thread = ranges.value(f"sub i64 {high}, {low}")
            none = ranges.value(f"xor i64 {any_thread}, -1")
            ranges.require(f"and i64 {outside}, {none}")
            if span.size > 1:
                ranges.require(f"sub i64 0, {ranges.value(f'and i64 {low}, {span.size - 1}')}")
        fine = ranges.fine() if ranges.conditions else ""
        return ranges.lines, fine

    def _record(self, instruction: Instruction, check: str, address: str, kind: int) -> None:
        """Fold a failed check into the thread's fault number: the site in the upper 16 bits, the address in the others.

        Addresses in memory have no more than 48 significant bits; the report extends their sign.
        """
        code = self._body.code
        if (instruction.line, kind) not in self.sites and len(self.sites) <= LAST_SITE:
            self.sites.append((instruction.line, kind))
        found = (instruction.line, kind) in self.sites  # the same in each version of a body
        site = self.sites.index((instruction.line, kind)) if found else LAST_SITE
        number = code.value(f"or i64 {code.value(f'and i64 {address}, {(1 << 48) - 1}')}, {site << 48}")
        code_here = code.value(f"select i1 {check}, i64 -1, i64 {number}")
        before = code.value(f"load i64, ptr {self._fold}")
        code.do(f"store i64 {code.value(f'call i64 @llvm.umin.i64(i64 {before}, i64 {code_here})')}, ptr {self._fold}")


def stop_check(body: Operands, line: int) -> None:
    """Write the check that ends this thread when the kernel is being stopped; it belongs wherever a thread may loop."""
    code = body.code
    place = code.value(f"getelementptr i64, ptr %launch, i64 {abi.STOP}")
    flag = code.value(f"load ptr, ptr {place}, !invariant.load !0")
    # Volatile keeps the load in the loop; an atomic load would also keep the optimiser from moving others across it.
    value = code.value(f"load volatile i64, ptr {flag}, align 8")
    wanted = code.value(f"icmp eq i64 {value}, 0")
    on, stopped = code.name("on"), code.name("stopped")
    code.branch(wanted, on, stopped, ", !prof !2")
    code.label(stopped)
    report(body, abi.STOPPED, line, "0")
    code.jump(body.exit_label)
    code.label(on)


def report(body: Operands, kind: int, line: int, address: str) -> None:
    """Record a fault of this thread; a worker keeps the first."""
    thread = linear_thread(body.code)
    body.code.do(f"call void @wl.fault(ptr %worker, i64 {kind}, i64 {line}, i32 {thread}, i64 {address})")
