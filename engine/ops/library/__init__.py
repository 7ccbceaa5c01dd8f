"""The ops of the table, one file per category. Importing this package registers all ops."""

from warploom.engine.ops.library import (  # noqa: F401 - importing them registers their ops
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
