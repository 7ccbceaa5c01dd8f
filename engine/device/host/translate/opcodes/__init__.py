"""One file for each family of opcodes; importing this package fills the table."""

from engine.device.host.translate.opcodes import (
    approximations,
    arithmetic,
    atomics,
    calls,
    carry,
    compare,
    conversions,
    floating,
    integers,
    logic,
    memory,
    moves,
    ordering,
)

__all__ = [
    "approximations",
    "arithmetic",
    "atomics",
    "calls",
    "carry",
    "compare",
    "conversions",
    "floating",
    "integers",
    "logic",
    "memory",
    "moves",
    "ordering",
]
