"""The native side of the worker threads: how they wait, and what they run without Python.

It is written in C (`engine/host_compiler/runtime/team.c`). A thread takes its seat with `Team.serve` and holds no lock
of Python's there: it runs nodes of a graph's sections (`graph/sections.py`), looks for more for some time, and then
sleeps.
"""

import functools
from collections.abc import Callable

import numpy as np

from engine.device.host.modules import cache, native
from engine.host_compiler.runtime import library

# A node of a section; one for each instruction of a program, as 64-bit fields. Python writes those that have a name.
OPERATION = 0
WAITS = 1  # the number of nodes that it waits for
FIRST, LAST = 2, 3  # its successors are these of the section's links
RANK = 4  # nanoseconds from its begin to the end of the section: the longest path
WORKERS = 5  # the most that run it at once
CHUNK = 6  # thread blocks that a worker takes at a time
WAKES = 7  # workers that pay when it is queued, even if they have to wake
PLANNED_FIELDS = 8
PENDING = 8  # the number of nodes that it still waits for
BUSY_NS = 11  # the time that it took, of all workers together
NODE_FIELDS = 16

# A section record.
NODES = 0  # address of the nodes
LINKS = 1  # address of the links: the instructions to begin with, then the successors of each node
BEGINS = 2  # the number of nodes to begin with
ENDS = 3  # the number of nodes without successors
FIRST_WAKES = 4  # workers to wake before it begins
RUNS = 6  # how often it ran
SECTION_FIELDS = 7

_TEAM_FIELDS, _SEAT_FIELDS = 16, 8
#: Why a worker leaves its seat.
_CALLED = 1

_Function = Callable[[int, int, int, int, int], int]


class Team:
    """Seats for the launching thread, which has the first, and for other workers."""

    def __init__(self, seats: int, own: int) -> None:
        self._memory = np.zeros(8 * (_TEAM_FIELDS + _SEAT_FIELDS * seats) + 64, np.uint8)
        self.address = -(-int(self._memory.ctypes.data) // 64) * 64
        _functions()["open"](self.address, own, 0, seats, 0)

    def serve(self, seat: int, worker: int) -> bool:
        """Work at a seat with a worker record; True when `call` wants this thread, False after `close`."""
        return _functions()["serve"](self.address, worker, 0, seat, 0) == _CALLED

    def call(self, count: int, called: list[int]) -> None:
        """Let a number of threads return from `serve`, and record them in `called`, as one step for other threads."""
        called.extend(map(_functions()["call"], (self.address,), (0,), (0,), (count,), (0,)))

    def close(self) -> None:
        """Let all threads return from `serve`."""
        _functions()["call"](self.address, 0, 0, -1, 0)


def run_graph(program: int, state: int, worker: int, index: int) -> int:
    """Run instructions from an index on; return why that ended, as `graph/stepper.py` names it.

    The addresses are those of the program, the state and the launching thread's worker record.
    """
    return _functions()["run_graph"](program, state, worker, index, 0)


@functools.cache
def _functions() -> dict[str, _Function]:
    """Return the functions of C that Python calls."""
    names = ["run_graph", "open", "serve", "call"]
    symbols = [f"wl.{name}" for name in names]
    text = library.exported(library.needed(" ".join(f"@{symbol}" for symbol in symbols)))
    key = cache.key(text, *native.cpu())
    entry = cache.load(key)
    if entry is None:
        compiled = native.compile_object(f'target triple = "{native.triple()}"\n{text}')
        entry = cache.CachedModule(compiled, {}, {}, {}, {})
        cache.store(key, entry)
    code = native.NativeCode([entry.code], symbols, {})
    found = {name: code.function(symbol) for name, symbol in zip(names, symbols, strict=True)}
    for function in found.values():
        function.code = code  # keeps it loaded
    return found
