"""The state keeper: takes, copies, puts back and clears all state between two frames of one engine."""

import logging

from warploom.engine.diagnostics import PatchError
from warploom.engine.protocol.engine_state import EngineState
from warploom.engine.protocol.messages import StateCopy
from warploom.engine.runtime.frame.clock import Clock
from warploom.engine.runtime.frame.launcher import Launcher
from warploom.engine.runtime.memory.frame_state import has_state, put_state, take_state
from warploom.engine.runtime.model.context import CudaContext
from warploom.engine.runtime.update.updater import Updater

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
        return has_state(self._updates.running.compiled, self._context.value_graph)

    def take(self) -> EngineState:
        """Return what the frames so far leave for the next one. Raise PatchError for a block that can't be saved."""
        self._settle()
        compiled, frame = self._updates.running.compiled, self._clock.moment.frame
        return take_state(self._context.services.device, compiled, self._context.value_graph, frame)

    def put(self, state: EngineState) -> None:
        """Go on from a state, and to its frame. Raise PatchError if it is of another patch."""
        self._settle()
        compiled = self._updates.running.compiled
        put_state(self._context.services.device, compiled, self._context.value_graph, state)
        self._clock.seek(state.frame)
        self._launcher.is_current = False

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
        put_state(self._context.services.device, self._updates.running.compiled, values, copy.state, partly=True)
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
        owners = {owner for owner in plan.buffers.allocations if owner.node in nodes}
        owners |= {plan.buffers.swaps[owner] for owner in owners & plan.buffers.swaps.keys()}
        self._context.services.states.clear(owners)
        self._launcher.is_current = False

    def _settle(self) -> None:
        self._launcher.quiesce()
        if self._launcher.live is not None:
            self._launcher.live.finish()
