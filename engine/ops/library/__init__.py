"""The ops of the table, a file for each category; importing this package registers all ops."""

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
