"""State: the buffers whose contents outlive a frame, kept by the output or internal buffer that owns them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from engine.compiler.plan import Plan
from engine.compiler.shapes import Layout
from engine.device.protocol import Device, Memory
from engine.patch.changes import PortRef
from engine.runtime.pool import BufferPool


class State(NamedTuple):
    """A kept buffer: its layout, its memory, and the number that it is filled with at first."""

    layout: Layout
    memory: Memory
    initial: float = 0.0


class StateStore:
    """The state buffers of the running graph and of blocks that are only left out for now."""

    def __init__(self, pool: BufferPool, device: Device) -> None:
        self._pool = pool
        self._device = device
        self._kept: dict[PortRef, State] = {}

    def kept(self, plan: Plan) -> frozenset[PortRef]:
        """Return the state buffers of a plan that are there already."""
        allocations = plan.buffers.allocations
        return frozenset(o for o, s in self._kept.items() if o in allocations and allocations[o].layout == s.layout)

    def claim(self, owner: PortRef, layout: Layout, initial: float = 0.0) -> State:
        """Return the memory of this state, or memory filled with `initial` when element type or shape are new."""
        kept = self._kept.get(owner)
        if kept is not None and kept.layout == layout:
            return kept._replace(initial=initial)
        state = State(layout, self._pool.acquire(layout.size_bytes), initial)
        if initial:
            self._fill(state)
        return state

    def abandon(self, claimed: Mapping[PortRef, State]) -> None:
        """Take back what was claimed for a graph that did not come to run."""
        for owner, state in claimed.items():
            if owner not in self._kept or self._kept[owner].memory is not state.memory:
                self._pool.release(state.memory)

    def commit(self, states: Mapping[PortRef, State], nodes: Iterable[str]) -> None:
        """Keep these states, and those of `nodes` and the blocks inside them that have none among them."""
        present = set(nodes)
        kept = {o: state for o, state in self._kept.items() if o.node.partition("/")[0] in present} | dict(states)
        in_use = {id(state.memory) for state in kept.values()}
        for state in self._kept.values():
            if id(state.memory) not in in_use:
                self._pool.release(state.memory)
        self._kept = kept

    def clear(self) -> None:
        """Give every state the contents that it had at first."""
        for state in self._kept.values():
            self._fill(state)

    def _fill(self, state: State) -> None:
        if not state.initial:
            self._device.fill(state.memory, 0)
            return
        numbers = state.layout.dtype.numpy.base
        count = state.layout.size_bytes // numbers.itemsize
        self._device.write(state.memory, np.full(count, state.initial, numbers))
