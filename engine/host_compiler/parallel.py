"""Which pieces of a kernel the optimiser may run for many threads at once, and how such a piece reports faults.

A branch-free piece cannot leave its loop over threads when an access fails. Each thread folds its failed checks into
one number, the loop folds those of all threads, and after it the smallest number gives the first failed thread, the
place and the address.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from warploom.engine.host_compiler.accesses import LAST_SITE, space_of
from warploom.engine.host_compiler.analysis.control_flow import BasicBlock, ControlFlow
from warploom.engine.host_compiler.analysis.phase_values import PhaseValues
from warploom.engine.host_compiler.analysis.provenance import Provenance, Root
from warploom.engine.host_compiler.analysis.ranges import Ranges
from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.memory_layout import MemoryLayout
from warploom.engine.host_compiler.opcodes.reductions import is_rarely_reduced, is_reduction
from warploom.engine.host_compiler.runtime.thread_loops import RowPart
from warploom.engine.ptx.tree import Address, Function, Instruction, Register

_SERIAL = frozenset(
    ("call", "atom", "red", "membar", "fence", "brx", "trap", "brkpt", "nanosleep", "mbarrier", "bar", "barrier")
)
_ORDERED = frozenset(("volatile", "acquire", "release", "relaxed", "mmio"))


def is_parallel(flow: ControlFlow, pieces: Iterable[int], provenance: Provenance) -> bool:
    """Whether blocks may run for many threads at once: no loop, call or atomic, and every address has a known root.

    Threads that do not wait for each other must not depend on each other either, so their accesses may interleave.
    """
    pieces = list(pieces)
    if has_loop(flow, pieces):
        return False
    items = [item for index in pieces for item in _own(flow.blocks[index])]
    if not all(is_simple(item, provenance) for item in items):
        return False
    reduced = {_place(item, provenance) for item in items if item.opcode == "red"}
    return not reduced & {_place(item, provenance) for item in items if item.opcode in ("ld", "ldu", "st")}


def _place(instruction: Instruction, provenance: Provenance) -> Root | str | None:
    """Return what a simple access accesses: a buffer or a space."""
    space = space_of(instruction)
    if space in ("shared", "param"):
        return space
    return provenance.root(instruction.operands[1 if instruction.opcode in ("ld", "ldu") else 0])


def has_loop(flow: ControlFlow, pieces: list[int]) -> bool:
    """Whether a thread may loop without waiting: whether blocks remain when those without successors are removed in
    turn.
    """
    left = {index: set(() if flow.blocks[index].suspends else flow.blocks[index].successors) for index in pieces}
    while True:
        ended = [index for index, following in left.items() if not following & left.keys()]
        if not ended:
            return bool(left)
        for index in ended:
            del left[index]


def _own(block: BasicBlock) -> list[Instruction]:
    return block.instructions[:-1] if block.suspends else block.instructions


def is_simple(instruction: Instruction, provenance: Provenance) -> bool:
    """Whether an instruction may run for many threads at once."""
    if is_reduction(instruction.opcode, instruction.modifiers):
        return space_of(instruction) == "shared" or provenance.root(instruction.operands[0]) is not None
    if instruction.opcode in _SERIAL or _ORDERED & set(instruction.modifiers):
        return False
    if instruction.opcode == "isspacep" or (instruction.opcode == "cvta" and "local" in instruction.modifiers):
        return False  # both opcodes need the address of the thread's local memory
    if instruction.opcode not in ("ld", "ldu", "st"):
        return True
    space = space_of(instruction)
    if space in ("shared", "param"):
        return True
    return (
        space != "local"
        and len(instruction.operands) == 2
        and provenance.root(instruction.operands[0 if instruction.opcode == "st" else 1]) is not None
    )


@dataclass(frozen=True)
class FaultFold:
    """Text around a branch-free loop: stack slots, before the loop, for each thread, after the loop.

    The loop must leave to `done`; `judge` continues at the label passed to `fault_fold`.
    """

    slots: str = ""
    reset: str = ""
    begin: str = ""
    finish: str = ""
    judge: str = ""
    done: str = ""

    def around(self, part: RowPart) -> RowPart:
        """Return a part whose threads fold their faults."""
        return replace(part, before=part.before + self.begin, finish=part.finish + self.finish)


def fault_fold(body: Body, done: str) -> FaultFold:
    """Return the text for a body that was translated branch-free; nothing when no access has its own check."""
    sites = body.accesses.sites
    if not sites:
        return FaultFold(slots="  %fault.thread = alloca i64\n", done=done)
    lines = ", ".join(f"i64 {line}" for line, _ in sites)
    kinds = ", ".join(f"i64 {kind}" for _, kind in sites)
    count = len(sites)
    finish = """  %fold.thread = load i64, ptr %fault.thread
  %fold.row = mul i32 %tid.z, %ny
  %fold.row2 = add i32 %fold.row, %tid.y
  %fold.start = mul i32 %fold.row2, %nx
  %fold.linear = add i32 %fold.start, %tid.x
  %fold.wide = zext i32 %fold.linear to i64
  %fold.high = shl i64 %fold.wide, 54
  %fold.number = or i64 %fold.thread, %fold.high
  %fold.fine = icmp eq i64 %fold.thread, -1
  %fold.code = select i1 %fold.fine, i64 -1, i64 %fold.number
  %fold.all = load i64, ptr %fault.all
  %fold.least = call i64 @llvm.umin.i64(i64 %fold.all, i64 %fold.code)
  store i64 %fold.least, ptr %fault.all
