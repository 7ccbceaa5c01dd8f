"""One file for each family of opcodes; importing this package fills the table."""

from warploom.engine.host_compiler.opcodes import (  # noqa: F401  each fills the table
    atomics,
    bits,
    calls,
    compare,
    conversions,
    elementary,
    floating,
    integers,
    memory,
    synchronisation,
    video,
)
