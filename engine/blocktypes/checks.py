"""What a block's author may pass: each check returns the value as plain data, or says what it must be."""

from __future__ import annotations

import math
import operator
from typing import Any, TypeVar

from engine.diagnostics import WarploomError

T = TypeVar("T")
#: The most characters of a wrong value that a message shows.
SHOWN = 120


class BlockDefinitionError(TypeError):
    """A block class is declared wrongly; raised when the class is defined."""


class BlockCallError(WarploomError, ValueError):
    """A block's code has passed something wrong to the builder; raised at the call."""


def refuse(where: str, what: str, rule: str, value: object) -> BlockCallError:
    """Return the error that `what`, in a call of the block `where`, must obey a rule."""
    return BlockCallError(f"{where}: {what} must {rule}, got {shown(value)}")


def shown(value: object) -> str:
    """Return a value as a message shows it: in short, and also when it can't be printed."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - the value may be of a class of the user's
        return f"a {type(value).__name__} that can't be printed"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def whole(where: str, what: str, value: object, low: int, high: int | None = None) -> int:
    """Return a whole number from `low` to `high`."""
    number: Any = value
    if type(value) is not int:
        try:
            number = None if isinstance(value, bool) else int(operator.index(value))  # type: ignore[arg-type]
        except TypeError:
            number = None
    if number is None or number < low or (high is not None and number > high):
        rule = f"at least {low}" if high is None else f"from {low} to {high}"
        raise refuse(where, what, f"be a whole number {rule}", value)
    return number  # type: ignore[no-any-return]


def number(where: str, what: str, value: object) -> float:
    """Return a finite number."""
    if type(value) is float and math.isfinite(value):
        return value
    try:
        found = math.nan if isinstance(value, (bool, str)) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise refuse(where, what, "be a finite number", value)
    return found


def text(where: str, what: str, value: object) -> str:
    """Return a text that is not empty and can name a file."""
    if not isinstance(value, str) or not value.strip() or "\0" in value or not value.isprintable():
        raise refuse(where, what, "be a text of printable characters", value)
    return str.__str__(value)


def instance(where: str, what: str, value: object, kind: type[T], rule: str) -> T:
    """Return an object of a class; `rule` says what it must be, such as "be a kernel"."""
    if not isinstance(value, kind):
        raise refuse(where, what, rule, value)
    return value


def sequence(where: str, what: str, value: object) -> tuple[Any, ...]:
    """Return a list or another finite sequence as a tuple."""
    if isinstance(value, tuple):
        return value
    if not isinstance(value, list):
        raise refuse(where, what, "be a list or a tuple", value)
    return tuple(value)
