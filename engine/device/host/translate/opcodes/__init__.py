"""One file for each family of opcodes; importing this package fills the table."""

from engine.device.host.translate.opcodes import (
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

__all__ = [
    "atomics",
    "bits",
    "calls",
    "compare",
    "conversions",
    "elementary",
    "floating",
    "integers",
    "memory",
    "synchronisation",
    "video",
]
