"""Functions of one number."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi, sqrt

import numpy as np

from engine.tensor_ir.operations.rules.rule import Rule, from_input, from_output, op
from engine.types import Array


def erf(x: Array) -> Array:
    """Return the error function of each element."""
    from scipy import special  # takes a tenth of a second, which only those who need it should spend

    found: Array = special.erf(x)
    return found


def erfc(x: Array) -> Array:
    """Return 1 less the error function of each element."""
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
    "erf": from_input(op("erf"), erf, lambda g, x: g * ((-x.square()).exp() * (2 / sqrt(pi)))),
    "erfc": from_input(op("erfc"), erfc, lambda g, x: g * ((-x.square()).exp() * (-2 / sqrt(pi)))),
    "floor": Rule("float", 1, op("floor"), np.floor, (None,)),
    "ceil": Rule("float", 1, op("ceil"), np.ceil, (None,)),
    "round": Rule("float", 1, op("round"), np.round, (None,)),
}
