"""Shape rules: how an output's shape follows from the inputs' shapes and from structural parameters.

Grammar (names are ports or parameters; dimensions count from 0)::

    rule       = "same" | "same(" port-or-number ")" | "broadcast(" a "," b ")" | "scalar" | "data"
               | "[" dimension { "," dimension } "]"
    dimension  = integer arithmetic (+ - * // %, ceil(a / b), min, max) over N, port.dimK, port.size, parameter

`N` is dimension 0 of the first input. `data` means that the block gives the contents, and with them the shape.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.types import Shape, element_count


class ShapeRuleError(ValueError):
    """A shape rule is malformed or cannot hold for the given shapes."""


@dataclass(frozen=True)
class Extent:
    """An integer that is known once shapes are: a dimension expression, with Python's integer operators.

    `port.size` in a block's `describe` is one; adding, subtracting, multiplying, floor-dividing and `%` give another.
    """

    text: str

    def __add__(self, other: Extent | int) -> Extent:
        return Extent(f"({self.text} + {_text(other)})")

    def __sub__(self, other: Extent | int) -> Extent:
        return Extent(f"({self.text} - {_text(other)})")

    def __mul__(self, other: Extent | int) -> Extent:
        return Extent(f"({self.text} * {_text(other)})")

    def __floordiv__(self, other: Extent | int) -> Extent:
        return Extent(f"({self.text} // {_text(other)})")

    def __mod__(self, other: Extent | int) -> Extent:
        return Extent(f"({self.text} % {_text(other)})")

    def __radd__(self, other: int) -> Extent:
        return Extent(f"({other} + {self.text})")

    def __rsub__(self, other: int) -> Extent:
        return Extent(f"({other} - {self.text})")

    def __rmul__(self, other: int) -> Extent:
        return Extent(f"({other} * {self.text})")

    def __neg__(self) -> Extent:
        return Extent(f"(-{self.text})")


def _text(value: Extent | int) -> str:
    return value.text if isinstance(value, Extent) else str(value)


@dataclass(frozen=True)
class ShapeContext:
    """What a rule may refer to: input shapes in port order, output shapes so far, structural integer parameters.

    An optional input that is not connected has the shape None.
    """

    inputs: Mapping[str, Shape | None]
    outputs: Mapping[str, Shape]
    parameters: Mapping[str, int]

    def shape(self, name: str) -> Shape:
        """Shape of a port by name, or of an input by its index."""
        if name.isdigit():
            if int(name) >= len(self.inputs):
                raise ShapeRuleError(f"input {name} must exist, got {len(self.inputs)} inputs")
            name = list(self.inputs)[int(name)]
        shape = self.inputs.get(name, self.outputs.get(name))
        if shape is not None:
            return shape
        if name in self.inputs:
            raise ShapeRuleError(f"input {name} must be connected, since a shape follows from it")
        raise ShapeRuleError(
            f"{name!r} must be a port, got one of {', '.join([*self.inputs, *self.outputs]) or 'none'}"
        )


_SAME = re.compile(r"same(?:\(\s*(\w+)\s*\))?$")
_BROADCAST = re.compile(r"broadcast\(\s*(\w+)\s*,\s*(\w+)\s*\)$")


def evaluate_shape(rule: str, context: ShapeContext) -> Shape:
    """Return the shape that `rule` gives in `context`; ShapeRuleError says why it cannot hold."""
    rule = rule.strip()
    if rule == "scalar":
        return ()
    if match := _SAME.match(rule):
        return context.shape(match[1] or "0")
    if match := _BROADCAST.match(rule):
        return _broadcast(context.shape(match[1]), context.shape(match[2]))
    if rule.startswith("[") and rule.endswith("]"):
        shape = _dimension(rule, context)
        if any(size < 1 for size in shape):
            raise ShapeRuleError(f"dimensions of {rule} must be at least 1, got {list(shape)}")
        return shape
    raise ShapeRuleError(f"shape rule must be same, same(port), broadcast(a,b), scalar or [..], got {rule!r}")


def evaluate_extent(extent: Extent, context: ShapeContext) -> int:
    """Return the integer that a dimension expression has in `context`."""
    (value,) = _dimension(f"[{extent.text}]", context)
    return value


def check_rule(rule: str, ports: frozenset[str], parameters: frozenset[str]) -> None:
    """Raise ShapeRuleError when `rule` is malformed or names something that is neither port nor parameter."""
    if rule == "data":
        return
    names = set(re.findall(r"[A-Za-z_]\w*", re.sub(r"\.\s*\w+", "", rule)))
    names -= {"same", "broadcast", "scalar", "ceil", "min", "max", "N"}
    unknown = sorted(names - ports - parameters)
    if unknown:
        raise ShapeRuleError(
            f"shape rule {rule!r} must name ports or structural integer parameters, got {', '.join(unknown)}"
        )
    is_list = rule.strip().startswith("[") and rule.strip().endswith("]")
    if is_list:
        ast.parse(rule.strip(), mode="eval")
    elif not (rule.strip() == "scalar" or _SAME.match(rule.strip()) or _BROADCAST.match(rule.strip())):
        raise ShapeRuleError(f"shape rule must be same, same(port), broadcast(a,b), scalar or [..], got {rule!r}")


def _broadcast(a: Shape, b: Shape) -> Shape:
    rank = max(len(a), len(b))
    result = []
    for left, right in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True):
        if left != right and 1 not in (left, right):
            raise ShapeRuleError(f"shapes must broadcast, got {list(a)} and {list(b)}")
        result.append(max(left, right))
    return tuple(result)


_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _dimension(rule: str, context: ShapeContext) -> Shape:
    try:
        tree = ast.parse(rule, mode="eval").body
    except SyntaxError as problem:
        raise ShapeRuleError(f"shape rule {rule!r} must be a list of dimensions: {problem.msg}") from problem
    if not isinstance(tree, ast.List):
        raise ShapeRuleError(f"shape rule {rule!r} must be a list of dimensions")
    try:
        return tuple(_integer(item, context) for item in tree.elts)
    except ZeroDivisionError as problem:
        raise ShapeRuleError(f"shape rule {rule!r} must not divide by zero") from problem


def _integer(node: ast.expr, context: ShapeContext) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id="N"):
            return _axis(context.shape("0"), 0, "N")
        case ast.Name(id=name) if name in context.parameters:
            return context.parameters[name]
        case ast.Attribute(value=ast.Name(id=name), attr="size"):
            return element_count(context.shape(name))
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if re.fullmatch(r"dim\d+", attribute):
            return _axis(context.shape(name), int(attribute[3:]), f"{name}.{attribute}")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_integer(operand, context)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_integer(left, context), _integer(right, context))
        case ast.Call(func=ast.Name(id="ceil"), args=[ast.BinOp(left=left, op=ast.Div(), right=right)]):
            return -(-_integer(left, context) // _integer(right, context))
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=arguments) if arguments:
            values = [_integer(item, context) for item in arguments]
            return min(values) if name == "min" else max(values)
    raise ShapeRuleError(f"dimension must be integer arithmetic over ports and parameters, got {ast.unparse(node)}")


def _axis(shape: Shape, axis: int, name: str) -> int:
    if axis >= len(shape):
        raise ShapeRuleError(f"{name} must exist, got shape {list(shape)}")
    return shape[axis]
