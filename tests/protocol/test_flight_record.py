"""A flight record as JSON and as a table."""

import csv
import io
import json

import msgspec
import numpy as np

from warploom.engine.diagnostics import warning
from warploom.engine.profiling.recorder import FRAME_ROW
from warploom.engine.protocol.flight_record import (
    FlightRecord,
    NodeTimes,
    RecordedDiagnostics,
    RecordedUpdate,
    SlowFrame,
    Spent,
    SpentOn,
    record_csv,
    record_json,
)
from warploom.engine.protocol.messages import UpdateLevel, UpdateRecord

MS = 1_000_000
ROWS = [
    (7, 0, 100 * MS, 0, 5 * MS, MS, 2 * MS, 2 * MS),
    (8, 5, 110 * MS, 3 * MS, 30 * MS, 25 * MS, 2 * MS, 3 * MS),
]
FULL = warning("buffer is full", node="a")
RECORD = FlightRecord(
    now_ns=200 * MS,
    budget_ns=16 * MS,
    frames=np.array(ROWS, FRAME_ROW),
    updates=(RecordedUpdate(140 * MS, UpdateRecord(UpdateLevel.COLD, "a added", 50 * MS, 8)),),
    diagnostics=(RecordedDiagnostics(130 * MS, (FULL,), ()), RecordedDiagnostics(90 * MS, (), (FULL,))),
    slow=(
        SlowFrame(2, 40 * MS, 17 * MS, UpdateLevel.NONE, (Spent(SpentOn.DEVICE, 17 * MS),)),
        SlowFrame(8, 110 * MS, 33 * MS, UpdateLevel.COLD, (Spent(SpentOn.UPDATE, 25 * MS, "a added"),)),
    ),
)


def test_json_counts_from_the_first_frame() -> None:
    """JSON counts times from the first listed frame; events of earlier frames have negative times."""
    told = json.loads(record_json(RECORD))
    assert told["budget_ms"] == 16
    assert told["frames"][1] == {
        "frame": 8,
        "update": "COLD",
        "at_ms": 10,
        "late_ms": 3,
        "whole_ms": 30,
        "before_ms": 25,
        "launch_ms": 2,
        "wait_ms": 3,
    }
    (update,) = told["updates"]
    assert (update["at_ms"], update["frame"], update["level"], update["cause"]) == (40, 8, "COLD", "a added")
    assert [(each["at_ms"], each["frame"]) for each in told["diagnostics"]] == [(30, 8), (-10, None)]
    assert told["diagnostics"][0]["appeared"][0]["message"] == "buffer is full"
    assert [(each["frame"], each["at_ms"], each["total_ms"]) for each in told["slow"]] == [(2, -60, 17), (8, 10, 33)]
    assert told["slow"][1]["spent"] == [{"on": "update", "ms": 25, "text": "a added"}]


def test_measured_frames_have_their_nodes() -> None:
    """A node that was not in the graph has no time, and a skipped one has 0."""
    times = NodeTimes(("a", "b"), np.array([1]), np.array([[2 * MS, np.nan]], np.float32), np.array([2 * MS]))
    frames = json.loads(record_json(msgspec.structs.replace(RECORD, times=times)))["frames"]
    assert "nodes" not in frames[0] and frames[1]["nodes"] == {"a": 2}


def test_the_table_has_a_row_for_each_frame() -> None:
    rows = list(csv.DictReader(io.StringIO(record_csv(RECORD))))
    assert [row["frame"] for row in rows] == ["7", "8"]
    assert [row["spent"] for row in rows] == ["", "update 25.0 ms"]
    assert [float(row["whole_ms"]) for row in rows] == [5, 30]


def test_a_record_without_frames_is_told() -> None:
    """Before the first frame, the JSON has an empty list and the table only a header."""
    record = FlightRecord(5, 16 * MS, np.zeros(0, FRAME_ROW))
    assert json.loads(record_json(record))["frames"] == []
    assert len(record_csv(record).splitlines()) == 1
