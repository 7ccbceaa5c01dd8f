"""What the flight recorder tells: the last frames, what happened in them, and the slow ones of a longer time."""

from enum import StrEnum
from typing import Any

import msgspec
import numpy as np

from engine.diagnostics import Diagnostic
from engine.protocol.messages import UpdateLevel, UpdateRecord

#: The budget of a frame unless another is set: 60 a second.
BUDGET_NS = 16_600_000


class SpentOn(StrEnum):
    """What took time in a slow frame."""

    UPDATE = "update"  # following edits, also computing values
    COMPILE = "compile"  # beside the frame: how long that held it up isn't known
    COLLECTION = "garbage collection"
    MEASURING = "measuring"
    LAUNCH = "launch"
    DEVICE = "device"  # waiting for it
    PICTURES = "pictures"  # of viewers, and files
    LATE = "late wake"  # the engine's thread began late: others had the interpreter or the processor


class Spent(msgspec.Struct, frozen=True):
    """A part of a slow frame's time, in nanoseconds; `text` says more where more is known."""

    kind: SpentOn
    time_ns: int
    text: str = ""


class SlowFrame(msgspec.Struct, frozen=True):
    """A frame that ended later after it was due than the budget allows.

    `began_ns` is on the clock of the record's `now_ns`. `total_ns` is the time from when it was due; `spent` says what
    took it, the longest first, without what took less than a twentieth.
    """

    frame: int
    began_ns: int
    total_ns: int
    level: UpdateLevel
    spent: tuple[Spent, ...] = ()


class RecordedUpdate(msgspec.Struct, frozen=True):
    """An update above HOT, applied in the frame that ended at `at_ns`."""

    at_ns: int
    update: UpdateRecord


class RecordedDiagnostics(msgspec.Struct, frozen=True):
    """The diagnostics that appeared at a time, and those that were resolved."""

    at_ns: int
    appeared: tuple[Diagnostic, ...]
    resolved: tuple[Diagnostic, ...]


class FlightRecord(msgspec.Struct, frozen=True):
    """What the flight recorder holds at `now_ns`; times without another unit are nanoseconds of one clock.

    `frames` are the last 600 as rows of `engine.profiling.recorder.FRAME_ROW`, oldest first. Frames of a paused engine
    are not among them. Updates, diagnostics and slow frames may be older.
    """

    now_ns: int
    budget_ns: int
    frames: np.ndarray[Any, Any]
    updates: tuple[RecordedUpdate, ...] = ()
    diagnostics: tuple[RecordedDiagnostics, ...] = ()
    slow: tuple[SlowFrame, ...] = ()
