"""Comparisons, logic on booleans, and what is chosen by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.tensor_ir.operations.rules.rule import Rule, op


def _comparison(name: str, evaluate: Callable[..., Any]) -> Rule:
    return Rule("comparison", 2, op(name), evaluate, (None, None))


def _logic(name: str, arity: int, evaluate: Callable[..., Any]) -> Rule:
    return Rule("boolean", arity, op(name), evaluate, (None,) * arity)


CONDITIONS: Mapping[str, Rule] = {
    "equal": _comparison("equal", np.equal),
    "not_equal": _comparison("not_equal", np.not_equal),
    "less": _comparison("less", np.less),
    "less_equal": _comparison("less_equal", np.less_equal),
    "greater": _comparison("greater", np.greater),
    "greater_equal": _comparison("greater_equal", np.greater_equal),
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
