"""Repeating: when several kernels had better compute a buffer each for themselves than read it from memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from math import inf, prod

from engine.compiler.fusion.stages import Stage
from engine.kernel_sources.sources import OpGraphSource
from engine.ops import OPS
from engine.patch.changes import PortRef

#: Operations that take as long as moving a byte to or from memory. GPUs do about 15 f32 operations per byte and CPUs
#: about 5; a buffer may lie in a cache, though, and an operation may be slower than an addition.
OPERATIONS_PER_BYTE = 2
#: Weights of ops by category, other than one operation; the number of a loop's turns is unknown.
_OPERATIONS = {"Kernel": 0.0, "Indices": 0.0, "Functions": 16.0, "Noise": 64.0, "Control": inf}


def is_worth_repeating(
    owner: PortRef,
    stages: Collection[Stage],
    writer: Stage,
    reads: Iterable[PortRef],
    added: Sequence[Iterable[PortRef]],
) -> bool:
    """True when the bytes that are moved no more outweigh the operations that are repeated.

    `stages` compute a buffer that `writer`, the last of them, stores, from the buffers `reads`. As many kernels would
    compute it again as `added` has items: the buffers that each of them would read besides its own.
    """
    sizes = {name: size for stage in stages for name, size in stage.sizes_bytes().items()}
    saved = sizes[owner] * (1 + len(added)) + sum(sizes.get(name, 0) for name in reads)
    saved -= sum(sizes.get(name, 0) for names in added for name in names)  # the frame uniforms are not a port
    repeated = sum(operations(stage.source) for stage in stages) * (len(added) - 1) if len(added) > 1 else 0
    return repeated * prod(writer.shape) * writer.components(owner) <= OPERATIONS_PER_BYTE * saved


@lru_cache(maxsize=512)
def operations(source: OpGraphSource) -> float:
    """Return about how many operations an op graph needs for one component of an element."""
    return sum(_OPERATIONS.get(OPS[node.type].category, 1.0) for node in source.parsed().nodes)
