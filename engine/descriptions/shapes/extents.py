"""Extents: integers that depend on shapes, written as expressions over ports and parameters, and their evaluation.

Grammar (dimensions and strides are numbered from 0; `last` numbers them from the last axis backwards, and treats a
missing axis as one of size 1 and stride 0)::

    dimension = integer | "N" | parameter | port ".size" | port ".dim" K | port ".stride" K
              | port ".last" K | port ".laststride" K
              | dimension ("+" | "-" | "*" | "//" | "%") dimension | "-" dimension
              | "ceil(" dimension "/" dimension ")" | "min(" dimension {"," dimension} ")" | "max(" ... ")"
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache

import msgspec

from warploom.engine.descriptions.checks import shown, whole
from warploom.engine.types import Shape, element_count
from warploom.engine.types.layout import contiguous_strides


class ShapeRuleError(ValueError):
    """A shape rule is malformed, or can't be satisfied by the given shapes."""


class ShapeContext(msgspec.Struct, frozen=True, gc=False):
    """The values for an expression: input shapes in port order, output shapes so far, and integer parameters.

    An unconnected optional input has the shape None. `strides`, in elements, has only buffers that are not contiguous.
    """

    inputs: Mapping[str, Shape | None]
    outputs: Mapping[str, Shape]
    parameters: Mapping[str, int]
    strides: Mapping[str, tuple[int, ...]] = {}

    def resolve(self, name: str) -> str:
        """Return the port with this name, or the input with this index."""
        if not name.isdigit():
            return name
        if int(name) >= len(self.inputs):
            raise ShapeRuleError(f"input {name} must be one of {len(self.inputs)} inputs, counted from 0")
        return list(self.inputs)[int(name)]

    def shape(self, name: str) -> Shape:
        """Return the shape of a port, given by name, or of an input, given by index."""
        name = self.resolve(name)
        shape = self.inputs.get(name)
        if shape is None:
            shape = self.outputs.get(name)
        if shape is not None:
            return shape
        if name in self.inputs:
            raise ShapeRuleError(f"input {name} must be connected, since a shape follows from it")
        raise ShapeRuleError(
            f"port in a shape must be one of {', '.join([*self.inputs, *self.outputs]) or 'none'}, got {name!r}"
        )

    def buffer_strides(self, name: str) -> tuple[int, ...]:
        """Return the strides of a port, in elements."""
        strides = self.strides.get(self.resolve(name))
        return contiguous_strides(self.shape(name)) if strides is None else strides

    def parameter(self, name: str) -> int:
        """Return the value of a structural integer parameter."""
        value = self.parameters.get(name)
        if value is None:
            known = ", ".join(self.parameters) or "none"
            raise ShapeRuleError(f"size in a shape must be a structural whole-number parameter ({known}), got {name!r}")
        return value


#: A function that returns a dimension's value in a context.
Dimension = Callable[[ShapeContext], int]

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_AXIS = re.compile(r"(dim|stride|last|laststride)(\d+)$")


#: The exceptions that Python raises for a text that is no expression, or too deeply nested.
UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
#: The longest expression. An expression that contains itself twice, built in a loop, would outgrow any memory.
LONGEST = 4096


def _operator(form: str) -> Callable[[Extent, Extent | int], Extent]:
    def combine(self: Extent, other: Extent | int) -> Extent:
        operand = other.text if isinstance(other, Extent) else whole("extent", "operand", other, -(2**63), 2**64 - 1)
        text = form.format(self.text, operand)
        if len(text) > LONGEST:
            raise ShapeRuleError(f"extent must be of at most {LONGEST} characters, got {shown(text)}")
        return Extent(text)

    return combine


class Extent(msgspec.Struct, frozen=True):
    """An integer that is known once shapes are known: a dimension expression with Python's integer operators.

    In a block's `describe`, `port.size` is an extent, and so is the result of `+`, `-`, `*`, `//` or `%` with extents.
    """

    text: str

    def evaluate(self, context: ShapeContext) -> int:
        """Return the value of the expression in `context`."""
        return parse_extent(self.text)(context)

    __add__, __radd__ = _operator("({0} + {1})"), _operator("({1} + {0})")
    __sub__, __rsub__ = _operator("({0} - {1})"), _operator("({1} - {0})")
    __mul__, __rmul__ = _operator("({0} * {1})"), _operator("({1} * {0})")
    __floordiv__, __rfloordiv__ = _operator("({0} // {1})"), _operator("({1} // {0})")
    __mod__ = _operator("({0} % {1})")

    def __neg__(self) -> Extent:
        return Extent(f"(-{self.text})")


