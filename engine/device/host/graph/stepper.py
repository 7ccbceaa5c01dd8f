"""The native interpreter of a graph's instructions: short kernels, fills, copies, and jumps between them.

It is written in C (`translate/runtime/graph.c`). An instruction is `FIELDS` numbers of 64 bits, its operation first.
The state is an array with one number for each name below. The code returns at an instruction that Python has to run or
to know of; `AT` holds its index.
"""

from collections.abc import Callable
from functools import cache
from typing import cast

from engine.device.host.modules import native
from engine.device.host.translate.runtime import library

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
LOOP_STOPPED = 1  # between two turns of a loop
FAULT = 2  # in a kernel; the worker record says what happened
CALLED = 3  # after a kernel that called Python
PAUSE = 4  # the budget is spent

_NAME = "wl.run_graph"


@cache
def stepper() -> Callable[[int, int, int, int, int], int]:
    """Return the interpreter, a function of the addresses of program, state and worker record, an index, and 0.

    It begins at the instruction with that index and returns the reason why it stopped.
    """
    text = library.needed(f"@{_NAME}").replace("define internal", "define")
    code = native.NativeCode([native.compile_object(f'target triple = "{native.triple()}"\n{text}')], [_NAME], {})
    function = code.function(_NAME)
    function.code = code  # keeps it loaded
    return cast("Callable[[int, int, int, int, int], int]", function)
