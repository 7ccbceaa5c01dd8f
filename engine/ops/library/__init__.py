"""The ops of the table, one file per category. Importing this package registers all ops."""

from engine.ops.library import (
    arithmetic,
    bits,
    buffers,
    control,
    conversions,
    functions,
    images,
    indices,
    interface,
    logic,
    noise,
    shaping,
    threads,
    vectors,
    warps,
)

__all__ = [
    "arithmetic",
    "bits",
    "buffers",
    "control",
    "conversions",
    "functions",
    "images",
    "indices",
    "interface",
    "logic",
    "noise",
    "shaping",
    "threads",
    "vectors",
    "warps",
]
