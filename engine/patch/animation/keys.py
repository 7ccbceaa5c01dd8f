"""Keys: the values that a parameter has at certain times, and how it goes from each to the next.

A parameter's keys are a tuple, its *curve*. Times are in seconds of the patch's time, since they then stay where they
are when the rate of frames changes, and mean the same in a patch without a timeline. They are rounded to microseconds,
so a key that was set at a frame is at that frame.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec

from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import PatchError

#: The decimal places of times, the latest time, and the most keys of a parameter.
DIGITS, LATEST_S, MOST_KEYS = 6, 1e7, 100_000
#: The largest values and slopes; curves stay finite between them.
LARGEST, STEEPEST = 1e38, 1e50


class Ease(StrEnum):
    """How a parameter goes from one key to the next."""

    HOLD = "hold"  # it keeps the value until the next key
    LINEAR = "linear"
    SMOOTH = "smooth"  # a Bezier curve


class Key(msgspec.Struct, frozen=True):
    """A value at a time in seconds, and the way to the next key.

    `before` and `after` are the slopes of the tangents at smooth ways, in values a second; None is a slope that
    follows from the neighbours, so that the curve is flat where it turns and never goes beyond its keys.
    """

    time: float
    value: float
    ease: Ease = Ease.SMOOTH
    before: float | None = None
    after: float | None = None


Curve = tuple[Key, ...]


def checked_curve(keys: object, spec: ParameterSpec | None = None) -> Curve:
    """Return keys in the order of their times; each is a `Key`, or its fields: `(time, value)`, `(time, value, ease)`.

    Values must fit the parameter `spec`, if there is one. Raise PatchError that names a wrong field.
    """
    if not isinstance(keys, Iterable) or isinstance(keys, str):
        raise PatchError(f"keys must be a list such as [(0, 1.0), (2.5, 4.0)], got {shown(keys)}")
    found: dict[float, Key] = {}
    for item in keys:
        key = checked_key(item, spec)
        if key.time in found:
            raise PatchError(f"keys must have different times, got {key.time:g} s twice")
        found[key.time] = key
        if len(found) > MOST_KEYS:
            raise PatchError(f"keys must be at most {MOST_KEYS:,}, got more")
    return tuple(found[time] for time in sorted(found))


def checked_key(item: object, spec: ParameterSpec | None = None) -> Key:
    """Return one key, with its time rounded. Raise PatchError that names a wrong field."""
    fields = list(
        msgspec.structs.astuple(item) if isinstance(item, Key) else item if isinstance(item, list | tuple) else ()
    )
    if not 2 <= len(fields) <= 5:
        rule = "a time, a value and optionally hold, linear or smooth with the slopes before and after"
        raise PatchError(f"key must be {rule}, got {shown(item)}")
    time, value = (_number(name, field) for name, field in zip(("time", "value"), fields, strict=False))
    if not 0 <= time <= LATEST_S:
        raise PatchError(f"time of a key must be from 0 to {LATEST_S:g} s, got {shown(time)}")
    if abs(value) > LARGEST:
        raise PatchError(f"value of a key must be at most {LARGEST:g}, got {shown(value)}")
    if spec is not None:
        value = float(spec.coerce(value != 0 if spec.type == "bool" else value))
    ease = fields[2] if len(fields) > 2 else Ease.SMOOTH
    if not isinstance(ease, str) or ease not in list(Ease):
        raise PatchError(f"key must be hold, linear or smooth, got {shown(ease)}")
    slopes = [None if slope is None else _number("slope", slope) for slope in fields[3:]] + [None, None]
    if any(slope is not None and abs(slope) > STEEPEST for slope in slopes):
        raise PatchError(f"slope of a key must be at most {STEEPEST:g}, got {shown(slopes)}")
    return Key(round(time, DIGITS) + 0.0, value, Ease(ease), *slopes[:2])


def dump_curve(curve: Curve) -> list[list[Any]]:
    """Return keys as JSON: the fields of each, without those at the end that a usual key has."""
    made = []
    for key in curve:
        fields: list[Any] = [key.time, key.value, str(key.ease), key.before, key.after]
        usual: list[Any] = [str(Ease.SMOOTH), None, None]
        while len(fields) > 2 and fields[-1] == usual[len(fields) - 3]:
            fields.pop()
        made.append(fields)
    return made


def _number(name: str, value: object) -> float:
    try:
        number = math.nan if isinstance(value, bool | str) and name != "value" else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, str) or not math.isfinite(number):
        raise PatchError(f"{name} of a key must be a finite number, got {shown(value)}")
    return number
