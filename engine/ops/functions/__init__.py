"""Mathematical functions, written out in instructions that every device computes alike."""

from engine.ops.functions.table import FUNCTIONS, Function

__all__ = ["FUNCTIONS", "Function"]
