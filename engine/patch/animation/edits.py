"""Edits of keys and of the timeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch import changes
from warploom.engine.patch.animation.keys import Curve, checked_curve
from warploom.engine.patch.animation.timeline import Timeline
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.editing.editable_patch import EditablePatch
from warploom.engine.patch.rules import is_drivable


def check_animated(patch: EditablePatch, node: str, parameter: str) -> None:
    """Raise PatchError with the reason if a parameter can't have keys."""
    spec = patch.parameter(node, parameter)
    if not is_drivable(spec):
        what = "one that rebuilds the graph" if spec.structural else spec.type
        raise PatchError(f"parameter {node}.{spec.name} must be a live number or boolean to have keys, got {what}")
    source = patch.source_of(PortRef(node, spec.name))
    if source is not None:
        raise PatchError(f"parameter {node}.{spec.name} must not be connected to have keys, got it driven by {source}")


def animate(patch: EditablePatch, node: str, parameter: str, keys: object, gesture: object = None) -> Curve:
    """Give a parameter keys in place of those that it has, and return them as they are kept; () removes them.

    A parameter of a group stands for those inside that it sets.
    """
    spec = patch.parameter(node, parameter)
    curve = checked_curve(keys)
    if curve:
        check_animated(patch, node, parameter)
        curve = checked_curve(curve, spec)
    made = []
    for leaf, name in patch.leaves(node, spec.name):
        before = patch.nodes[leaf].curves.get(name, ())
        if before != curve:
            made.append(changes.CurveChanged(leaf, name, curve, before))
    patch._do(f"{'Animate' if curve else 'Remove keys of'} {spec.name} of {patch.title(node)}", *made, gesture=gesture)
    return curve


def changed_timeline(now: Timeline, fields: Mapping[str, Any]) -> Timeline:
    """Return a timeline with other fields; in and out stay inside a film that gets shorter."""
    unknown = fields.keys() - set(Timeline.__struct_fields__)
    if unknown:
        known = ", ".join(name for name in Timeline.__struct_fields__ if name != "extra")
        raise PatchError(f"field of a timeline must be one of {known}, got {shown(min(unknown))}")
    made = msgspec.structs.replace(now, **fields)
    if isinstance(made.length, int) and "length" in fields:
        most = max(made.length - 1, 0)
        if "first" not in fields:
            made = msgspec.structs.replace(made, first=min(made.first, most))
        if "last" not in fields and made.end > most:
            made = msgspec.structs.replace(made, last=None)
    return made
