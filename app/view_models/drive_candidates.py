"""Candidates for driving: a node's parameters while a value is dragged over it, and the values for a parameter."""

from dataclasses import dataclass

from warploom.app.edits.compatible import refusal
from warploom.app.edits.drive import source_title
from warploom.app.theme.port_style import PortKind, kind_of_value
from warploom.app.view_models.parameter_text import value_text
from warploom.engine.blocktypes.declarations import ValueSpec
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.rules import DRIVABLE


@dataclass(frozen=True)
class DriveCandidate:
    """A parameter to drive. `state` is its value or its driver; `reason` is why it can't be driven."""

    ref: PortRef
    kind: PortKind
    state: str
    is_driven: bool = False
    reason: str | None = None


def drive_candidates(patch: Patch, start: PortRef, node: str) -> list[DriveCandidate]:
    """Return a node's number and boolean parameters; those that a value from `start` may drive come first.

    The list is empty unless `start` is a value output.
    """
    block_type = patch.block_type(node)
    if block_type is None or node == start.node or not isinstance(patch.find_end(start), ValueSpec):
        return []
    candidates = [
        DriveCandidate(
            ref,
            kind_of_value(spec.type),
            parameter_state(patch, ref),
            patch.source_of(ref) is not None,
            refusal(patch, start, ref),
        )
        for spec in block_type.parameters.values()
        if spec.type in DRIVABLE
        for ref in (PortRef(node, spec.name),)
    ]
    return sorted(candidates, key=lambda candidate: candidate.reason is not None)


def parameter_state(patch: Patch, ref: PortRef) -> str:
    """Return a parameter's value with its unit, or "← LFO" if something drives it."""
    source = patch.source_of(ref)
    if source is not None:
        return f"← {source_title(patch, source)}"
    spec = patch.parameter(ref.node, ref.port)
    return f"{value_text(patch.value(ref.node, ref.port))} {spec.unit}".rstrip()


def value_sources(patch: Patch, ref: PortRef) -> list[PortRef]:
    """Return the value outputs of the patch that may drive a parameter, in the order of the patch."""
    return [
        source
        for node in patch.nodes
        if (block_type := patch.block_type(node)) is not None
        for spec in block_type.value_outputs()
        for source in (PortRef(node, spec.name),)
        if refusal(patch, source, ref) is None
    ]
