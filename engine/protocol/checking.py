"""Checks of posted messages: every field must hold a value of its type.

For another process, the pipe's decoder checks that. In this process the structs arrive unchecked, as they were made.
"""

from collections.abc import Callable
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from engine.descriptions.checks import shown
from engine.diagnostics import WarploomError
from engine.protocol.messages import Message

#: Returns what is wrong with a value, given with its name; "" when it is of the type.
_Check = Callable[[object, str], str]


def check_message(message: object) -> None:
    """Raise WarploomError, naming the field, unless this is a message whose fields hold values of their types."""
    if not isinstance(message, Message):
        raise WarploomError(f"message must be one of engine.protocol.messages, got {shown(message)}")
    problem = _check_of(type(message))(message, type(message).__name__)
    if problem:
        raise WarploomError(problem)


@cache
def _check_of(hint: Any) -> _Check:
    """Return the check for values of a type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value, name: ""
    if origin in (Union, UnionType):
        return _one_of(hint, {kind: _check_of(kind) for kind in arguments})
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _struct(hint)
    if origin in (frozenset, dict, tuple):
        return _container(hint, origin, [_check_of(argument) for argument in arguments])
    return _plain(hint)


def _plain(kind: type) -> _Check:
    taken: tuple[type, ...] = (int, float) if kind is float else (kind,)

    def check(value: object, name: str) -> str:
        fits = isinstance(value, taken) and not (isinstance(value, bool) and kind is not bool)
        return "" if fits else f"{name} must be of type {kind.__name__}, got {shown(value)}"

    return check


def _one_of(hint: object, checks: dict[type, _Check]) -> _Check:
    def check(value: object, name: str) -> str:
        if type(value) in checks:
            return checks[type(value)](value, name)
        fits = any(not check(value, name) for check in checks.values())
        return "" if fits else f"{name} must be {' or '.join(kind.__name__ for kind in checks)}, got {shown(value)}"

    return check


def _struct(kind: type[msgspec.Struct]) -> _Check:
    hints = get_type_hints(kind)
    fields = {field: _check_of(hints[field]) for field in kind.__struct_fields__}

    def check(value: object, name: str) -> str:
        if not isinstance(value, kind):
            return f"{name} must be of type {kind.__name__}, got {shown(value)}"
        found = (check(getattr(value, field), f"{field} of {name}") for field, check in fields.items())
        return next(filter(None, found), "")

    return check


def _container(hint: object, kind: type, checks: list[_Check]) -> _Check:
    def check(value: object, name: str) -> str:
        container: Any = value
        if not isinstance(value, kind) or (kind is tuple and len(container) != len(checks)):
            return f"{name} must be {hint}, got {shown(value)}"
        rows = [container] if kind is tuple else container.items() if kind is dict else zip(container, strict=False)
        found = (check(item, f"item of {name}") for row in rows for item, check in zip(row, checks, strict=True))
        return next(filter(None, found), "")

    return check
