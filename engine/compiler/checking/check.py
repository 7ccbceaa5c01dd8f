"""Phases 1 and 2: everything that can be wrong with a patch, all at once, and the layout of every buffer.

A block with an error gets no layouts, and what depends on it no errors that follow from that one. With the result of
an earlier version of the description, only what changed is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from engine.blocktypes.description import BlockDescription
from engine.compiler.checking.dataflow import Survey, survey
from engine.compiler.checking.differences import Differences
from engine.compiler.checking.layouts import Layouts, NodeLayouts, node_layouts
from engine.compiler.checking.validation import unconnected
from engine.compiler.description import GraphDescription
from engine.compiler.layout import Layout
from engine.diagnostics import Diagnostic
from engine.patch.changes import PortRef

# `Checked`: what the check of a description finds out.


@dataclass(frozen=True)
class Edit:
    """What led from an earlier check to this one: the differences, and blocks whose layouts or launches are new."""

    differences: Differences
    renewed: tuple[str, ...]


@dataclass(frozen=True)
class Checked:
    """What is known of a description.

    `nodes` holds the layouts and launches of every sound block, each after those that feed it (except through delayed
    inputs); `survey` who feeds whom.
    """

    description: GraphDescription
    survey: Survey
    nodes: dict[str, NodeLayouts]
    errors: tuple[Diagnostic, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    #: What changed since the earlier check, when no more than that was looked at.
    edit: Edit | None = field(default=None, compare=False, repr=False)

    @cached_property
    def layouts(self) -> Layouts:
        """Layouts by (node, port or internal buffer); inputs have their source's."""
        return {PortRef(node, name): layout for node, n in self.nodes.items() for name, layout in n.layouts.items()}

    @property
    def advice(self) -> tuple[Diagnostic, ...]:
        """Warnings of what may well be meant: inputs that could be connected. A running patch is not told of them."""
        return tuple(
            unconnected(node, name)
            for node in self.description.nodes
            for name in node.description.rules.advised
            if name not in self.survey.incoming[node.id]
        )

    @cached_property
    def view_offsets(self) -> dict[PortRef, int]:
        """Where the outputs that are views start in the memory of the inputs that they show, in bytes."""
        return {
            PortRef(node, name): offset
            for node, n in self.nodes.items()
            if n.offsets
            for name, offset in n.offsets.items()
        }

    @cached_property
    def position(self) -> dict[str, float]:
        """The place of each sound block in the order of `nodes`; edits put blocks in between."""
        return {node: float(position) for position, node in enumerate(self.nodes)}


def placed(node: str, problems: Sequence[Diagnostic], sources: Mapping[str, PortRef]) -> list[Diagnostic]:
    """Return a block's problems with its id; what was found at an input also tells from where it came."""
    placed_ones = []
    for problem in problems:
        source = sources.get(problem.port) if problem.port and problem.found else None
        message = problem.message
        if source is not None and message.endswith(problem.found):
            message = f"{message} from {source}"
        placed_ones.append(msgspec.structs.replace(problem, node=node, message=message))
    return placed_ones


__all__ = ["Checked", "check"]

_NOTHING: Mapping[str, NodeLayouts] = {}


def check(description: GraphDescription, previous: Checked | None = None) -> Checked:
    """Return every error and warning of a description, and the layouts and launches of the blocks that have none.

    Blocks that are the same as in `previous`, with inputs of the same layouts, are taken over as they are.
    """
    if previous is not None:
        from engine.compiler.checking.rechecking import recheck

        checked = recheck(description, previous)
        if checked is not None:
            return checked
    return _check_all(description, previous)


def _check_all(description: GraphDescription, previous: Checked | None = None) -> Checked:
    """Look at the whole description."""
    found = survey(description)
    known = previous.nodes if previous is not None else _NOTHING
    nodes: dict[str, NodeLayouts] = {}
    errors = list(found.errors)
    by_id, incoming, broken = description.by_id, found.incoming, found.broken
    waiting = {connection.target.node: set[str]() for connection in found.late}
    for connection in found.late:
        waiting[connection.target.node].add(connection.target.port)
    alike = _Alike()
    for node_id in found.order:
        if node_id in broken:
            continue
        block = by_id[node_id].description
        sources = incoming[node_id]
        late = waiting.get(node_id, ()) if waiting else ()
        inputs: list[Layout | None] = []
        for rule in block.rules.inputs:
            source = sources.get(rule.name)
            if source is None or (late and rule.name in late):
                inputs.append(None)
                continue
            feeding = nodes.get(source.node)
            if feeding is None:
                break
            inputs.append(feeding.layouts[source.port])
        else:
            given = tuple(inputs)
            old = known.get(node_id) if known else None
            if old is not None and old.description is block and old.inputs == given:
                nodes[node_id] = old
                continue
            made = node_layouts(block, given, outputs_only=True) if late else alike.layouts(block, given)
            if made.problems:
                errors += placed(node_id, made.problems, sources)
            else:
                nodes[node_id] = made
    for node_id in waiting:
        _complete(node_id, description, found, nodes, known, errors)
    return Checked(description, found, nodes, tuple(errors), tuple(found.warnings))


class _Alike:
    """The layouts of blocks with one description and the same inputs, which a patch has many of, made once.

    Layouts that are equal are made one object, so that they are told apart without a look at what they say.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[int, ...], NodeLayouts] = {}
        self._canonical: dict[Layout, Layout] = {}

    def layouts(self, block: BlockDescription, inputs: tuple[Layout | None, ...]) -> NodeLayouts:
        """Return what follows for a block of this description from its inputs."""
        key = (id(block), *map(id, inputs))
        found = self._made.get(key)
        if found is None:
            canonical = self._canonical
            # The result keeps description and inputs alive, and so their ids theirs.
            found = self._made[key] = node_layouts(block, inputs)
            for name, layout in found.layouts.items():
                found.layouts[name] = canonical.setdefault(layout, layout)
        return found


def _complete(
    node_id: str,
    description: GraphDescription,
    found: Survey,
    nodes: dict[str, NodeLayouts],
    known: Mapping[str, NodeLayouts],
    errors: list[Diagnostic],
) -> None:
    """Look again at a block with a delayed input, now that what feeds it is known."""
    if node_id not in nodes:
        return
    block = description.by_id[node_id].description
    sources = found.incoming[node_id]
    inputs: list[Layout | None] = []
    for rule in block.rules.inputs:
        source = sources.get(rule.name)
        if source is not None and source.node not in nodes:
            return  # which has an error of its own
        inputs.append(None if source is None else nodes[source.node].layouts[source.port])
    given = tuple(inputs)
    old = known.get(node_id)
    if old is not None and old.description is block and old.inputs == given:
        nodes[node_id] = old
        return
    nodes[node_id] = node_layouts(block, given)
    errors += placed(node_id, nodes[node_id].problems, sources)
