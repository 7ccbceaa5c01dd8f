"""Rows that are picked by positions."""

from engine.api import BlockBuilder, BufferHandle, Kernel

_GATHER = Kernel("indices.cu", entry="gather")


def gather(build: BlockBuilder, x: BufferHandle, positions: BufferHandle, out: BufferHandle) -> None:
    """Copy the rows of x at the positions to `out`, which may have fewer."""
    types = build.element_type(x), build.element_type(positions)
    sizes = 0, x.dim(0), x.stride(0), positions.size, out.size
    build.launch(_GATHER, num_threads=out.size, args=(x, positions, out, *types, *sizes))
