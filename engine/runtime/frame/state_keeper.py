"""The state keeper: takes, copies, puts back and clears all state between two frames of one engine."""

import logging
from collections.abc import Mapping

import numpy as np

from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.engine_state import EngineState
from warploom.engine.protocol.messages import StateCopy
from warploom.engine.runtime.frame.clock import Clock
from warploom.engine.runtime.frame.launcher import Launcher
from warploom.engine.runtime.model.context import CudaContext
from warploom.engine.runtime.update.updater import Updater
from warploom.engine.types import Array

_log = logging.getLogger(__name__)


class StateKeeper:
    """Keeps the state of the running graph, of live blocks and of value blocks. Each call waits for all launches."""

    def __init__(self, context: CudaContext, updates: Updater, launcher: Launcher, clock: Clock) -> None:
        self._context, self._updates, self._launcher, self._clock = context, updates, launcher, clock
        #: The copy of another engine's state that the first frame with a graph goes on from.
        self.copy: StateCopy | None = None

    @property
    def has_state(self) -> bool:
        """True if a frame depends on those before it."""
        compiled = self._updates.running.compiled
        return (compiled is not None and compiled.has_state) or self._context.value_graph.has_state

    def take(self) -> EngineState:
        """Return what the frames so far leave for the next one. Raise PatchError for a block that can't be saved."""
        self._settle()
        compiled, buffers, layouts = self._updates.running.compiled, dict[str, Array](), dict[str, str]()
        phase, is_launched = 0, False
        if compiled is not None:
            phase, is_launched = compiled.phase, compiled.is_launched
            for owner, (memory, size_bytes) in compiled.state.items():
                layouts[str(owner)] = _layout(compiled, owner)
                buffers[str(owner)] = contents = np.empty(size_bytes, np.uint8)
                self._context.services.device.read(memory, contents)
        values = self._context.value_graph.dump_state()
        return EngineState(self._clock.moment.frame, phase, is_launched, buffers, values, layouts)

    def put(self, state: EngineState) -> None:
        """Go on from a state, and to its frame. Raise PatchError if it is of another patch."""
        self._settle()
        self._put(state)
        self._clock.seek(state.frame)
        self._launcher.is_current = False

    def _put(self, state: EngineState, *, partly: bool = False) -> None:
        """Go on from a state. With `partly`, leave out what does not fit, else raise PatchError."""
        compiled, begins = self._updates.running.compiled, set[PortRef]()
        there = compiled.state if compiled is not None else {}
        if not partly:
            _check({str(owner): size for owner, (_, size) in there.items()}, state)
        elif compiled is not None:
            begins = _beginning(compiled, state)
        if compiled is not None:
            compiled.go_on(state.phase, is_launched=state.is_launched)
            for owner, (memory, _) in compiled.state.items():
                if owner not in begins:
                    self._context.services.device.write(memory, state.buffers[str(owner)])
        self._context.value_graph.load_state(state.values)

    def copied(self, most_bytes: int) -> StateCopy | None:
        """Return a copy of what the frames so far leave for the next one, if there is one; see `CopyState`."""
        compiled, values = self._updates.running.compiled, self._context.value_graph
        if self.copy is not None or compiled is None or values.is_computing or not self.has_state:
            return None
        if sum(size_bytes for _, size_bytes in compiled.state.values()) > most_bytes:
            return None
        try:
            return StateCopy(self.take(), self._clock.moment.time_s)
        except PatchError:  # a block's state can't be saved
            return None

    def go_on(self, *, fresh: bool) -> None:
        """Go on from `copy`, with what fits: its frame takes the place of the one that begins.

        Value blocks are updated as `ValueGraph.update` says.
        """
        copy, self.copy, values = self.copy, None, self._context.value_graph
        assert copy is not None
        self._settle()
        self._put(copy.state, partly=True)
        self._clock.seek(copy.state.frame, copy.time_s)
        values.update(self._clock.moment, fresh=fresh)
        if self._context.parameters.is_written:
            self._updates.write_parameters()
        self._launcher.is_current = False
        _log.info("the engine goes on with the state of frame %d", copy.state.frame)

    def begin_again(self) -> None:
        """Clear all state, and go to frame 0."""
        _log.info("all state begins again at frame 0")
        self._settle()
        self._launcher.is_current = False
        self._context.services.states.clear()
        if self._updates.compiled is not None:
            self._updates.compiled.begin_again()
        self._context.value_graph.begin_again()
        self._clock.reset()

    def restart_nodes(self) -> None:
        """Clear the state of nodes whose parameter asks for it."""
        parameters, compiled = self._context.parameters, self._updates.running.compiled
        places, parameters.restarts = parameters.restarts, {}
        if compiled is None:
            return
        self._launcher.quiesce()
        plan = compiled.plan
        nodes = {node for node, _ in plan.inlined.set_places(dict(places))}
        swaps = plan.buffers.swaps
        owners = {owner for owner in plan.buffers.allocations if owner.node in nodes} - {*swaps.values()}
        owners |= {swaps[owner] for owner in owners & swaps.keys()}  # of the node's own delays
        self._context.services.states.clear(owners)
        self._launcher.is_current = False

    def _settle(self) -> None:
        self._launcher.quiesce()
        if self._launcher.live is not None:
            self._launcher.live.finish()


def _layout(compiled: CompiledGraph, owner: PortRef) -> str:
    return str(compiled.plan.buffers.allocations[owner].layout)


def _beginning(compiled: CompiledGraph, state: EngineState) -> set[PortRef]:
    """Return the state that `state` lacks, and that of blocks which have state of another type or shape there."""
    lacking = {owner for owner in compiled.state if str(owner) not in state.buffers}
    changed = {o for o in compiled.state.keys() - lacking if state.layouts.get(str(o)) != _layout(compiled, o)}
    return lacking | changed | compiled.plan.restarting(changed)


def _check(there: Mapping[str, int], state: EngineState) -> None:
    given = {name: contents.nbytes for name, contents in state.buffers.items()}
    if there != given:
        name = min(there.items() ^ given.items())[0]
        raise PatchError(
            f"state must be of the patch that runs: {name} must have {there.get(name, 0):,} bytes, "
            f"got {given.get(name, 0):,}"
        )
