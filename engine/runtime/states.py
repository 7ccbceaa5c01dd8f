"""State: the buffers whose contents outlive a frame, kept by the output or internal buffer that owns them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.compiler.shapes import Layout
from engine.device.protocol import Device, Memory
from engine.patch.changes import PortRef
from engine.runtime.pool import BufferPool


class StateStore:
    """The state buffers of the running graph and of blocks that are only left out for now."""

    def __init__(self, pool: BufferPool) -> None:
        self._pool = pool
        self._kept: dict[PortRef, tuple[Layout, Memory]] = {}

    def claim(self, owner: PortRef, layout: Layout) -> Memory:
        """Return the memory that holds this state, or zeroed memory when element type or shape are new."""
        kept = self._kept.get(owner)
        if kept is not None and kept[0] == layout:
            return kept[1]
        return self._pool.acquire(layout.size_bytes)

    def abandon(self, claimed: Mapping[PortRef, Memory]) -> None:
        """Take back what was claimed for a graph that did not come to run."""
        for owner, memory in claimed.items():
            if owner not in self._kept or self._kept[owner][1] is not memory:
                self._pool.release(memory)

    def commit(self, states: Mapping[PortRef, tuple[Layout, Memory]], nodes: Iterable[str]) -> None:
        """Keep these states, and those of `nodes` that have none among them; release the rest."""
        present = set(nodes)
        kept = {owner: state for owner, state in self._kept.items() if owner.node in present} | dict(states)
        for owner, (_, memory) in self._kept.items():
            if owner not in kept or kept[owner][1] is not memory:
                self._pool.release(memory)
        self._kept = kept

    def clear(self, device: Device) -> None:
        """Zero every state."""
        for _, memory in self._kept.values():
            device.fill(memory, 0)