@lru_cache(maxsize=4096)
def parse_extent(text: str) -> Dimension:
    """Return a function that computes one dimension expression. Raise ShapeRuleError when it is malformed."""
    try:
        dimension = compile_dimension(ast.parse(text.strip(), mode="eval").body)
    except UNPARSABLE as problem:
        raise ShapeRuleError(f"{shown(text)} must be integer arithmetic: {problem}") from problem

    def evaluate(context: ShapeContext) -> int:
        try:
            return dimension(context)
        except ZeroDivisionError:
            raise ShapeRuleError(f"{text!r} must not divide by zero") from None

    # Only a division needs the check.
    return evaluate if any(character in text for character in "/%") else dimension


@lru_cache(maxsize=4096)
def _names(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ports and the parameters that an expression names."""
    parse_extent(text)
    tree = list(ast.walk(ast.parse(text.strip(), mode="eval")))
    ports = {id(node.value): node.value.id for node in tree if isinstance(node, ast.Attribute)}  # type: ignore[attr-defined]
    words = {"N", "ceil", "min", "max"}
    names = (node.id for node in tree if isinstance(node, ast.Name) and id(node) not in ports)
    return tuple(ports.values()), tuple(name for name in names if name not in words)


def check_extent(text: str, ports: Collection[str], parameters: Collection[str]) -> None:
    """Raise ShapeRuleError when an expression is malformed, or has a name that is not among these."""
    named, sizes = _names(text)
    for name in named:
        if name not in ports:
            raise ShapeRuleError(f"extent {text} must name ports and buffers of this block, got {name!r}")
    for name in sizes:
        if name not in parameters:
            raise ShapeRuleError(f"extent {text} must name structural whole-number parameters, got {name!r}")


def compile_dimension(node: ast.expr) -> Dimension:
    """Return a function that computes an expression. Raise ShapeRuleError if it is not integer arithmetic."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return lambda _: value
        case ast.Name(id="N"):
            return _axis("0", 0, "N")
        case ast.Name(id=name):
            return lambda context: context.parameter(name)
        case ast.Attribute(value=ast.Name(id=name), attr="size"):
            return _size(name)
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if match := _AXIS.match(attribute):
            return _AXES[match[1]](name, int(match[2]), f"{name}.{attribute}")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = compile_dimension(operand)
            return lambda context: -inner(context)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _binary(_OPERATORS[type(op)], left, right)
        case ast.Call(func=ast.Name(id="ceil"), args=[ast.BinOp(left=left, op=ast.Div(), right=right)], keywords=[]):
            return _binary(lambda a, b: -(-a // b), left, right)
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=arguments, keywords=[]) if arguments:
            values = [compile_dimension(item) for item in arguments]
            choose = min if name == "min" else max
            return lambda context: choose([value(context) for value in values])
    raise ShapeRuleError(f"dimension must be integer arithmetic over ports and parameters, got {ast.unparse(node)}")


def _binary(apply: Callable[[int, int], int], left: ast.expr, right: ast.expr) -> Dimension:
    first, second = compile_dimension(left), compile_dimension(right)
    return lambda context: apply(first(context), second(context))


def _size(name: str) -> Dimension:
    def size(context: ShapeContext) -> int:
        shape: Shape | None = context.outputs.get(name)
        return element_count(context.shape(name) if shape is None else shape)

    return size


def _axis(name: str, axis: int, text: str) -> Dimension:
    def dimension(context: ShapeContext) -> int:
        shape = context.shape(name)
        if axis >= len(shape):
            raise ShapeRuleError(f"{text} must exist, got shape {list(shape)}")
        return shape[axis]

    return dimension


def _stride(name: str, axis: int, text: str) -> Dimension:
    def stride(context: ShapeContext) -> int:
        strides = context.buffer_strides(name)
        if axis >= len(strides):
            raise ShapeRuleError(f"{text} must exist, got shape {list(context.shape(name))}")
        return strides[axis]

    return stride


def _last(name: str, axis: int, text: str) -> Dimension:
    def dimension(context: ShapeContext) -> int:
        shape = context.shape(name)
        return shape[-1 - axis] if axis < len(shape) else 1

    return dimension


def _last_stride(name: str, axis: int, text: str) -> Dimension:
    def stride(context: ShapeContext) -> int:
        strides = context.buffer_strides(name)
        return strides[-1 - axis] if axis < len(strides) else 0

    return stride


_AXES = {"dim": _axis, "stride": _stride, "last": _last, "laststride": _last_stride}
