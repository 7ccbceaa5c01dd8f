"""The native side of the worker threads: how they wait, and the work that they do without Python.

It is written in C (`engine/host_compiler/runtime/team.c`). A thread takes its seat with `Team.serve`, without any lock
of Python's. It runs nodes of a graph's sections (`graph/sections.py`), looks for more work for a while, and then
sleeps.
"""

import functools
from collections.abc import Callable

import numpy as np

from warploom.engine.device.host.modules import cache, native
from warploom.engine.host_compiler.runtime import library
from warploom.engine.host_compiler.runtime.systems import for_system

# A node of a section, as 64-bit fields; each instruction of a program has one. Python writes the fields with a name.
OPERATION = 0
WAITS = 1  # the number of nodes that it waits for
FIRST, LAST = 2, 3  # the range of its successors in the section's links
RANK = 4  # nanoseconds from its start to the end of the section, on the longest path
WORKERS = 5  # the most workers that run it at once
CHUNK = 6  # the thread blocks that a worker takes at a time
WAKES = 7  # the workers that pay off when it is queued, even if they must wake first
PLANNED_FIELDS = 8
PENDING = 8  # the number of nodes that it still waits for
BUSY_NS = 11  # the time that all workers together needed
NODE_FIELDS = 16

# A section record.
NODES = 0  # address of the nodes
LINKS = 1  # address of the links: the first instructions, then the successors of each node
BEGINS = 2  # the number of nodes to start with
ENDS = 3  # the number of nodes without successors
FIRST_WAKES = 4  # workers to wake before it begins
RUNS = 6  # the number of runs so far
SECTION_FIELDS = 7

_TEAM_FIELDS, _SEAT_FIELDS = 16, 8
#: The reason for a worker to leave its seat.
_CALLED = 1

_Function = Callable[[int, int, int, int, int], int]


class Team:
    """Seats for worker threads; the launching thread has the first seat."""

    def __init__(self, seats: int, own: int) -> None:
        self._memory = np.zeros(8 * (_TEAM_FIELDS + _SEAT_FIELDS * seats) + 64, np.uint8)
        self.address = -(-int(self._memory.ctypes.data) // 64) * 64
        _functions()["open"](self.address, own, 0, seats, 0)

    def serve(self, seat: int, worker: int) -> bool:
        """Work at a seat with a worker record. Return True when `call` needs this thread, and False after `close`."""
        return _functions()["serve"](self.address, worker, 0, seat, 0) == _CALLED

    def call(self, count: int, called: list[int]) -> None:
        """Let `count` threads return from `serve`, and record them in `called`, atomically for other threads."""
        called.extend(map(_functions()["call"], (self.address,), (0,), (0,), (count,), (0,)))

    def close(self) -> None:
        """Let all threads return from `serve`."""
        _functions()["call"](self.address, 0, 0, -1, 0)


def run_graph(program: int, state: int, worker: int, index: int) -> int:
    """Run instructions from an index on. Return the reason why this ended; `graph/stepper.py` has the names.

    The addresses are those of the program, the state and the launching thread's worker record.
    """
    return _functions()["run_graph"](program, state, worker, index, 0)


@functools.cache
def _functions() -> dict[str, _Function]:
    """Return the C functions that Python calls."""
    names = ["run_graph", "open", "serve", "call"]
    symbols = [f"wl.{name}" for name in names]
    called = [f"@{symbol}" for symbol in symbols]
    text = library.exported(library.needed(" ".join(called)), *called)
    key = cache.key(text, *native.cpu())
    entry = cache.load(key)
    if entry is None:
        placed = for_system(text, native.triple())
        compiled = native.compile_object(f'target triple = "{native.triple()}"\n{placed}')
        entry = cache.CachedModule(compiled, {}, {}, {}, {})
        cache.store(key, entry)
    code = native.NativeCode([entry.code], symbols, {})
    found = {name: code.function(symbol) for name, symbol in zip(names, symbols, strict=True)}
    for function in found.values():
        function.code = code  # keeps the code loaded
    return found
