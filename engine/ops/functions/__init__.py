"""Mathematical functions, written out in instructions that every device computes alike."""

from engine.ops.functions.table import FUNCTIONS, MathFunction

__all__ = ["FUNCTIONS", "MathFunction"]
