"""Arithmetic, functions of one number, comparisons, and logic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import pi, sqrt
from typing import Any

import numpy as np

from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.operations.rules.rule import GraphValue, Rule, from_input, from_output, op
from warploom.engine.types import Array


def _extreme(name: str, evaluate: Callable[..., Any], comparison: str) -> Rule:
    """Return the row of a maximum or minimum; equal operands get half of the gradient each."""

    def to(at: int) -> Callable[[TensorNode, TensorNode], TensorNode]:
        def gradient(g: TensorNode, n: TensorNode) -> TensorNode:
            own, other = n.inputs[at], n.inputs[1 - at]
            return own.equal(other).where(g * 0.5, own.elementwise(comparison, other).where(g, 0.0))

        return gradient

    return Rule("number", 2, op(name), evaluate, (to(0), to(1)))


def _to_base(g: TensorNode, n: TensorNode) -> TensorNode:
    """Return the gradient of a power's base; with exponent 0, the power is constant."""
    base, exponent = n.inputs
    return exponent.equal(0.0).where(0.0, g * (exponent * base ** (exponent - 1.0)))


def _to_exponent(g: TensorNode, n: TensorNode) -> TensorNode:
    """Return the gradient of a power's exponent; a base of 0 gets the gradient 0."""
    base, exponent = n.inputs
    is_zero = base.equal(0.0).elementwise("and", exponent.greater_equal(0.0))
    return is_zero.where(0.0, g * (n * base.log()))


def _emit_power(x: GraphValue, power: float) -> GraphValue:
    """Write x to the power of a number; square, root and reciprocal are written as cheaper, exact operations."""
    cheap: Mapping[float, Callable[[], GraphValue]] = {
        1.0: lambda: x,
        2.0: lambda: x * x,
        0.5: lambda: x.call("sqrt"),
        -1.0: lambda: 1.0 / x,
    }
    return cheap.get(power, lambda: x.call("pow", power))()


def _power_gradient(g: TensorNode, x: TensorNode, power: float) -> TensorNode:
    """Return the gradient; for the power 0, it is 0 everywhere."""
    return g * (x ** (power - 1) * power) if power else g * 0.0


def _emit_abs_pow(x: GraphValue, power: float) -> GraphValue:
    return x * x if power == 2 else _emit_power(abs(x), power)


def _abs_pow(x: Array, power: float) -> Array:
    return np.square(x) if power == 2 else np.power(np.abs(x), power)


def _abs_pow_gradient(g: TensorNode, x: TensorNode, power: float) -> TensorNode:
    if power == 2:
        return g * (x * 2.0)
    slope = x.sign() if power == 1 else x.abs_pow(power - 1) * x.sign() * power
    return g * slope


def _to_minuend(g: TensorNode, n: TensorNode, power: float) -> TensorNode:
    a, b = n.inputs
    return _abs_pow_gradient(g, a - b, power)


