"""The beginning of buffers that keep their contents from frame to frame."""

from warploom.api import BlockBuilder, BufferHandle, Kernel, u32

_BEGIN, _BEGUN = (Kernel("begin.cu", entry) for entry in ("begin_with", "has_begun"))


def describe_beginning(build: BlockBuilder, out: BufferHandle, first: BufferHandle) -> None:
    """Let `out` begin with the contents of `first`, if that is connected; without it, no work is added."""
    begun = build.buffer("begun", u32, "[1]", state=True)
    args = (first, out, begun, build.element_type(out), out.size)
    build.launch(_BEGIN, num_threads=out.size, args=args, needs=first)
    build.launch(_BEGUN, num_threads=1, thread_block=1, args=(begun,), needs=first)
