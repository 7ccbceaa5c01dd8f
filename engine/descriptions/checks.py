"""Checks of arguments from a block's author. Each returns plain data, or raises an error that states the rule."""

import math
import operator
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from warploom.engine.arguments import SHOWN as SHOWN
from warploom.engine.arguments import shown as shown
from warploom.engine.diagnostics import WarploomError

T = TypeVar("T")


class BlockDefinitionError(TypeError):
    """A block class is declared wrongly; raised when the class is defined."""


class BlockCallError(WarploomError, ValueError):
    """A block's code has passed an invalid argument to the builder; raised at the call."""


def refuse(where: str, what: str, rule: str, value: object) -> BlockCallError:
    """Return an error that states the rule for `what`, an argument from the block `where`."""
    return BlockCallError(f"{where}: {what} must {rule}, got {shown(value)}")


def whole(where: str, what: str, value: object, low: int, high: int | None = None) -> int:
    """Return a whole number from `low` to `high`."""
    number: Any = value
    if type(value) is not int:
        try:
            number = None if isinstance(value, bool) else int(operator.index(value))  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001 - the value may be of a class of the user's
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
    except Exception:  # noqa: BLE001 - as above
        found = math.nan
    if not math.isfinite(found):
        raise refuse(where, what, "be a finite number", value)
    return found


def text(where: str, what: str, value: object) -> str:
    """Return a text that is not empty and could be a file's name."""
    if not isinstance(value, str) or not value.strip() or "\0" in value or not value.isprintable():
        raise refuse(where, what, "be a text of printable characters", value)
    return str.__str__(value)


def instance(where: str, what: str, value: object, kind: type[T], rule: str) -> T:
    """Return an object of a class; `rule` is the requirement, such as "be a kernel"."""
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


def flag(where: str, what: str, value: object) -> bool:
    """Return True or False."""
    return instance(where, what, value, bool, "be True or False")


def prose(where: str, what: str, value: object) -> str:
    """Return a text, which may be empty or have several lines."""
    return str.__str__(instance(where, what, value, str, "be a text"))


def texts(where: str, what: str, value: object) -> tuple[str, ...]:
    """Return a list of texts as a tuple."""
    return tuple([text(where, f"each of {what}", item) for item in sequence(where, what, value)])


def dimensions(where: str, what: str, sizes: object) -> tuple[Any, ...]:
    """Return 1 to 3 sizes."""
    found = sequence(where, what, sizes) if isinstance(sizes, (tuple, list)) else (sizes,)
    if not 1 <= len(found) <= 3:
        raise refuse(where, what, "have 1 to 3 dimensions", sizes)
    return found


@contextmanager
def declaring(what: str = "") -> Iterator[str]:
    """Yield, for messages, the class whose body calls a function such as `port`; errors become definition errors."""
    frame = sys._getframe(3) if what else None
    name = frame.f_code.co_qualname.rpartition(".")[2] if frame is not None else ""
    try:
        yield f"{name}: {what}" if name.isidentifier() else what
    except BlockCallError as problem:
        raise BlockDefinitionError(str(problem)) from None
