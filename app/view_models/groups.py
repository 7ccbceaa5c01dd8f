"""The report of a patch with its groups: an engine runs the blocks inside, and knows no groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from warploom.app.view_models.tooltips import title_of
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.groups.flat import ENDS, GROUP, INPUTS
from warploom.engine.protocol.messages import BufferReport, FrameReport, NodeReport, NodeState

_Value = TypeVar("_Value")

#: States of blocks inside that a group shows, the most important first.
_SHOWN = (NodeState.ERROR, NodeState.WARNING, NodeState.INCOMPLETE)
#: How many messages of blocks inside a group shows.
_MOST = 3


@dataclass
class GroupReports:
    """Adds the groups of a patch to its reports; it computes only what has changed since the last report."""

    _patch: Patch | None = None
    _edition: int = -1
    _nodes: Mapping[str, NodeReport] = field(default_factory=dict)
    _with_groups: dict[str, NodeReport] = field(default_factory=dict)
    _ports: dict[str, PortRef] = field(default_factory=dict)
    _known: Mapping[str, BufferReport] = field(default_factory=dict)
    _buffers: dict[str, BufferReport] = field(default_factory=dict)

    def add_to(self, patch: Patch, report: FrameReport) -> FrameReport:
        """Return a report that also has states, times and messages of groups, and what their ports carry.

        A group has the sum of its blocks' times and the worst of their states.
        """
        if not patch.has_groups:
            return report
        if patch is not self._patch or patch.groups_edition != self._edition:
            self._patch, self._edition, self._nodes, self._known = patch, patch.groups_edition, {}, {}
            self._ports = dict(_ports(patch))
        if report.nodes is not self._nodes:
            self._nodes = report.nodes
            groups = {node: _group_report(patch, node, report.nodes) for node in patch.nodes if patch.is_group(node)}
            self._with_groups = {**report.nodes, **groups}
        if report.buffers is not self._known:
            self._known, self._buffers = report.buffers, self._with(report.buffers)
        at = {(leaf.node, leaf.port): PortRef(*key.split(".", 1)) for key, leaf in self._ports.items()}
        seen = [(at[d.node or "", d.port or ""], d) for d in report.diagnostics if (d.node, d.port) in at]
        return msgspec.structs.replace(
            report,
            nodes=self._with_groups,
            buffers=self._buffers,
            counts=self._with(report.counts),
            values={**self._with(report.values), **_set_values(patch, report.values)},
            diagnostics=(
                *report.diagnostics,
                *(msgspec.structs.replace(d, node=ref.node, port=ref.port) for ref, d in seen),
            ),
        )

    def _with(self, values: dict[str, _Value]) -> dict[str, _Value]:
        """Return values by port, and each again at the ports of groups that stand for its port."""
        leaves = ((key, str(leaf)) for key, leaf in self._ports.items())
        return {**values, **{key: values[leaf] for key, leaf in leaves if leaf in values}}


def _ports(patch: Patch) -> Iterable[tuple[str, PortRef]]:
    """Yield the ports of groups and ends that stand for ports of blocks."""
    for node in patch.nodes.values():
        block_type = patch.type_of(node) if node.type in (GROUP, *ENDS) else None
        for name in (*block_type.ports, *block_type.values_out, *block_type.parameters) if block_type else ():
            leaf = patch.leaf(PortRef(node.id, name))
            if leaf is not None and leaf.node != node.id:
                yield f"{node.id}.{name}", leaf


def _set_values(patch: Patch, values: Mapping[str, float]) -> dict[str, float]:
    """Return the numbers of parameters of groups that nothing drives, at the ends and at the blocks inside."""
    found: dict[str, float] = {}
    for node in patch.nodes.values():
        block_type = patch.type_of(node) if node.type == INPUTS else None
        for name, spec in block_type.values_out.items() if block_type is not None else ():
            group = patch.group_of(node.id)
            places = [f"{leaf}.{parameter}" for leaf, parameter in patch.leaves(group, name)]
            if patch.leaf(PortRef(node.id, name)) is None and spec.type in ("float", "int", "bool"):
                number = float(patch.value(group, name))
                found |= dict.fromkeys([f"{node.id}.{name}", *(p for p in places if p not in values)], number)
    return found


def _group_report(patch: Patch, group: str, nodes: Mapping[str, NodeReport]) -> NodeReport:
    inside = {node: found for node in patch.within(group) if (found := nodes.get(node)) is not None}
    states = {found.state for found in inside.values()}
    state = next((state for state in _SHOWN if state in states), NodeState.OK)
    lines = [f"{title_of(patch, node)}: {found.message}" for node, found in inside.items() if found.state is state]
    if state is NodeState.OK:
        lines = []
        if states and NodeState.OK not in states and len(states) == 1:
            state = next(iter(states))
    more = [f"and {len(lines) - _MOST} more inside"] if len(lines) > _MOST else []
    times = [found.time_ns for found in inside.values() if found.time_ns is not None]
    return NodeReport(
        GROUP,
        state,
        "\n".join([*lines[:_MOST], *more]),
        sum(times) if times else None,
        sum(found.kernels for found in inside.values()),
    )
