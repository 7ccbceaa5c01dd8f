"""Checks the arguments of public functions, and messages to the engine, by their type hints, with one wording.

A value is "*subject* must *rule*, got *value*". `Annotated` with `msgspec.Meta` gives a range or
a pattern, which the decoder of an engine in another process checks as well.
"""

import inspect
import math
import re
from collections.abc import Callable, Iterable
from functools import cache, wraps
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from warploom.engine.diagnostics import WarploomError

P = ParamSpec("P")
R = TypeVar("R")
#: The most characters of a wrong value that a message shows.
SHOWN = 200
#: A function of a value and its name that returns what is wrong with the value; "" if nothing is.
Check = Callable[[object, str], str]
_RULES = {bool: "True or False", int: "a whole number", float: "a number", str: "a text", NoneType: "None"}
_BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "ge": ("of at least", lambda value, bound: value >= bound),
    "gt": ("above", lambda value, bound: value > bound),
    "le": ("of at most", lambda value, bound: value <= bound),
    "pattern": ("that matches", lambda value, bound: re.search(bound, value) is not None),
}


def shown(value: object) -> str:
    """Return a value as a message shows it: shortened, and also when its repr raises."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - the value may be of a class of the user's
        return f"a {type(value).__name__} that can't be printed"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def checked(error: type[Exception] = WarploomError, **unchecked: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function raise `error` when an argument does not match its type hint.

    `unchecked` names arguments that the function checks itself, with the reason.
    """

    def decorate(call: Callable[P, R]) -> Callable[P, R]:
        @wraps(call)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            names, checks = _checks(call)
            for name, value in (*zip(names, args, strict=False), *kwargs.items()):
                if name in checks and name not in unchecked and (problem := checks[name](value, name)):
                    raise error(problem)
            return call(*args, **kwargs)  # this refuses arguments that are missing, or too many

        return guarded

    return decorate


@cache
def _checks(call: Callable[..., object]) -> tuple[tuple[str, ...], dict[str, Check]]:
    """Return the names of positional parameters, and the checks by name; computed by the first call, not by imports."""
    hints = get_type_hints(call, include_extras=True)
    parameters = inspect.signature(call).parameters.values()
    positional = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
    return positional, {p.name: check_of(hints[p.name]) for p in parameters if p.name in hints}


@cache
def check_of(hint: Any) -> Check:
    """Return the check for values of a type; a hint that is not a class, such as a protocol, takes any value."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value, name: ""
    if origin is Annotated:
        return _bounded(check_of(arguments[0]), arguments[1:], _rule(hint))
    if origin in (Union, UnionType):
        return _one_of([check_of(kind) for kind in arguments], " or ".join(map(_rule, arguments)))
    if origin is Literal:
        return lambda value, name: "" if value in arguments else _wrong(name, _rule(hint), value)
    if origin in (frozenset, dict, tuple):
        return _container(hint, origin, [check_of(argument) for argument in arguments])
    if isinstance(origin, type):  # for other containers, only the kind is checked
        return lambda value, name: "" if isinstance(value, origin) else _wrong(name, _rule(hint), value)
    if not isinstance(hint, type) or getattr(hint, "_is_protocol", False):
        return lambda value, name: ""
    return _struct(hint) if issubclass(hint, msgspec.Struct) else _plain(hint)


def _rule(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = [(field, getattr(meta, field)) for meta in arguments[1:] for field in _BOUNDS]
        rules = (
            f"{_BOUNDS[field][0]} {bound if isinstance(bound, str) else f'{bound:g}'}"
            for field, bound in bounds
            if bound is not None
        )
        return f"{_rule(arguments[0])} {' and '.join(rules)}"
    if origin in (Union, UnionType):
        return " or ".join(map(_rule, arguments))
    if origin is Literal:
        return f"one of {', '.join(map(repr, arguments))}"
    if origin in (tuple, dict, frozenset):
        return str(hint)
    name = getattr(origin or hint, "__name__", str(hint))
    return _RULES.get(hint) or f"{'an' if name[0] in 'AEIOUn' else 'a'} {name}"  # an ndarray


def _wrong(name: str, rule: str, value: object) -> str:
    return f"{name} must be {rule}, got {shown(value)}"


def _plain(kind: type) -> Check:
    taken: tuple[type, ...] = (int, float) if kind is float else (kind,)

    def check(value: object, name: str) -> str:
        fits = isinstance(value, taken) and not (isinstance(value, bool) and kind in (int, float))
        return "" if fits else _wrong(name, _rule(kind), value)

    return check


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond any float
        return False


def _bounded(inner: Check, metas: Iterable[Any], rule: str) -> Check:
    bounds = [(holds, getattr(meta, field)) for meta in metas for field, (_, holds) in _BOUNDS.items()]

    def check(value: object, name: str) -> str:
        fits = not inner(value, name) and (isinstance(value, str) or _is_finite(value))
        fits = fits and all(bound is None or holds(value, bound) for holds, bound in bounds)
        return "" if fits else _wrong(name, rule, value)

    return check


def _one_of(checks: list[Check], rule: str) -> Check:
    def check(value: object, name: str) -> str:
        problems = [check(value, name) for check in checks]
        if not all(problems):
            return ""
        inner = [problem for problem in problems if not problem.startswith(f"{name} must be")]
        return inner[0] if inner else _wrong(name, rule, value)

    return check


def _struct(kind: type[msgspec.Struct]) -> Check:
    hints = get_type_hints(kind, include_extras=True)
    fields = {field: check_of(hints[field]) for field in kind.__struct_fields__}

    def check(value: object, name: str) -> str:
        if not isinstance(value, kind):
            return _wrong(name, _rule(kind), value)
        found = (check(getattr(value, field), f"{field} of {name}") for field, check in fields.items())
        return next(filter(None, found), "")

    return check


def _container(hint: object, kind: type, checks: list[Check]) -> Check:
    repeats = kind is tuple and len(get_args(hint)) == 2 and get_args(hint)[1] is ...

    def check(value: object, name: str) -> str:
        container: Any = value
        if not isinstance(value, kind) or (kind is tuple and not repeats and len(container) != len(checks)):
            return _wrong(name, str(hint), value)
        rows: Iterable[Any] = zip(container, strict=False)  # the items of a frozenset, or of a tuple of any length
        if kind is not frozenset and not repeats:
            rows = [container] if kind is tuple else container.items()
        found = (check(item, f"item of {name}") for row in rows for item, check in zip(row, checks, strict=False))
        return next(filter(None, found), "")

    return check
