"""The table of element-wise operations: what each computes, as an op graph, with numpy, and backwards."""

from collections.abc import Mapping

from engine.tensor_ir.operations.rules.activations import ACTIVATIONS
from engine.tensor_ir.operations.rules.arithmetic import ARITHMETIC, CONDITIONS, FUNCTIONS
from engine.tensor_ir.operations.rules.rule import GraphValue, Rule

#: Every element-wise operation, by name.
RULES: Mapping[str, Rule] = {**ARITHMETIC, **FUNCTIONS, **ACTIVATIONS, **CONDITIONS}

__all__ = ["ACTIVATIONS", "RULES", "GraphValue", "Rule"]
