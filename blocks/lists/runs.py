"""Runs of equal elements, in the order of the elements."""

from typing import Any, NamedTuple

from warploom.api import BlockBuilder, BufferHandle, Kernel, Out, algorithms, boolean, u32

_MARK, _FIND = Kernel("lists.cu", entry="mark_runs"), Kernel("lists.cu", entry="find_runs")


class Runs(NamedTuple):
    """The positions of all elements in order, the number of runs that begin up to each, and where each run begins."""

    order: BufferHandle
    ends: BufferHandle
    starts: BufferHandle


def count_up(build: BlockBuilder, marks: BufferHandle) -> BufferHandle:
    """Return a buffer with the number of marks up to each."""
    ends = build.buffer("ends", u32, "captured")
    build.capture(algorithms.Scan().on(x=marks, out=ends))
    return ends


def find_runs(build: BlockBuilder, x: BufferHandle, out: Out[Any]) -> Runs:
    """Append the first element of each run to an output, in ascending order. NaN is last, and equals itself."""
    order, marks = build.buffer("order", u32, "captured"), build.buffer("marks", boolean, f"[{x.name}.size]")
    build.capture(algorithms.Order().on(x=x, out=order))
    kind = build.element_type(x)
    build.launch(_MARK, num_threads=x.size, args=(x, kind, order, marks, x.size))
    ends, starts = count_up(build, marks), build.buffer("starts", u32, f"[{x.name}.size + 1]")
    build.launch(_FIND, num_threads=x.size, args=(x, kind, order, ends, out, out.counter, starts, x.size))
    return Runs(order, ends, starts)
