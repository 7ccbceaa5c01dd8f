"""The errors of whoever wrote the PTX: each names the line and the remedy.

What else is raised while PTX is translated, an AssertionError say, is a bug of the translator.
"""

from __future__ import annotations

from engine.diagnostics import KernelError
from engine.ptx.tree import Instruction


def error_at(line: int, text: str) -> KernelError:
    """Return the error for a line of PTX."""
    return KernelError(f"PTX line {line}: {text}", line=line)


def unsupported(instruction: Instruction, instead: str) -> KernelError:
    """Return the error for a form of an instruction that the host does not run, with what to use instead."""
    return error_at(instruction.line, f"{instruction.text} must not be used on the host device; {instead}")
