"""The native interpreter of a graph's instructions: short kernels, fills, copies, and jumps between them.

An instruction is `FIELDS` numbers of 64 bits, its operation first. The state is an array with one number for each name
below. The code returns at an instruction that Python has to run or to know of; `AT` holds its index.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import cast

from engine.device.host.modules import native
from engine.device.host.translate import abi

FIELDS = 6

# Operations, with the fields that follow.
PYTHON = 0  # nothing: return to Python
KERNEL = 1  # function, launch record, argument block, thread blocks, scratch bytes
FILL = 2  # address, value, bytes
COPY = 3  # target, source, bytes
STORE = 4  # address of 32 bits, value
SKIP = 5  # address of 32 bits, the instruction to go to when they are 0
JUMP = 6  # the instruction to go to
ENTER = 7  # the outermost loop that begins
BACK = 8  # the loop whose turn ends, the instruction to go to
LEAVE = 9  # nothing: the outermost loop ends

# State.
AT = 0
LOOP = 1  # the outermost loop that is running, -1 outside loops
TURNS = 2  # turns of that loop
BUDGET = 3  # turns of any loop that are left before returning
KERNELS = 4  # kernels that ran
STOP = 5  # address of a number that is not 0 when the run must stop
SERVED = 6  # address of the number of calls from kernels to Python
SERVED_BEFORE = 7  # that number when the run began
STATE_FIELDS = 8

# Why the code returned.
AT_PYTHON = 0
STOPPED = 1  # between two turns of a loop
FAULT = 2  # in a kernel; the worker record says what happened
CALLED = 3  # after a kernel that called Python
PAUSE = 4  # the budget is spent

_NAME = "wl.graph"


@cache
def stepper() -> Callable[[int, int, int, int, int], int]:
    """Return the interpreter, a function of the addresses of program, state and worker record, an index, and 0.

    It begins at the instruction with that index and returns the reason why it stopped.
    """
    code = native.NativeCode([native.compile_object(_text())], [_NAME], {})
    function = code.function(_NAME)
    function.code = code  # keeps it loaded
    return cast("Callable[[int, int, int, int, int], int]", function)


def _text() -> str:
    def place(record: str, index: int) -> str:
        return f"getelementptr i64, ptr %{record}, i64 {index}"

    state = "".join(
        f"  %{name}.at = {place('state', index)}\n"
        for name, index in (
            ("at", AT),
            ("loop", LOOP),
            ("turns", TURNS),
            ("budget", BUDGET),
            ("kernels", KERNELS),
        )
    )
    loaded = "".join(
        f"  %{name}.at = {place('state', index)}\n  %{name} = load {kind}, ptr %{name}.at\n"
        for name, index, kind in (("stop", STOP, "ptr"), ("served", SERVED, "ptr"), ("before", SERVED_BEFORE, "i64"))
    )
    worker = "".join(
        f"  %{name}.at = {place('worker', index)}\n"
        for name, index in (
            ("fault", abi.FAULT_KIND),
            ("cache", abi.CACHE_SIZE),
            ("arguments", abi.ARGUMENTS),
            ("scratch", abi.SCRATCH_BYTES),
        )
    )
    fields = "".join(
        f"  %{name}.at = {place('here', index)}\n  %{name} = load i64, ptr %{name}.at\n"
        for index, name in enumerate("abcde", 1)
    )
    operations = {
        KERNEL: "kernel",
        FILL: "fill",
        COPY: "copy",
        STORE: "store",
        SKIP: "skip",
        JUMP: "jump",
        ENTER: "enter",
        BACK: "back",
        LEAVE: "leave",
    }
    cases = " ".join(f"i64 {number}, label %{name}" for number, name in operations.items())
    ends = "".join(
        f"{name}:\n  store i64 %{where}, ptr %at.at\n  ret i32 {reason}\n"
        for name, reason, where in (
            ("python", AT_PYTHON, "pc"),
            ("stopped", STOPPED, "pc"),
            ("failed", FAULT, "pc"),
            ("called", CALLED, "pc"),
            ("pause", PAUSE, "b"),
        )
    )
    return f"""target triple = "{native.triple()}"
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
define i32 @{_NAME}(ptr %program, ptr %state, ptr %worker, i64 %first, i64 %unused) nounwind {{
entry:
{state}{loaded}{worker}  br label %next
next:
  %pc = phi i64 [%first, %entry], [%pc.after, %step], [%a, %jump], [%target, %skip], [%b, %around]
  %offset = mul i64 %pc, {FIELDS}
  %here = getelementptr i64, ptr %program, i64 %offset
  %operation = load i64, ptr %here
{fields}  %pc.after = add i64 %pc, 1
  switch i64 %operation, label %python [{cases}]
step:
  br label %next
kernel:
  %function = inttoptr i64 %a to ptr
  %record = inttoptr i64 %b to ptr
  %block = inttoptr i64 %c to ptr
  %taken = {place("record", abi.NEXT)}
  store i64 0, ptr %taken
  store i64 0, ptr %fault.at
  store i64 0, ptr %cache.at
  store i64 %c, ptr %arguments.at
  store i64 %e, ptr %scratch.at
  %result = call i32 %function(ptr %record, ptr %block, ptr %worker, i64 %d, i64 %d)
  %ran = load i64, ptr %kernels.at
  %ran.more = add i64 %ran, 1
  store i64 %ran.more, ptr %kernels.at
  %fine = icmp eq i32 %result, 0
  br i1 %fine, label %quiet, label %failed
quiet:
  %calls = load volatile i64, ptr %served
  %silent = icmp eq i64 %calls, %before
  br i1 %silent, label %step, label %called
fill:
  %fill.to = inttoptr i64 %a to ptr
  %value = trunc i64 %b to i8
  call void @llvm.memset.p0.i64(ptr %fill.to, i8 %value, i64 %c, i1 false)
  br label %step
copy:
  %copy.to = inttoptr i64 %a to ptr
  %copy.from = inttoptr i64 %b to ptr
  call void @llvm.memmove.p0.p0.i64(ptr %copy.to, ptr %copy.from, i64 %c, i1 false)
  br label %step
store:
  %store.to = inttoptr i64 %a to ptr
  %word = trunc i64 %b to i32
  store i32 %word, ptr %store.to
  br label %step
skip:
  %condition.at = inttoptr i64 %a to ptr
  %condition = load i32, ptr %condition.at
  %is.zero = icmp eq i32 %condition, 0
  %target = select i1 %is.zero, i64 %b, i64 %pc.after
  br label %next
jump:
  br label %next
enter:
  store i64 %a, ptr %loop.at
  store i64 0, ptr %turns.at
  br label %step
leave:
  store i64 -1, ptr %loop.at
  br label %step
back:
  %loop = load i64, ptr %loop.at
  %is.outer = icmp eq i64 %loop, %a
  %turn = zext i1 %is.outer to i64
  %turns = load i64, ptr %turns.at
  %turns.more = add i64 %turns, %turn
  store i64 %turns.more, ptr %turns.at
  %wish = load volatile i64, ptr %stop
  %on = icmp eq i64 %wish, 0
  br i1 %on, label %spend, label %stopped
spend:
  %budget = load i64, ptr %budget.at
  %budget.less = sub i64 %budget, 1
  store i64 %budget.less, ptr %budget.at
  %rest = icmp sgt i64 %budget.less, 0
  br i1 %rest, label %around, label %pause
around:
  br label %next
{ends}}}
"""
