"""Errors in the PTX: each names the line and the remedy.

Any other exception during translation, such as an AssertionError, is a bug of the translator.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from engine.diagnostics import KernelError
from engine.ptx.tree import Instruction

#: What unpacking an instruction's operands or types raises when there are too few, too many or the wrong kind.
_MALFORMED = (AttributeError, LookupError, StopIteration, TypeError, ValueError)


class OperandError(ValueError):
    """An operand is wrong; `reading` adds the line and the instruction to the message."""


def error_at(line: int, text: str) -> KernelError:
    """Return the error for a line of PTX."""
    return KernelError(f"PTX line {line}: {text}", line=line)


def unsupported(instruction: Instruction, instead: str) -> KernelError:
    """Return the error for a form of an instruction that the host does not run, with what to use instead."""
    return error_at(instruction.line, f"{instruction.text} must not be used on the host device; {instead}")


@contextmanager
def reading(instruction: Instruction) -> Iterator[None]:
    """Report operands or types that the code inside cannot read as errors of the instruction."""
    try:
        yield
    except OperandError as reason:
        raise error_at(instruction.line, f"{instruction.text}: {reason}") from reason
    except _MALFORMED as reason:
        raise unsupported(instruction, "use a form that the host device knows") from reason
