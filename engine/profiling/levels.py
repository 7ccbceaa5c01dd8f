"""How much is measured."""

from enum import IntEnum


class ProfilingLevel(IntEnum):
    """How much is measured; each level includes those before it. Changing the level rebuilds nothing.

    Only some frames are measured, so that measuring takes no more than a small share of the time. At `DEEP_SYNC` every
    frame is, and waits for its own results.
    """

    NONE = 0  #: states only
    SUMMARY = 1  #: the whole graph
    PER_BLOCK = 2  #: each block
    PER_KERNEL = 3  #: each kernel, copy and fill
    DEEP_ASYNC = 4  #: also the contents of buffers
    DEEP_SYNC = 5  #: all of this in every frame
