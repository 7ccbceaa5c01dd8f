"""The layouts of the records that the launcher, translated code and its runtime (runtime/runtime.h) share."""

import math
import struct

# The launch record: 64-bit fields, read-only while a kernel runs, except NEXT.
GRID = (0, 1, 2)
THREAD_BLOCK = (3, 4, 5)
SHARED_BYTES = 6
ALLOCATIONS = 7  # address of sorted pairs: first byte, size
ALLOCATION_COUNT = 8
ARGUMENT_BYTES = 9
STOP = 10  # address of a number that is not 0 when kernels must end
SERVICES = 11  # address of a services record
NEXT = 12  # the first thread block that no worker has taken
LAUNCH_FIELDS = 13

# The worker record: 64-bit fields, one record for each thread of the pool.
SHARED = 0  # address of shared memory
SCRATCH = 1  # address of saved registers and local memory
FAULT_KIND = 2
FAULT_LINE = 3
FAULT_THREAD = 4
FAULT_BLOCK = 5
FAULT_ADDRESS = 6
STACK = 7  # address in the frame that runs the kernel
SCRATCH_BYTES = 8
CACHE_BASE = 9  # the range that held the last address looked up
CACHE_SIZE = 10
ARGUMENTS = 11  # address of the argument block
LOCAL_TOP = 12  # where the next device function's local memory begins
POINT_LINE = 13  # PTX line of the suspension point from which the current phase continues; 0 in the first phase
INSTRUCTION = 14  # the instruction of a graph that it runs
FINISHED = 15  # the instructions that it has run
WORKER_FIELDS = 16

# The services record: the function that prints and allocates, then the device heap (zeros until there is one).
# `HEAP_MAP` is the address of one byte for every 16 of the heap: how many of them a kernel may access.
SERVE, HEAP_FIRST, HEAP_MAP = 0, 1, 2
HEAP_STEP = 16

# Kinds of fault; an access adds its size in bytes, shifted by SIZE_SHIFT.
BAD_ADDRESS = 1
BAD_SHARED = 2
BAD_LOCAL = 3
TRAP = 4
DEADLOCK = 5
BAD_CALL = 6
ASSERT = 7
STOPPED = 8
STACK_OVERFLOW = 9
BAD_PARAMETER = 10
BAD_BARRIER = 11
BAD_BARRIER_COUNT = 12
BAD_FREE = 13
BAD_MEMBERS = 14
SIZE_SHIFT = 8

# The requests of kernels to `Services`.
PRINT = 1
FAILED_ASSERTION = 2
MALLOC = 3
FREE = 4

MAX_THREADS = 1024
ARRAY_BYTES = 4 * MAX_THREADS
# The scratch memory of a worker: arrays with one element for each thread, the thread's state first. Exchange arrays
# follow: for operands (as many as the largest fragments need), then for a barrier's number and count; the member mask
# of a warp operation takes the place of the count. Then come the result arrays, and a counter for each barrier of
# threads that arrive without waiting.
EXCHANGES, RESULTS = 36, 16
NUMBER, COUNT, MEMBERS = 34, 35, 35
BARRIERS = 17
LAST_BARRIER = 15  # the last that PTX may name; one more is for clusters
#: Takes the place of a barrier's number at suspension points that are no barriers.
NO_BARRIER = 1 << 30
ARRIVED = ARRAY_BYTES * (1 + EXCHANGES + RESULTS)
#: Where saved registers begin.
SCRATCH_START = ARRIVED + 128
#: The state of a thread that has ended.
EXITED = -1

#: CUDA's bound on the local memory of one thread.
MAX_LOCAL_BYTES = 512 << 10
#: The bytes of stack that nested calls of device functions may use: less than the smallest stack of a thread that runs
#: kernels.
STACK_LIMIT = 3 << 20
#: Local memory of all device functions that are running in one thread; it follows the scratch memory.
CALL_BYTES = 1 << 20


def exchange(index: int) -> int:
    """Return where an exchange array lies in scratch memory."""
    return ARRAY_BYTES * (1 + index)


def result(index: int) -> int:
    """Return where a result array lies in scratch memory."""
    return ARRAY_BYTES * (1 + EXCHANGES + index)


def narrow(bits: int) -> int:
    """Return the bits of a double as those of the nearest float."""
    (value,) = struct.unpack("<d", bits.to_bytes(8, "little"))
    try:
        packed = struct.pack("<f", value)
    except OverflowError:
        packed = struct.pack("<f", math.copysign(math.inf, value))
    return int.from_bytes(packed, "little")
