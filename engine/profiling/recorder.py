"""The flight recorder's rows: when each of the last frames began, launched and ended."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

#: How many frames are kept.
LATEST_FRAMES = 600

_COLUMNS = ("frame", "level", "began", "late", "whole", "before", "launch", "wait")
#: A frame as it is recorded. `level` is that of its update, a number of `UpdateLevel`; times are nanoseconds.
#:
#: `began` is on the clock of `time.perf_counter_ns`, `late` after it was due. `whole` is the frame's time, the sum of:
#: `before` the launch, for messages, values and updates; the `launch` itself, 0 when there was none; and `wait` for the
#: device, with all work after the launch, such as reports, pictures and files. On the host the launch is the work of
#: the device, and counts as `wait`.
FRAME_ROW = np.dtype([(name, "<i8") for name in _COLUMNS])


class Stamps(NamedTuple):
    """A frame's number, the level of its update, and times of `time.perf_counter_ns`.

    `waited` is when it began to wait for room on the device, `launching` and `launched` when its launch began and
    ended. An end before `began` belongs to an earlier frame; a launch that fails has no end.
    """

    frame: int
    level: int
    due: int
    began: int
    waited: int
    launching: int
    launched: int
    ended: int


def frame_rows(stamps: Sequence[tuple[int, ...]]) -> np.ndarray[Any, Any]:
    """Return frames as an array of `FRAME_ROW`; each has the fields of `Stamps`."""
    columns = np.array(stamps, np.int64).reshape(-1, len(Stamps._fields)).T
    frame, level, due, began, waited, launching, launched, ended = columns
    is_launched = launched >= began
    rows = np.zeros(len(stamps), FRAME_ROW)
    rows["frame"], rows["level"], rows["began"] = frame, level, began
    rows["late"] = np.maximum(began - due, 0)
    rows["whole"] = ended - began
    rows["before"] = np.where(waited >= began, waited, np.where(is_launched, launching, ended)) - began
    rows["launch"] = np.where(is_launched, launched - launching, 0)
    rows["wait"] = rows["whole"] - rows["before"] - rows["launch"]
    return rows
