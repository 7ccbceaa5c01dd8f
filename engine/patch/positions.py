"""Positions on the canvas, and other numbers that a patch file rounds."""

import numbers

from warploom.engine.arguments import shown
from warploom.engine.diagnostics import PatchError

#: A place on the canvas, in pixels at full zoom.
Position = tuple[float, float]


def checked_position(position: object, what: str = "position") -> Position:
    """Return a position on the canvas, rounded as in a file. Raise PatchError when it is not two numbers."""
    try:
        x, y = map(rounded_number, position)  # type: ignore[call-overload]
    except Exception:  # noqa: BLE001 - a value of another type may raise anything
        x = y = None
    if x is None or y is None:
        raise PatchError(f"{what} must be two numbers from -1e9 to 1e9, got {shown(position)}")
    return x, y


def rounded_number(value: object) -> float | None:
    """Return a number of at most 1e9, rounded as in a file; None for anything else."""
    if type(value) is float or type(value) is int:  # much faster than the test for any real number
        return _in_range(round(value, 2))
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return None
    return _in_range(int(value) if isinstance(value, numbers.Integral) else round(float(value), 2))


def _in_range(rounded: float) -> float | None:
    return rounded if abs(rounded) <= 1e9 else None  # False for NaN
