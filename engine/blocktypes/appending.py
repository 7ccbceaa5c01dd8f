"""Append buffers: what a block does around its launches when one of its outputs is filled from the front.

Kernels take a place each with an atomic addition to a counter, which so ends up holding how many elements wanted one.
The count that others see is that number or the capacity, whichever is less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.blocktypes.entries import Kernel, StatusKind
from engine.blocktypes.ports import BufferHandle, PortSpec, count_name, counter_name
from engine.types import u32

if TYPE_CHECKING:
    from engine.blocktypes.builder import BlockBuilder

_COUNT = Kernel("append.cu", "count_appended")


def begin_append(build: BlockBuilder, spec: PortSpec) -> None:
    """Make the counter of an append buffer; it starts at 0 each time the block runs, unless the buffer is state."""
    counter = build.buffer(counter_name(spec.name), u32, "[1]", state=spec.state)
    if not spec.state:
        build.fill(counter, 0)


def end_append(build: BlockBuilder, spec: PortSpec) -> None:
    """Have the counter turned into the count, and read back."""
    data, counter = BufferHandle(spec.name), BufferHandle(counter_name(spec.name))
    count = BufferHandle(count_name(spec.name))
    build.launch(_COUNT, num_threads=1, thread_block=1, args=(counter, count, data.size))
    word = counter
    if spec.state:  # its counter goes on counting, while words that are read back are made anew in each frame
        word = build.buffer(f"{spec.name}_wanted", u32, "[1]")
        build.copy(word, counter)
    build.report(word, StatusKind.APPENDED, data, data.size)
