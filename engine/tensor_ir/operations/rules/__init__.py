"""The table of element-wise operations, each as an op graph, with numpy, and with its gradients."""

from collections.abc import Mapping

from warploom.engine.tensor_ir.operations.rules.activations import ACTIVATIONS
from warploom.engine.tensor_ir.operations.rules.arithmetic import ARITHMETIC, CONDITIONS, FUNCTIONS
from warploom.engine.tensor_ir.operations.rules.rule import GraphValue, Rule

#: Every element-wise operation, by name.
RULES: Mapping[str, Rule] = {**ARITHMETIC, **FUNCTIONS, **ACTIVATIONS, **CONDITIONS}

__all__ = ["ACTIVATIONS", "RULES", "GraphValue", "Rule"]
