"""Sentinels: checks of the elements in a connection, in every frame."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from engine.descriptions.checks import shown
from engine.diagnostics import PatchError


class SentinelAction(StrEnum):
    """The action when an element is wrong."""

    MARK = "mark"  # the node is marked with a diagnostic
    FREEZE = "freeze"  # besides, the engine pauses after that very frame


class Sentinel(msgspec.Struct, frozen=True):
    """A check of the elements of an output; it belongs to the connections that carry them.

    An element is wrong if one of its numbers is NaN (with `nan`), infinite (with `infinity`), less than `minimum` or
    greater than `maximum`. None sets no bound.
    """

    nan: bool = True
    infinity: bool = True
    minimum: float | None = None
    maximum: float | None = None
    action: SentinelAction = SentinelAction.MARK

    @property
    def freezes(self) -> bool:
        """True when the engine pauses after a frame with a wrong element."""
        return self.action is SentinelAction.FREEZE

    @property
    def rule_text(self) -> str:
        """The rule for elements, such as "finite and from 0 to 1"."""
        low, high = (None if bound is None else f"{bound:.7g}" for bound in (self.minimum, self.maximum))
        rules = ["finite" if self.nan and self.infinity else "no NaN" if self.nan else "not infinite" * self.infinity]
        if low is not None and high is not None:
            rules.append(f"from {low} to {high}")
        else:
            rules.append(f"at least {low}" if low is not None else f"at most {high}" if high is not None else "")
        return " and ".join(filter(None, rules))


def make_sentinel(
    *, nan: object, infinity: object, minimum: object, maximum: object, action: object, where: str = "sentinel"
) -> Sentinel:
    """Return a sentinel of fields that may be anything; PatchError, which begins with `where`, when one is wrong."""
    for name, flag in (("nan", nan), ("infinity", infinity)):
        if not isinstance(flag, bool):
            raise PatchError(f"{where}: {name} must be True or False, got {shown(flag)}")
    low, high = _bound(where, "minimum", minimum), _bound(where, "maximum", maximum)
    if low is not None and high is not None and low > high:
        raise PatchError(f"{where}: minimum must be at most the maximum {high:.15g}, got {low:.15g}")
    if not isinstance(action, str) or action not in list(SentinelAction):
        raise PatchError(f"{where}: action must be one of {', '.join(SentinelAction)}, got {shown(action)}")
    if not (nan or infinity or low is not None or high is not None):
        raise PatchError(f"{where}: it must check NaN, infinity or a range, got nothing to check; remove it instead")
    return Sentinel(bool(nan), bool(infinity), low, high, SentinelAction(action))


def _bound(where: str, name: str, value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # a whole number beyond any float
            number = math.inf
        if math.isfinite(number):
            return number
    raise PatchError(f"{where}: {name} must be a finite number, or None for no bound, got {shown(value)}")


def dump_sentinel(sentinel: Sentinel) -> dict[str, Any]:
    """Return a sentinel as a JSON object; bounds that are not set are left out."""
    fields: dict[str, Any] = {"nan": sentinel.nan, "infinity": sentinel.infinity}
    for name in ("minimum", "maximum"):
        bound = getattr(sentinel, name)
        if bound is not None:
            fields[name] = bound
    return {**fields, "action": str(sentinel.action)}


def parse_sentinel(fields: Mapping[str, Any], where: str) -> Sentinel:
    """Return the sentinel of a JSON object; PatchError, which begins with `where`, when it has another form."""
    usual = {name: getattr(Sentinel(), name) for name in Sentinel.__struct_fields__}
    if unknown := sorted(fields.keys() - usual.keys()):
        raise PatchError(f"{where}: fields must be port, {', '.join(usual)}, got {shown(unknown[0])}")
    return make_sentinel(**{**usual, **fields}, where=where)
