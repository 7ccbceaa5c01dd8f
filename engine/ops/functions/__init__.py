"""Mathematical functions, built from instructions whose results are equal on every device."""

from warploom.engine.ops.functions.table import FUNCTIONS, MathFunction

__all__ = ["FUNCTIONS", "MathFunction"]