"""
    judge = f"""judge:
  %judge.all = load i64, ptr %fault.all
  %judge.fine = icmp eq i64 %judge.all, -1
  br i1 %judge.fine, label %{done}, label %judge.report, !prof !2
judge.report:
  %judge.thread.wide = lshr i64 %judge.all, 54
  %judge.thread = trunc i64 %judge.thread.wide to i32
  %judge.site.high = lshr i64 %judge.all, 48
  %judge.site = and i64 %judge.site.high, {LAST_SITE}
  store [{count} x i64] [{lines}], ptr %judge.lines
  %judge.line.at = getelementptr i64, ptr %judge.lines, i64 %judge.site
  %judge.line = load i64, ptr %judge.line.at
  store [{count} x i64] [{kinds}], ptr %judge.kinds
  %judge.kind.at = getelementptr i64, ptr %judge.kinds, i64 %judge.site
  %judge.kind = load i64, ptr %judge.kind.at
  %judge.address.high = shl i64 %judge.all, 16
  %judge.address = ashr i64 %judge.address.high, 16
  call void @wl.fault(ptr %worker, i64 %judge.kind, i64 %judge.line, i32 %judge.thread, i64 %judge.address)
  br label %{done}
"""
    slots = f"""  %fault.thread = alloca i64
  %fault.all = alloca i64
  %judge.lines = alloca [{count} x i64]
  %judge.kinds = alloca [{count} x i64]
"""
    return FaultFold(
        slots, "  store i64 -1, ptr %fault.all\n", "  store i64 -1, ptr %fault.thread\n", finish, judge, "judge"
    )


#: Metadata of loops over threads: many at once, and a few one after the other.
VECTORS, UNROLLED = ", !llvm.loop !10", ", !llvm.loop !20"
#: Metadata of loops over the 32 lanes of a warp, by the bits of the widest element that they load or store.
LANES = {32: ", !llvm.loop !30", 64: ", !llvm.loop !40"}


def twin(*, is_parallel: bool) -> str:
    """Return the attributes of a checked twin.

    One that runs for few thread blocks is not worth the optimiser's time; one that may run for many is parallel too.
    """
    return "noinline" if is_parallel else "noinline cold minsize optsize"


#: The parameters of a piece that runs a range of threads of one thread block; `%together` when those are all threads
#: and none has diverged so far.
FRAME = (
    "ptr %launch, ptr %params, ptr %worker, ptr %scratch, i32 %ctaid.x, i32 %ctaid.y, i32 %ctaid.z, "
    "i32 %x0, i32 %x1, i32 %y0, i32 %y1, i32 %z0, i32 %z1, i1 %together"
)


def choice(body: Body, slow: str, done: str) -> tuple[str, bool]:
    """Return the text that continues when all hoisted checks hold, and whether it needs the piece's checked twin.

    It runs the twin otherwise; its result goes to `%common`.
    """
    lines, fine = body.accesses.hoisted()
    text = "".join(f"{line}\n" for line in lines)
    if fine:
        text += (
            f"  br i1 {fine}, label %fast, label %slow, !prof !2\n"
            f"slow:\n  %slow.common = call i32 {slow}({FRAME})\n  store i32 %slow.common, ptr %common\n"
            f"  br label %{done}\nfast:\n"
        )
    return text, bool(fine)


#: The cost of a vector access to places that depend on data, in instructions of one thread.
_SCATTERED = 12


def is_worthwhile(
    function: Function,
    layout: MemoryLayout,
    flow: ControlFlow,
    pieces: Sequence[int],
    values: Callable[[], PhaseValues],
) -> bool:
    """Whether blocks that may run for many threads at once are faster that way.

    Most processors scatter the elements of a vector one by one, so nothing is gained where threads do little but store
    to places that depend on data, or change numbers there.
    """
    items = [item for index in pieces for item in _own(flow.blocks[index])]
    if not is_rarely_reduced(items):
        ranges = Ranges(function, layout, values())
        places = (ranges.of(item.operands[0]) for item in items if item.opcode == "red")
        if not all(place is not None and place.is_single for place in places):
            return False
    accesses = [item for item in items if item.opcode in ("ld", "st") and space_of(item) != "param"]
    if layout.scatters or not any(item.opcode == "st" and space_of(item) != "shared" for item in accesses):
        return True
    ranges = Ranges(function, layout, values())
    scattered = [item for item in accesses if ranges.of(item.operands[0 if item.opcode == "st" else 1]) is None]
    return all(item.opcode == "ld" for item in scattered) or len(items) > (_SCATTERED + 1) * len(scattered)


#: Widths of rows: less would not fill a vector, more would hold several warps.
_WIDTHS = (32, 16)


def row_width(
    function: Function, layout: MemoryLayout, flow: ControlFlow, pieces: Iterable[int], values: PhaseValues
) -> int:
    """Return how many threads the loop over `%tid.x` should run at once; 0 when it need not be cut into rows.

    Kernels that take a lane, a warp, a row or a column from bits of `%tid.x` have accesses that are regular in
    such rows only.
    """
    addresses = {
        operand
        for index in pieces
        for item in _own(flow.blocks[index])
        if item.opcode in ("ld", "st")
        for operand in item.operands[: 2 if item.opcode == "ld" else 1]
        if isinstance(operand, Address) and isinstance(operand.base, Register)
    }

    def regular(width: int) -> int:
        rows = Ranges(function, layout, values, row=True, width=width)
        found = (rows.of(Address(operand.base, 0)) for operand in addresses)
        return sum(item is not None and item.slope is not None for item in found)

    plain, *counts = (regular(width) for width in (0, *_WIDTHS))
    most = max(counts)
    return _WIDTHS[counts.index(most)] if most > plain else 0
