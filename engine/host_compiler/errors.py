"""Errors in the PTX: each names the line and the remedy.

Any other exception during translation, such as an AssertionError, is a bug of the translator.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warploom.engine.diagnostics import KernelError, TranslatorBug
from warploom.engine.ptx.tree import Instruction

#: The exceptions of unpacking an instruction's operands or types when there are too few, too many or the wrong kind.
_MALFORMED = (AttributeError, LookupError, StopIteration, TypeError, ValueError)


class PtxOperandError(ValueError):
    """An operand is wrong; `reading` adds the line and the instruction to the message."""


def error_at(line: int, text: str) -> KernelError:
    """Return the error for a line of PTX."""
    return KernelError(f"PTX line {line}: {text}", line=line)


def unsupported(instruction: Instruction, instead: str) -> KernelError:
    """Return the error for a form of an instruction that the host does not run; `instead` is the advice."""
    return error_at(instruction.line, f"{instruction.text} must not be used on the host device; {instead}")


def own_bug(kernels: str, reason: Exception) -> TranslatorBug:
    """Return the error for PTX that broke the parser or the translator, which refuse wrong PTX by a KernelError."""
    place = traceback.extract_tb(reason.__traceback__)[-1]
    where = f"{Path(place.filename).name}, line {place.lineno}"
    return TranslatorBug(
        f"kernel {kernels}: translating its PTX for the CPU failed with {reason!r} in {where}; this is a bug in "
        "Warploom and not in the kernel, please report it with the kernel's PTX"
    )


@contextmanager
def collecting(refused: dict[str, KernelError], name: str) -> Iterator[None]:
    """Record the error of a kernel or a function, so that the others can be translated without it."""
    try:
        yield
    except KernelError as problem:
        refused[name] = problem
    except Exception as reason:  # noqa: BLE001 - a mistake of the translator must not refuse the other kernels
        refused[name] = own_bug(name, reason)
        refused[name].__cause__ = reason


@contextmanager
def reading(instruction: Instruction) -> Iterator[None]:
    """Report operands or types that the code inside cannot read as errors of the instruction."""
    try:
        yield
    except PtxOperandError as reason:
        raise error_at(instruction.line, f"{instruction.text}: {reason}") from reason
    except _MALFORMED as reason:
        raise unsupported(instruction, "use a form that the host device knows") from reason
