"""The facts about a kernel for the scheduler (scheduler.c): constant tables, and the kernel's entry."""

from collections.abc import Sequence
from dataclasses import dataclass

from warploom.engine.host_compiler import abi
from warploom.engine.host_compiler.analysis.suspension_points import BARRIER, WARP, SuspensionPoint
from warploom.engine.host_compiler.code import quoted
from warploom.engine.host_compiler.operands import width
from warploom.engine.host_compiler.parallel import FRAME
from warploom.engine.host_compiler.runtime.thread_loops import RUN, block_loop
from warploom.engine.ptx.tree import Integer

SharedArray = tuple[int, str]
"""Where an array of saved values lies in scratch memory, and the LLVM type of its elements."""


@dataclass(frozen=True)
class PhasePlan:
    """One phase as the scheduler sees it.

    `name` is its function. `point` is where its threads waited before, None at the start, at PTX line `line`. It reads
    `shared` from its first thread only, writes `once` for its first thread only, and `each` for every thread.
    """

    name: str
    point: SuspensionPoint | None
    line: int
    shared: Sequence[SharedArray]
    once: Sequence[SharedArray]
    each: Sequence[SharedArray]


def text(kernel: str, phases: Sequence[PhasePlan], limits: str, *, parts_at_barriers: bool) -> str:
    """Return the tables of a kernel with suspension points, and its entry.

    `limits` is the text that notes the limits of buffers before any thread block runs. `parts_at_barriers`: threads at
    the same barrier instruction may be at different barriers.
    """
    tables = _Tables(kernel)
    once = dict.fromkeys(array for phase in phases for array in phase.once)
    rows = [_phase(tables, phase, [array for array in once if array not in phase.each]) for phase in phases]
    table = tables.add("phases", f"[{len(rows)} x {PHASE_RECORD}]", f"[{', '.join(rows)}]")
    run = "@" + quoted(f"{kernel}|run")
    numbers = _numbers(len(rows), *_barriers(phases), int(parts_at_barriers))
    plan = tables.add("kernel", KERNEL_RECORD, f"{{ptr {run}, ptr {table}, {numbers}}}")
    prologue = f"""  %scratch.at = getelementptr i64, ptr %worker, i64 {abi.SCRATCH}
  %scratch = load ptr, ptr %scratch.at
{limits}"""
    inner = (
        f"  call void @wl.run_thread_block(ptr {plan}, ptr %launch, ptr %params, ptr %worker,"
        " i32 %ctaid.x, i32 %ctaid.y, i32 %ctaid.z)\n  br label %block.done\n"
    )
    return (
        f"{tables.text}{_dispatch(run, phases)}"
        f"define i32 @{quoted('run.' + kernel)}({RUN}) #0 {{\nentry:\n  br label %start\n"
        f"{block_loop(prologue, inner)}}}\n"
    )


def _dispatch(name: str, phases: Sequence[PhasePlan]) -> str:
    """Return the function that runs threads of the thread block `%frame` from the point `%state`.

    It is inlined, so that LLVM sees which phases are called and drops what they don't use.
    """
    block, threads = FRAME.split(", ")[:7], FRAME.split(", ")[7:]
    loads = "".join(
        f"  {value}.at = getelementptr {FRAME_RECORD}, ptr %frame, i32 0, i32 {index}\n"
        f"  {value} = load {kind}, ptr {value}.at\n"
        for index, (kind, value) in enumerate(item.split() for item in block)
    )
    cases = " ".join(f"i32 {number}, label %phase.{number}" for number in range(len(phases)))
    calls = "".join(
        f"phase.{number}:\n  store i64 {phase.line}, ptr %point.line.at\n"
        f"  %next.{number} = call i32 {phase.name}({FRAME})\n  ret i32 %next.{number}\n"
        for number, phase in enumerate(phases)
    )
    return (
        f"define internal i32 {name}({', '.join(['ptr %frame', *threads, 'i32 %state'])}) alwaysinline nounwind {{\n"
        f"{loads}  %point.line.at = getelementptr i64, ptr %worker, i64 {abi.POINT_LINE}\n"
        f"  switch i32 %state, label %never [{cases}]\n{calls}never:\n  unreachable\n}}\n"
    )


# Records of scheduler.c: `struct phase`, `struct kernel`, and the beginning of `struct frame`.
PHASE_RECORD = "{ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32, i32, i32}"
KERNEL_RECORD = "{ptr, ptr, i32, i32, i32, i32}"
FRAME_RECORD = "{ptr, ptr, ptr, ptr, i32, i32, i32}"


class _Tables:
    """The constants of one kernel, as LLVM text."""

    def __init__(self, kernel: str) -> None:
        self._kernel = kernel
        self._lists: dict[tuple[SharedArray, ...], str] = {}
        self.text = ""

    def add(self, name: str, kind: str, value: str) -> str:
        """Add a constant; return its LLVM name."""
        symbol = "@" + quoted(f"{self._kernel}|{name}")
        self.text += f"{symbol} = internal constant {kind} {value}\n"
        return symbol

    def arrays(self, arrays: Sequence[SharedArray]) -> str:
        """Return the name of a list of arrays: places and sizes of elements, ended by zeros."""
        key = tuple(arrays)
        if key not in self._lists:
            numbers = [number for offset, kind in key for number in (offset, width(kind) // 8)] + [0, 0]
            kind = f"[{len(numbers)} x i32]"
            self._lists[key] = self.add(f"arrays.{len(self._lists)}", kind, f"[{_numbers(*numbers)}]")
        return self._lists[key]


def _numbers(*values: int) -> str:
    return ", ".join(f"i32 {value}" for value in values)


def _phase(tables: _Tables, phase: PhasePlan, not_copied: Sequence[SharedArray]) -> str:
    """Return one phase's `struct phase`; `not_copied` are values that only the first thread has after it."""
    point = phase.point
    collective = f"@{point.collective}" if point is not None and point.collective else "null"
    pointers = [collective, *(tables.arrays(item) for item in (phase.shared, phase.once, not_copied))]
    numbers = [0, 0, abi.NO_BARRIER, 0, 0, 0, 0, 0]
    if point is not None:
        numbers[:2] = point.kind, phase.line
        if point.kind == BARRIER:
            numbers[2:4] = _constant(point, abi.NUMBER), _constant(point, abi.COUNT)
        members = point.operand(abi.MEMBERS) if point.kind == WARP else None
        numbers[4] = int(point.names_members)
        if isinstance(members, Integer):
            numbers[5:7] = 1, members.value & 0xFFFFFFFF
        numbers[7] = int(point.shuffle is not None)
    return f"{PHASE_RECORD} {{" + ", ".join(f"ptr {item}" for item in pointers) + f", {_numbers(*numbers)}}}"


def _constant(point: SuspensionPoint, place: int) -> int:
    """Return a plain barrier's number or count; -1 where each thread sets it."""
    if not point.is_plain_barrier:
        return -1
    operand = point.operand(place)
    assert isinstance(operand, Integer)
    return operand.value


def _barriers(phases: Sequence[PhasePlan]) -> tuple[int, int]:
    """Return the first barrier number in use and the end; those of all barriers unless all numbers are constants."""
    points = [phase.point for phase in phases if phase.point is not None and phase.point.kind == BARRIER]
    numbers = [point.operand(abi.NUMBER) for point in points]
    known = [item.value for item in numbers if isinstance(item, Integer)]
    if not points:
        return 0, 0
    return (min(known), max(known) + 1) if len(known) == len(numbers) else (0, abi.BARRIERS)
