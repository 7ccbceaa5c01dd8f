"""How much is measured."""

from enum import IntEnum


class ProfilingLevel(IntEnum):
    """How much is measured; each level includes those before it."""

    NONE = 0  # states only
    SUMMARY = 1  # the whole graph
    PER_BLOCK = 2  # each block
    PER_KERNEL = 3  # each kernel
