"""`Checked`: what the check of a description finds out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from engine.compiler.checking.differences import Differences
from engine.compiler.checking.shapes import Layouts, NodeLayouts
from engine.compiler.checking.survey import Survey
from engine.compiler.checking.validation import unconnected
from engine.compiler.description import GraphDescription
from engine.diagnostics import Diagnostic
from engine.patch.changes import PortRef


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
