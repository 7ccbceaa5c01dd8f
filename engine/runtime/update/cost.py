"""What an edit would cost, told before it is made, from what any thread may know of the running graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from engine.blocktypes.block import Block
from engine.compiler.inlining import owner
from engine.compiler.plan import Plan
from engine.patch.changes import (
    BlockTypesChanged,
    Connected,
    Connection,
    Disconnected,
    NodeAdded,
    NodeMoved,
    NodeRegionChanged,
    NodeRemoved,
    NodeRenamed,
    ParameterChanged,
    PortRef,
)
from engine.patch.document import Patch
from engine.patch.rules import is_value_connection
from engine.profiling.levels import ProfilingLevel
from engine.protocol.messages import EditCost, KernelFilesChanged, SetProfiling, UpdateLevel
from engine.protocol.questions import CostedEdit
from engine.runtime.update.trial import try_changes


@dataclass(frozen=True)
class Published:
    """What any thread may know of the running graph; the engine replaces it whole after each update.

    `estimates` are what updates of each level cost of late, in nanoseconds; `kernel_files` all files that loaded
    kernels depend on. `blocked` says that the graph does not follow the patch, because of a mistake in it.
    """

    plan: Plan | None = None
    estimates: Mapping[UpdateLevel, int] = field(default_factory=dict)
    kernel_files: frozenset[Path] = frozenset()
    profiling: ProfilingLevel | None = None
    blocked: bool = False

    @cached_property
    def running(self) -> frozenset[str]:
        """The patch's nodes that run."""
        return frozenset(map(owner, self.plan.description.by_id)) if self.plan is not None else frozenset()

    def takes(self, node: str, parameter: str) -> bool:
        """True when a kernel takes the value of a live parameter."""
        if self.plan is None:
            return False
        by_id = self.plan.description.by_id
        return any(
            name in getattr(entry, "live_parameters", ())
            for block, name in self.plan.inlined.set_places({(node, parameter): None})
            if block in by_id
            for entry in by_id[block].description.all_entries
        )


def cost_of(changes: Sequence[CostedEdit], patch: Patch, published: Published) -> EditCost:
    """Return what one or several changes of a patch, made at once, would cost; the patch is as it is before them.

    It belongs to the patch's thread, which it keeps for less than a millisecond as a rule.
    """
    found = _Asking(patch, published, changes).answer()
    if found.level is UpdateLevel.NONE:
        return EditCost(found.level, found.cause, 0, found.at_most)
    return EditCost(found.level, found.cause, published.estimates.get(found.level), found.at_most)


_FREE = EditCost(UpdateLevel.NONE, "nothing that runs is other than before")


