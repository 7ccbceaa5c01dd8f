"""The errors of whoever wrote the PTX: each names the line and the remedy.

What else is raised while PTX is translated, an AssertionError for example, is a bug of the translator.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from engine.diagnostics import KernelError
from engine.ptx.tree import Instruction

#: What unpacking an instruction's operands or types raises where they are missing, too many or of another kind.
_MALFORMED = (AttributeError, LookupError, StopIteration, TypeError, ValueError)


class OperandError(ValueError):
    """What is wrong with an operand; `reading` adds the line and the instruction."""


def error_at(line: int, text: str) -> KernelError:
    """Return the error for a line of PTX."""
    return KernelError(f"PTX line {line}: {text}", line=line)


def unsupported(instruction: Instruction, instead: str) -> KernelError:
    """Return the error for a form of an instruction that the host does not run, with what to use instead."""
    return error_at(instruction.line, f"{instruction.text} must not be used on the host device; {instead}")


@contextmanager
def reading(instruction: Instruction) -> Iterator[None]:
    """Blame the instruction when its operands or types are not those that are read inside."""
    try:
        yield
    except OperandError as reason:
        raise error_at(instruction.line, f"{instruction.text}: {reason}") from reason
    except _MALFORMED as reason:
        raise unsupported(instruction, "use a form that the host device knows") from reason
