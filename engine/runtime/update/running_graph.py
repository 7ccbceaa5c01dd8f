"""The running graph with its memory, and how it is replaced or adjusted between two frames.

All of this holds up a frame. So all other work is prepared before, and the worker releases the replaced parts.
"""

from collections.abc import Mapping
from functools import partial

import msgspec
from msgspec.structs import replace

from warploom.engine.compiler.difference import Difference
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.compiler.inlining.inline import ParameterRef, changed_values
from warploom.engine.compiler.plan import Plan
from warploom.engine.device.releasing import release_all
from warploom.engine.profiling.side_work import SideKind
from warploom.engine.runtime.memory.graph_memory import GraphMemory
from warploom.engine.runtime.memory.state_store import move, waits
from warploom.engine.runtime.model.context import DeviceServices
from warploom.engine.runtime.update.prepare import Prepared

#: Values of parameters by (node, name).
Values = dict[ParameterRef, object]


class Retired(msgspec.Struct, frozen=True):
    """The replaced parts of an update: a graph, memory, and old versions of kernel files."""

    services: DeviceServices
    graph: CompiledGraph | None = None
    memory: GraphMemory | None = None

    def release(self) -> None:
        """Release the replaced parts. Raise DeviceError if the device fails."""
        graph = [self.graph.destroy] if self.graph is not None else []
        memory = [partial(self.memory.release, self.services.pool)] if self.memory is not None else []
        release_all(self.services.device.activate, *graph, *memory, self.services.modules.unload_replaced)


class RunningGraph:
    """The launched graph, once there is one, and its memory.

    `values` returns the current parameter values of every node by name.
    """

    def __init__(self, services: DeviceServices, values: Mapping[str, Mapping[str, object]]) -> None:
        self._services, self._values = services, values
        self.compiled: CompiledGraph | None = None
        self.memory: GraphMemory | None = None

    def replace(self, prepared: Prepared) -> Retired:
        """Run the prepared graph from now on; it continues where the old one stopped."""
        assert prepared.compiled is not None and prepared.memory is not None
        old, old_memory = self.compiled, self.memory
        if old is not None:
            try:
                move(self._services.device, prepared.compiled.follow(old, partial(waits, prepared.left_out)))
            except BaseException:
                prepared.abandon(self._services)
                raise
        self.compiled, self.memory = prepared.compiled, prepared.memory
        self._services.states.commit(prepared.memory.states, prepared.left_out)
        if old is not None:
            self.compiled.take_over(old)
        if old_memory is not None:
            prepared.memory.take_over(old_memory)
        return Retired(self._services, old, old_memory)

    def adjust(self, prepared: Prepared) -> tuple[Retired, Values]:
        """Change nodes in place; when the device refuses, raise DeviceError and change nothing.

        Return the replaced parts, and the parameter values to write into the graph, by (node, name).
        """
        assert self.memory is not None and prepared.adjustment is not None
        given = self._given(prepared.adjustment.plan)
        prepared.adjustment.apply()
        if prepared.memory is None:
            return Retired(self._services), given
        self._services.states.commit(prepared.memory.states, prepared.left_out)
        prepared.memory.take_over(self.memory)
        old_memory, self.memory = self.memory, prepared.memory
        return Retired(self._services, memory=old_memory), given

    def refresh(self, changes: Difference) -> Values:
        """Follow a plan of the same graph: upload new contents. Return the parameter values to write (see `adjust`)."""
        assert self.compiled is not None
        plan, before = changes.now, self.compiled.plan
        for owner in changes.other_arrays:
            block = plan.description.by_id[owner.node].description
            if owner.port in block.contents:
                contents = block.contents[owner.port]
                with self._services.times.timed(SideKind.UPLOAD, str(owner), contents.nbytes):
                    self._services.device.write(self.compiled.memory[owner], contents)
            else:
                self._services.states.begin_again(owner, block.initials[owner.port])
        given = self._given(plan)
        # The old plan would keep arrays alive that are not used any more. Buffers are stored as in its schedule.
        buffers = replace(plan.buffers, allocations=before.buffers.allocations)
        self.compiled.plan = replace(
            before, description=plan.description, inlined=plan.inlined, checked=plan.checked, buffers=buffers
        )
        return given

    def give_up(self) -> Retired:
        """Stop running the graph, and return it with its memory."""
        old, self.compiled = self.compiled, None
        memory, self.memory = self.memory, None
        return Retired(self._services, old, memory)

    def _given(self, plan: Plan) -> Values:
        """Return the present parameter values to write into the graph so that it follows a plan, by (node, name)."""
        assert self.compiled is not None
        return changed_values(self.compiled.plan.inlined, plan.inlined, self._values)
