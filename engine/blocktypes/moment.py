"""The present frame as value blocks and kernels know it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Moment:
    """The frame's index, the time at its start and the time since the one before, in seconds.

    The engine keeps one and changes it in place: whoever wants a number for longer copies the number.
    """

    frame: int = 0
    time_s: float = 0.0
    time_step_s: float = 0.0
