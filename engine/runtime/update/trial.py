"""A trial: what changes of a patch would make of the running graph, found by planning the patch as it would be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from engine.blocktypes.block import Block
from engine.blocktypes.description import BlockDescription
from engine.compiler.difference import difference
from engine.compiler.executable.adjust import would_adjust
from engine.compiler.plan import Plan, plan_what_can_run
from engine.diagnostics import Severity, error
from engine.patch.changes import Change, Connection, Node, PortRef
from engine.patch.contents import apply_change
from engine.patch.document import Patch
from engine.patch.rules import is_value_connection
from engine.protocol.messages import UpdateLevel
from engine.runtime.model.block_instantiation import PlacedNode, look_up
from engine.runtime.model.describe_patch import PatchSnapshot, describe_patch
from engine.runtime.model.parameters import fit
from engine.runtime.update.prepare import same_structure

#: Planning more blocks than this takes longer than somebody who only asks should wait: up to 20 us for each.
MOST_BLOCKS = 48


class Outcome(NamedTuple):
    """The update level that changes would have, and what is wrong when they would leave the graph as it is."""

    level: UpdateLevel
    problem: str = ""


def try_changes(patch: Patch, changes: Iterable[Change], plan: Plan, *, blocked: bool) -> Outcome | None:
    """Return what changes would cost that were made to a patch whose graph runs by `plan`; None when it is not tried.

    It is not when there are many blocks, or when one would have to be described that reads files. `blocked` says that
    the graph does not follow the patch: then every block is described anew. Kernels are taken to be as they should.
    """
    if max(len(patch.nodes), len(plan.description.nodes)) > MOST_BLOCKS:
        return None
    nodes = dict(patch.nodes)
    by_target = {connection.target: connection for connection in patch.connections}
    try:
        for change in changes:
            apply_change(nodes, by_target, change)
    except KeyError:  # of a node or a connection that is not there
        return None
    by_target = {t: c for t, c in by_target.items() if c.source.node in nodes and t.node in nodes}
    tried = _Tried(patch, plan, blocked=blocked)
    if not all(map(tried.place, nodes.values())):
        return None
    return tried.outcome(by_target, nodes)


class _Tried:
    """The patch as it would be."""

    def __init__(self, patch: Patch, plan: Plan, *, blocked: bool) -> None:
        self._patch, self._plan, self._blocked = patch, plan, blocked
        self._nodes: list[PlacedNode] = []

    def place(self, node: Node) -> bool:
        """Describe a block; False when that would take long."""
        block_type = self._patch.catalogue.get(node.type)
        if block_type is None or block_type.is_value:
            return True
        known = self._plan.description.by_id.get(node.id)
        if known is not None and not self._blocked and self._is_as_before(node, block_type):
            self._nodes.append(PlacedNode(node.id, node.type, known.region, block=known).in_region(node.region))
            return True
        if any(spec.files.startswith("open") for spec in block_type.parameters.values()):
            return False
        placed = look_up(node.id, node.type, node.region, self._patch.catalogue, self._patch.folder)
        values, _ = fit(node.id, placed.specs, node.parameters, self._patch.folder)
        self._nodes.append(replace(placed, values=values))
        return True

    def outcome(self, by_target: dict[PortRef, Connection], nodes: dict[str, Node]) -> Outcome:
        """Plan what was placed, and hold it against what runs."""

        def type_of(node: str) -> type[Block] | None:
            return self._patch.catalogue.get(nodes[node].type) if node in nodes else None

        wires = tuple(
            c for c in by_target.values() if not is_value_connection(c, type_of(c.source.node), type_of(c.target.node))
        )
        described, plan = describe_patch(PatchSnapshot(tuple(self._nodes), wires)), self._plan
        partial = plan_what_can_run(
            described.inlined, described.problems, frozenset(plan.description.by_id), previous=plan
        )
        if partial.plan is None:
            errors = [item for item in partial.diagnostics if item.severity is Severity.ERROR]
            first = errors[0] if errors else error("the patch can't run")
            return Outcome(UpdateLevel.NONE, f"{first.node}: {first.message}" if first.node else first.message)
        if same_structure(plan, partial.plan):
            now, then = partial.plan.description.by_id, plan.description.by_id
            brings = any(_brings(now[node].description, then[node].description) for node in now)
            return Outcome(UpdateLevel.WARM if brings else UpdateLevel.NONE)
        return Outcome(UpdateLevel.WARM if would_adjust(difference(plan, partial.plan)) else UpdateLevel.COLD)

    def _is_as_before(self, node: Node, block_type: type[Block]) -> bool:
        old = self._patch.nodes.get(node.id)
        if old is node:
            return True
        if old is None or old.type != node.type:
            return False
        structural = [name for name, spec in block_type.parameters.items() if spec.structural]
        return all(node.parameters.get(name) is old.parameters.get(name) for name in structural)


def _brings(new: BlockDescription, old: BlockDescription) -> bool:
    """True when a block provides other arrays than before."""
    if new is old:
        return False
    contents = any(array is not old.contents.get(name) for name, array in new.contents.items())
    return contents or any(array is not old.externals.get(name) for name, array in new.externals.items())
