"""Python expressions as text, laid out as `ruff format` lays them out."""

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: The length of a line, and the most elements of an array that are written as numbers.
WIDTH, MOST_NUMBERS = 88, 64


@dataclass(frozen=True)
class Word:
    """An expression that stays on one line: a name, a number, a text."""

    text: str

    @property
    def flat(self) -> str:
        """The expression on one line."""
        return self.text


@dataclass(frozen=True)
class Bracketed:
    """A call, list, tuple or dict: what comes before the items, the items, and the closing bracket.

    Each item has a prefix, such as "name=".
    """

    start: str
    items: Sequence[tuple[str, "Expression"]]

    @property
    def end(self) -> str:
        """The closing bracket."""
        return {"(": ")", "[": "]", "{": "}"}[self.start[-1]]

    @property
    def is_call(self) -> bool:
        """True for a call, whose arguments may share a line."""
        return len(self.start) > 1

    @property
    def inside(self) -> str:
        """The items on one line."""
        return ", ".join(prefix + item.flat for prefix, item in self.items)

    @property
    def flat(self) -> str:
        """The expression on one line."""
        comma = "," if self.start == "(" and len(self.items) == 1 else ""
        return f"{self.start}{self.inside}{comma}{self.end}"


Expression = Word | Bracketed


def call(function: str, /, *arguments: Expression, **named: Expression) -> Bracketed:
    """Return a call of a function."""
    items: list[tuple[str, Expression]] = [("", argument) for argument in arguments]
    items += [(f"{name}=", value) for name, value in named.items()]
    return Bracketed(f"{function}(", items)


def lines(prefix: str, expression: Expression, suffix: str = "", indent: int = 0) -> list[str]:
    """Return the lines of a statement or an item: an expression between a prefix and a suffix."""
    space = " " * indent
    whole = f"{space}{prefix}{expression.flat}{suffix}"
    if isinstance(expression, Word) or not expression.items or len(whole) <= WIDTH:
        return [whole]
    inside = f"{space}    {expression.inside}"
    if expression.is_call and len(inside) <= WIDTH:
        middle = [inside]
    else:
        middle = [line for name, item in expression.items for line in lines(name, item, ",", indent + 4)]
    return [f"{space}{prefix}{expression.start}", *middle, f"{space}{expression.end}{suffix}"]


def text(value: str) -> Word:
    """Return a text in double quotes, or in single quotes if these need fewer backslashes."""
    quote = '"' if value.count('"') <= value.count("'") else "'"
    escaped = repr('"' + value)[2:-1].replace("\\'", "'")
    return Word(quote + escaped.replace(quote, f"\\{quote}") + quote)


def literal(value: Any) -> Expression:
    """Return the expression of a value that a patch's file can hold. Arrays need the names `np` and `base64`."""
    match value:
        case str():
            return text(str(value))
        case float() if not math.isfinite(value):
            return Word(f'float("{value}")')
        case float():
            return Word(repr(float(value)).replace("e+", "e"))
        case list():
            return Bracketed("[", [("", literal(item)) for item in value])
        case tuple():
            return Bracketed("(", [("", literal(item)) for item in value])
        case dict():
            return Bracketed("{", [(f"{text(key).text}: ", literal(item)) for key, item in value.items()])
        case np.ndarray():
            return _array(value)
    return Word(repr(value))


def _array(value: np.ndarray[Any, Any]) -> Expression:
    """Return an array: as numbers if there are few and they survive it, otherwise as base64."""
    name = value.dtype.name if value.dtype.isnative else value.dtype.str
    if 0 < value.size <= MOST_NUMBERS and value.dtype.kind in "iub":
        return call("np.array", literal(value.tolist()), text(name))
    if 0 < value.size <= MOST_NUMBERS and value.dtype.kind == "f" and np.isfinite(value).all():
        # The shortest decimals of the element type, which are shorter than those of Python's floats.
        short = np.array([float(str(number)) for number in value.ravel()], object).reshape(value.shape)
        return call("np.array", literal(short.tolist()), text(name))
    data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
    decoded = call("base64.b64decode", text(data))
    flat = call("np.frombuffer", decoded, text(name))
    return flat if value.ndim == 1 else call("np.reshape", flat, literal(list(value.shape)))