class _Asking:
    """Changes to a patch, taken together: what replaces a connection takes one away and makes another."""

    def __init__(self, patch: Patch, published: Published, changes: Sequence[CostedEdit]) -> None:
        self._patch, self._published, self._changes = patch, published, changes
        self._added = {c.node.id: c.node for c in changes if isinstance(c, NodeAdded)}
        self._removed = {c.node.id for c in changes if isinstance(c, NodeRemoved)}
        self._sources: dict[PortRef, PortRef | None] = {}  # by input, as it is going to be
        #: The highest of these counts: what is certain, and what a structure would cost that has no mistakes.
        self._found: list[EditCost] = []
        self._structure: list[EditCost] = []

    def answer(self) -> EditCost:
        """Return the highest level that any part of the changes needs."""
        for change in self._changes:
            self._read(change)
        for node in self._removed & self._patch.nodes.keys():  # its connections go with it
            for connection in self._patch.connections_of(node):
                self._sources.setdefault(connection.target, None)
        self._look_at_connections()
        if self._structure:
            self._found.append(self._tried(max(self._structure, key=lambda cost: cost.level)))
        return max(self._found, key=lambda cost: cost.level, default=_FREE)

    def _tried(self, told: EditCost) -> EditCost:
        """Return what the structure costs, by a trial where that is cheap."""
        published = self._published
        if published.plan is None:
            return told
        changes = [c for c in self._changes if not isinstance(c, KernelFilesChanged | SetProfiling | BlockTypesChanged)]
        outcome = try_changes(self._patch, changes, published.plan, blocked=published.blocked)
        if outcome is None:
            return EditCost(told.level, told.cause, at_most=told.level > UpdateLevel.NONE)
        is_refused = outcome.problem and told.level > UpdateLevel.NONE
        return EditCost(outcome.level, outcome.problem if is_refused else told.cause)

    def _read(self, change: CostedEdit) -> None:
        published = self._published
        match change:
            case NodeAdded(node):
                if not self._is_value_block(node.id):
                    self._say(UpdateLevel.NONE, f"block {node.id} waits for a connection")
            case NodeRemoved(node):
                runs = node.id in published.running
                self._say(UpdateLevel.COLD if runs else UpdateLevel.NONE, f"block {node.id} goes")
            case Connected(connection) | Disconnected(connection) if self._is_value(connection):
                if published.takes(connection.target.node, connection.target.port):
                    self._write(f"another value of {connection.target}", at_most=True)
            case Connected(connection):
                self._sources[connection.target] = connection.source
            case Disconnected(connection):
                self._sources[connection.target] = None
            case ParameterChanged(node_id, name):
                self._look_at_parameter(node_id, name)
            case NodeRegionChanged(node_id):
                if not self._is_value_block(node_id):
                    runs = node_id in published.running
                    level = UpdateLevel.COLD if runs else UpdateLevel.NONE
                    self._say(level, f"block {node_id} lies in another region")
            case BlockTypesChanged(types):
                nodes = self._patch.nodes
                if any(nodes[n].type in types for n in published.running if n in nodes):
                    self._found.append(EditCost(UpdateLevel.COLD, "block types are others", at_most=True))
            case KernelFilesChanged(paths):
                if used := paths & published.kernel_files:
                    cause = f"{min(path.name for path in used)} saved"
                    self._found.append(EditCost(UpdateLevel.CODE, cause))
            case SetProfiling(level):
                if published.plan is not None and level is not published.profiling:
                    self._found.append(EditCost(UpdateLevel.COLD, f"profiling {level.name.lower()}"))
            case NodeMoved() | NodeRenamed():
                pass  # nothing to run differently

    def _say(self, level: UpdateLevel, cause: str) -> None:
        self._structure.append(EditCost(level, cause))

    def _write(self, cause: str, *, at_most: bool = False) -> None:
        self._found.append(EditCost(UpdateLevel.HOT, cause, at_most=at_most))

    def _type_of(self, node: str) -> type[Block] | None:
        placed = self._added.get(node) or self._patch.nodes.get(node)
        return self._patch.catalogue.get(placed.type) if placed is not None else None

    def _is_value_block(self, node: str) -> bool:
        block_type = self._type_of(node)
        return block_type is not None and block_type.is_value

    def _is_value(self, connection: Connection) -> bool:
        ends = self._type_of(connection.source.node), self._type_of(connection.target.node)
        return is_value_connection(connection, *ends)

    def _look_at_connections(self) -> None:
        running = self._published.running - self._removed
        missing = [t for t, source in self._sources.items() if t.node in running and not source and self._needs(t)]
        if missing and self._published.plan is not None:
            # A block that runs never stops because of a mistake: the whole graph runs on as it is.
            self._structure = [EditCost(UpdateLevel.NONE, f"{missing[0]} waits for a connection")]
            return
        for target, source in self._sources.items():
            runs = target.node in running and source != self._patch.source_of(target)
            cause = f"connection {source} -> {target}" if source else f"{target} is let go"
            self._say(UpdateLevel.COLD if runs else UpdateLevel.NONE, cause)
        ready = dict.fromkeys(running, True)
        candidates = {*self._added, *(target.node for target in self._sources)} - running - self._removed
        for node in sorted(candidates):
            if self._is_ready(node, ready):
                self._say(UpdateLevel.COLD, f"block {node} comes")

    def _needs(self, target: PortRef) -> bool:
        block_type = self._type_of(target.node)
        spec = block_type.ports.get(target.port) if block_type is not None else None
        return spec is not None and not spec.optional

    def _source_of(self, target: PortRef) -> PortRef | None:
        return self._sources[target] if target in self._sources else self._patch.source_of(target)

    def _is_ready(self, node: str, known: dict[str, bool]) -> bool:
        """True when a block is going to have everything that it needs to run."""
        if node in known:
            return known[node]
        known[node] = True  # as long as nothing is missing: blocks may feed each other by way of a delay
        block_type = self._type_of(node)
        ready = block_type is not None and not block_type.is_value and node not in self._removed
        for spec in block_type.inputs() if block_type is not None and ready else ():
            source = self._source_of(PortRef(node, spec.name))
            ready &= spec.optional if source is None else self._is_ready(source.node, known)
        known[node] = ready
        return ready

    def _look_at_parameter(self, node: str, name: str) -> None:
        block_type, published = self._type_of(node), self._published
        spec = block_type.parameters.get(name) if block_type is not None else None
        if block_type is None or spec is None or node in self._added:
            return
        if block_type.is_value:
            self._look_at_driven(node)
        elif spec.structural:
            self._say(UpdateLevel.COLD, f"{name} of {node}")
        elif self._patch.source_of(PortRef(node, name)) is None and published.takes(node, name):
            self._write(f"{name} of {node}")

    def _look_at_driven(self, node: str) -> None:
        """A value block's parameter reaches whatever it drives, directly or by way of others."""
        waiting, seen = [node], {node}
        while waiting:
            for connection in self._patch.connections_of(waiting.pop()):
                target = connection.target
                if target.node in seen or connection.source.node not in seen:
                    continue
                if self._published.takes(target.node, target.port):
                    self._write(f"another value of {target}", at_most=True)
                seen.add(target.node)
                waiting.append(target.node)
