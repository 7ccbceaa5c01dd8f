"""A fake engine with a full flight recorder."""

import numpy as np

from warploom.engine.diagnostics import DeviceError
from warploom.engine.profiling.recorder import FRAME_ROW
from warploom.engine.protocol.flight_record import BUDGET_NS, FlightRecord, SlowFrame, Spent, SpentOn
from warploom.engine.protocol.messages import UpdateLevel

MS = 1_000_000


class Recording:
    """A fake engine with a record of 600 frames of 8 ms, except the last but one of 40 ms."""

    def __init__(self) -> None:
        self.asked = 0
        self.fails = False

    def flight_record(self, *, with_times: bool = True) -> FlightRecord:
        self.asked += not with_times
        if self.fails:
            raise DeviceError("gone")
        rows = np.zeros(600, FRAME_ROW)
        rows["frame"] = np.arange(600) + self.asked
        rows["whole"] = rows["wait"] = 8 * MS
        rows["whole"][598], rows["wait"][598] = 40 * MS, 40 * MS
        rows["began"] = (1 + rows["frame"]) * 50 * MS
        began = int(rows["began"][598])
        slow = tuple(
            SlowFrame(frame, at, 40 * MS, UpdateLevel.NONE, (Spent(SpentOn.DEVICE, 40 * MS),))
            for frame, at in ((3, 7), (int(rows["frame"][598]), began))
        )
        return FlightRecord(int(rows["began"][-1]) + 8 * MS, BUDGET_NS, rows, slow=slow)