ARITHMETIC: Mapping[str, Rule] = {
    "add": Rule("number", 2, op("add"), np.add, (lambda g, n: g, lambda g, n: g)),
    "sub": Rule("number", 2, op("subtract"), np.subtract, (lambda g, n: g, lambda g, n: -g)),
    "mul": Rule("number", 2, op("multiply"), np.multiply, (lambda g, n: g * n.inputs[1], lambda g, n: g * n.inputs[0])),
    "div": Rule(
        "float",
        2,
        op("divide"),
        np.divide,
        (lambda g, n: g / n.inputs[1], lambda g, n: -g * (n / n.inputs[1])),
    ),
    "maximum": _extreme("maximum", np.maximum, "greater"),
    "minimum": _extreme("minimum", np.minimum, "less"),
    "neg": Rule("number", 1, op("negate"), np.negative, (lambda g, n: -g,)),
    "abs": Rule("number", 1, op("absolute"), np.abs, (lambda g, n: g * n.inputs[0].sign(),)),
    "sign": Rule("number", 1, op("sign"), np.sign, (None,)),
    "square": Rule("number", 1, lambda x: x * x, np.square, (lambda g, n: g * (n.inputs[0] * 2.0),)),
    "sqrt": from_output(op("sqrt"), np.sqrt, lambda g, y: g / (y * 2.0)),
    "reciprocal": from_output(lambda x: 1.0 / x, lambda x: np.divide(1, x, dtype=x.dtype), lambda g, y: -g * (y * y)),
    "power": from_input(_emit_power, np.power, _power_gradient, numbers=1),
    "pow": Rule("float", 2, op("pow"), np.power, (_to_base, _to_exponent)),
    "abs_pow": from_input(_emit_abs_pow, _abs_pow, _abs_pow_gradient, numbers=1),
    "abs_power_error": Rule(
        "float",
        2,
        lambda a, b, power: _emit_abs_pow(a - b, power),
        lambda a, b, power: _abs_pow(a - b, power),
        (_to_minuend, lambda g, n, power: -_to_minuend(g, n, power)),
        numbers=1,
    ),
}


def _logic(name: str, arity: int, evaluate: Callable[..., Any]) -> Rule:
    return Rule("boolean", arity, op(name), evaluate, (None,) * arity)


CONDITIONS: Mapping[str, Rule] = {
    **{
        name: Rule("comparison", 2, op(name), getattr(np, name), (None, None))
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    },
    "and": _logic("and", 2, np.logical_and),
    "or": _logic("or", 2, np.logical_or),
    "xor": _logic("xor", 2, np.logical_xor),
    "not": _logic("not", 1, np.logical_not),
    "where": Rule(
        "choice",
        3,
        op("select"),
        np.where,
        (None, lambda g, n: n.inputs[0].where(g, 0.0), lambda g, n: n.inputs[0].where(0.0, g)),
    ),
}


def erf(x: Array) -> Array:
    """Return the error function of each element."""
    from scipy import special  # takes a tenth of a second, so it is imported only when needed

    found: Array = special.erf(x)
    return found


def erfc(x: Array) -> Array:
    """Return 1 - erf(x) of each element x."""
    from scipy import special

    found: Array = special.erfc(x)
    return found


FUNCTIONS: Mapping[str, Rule] = {
    "exp": from_output(op("exp"), np.exp, lambda g, y: g * y),
    "expm1": from_output(op("expm1"), np.expm1, lambda g, y: g * (y + 1.0)),
    "log": from_input(op("log"), np.log, lambda g, x: g / x),
    "log1p": from_input(op("log1p"), np.log1p, lambda g, x: g / (x + 1.0)),
    "sin": from_input(op("sin"), np.sin, lambda g, x: g * x.cos()),
    "cos": from_input(op("cos"), np.cos, lambda g, x: -g * x.sin()),
    "tan": from_output(op("tan"), np.tan, lambda g, y: g * (y * y + 1.0)),
    "tanh": from_output(op("tanh"), np.tanh, lambda g, y: g * (1.0 - y * y)),
    "sinh": from_input(op("sinh"), np.sinh, lambda g, x: g * x.cosh()),
    "cosh": from_input(op("cosh"), np.cosh, lambda g, x: g * x.sinh()),
    "erf": from_input(op("erf"), erf, lambda g, x: g * ((-x.square()).exp() * (2 / sqrt(pi)))),
    "erfc": from_input(op("erfc"), erfc, lambda g, x: g * ((-x.square()).exp() * (-2 / sqrt(pi)))),
    "floor": Rule("float", 1, op("floor"), np.floor, (None,)),
    "ceil": Rule("float", 1, op("ceil"), np.ceil, (None,)),
    "round": Rule("float", 1, op("round"), np.round, (None,)),
    "trunc": Rule("float", 1, op("trunc"), np.trunc, (None,)),
}
