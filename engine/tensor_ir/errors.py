"""Errors of a tensor graph."""

from warploom.engine.diagnostics import WarploomError


class TensorError(WarploomError):
    """A tensor graph is wrong, or can't be executed.

    `reason` is the message without the node and the line of code, for a reader who already sees the place.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason or message


class ShapeMismatch(TensorError):
    """Shapes don't match each other or the operation."""


class InvalidOperation(TensorError):
    """An operation can't be applied to its operands, or not in this place."""


class MergeFailed(TensorError):
    """Two graphs can't be merged."""


class TopologicalSortFailed(TensorError):
    """The nodes of a graph can't be sorted so that each comes after its inputs."""


class ExecutionFailed(TensorError):
    """A graph could not be computed on the device."""
