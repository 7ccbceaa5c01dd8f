"""Edits of keys: of a parameter at a time, and of the keys that are chosen among all of a patch."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from warploom.app.edits.nodes import parameter_label
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.animation.curves import Course
from warploom.engine.patch.animation.edits import check_animated
from warploom.engine.patch.animation.keys import DIGITS, Curve, Ease, Key, checked_curve, dump_curve
from warploom.engine.patch.animation.timeline import Timeline
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch

#: The field of copied keys that tells them from other text.
_COPIED = "warploom keys"
Curves = Mapping[PortRef, Curve]
#: Chosen keys: their parameters and times.
Chosen = frozenset[tuple[PortRef, float]]


def animated(patch: Patch) -> dict[PortRef, Curve]:
    """Return the keys of all parameters that have some, by node."""
    return {
        PortRef(node.id, name): curve
        for node in sorted((node for node in patch.nodes.values() if node.curves), key=lambda node: node.id)
        for name, curve in sorted(node.curves.items())
    }


def key_index(curve: Curve, time_s: float, rate: float) -> int | None:
    """Return the key within half a frame of a time, None if there is none."""
    near = [(abs(key.time - time_s), index) for index, key in enumerate(curve)]
    distance, index = min(near, default=(1e9, -1))
    return index if distance < 0.5 / rate else None


def set_key(patch: Patch, target: PortRef, time_s: float, value: float, rate: float, gesture: object = None) -> None:
    """Give a parameter a value at a time: at the key in that frame, or at a new one."""
    curve = patch.curve(target.node, target.port)
    at = key_index(curve, time_s, rate)
    value = fitting(patch.parameter(target.node, target.port), value)
    if at is None:
        at_time = round(time_s, DIGITS)
        before = [key for key in curve if key.time < at_time]
        made = Key(at_time, value, before[-1].ease if before else Ease.SMOOTH)
        curve = tuple(sorted((*curve, made), key=lambda key: key.time))
    else:
        curve = (*curve[:at], replace(curve[at], value=value), *curve[at + 1 :])
    patch.animate(target.node, target.port, curve, gesture=gesture)


def toggle_keys(patch: Patch, targets: Sequence[PortRef], time_s: float, rate: float) -> None:
    """Remove the keys of parameters in a frame, or add one where there is none, with the present value.

    The first key of a patch without a timeline gives it one.
    """
    curves = {target: patch.curve(target.node, target.port) for target in targets}
    removes = all(key_index(curve, time_s, rate) is not None for curve in curves.values())
    for target in targets:
        check_animated(patch, target.node, target.port)
    verb = "Remove key of" if removes else "Add key of"
    with patch.edit(f"{verb} {parameter_label(targets[0].port)}"):
        for target, curve in curves.items():
            at = key_index(curve, time_s, rate)
            if removes and at is not None:
                patch.animate(target.node, target.port, (*curve[:at], *curve[at + 1 :]))
            elif at is None:
                value = Course(curve).at(time_s) if curve else float(patch.value(target.node, target.port))
                set_key(patch, target, time_s, value, rate)
        if not removes and patch.timeline is None:
            patch.set_timeline(length=max(Timeline().length, round(time_s * rate) + 1))


def remove_all(patch: Patch, targets: Sequence[PortRef]) -> None:
    """Remove all keys of parameters."""
    with patch.edit(f"Remove keys of {parameter_label(targets[0].port)}"):
        for target in targets:
            patch.animate(target.node, target.port, ())


def move_keys(
    patch: Patch, start: Curves, chosen: Chosen, by_s: float, by: float, rate: float | None, gesture: object
) -> Chosen:
    """Move chosen keys of the curves `start`; return where they are then. With a `rate`, they snap to frames.

    A key that another one is moved onto is replaced.
    """
    least = min((time for _, time in chosen), default=0.0)
    moved: set[tuple[PortRef, float]] = set()
    with patch.edit("Move keys", gesture=gesture):
        for target, curve in start.items():
            times = {time for owner, time in chosen if owner == target}
            if not times:
                continue
            spec = patch.parameter(target.node, target.port)
            made: dict[float, Key] = {key.time: key for key in curve if key.time not in times}
            for key in curve:
                if key.time in times:
                    time = key.time + max(by_s, -least)
                    time = round(time if rate is None else round(time * rate) / rate, DIGITS)
                    value = fitting(spec, key.value + by) if by else key.value
                    made[time] = replace(key, time=time, value=value)
                    moved.add((target, time))
            patch.animate(target.node, target.port, made.values(), gesture=gesture)
    return frozenset(moved)


def change_keys(patch: Patch, chosen: Chosen, name: str, gesture: object = None, **fields: Any) -> None:
    """Give chosen keys other fields, such as `ease`."""
    with patch.edit(name, gesture=gesture):
        for target, curve in animated(patch).items():
            if any((target, key.time) in chosen for key in curve):
                spec = patch.parameter(target.node, target.port)
                given = {**fields, "value": fitting(spec, fields["value"])} if "value" in fields else fields
                made = [replace(key, **given) if (target, key.time) in chosen else key for key in curve]
                patch.animate(target.node, target.port, made, gesture=gesture)


def remove_keys(patch: Patch, chosen: Chosen) -> None:
    """Remove chosen keys."""
    with patch.edit("Delete keys"):
        for target, curve in animated(patch).items():
            made = [key for key in curve if (target, key.time) not in chosen]
            if len(made) < len(curve):
                patch.animate(target.node, target.port, made)


def copied_keys(patch: Patch, chosen: Chosen) -> str:
    """Return chosen keys as text, with times from the first of them."""
    first = min((time for _, time in chosen), default=0.0)
    curves = {
        str(target): dump_curve(
            tuple(replace(key, time=round(key.time - first, DIGITS)) for key in curve if (target, key.time) in chosen)
        )
        for target, curve in animated(patch).items()
    }
    return json.dumps({_COPIED: {name: curve for name, curve in curves.items() if curve}})


def pasted_keys(patch: Patch, text: str, time_s: float, into: Collection[PortRef]) -> Chosen:
    """Add copied keys from a time on, to the parameters that they are of, and return where they are.

    Keys of one parameter go into the parameters `into`, if there are some. Raise PatchError for any other text.
    """
    try:
        curves = json.loads(text)[_COPIED]
        found = {PortRef(*name.split(".", 1)): checked_curve(keys) for name, keys in curves.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise PatchError("clipboard must hold keys to paste, got something else; copy some first") from None
    if len(found) == 1 and into:
        found = dict.fromkeys(into, next(iter(found.values())))
    added: set[tuple[PortRef, float]] = set()
    with patch.edit("Paste keys"):
        for target, keys in found.items():
            with suppress(PatchError):  # the parameter is gone, or connected
                spec = patch.parameter(target.node, target.port)
                there = {key.time: key for key in patch.curve(target.node, target.port)}
                new = [replace(k, time=round(k.time + time_s, DIGITS), value=fitting(spec, k.value)) for k in keys]
                patch.animate(target.node, target.port, (there | {key.time: key for key in new}).values())
                added |= {(target, key.time) for key in new}
    if not added:
        raise PatchError("keys must be of parameters of the patch to be pasted; choose the parameter they are for")
    return frozenset(added)


def neighbour(curves: Iterable[Curve], time_s: float, rate: float, step: int) -> float | None:
    """Return the time of the next key of some curves, or of the one before with -1; None if there is none."""
    times = sorted({key.time for curve in curves for key in curve})
    if step > 0:
        return next((time for time in times if time > time_s + 0.5 / rate), None)
    return next((time for time in reversed(times) if time < time_s - 0.5 / rate), None)


def fitting(spec: ParameterSpec, value: float) -> float:
    """Return the value in a parameter's range that is nearest to a number."""
    low, high = spec.bounds
    value = value if low is None else max(value, low)
    value = value if high is None else min(value, high)
    return float(value if spec.type == "float" else round(value) if spec.type == "int" else value >= 0.5)
