"""The state store: buffers whose contents outlive a frame, by the output or internal buffer that owns them."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from warploom.engine.compiler.checking.layouts import Layout
from warploom.engine.compiler.plan import Plan
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Memory
from warploom.engine.patch.changes import PortRef
from warploom.engine.profiling.side_work import SideKind, SideTimes
from warploom.engine.runtime.memory.buffer_pool import BufferPool
from warploom.engine.types import nearest_number
from warploom.engine.types.bits import same, same_array

InitialContents = float | np.ndarray[Any, Any]


class KeptState(NamedTuple):
    """A state buffer: its layout, its memory, and its initial contents: an array, or one number throughout."""

    layout: Layout
    memory: Memory
    initial: InitialContents = 0.0


class StateStore:
    """The state buffers of the running graph, and of blocks that are left out for now."""

    def __init__(self, pool: BufferPool, device: Device, times: SideTimes | None = None) -> None:
        """`times` takes how long arrays are uploaded."""
        self._pool = pool
        self._device, self._times = device, times or SideTimes()
        self._states: dict[PortRef, KeptState] = {}

    def existing(self, plan: Plan) -> frozenset[PortRef]:
        """Return the state buffers of a plan that exist already."""
        allocations, anew = plan.buffers.allocations, self.restarting(plan)
        there = ((o, s) for o, s in self._states.items() if o in allocations and o not in anew)
        return frozenset(owner for owner, state in there if allocations[owner].layout == state.layout)

    def restarting(self, plan: Plan) -> set[PortRef]:
        """Return the state that begins again in a plan; see `Plan.restarting`."""
        now, states = plan.buffers.allocations, self._states.items()
        return plan.restarting([owner for owner, state in states if owner in now and now[owner].layout != state.layout])

    def claim(self, owner: PortRef, layout: Layout, initial: InitialContents = 0.0, *, anew: bool = False) -> KeptState:
        """Return the memory of a state: new memory, with `initial` in it, if element type, shape or array are new.

        With `anew`, the memory is new in any case. Another number as `initial` takes effect when the state is cleared.
        """
        kept = None if anew else self._states.get(owner)
        if kept is not None and kept.layout == layout and not _is_other_array(kept.initial, initial):
            return kept._replace(initial=initial)
        state = KeptState(layout, self._pool.acquire(layout.size_bytes), initial)
        if not same(initial, 0.0):
            try:
                self._fill(owner, state)
            except BaseException:
                self._pool.release(state.memory)
                raise
        return state

    def begin_again(self, owner: PortRef, initial: np.ndarray[Any, Any]) -> bool:
        """Fill a state with another array, and return True; False if the array equals the state's initial contents."""
        kept = self._states[owner]
        if not _is_other_array(kept.initial, initial):
            return False
        fresh = kept._replace(initial=initial)
        self._fill(owner, fresh)
        self._states[owner] = fresh
        return True

    def abandon(self, claimed: Mapping[PortRef, KeptState]) -> None:
        """Free memory that was claimed for a graph that won't run."""
        for owner, state in claimed.items():
            if owner not in self._states or self._states[owner].memory is not state.memory:
                self._pool.release(state.memory)

    def commit(self, states: Mapping[PortRef, KeptState], left_out: Collection[str]) -> None:
        """Keep these states, and those of blocks that are `left_out` for now."""
        kept = {owner: state for owner, state in self._states.items() if waits(left_out, owner)}
        kept |= states
        in_use = {id(state.memory) for state in kept.values()}
        for state in self._states.values():
            if id(state.memory) not in in_use:
                self._pool.release(state.memory)
        self._states = kept

    def clear(self, owners: Collection[PortRef] | None = None) -> None:
        """Reset every state, or those of `owners`, to its initial contents."""
        for owner, state in self._states.items():
            if owners is None or owner in owners:
                self._fill(owner, state)

    def _fill(self, owner: PortRef, state: KeptState) -> None:
        if isinstance(state.initial, np.ndarray):
            with self._times.timed(SideKind.UPLOAD, str(owner), state.initial.nbytes):
                self._device.write(state.memory, state.initial)
        elif same(float(state.initial), 0.0):
            self._device.fill(state.memory, 0)
        else:
            self._device.write(state.memory, filled(state.layout, state.initial))


def filled(layout: Layout, number: float) -> np.ndarray[Any, Any]:
    """Return the contents of a state in which every number is the same."""
    dtype = layout.dtype
    if dtype.fields:  # fill every number of the struct
        return np.full(layout.size_bytes // dtype.size_bytes, number, dtype.numpy)
    nearest = nearest_number(dtype, number)
    return np.full(layout.size_bytes // nearest.itemsize, nearest)


def waits(left_out: Collection[str], state: PortRef) -> bool:
    """Return whether a state is that of a block which is left out, alone or with its composite."""
    return state.node in left_out or state.node.partition("/")[0] in left_out


def _is_other_array(before: InitialContents, now: InitialContents) -> bool:
    """Return whether a state must restart when its initial contents change."""
    return isinstance(now, np.ndarray) and not (isinstance(before, np.ndarray) and same_array(before, now))


def move(device: Device, moves: Iterable[tuple[Memory, Memory, int]]) -> None:
    """Copy contents, each given as (from, to, bytes), as if all were copied at once."""
    moving = [(source, target, np.empty(size_bytes, np.uint8)) for source, target, size_bytes in moves]
    for source, _, contents in moving:
        device.read(source, contents)
    for _, target, contents in moving:
        device.write(target, contents)
