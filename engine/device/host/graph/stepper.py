"""The native interpreter of a graph's instructions: short kernels, fills, copies, sections, and jumps.

It is written in C (`engine/host_compiler/runtime/graph.c`); `run_graph` of `../team.py` calls it. An instruction is
`FIELDS` 64-bit numbers, beginning with its operation. The state is an array with one number for each name below. The
code returns at an instruction that Python must run or must know of; `AT` is its index.
"""

FIELDS = 6

# Operations, each with its other fields.
PYTHON = 0  # return to Python; no fields
KERNEL = 1  # function, launch record, argument block, thread blocks, scratch bytes
FILL = 2  # address, value, bytes
COPY = 3  # target, source, bytes
STORE = 4  # address of 32 bits, value
SKIP = 5  # address of 32 bits, the instruction to go to if they are 0
JUMP = 6  # the instruction to go to
ENTER = 7  # the outermost loop that starts
BACK = 8  # the loop whose turn ends, the instruction to go to
LEAVE = 9  # the outermost loop ends; no fields
SECTION = 10  # section record, the instruction after the section

# State.
AT = 0
LOOP = 1  # the outermost running loop, -1 outside loops
TURNS = 2  # number of completed turns of that loop
BUDGET = 3  # turns, of any loop, that are left before returning
KERNELS = 4  # number of kernels that ran outside sections
STOP = 5  # address of a number that is not 0 if the run must stop
SERVED = 6  # address of the number of calls from kernels to Python
SERVED_BEFORE = 7  # that number at the start of the run
TEAM = 8  # address of the workers that run sections (`../team.py`)
FAILED = 9  # address of the worker record with the fault
SECTION_NS = 10  # total time of all sections that ran
STATE_FIELDS = 11

# The reasons for returning.
AT_PYTHON = 0
LOOP_STOPPED = 1  # between two turns of a loop
FAULT = 2  # in a kernel; the record of worker `FAILED` has the fault
CALLED = 3  # after a kernel that called Python, or a section with one
PAUSE = 4  # the budget is used up
