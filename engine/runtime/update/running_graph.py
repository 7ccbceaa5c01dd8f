"""The running graph with its memory, and how it is replaced or adjusted between two frames.

All of this holds up a frame. So all other work is prepared before, and the worker releases the replaced parts.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from engine.compiler.executable.compiled_graph import CompiledGraph
from engine.compiler.inlining import changed_values
from engine.compiler.plan import Plan
from engine.diagnostics import DeviceError, Diagnostic, GraphValidationError
from engine.patch.changes import PortRef
from engine.profiling.side_work import SideKind
from engine.runtime.memory.graph_memory import GraphMemory, adopt_array
from engine.runtime.memory.state_store import move
from engine.runtime.model.context import DeviceServices
from engine.runtime.update.prepare import Prepared

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Retired:
    """The replaced parts of an update: a graph, memory, and old versions of kernel files."""

    services: DeviceServices
    graph: CompiledGraph | None = None
    memory: GraphMemory | None = None

    def release(self) -> None:
        """Release it; DeviceError when the device fails."""
        self.services.device.activate()
        if self.graph is not None:
            self.graph.destroy()
        if self.memory is not None:
            self.memory.release(self.services.pool)
        self.services.modules.unload_replaced()


@dataclass(frozen=True)
class Refreshed:
    """The result of `refresh`: whether contents or arrays were replaced, and the remaining work."""

    changed: bool
    #: Parameter values to write into the graph, by (node, name).
    values: dict[tuple[str, str], object]
    problems: list[Diagnostic]
    #: Why a rebuild is needed nevertheless.
    rebuild: str = ""


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
        self.compiled, self.memory = prepared.compiled, prepared.memory
        self._services.states.commit(prepared.memory.states, prepared.left_out)
        if old is not None:
            move(self._services.device, self.compiled.follow(old))
            self.compiled.take_over(old)
        if old_memory is not None:
            prepared.memory.take_over(old_memory)
        return Retired(self._services, old, old_memory)

    def adjust(self, prepared: Prepared) -> tuple[Retired, dict[tuple[str, str], object]]:
        """Change launches and addresses in place; when the device refuses, raise DeviceError and change nothing.

        Return the replaced parts, and the parameter values to write into the graph, by (node, name).
        """
        assert self.memory is not None
        assert prepared.adjustment is not None and prepared.memory is not None
        given = self._given(prepared.adjustment.plan)
        prepared.adjustment.apply()
        self._services.states.commit(prepared.memory.states, prepared.left_out)
        prepared.memory.take_over(self.memory)
        old_memory, self.memory = self.memory, prepared.memory
        return Retired(self._services, memory=old_memory), given

    def refresh(self, plan: Plan) -> Refreshed:
        """Follow a plan of the same graph: upload new contents, use other external arrays."""
        assert self.compiled is not None and self.memory is not None
        before = self.compiled.plan
        old = before.description.by_id
        changed, rebuild = False, ""
        problems: list[Diagnostic] = []
        for node in plan.description.nodes:
            then, now = old[node.id].description, node.description
            if then is now:
                continue
            for name, contents in now.contents.items():
                if then.contents[name] is not contents:
                    port = PortRef(node.id, name)
                    with self._services.times.timed(SideKind.UPLOAD, str(port), contents.nbytes):
                        self._services.device.write(self.compiled.memory[port], contents)
                    changed = True
            for name, initial in now.initials.items():
                changed |= self._services.states.begin_again(PortRef(node.id, name), initial)
            for name, array in now.externals.items():
                if then.externals[name] is not array:
                    try:
                        if not self._rebind(plan, PortRef(node.id, name)):
                            rebuild = f"another array for {PortRef(node.id, name)}"
                        changed = True
                    except GraphValidationError as problem:
                        problems += problem.errors
        given = self._given(plan)
        # The old plan would keep arrays alive that are not used any more. Buffers are stored as in its schedule.
        buffers = replace(plan.buffers, allocations=before.buffers.allocations)
        self.compiled.plan = replace(
            before, description=plan.description, inlined=plan.inlined, checked=plan.checked, buffers=buffers
        )
        return Refreshed(changed, given, problems, rebuild)

    def give_up(self) -> Retired:
        """Run nothing from now on."""
        old, self.compiled = self.compiled, None
        memory, self.memory = self.memory, None
        return Retired(self._services, old, memory)

    def _given(self, plan: Plan) -> dict[tuple[str, str], object]:
        """Return the present parameter values to write into the graph so that it follows a plan, by (node, name)."""
        assert self.compiled is not None
        return changed_values(self.compiled.plan.inlined, plan.inlined, self._values)

    def _rebind(self, plan: Plan, owner: PortRef) -> bool:
        """Bind a buffer to the array that its block names now; False when that takes a rebuild.

        GraphValidationError when the array can't be used.
        """
        assert self.compiled is not None and self.memory is not None
        memory = adopt_array(plan, self._services.device, owner)
        try:
            is_bound = self.compiled.rebind({owner: memory})
        except DeviceError:
            _log.warning("the device did not take another array for %s in place", owner, exc_info=True)
            self.compiled.rebind({owner: self.memory.by_owner[owner]})  # undoes a partial rebind
            is_bound = False
        if is_bound:
            self.memory.exchange(owner, memory)
        else:
            memory.free()
        return is_bound
