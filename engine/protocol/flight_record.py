"""The flight record: the last frames with their events, and slow frames from a longer time."""

import csv
import io
from enum import StrEnum
from typing import Any

import msgspec
import numpy as np

from warploom.engine.diagnostics import Diagnostic
from warploom.engine.protocol.messages import UpdateLevel, UpdateRecord

#: The budget of a frame unless another is set: 60 a second.
BUDGET_NS = 16_600_000


class SpentOn(StrEnum):
    """One cause of a slow frame's time."""

    UPDATE = "update"  # following edits, also computing values
    COMPILE = "compile"  # beside the frame; how long it held up the frame isn't known
    COLLECTION = "garbage collection"
    MEASURING = "measuring"
    LAUNCH = "launch"
    DEVICE = "device"  # waiting for the device; on the host, its work
    PICTURES = "pictures"  # taking viewers' pictures, and saving files
    LATE = "late wake"  # the engine's thread began late: others had the interpreter or the processor


class Spent(msgspec.Struct, frozen=True):
    """A part of a slow frame's time, in nanoseconds; `text` has details, if any are known."""

    kind: SpentOn
    time_ns: int
    text: str = ""


class SlowFrame(msgspec.Struct, frozen=True):
    """A frame that ended later after it was due than the budget allows.

    `began_ns` is on the clock of the record's `now_ns`. `total_ns` is the time from when it was due; `spent` lists the
    causes of its time, the longest first, without those below a twentieth of it.
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


class NodeTimes(msgspec.Struct, frozen=True):
    """The times of nodes in the recorded frames that were measured.

    `places` are the indices of these frames in the record, ascending. `times_ns` has a row for each of them and a
    column for each of `nodes`, as f4: 0 for a node that was skipped, NaN for one that was not in the graph.
    `work_ns` is the time of all work outside of regions in each, of which nodes have shares.
    """

    nodes: tuple[str, ...]
    places: np.ndarray[Any, Any]
    times_ns: np.ndarray[Any, Any]
    work_ns: np.ndarray[Any, Any]


class FlightRecord(msgspec.Struct, frozen=True):
    """The contents of the flight recorder at `now_ns`; times without another unit are nanoseconds of one clock.

    `frames` are the last 600 as rows of `engine.profiling.recorder.FRAME_ROW`, oldest first. Frames of a paused engine
    are not among them. Updates, diagnostics and slow frames may be older. `times` are only in an answer to a request
    for them; frames are measured from the profiling level `PER_BLOCK` on, and there only some of them.
    """

    now_ns: int
    budget_ns: int
    frames: np.ndarray[Any, Any]
    updates: tuple[RecordedUpdate, ...] = ()
    diagnostics: tuple[RecordedDiagnostics, ...] = ()
    slow: tuple[SlowFrame, ...] = ()
    times: NodeTimes | None = None


def record_json(record: FlightRecord) -> bytes:
    """Return a record as JSON; times are milliseconds, and those of events count from the begin of the first frame.

    Measured frames have the times of their `nodes`.
    """
    origin_ns, ends = _origin(record), record.frames["began"] + record.frames["whole"]
    frames = record.frames["frame"].tolist()

    def frame_at(time_ns: int) -> int | None:
        place = int(np.searchsorted(ends, time_ns))
        return frames[place] if time_ns >= origin_ns and place < len(frames) else None

    nodes = _node_columns(record)
    told = {
        "budget_ms": _milliseconds(record.budget_ns),
        "frames": [dict(zip(_COLUMNS, row, strict=True)) | nodes.get(at, {}) for at, row in enumerate(_rows(record))],
        "updates": [
            {"at_ms": _milliseconds(each.at_ns - origin_ns), **msgspec.structs.asdict(each.update)}
            | {"level": each.update.level.name}
            for each in record.updates
        ],
        "diagnostics": [
            {"at_ms": _milliseconds(each.at_ns - origin_ns), "frame": frame_at(each.at_ns)}
            | {"appeared": msgspec.to_builtins(each.appeared), "resolved": msgspec.to_builtins(each.resolved)}
            for each in record.diagnostics
        ],
        "slow": [
            {
                "frame": slow.frame,
                "at_ms": _milliseconds(slow.began_ns - origin_ns),
                "total_ms": _milliseconds(slow.total_ns),
                "update": slow.level.name,
                "spent": [
                    {"on": str(part.kind), "ms": _milliseconds(part.time_ns), "text": part.text} for part in slow.spent
                ],
            }
            for slow in record.slow
        ],
    }
    return msgspec.json.format(msgspec.json.encode(told))


def record_csv(record: FlightRecord) -> str:
    """Return the frames of a record as a table with a header; the last column has the causes of slow frames."""
    slow = {(each.frame, each.began_ns): each.spent for each in record.slow}
    places = zip(record.frames["frame"].tolist(), record.frames["began"].tolist(), strict=True)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow([*_COLUMNS, "spent"])
    for place, row in zip(places, _rows(record), strict=True):
        parts = "; ".join(f"{part.kind} {_milliseconds(part.time_ns)} ms" for part in slow.get(place, ()))
        writer.writerow([*row, parts])
    return table.getvalue()


_COLUMNS = ("frame", "update", "at_ms", "late_ms", "whole_ms", "before_ms", "launch_ms", "wait_ms")


def _rows(record: FlightRecord) -> list[tuple[Any, ...]]:
    origin_ns = _origin(record)
    return [
        (frame, UpdateLevel(level).name, _milliseconds(began - origin_ns), *map(_milliseconds, times))
        for frame, level, began, *times in record.frames.tolist()
    ]


def _node_columns(record: FlightRecord) -> dict[int, dict[str, dict[str, float]]]:
    """Return the times of nodes, as a field of a frame, by the frame's index."""
    times = record.times
    if times is None:
        return {}
    rows = zip(times.places.tolist(), times.times_ns.tolist(), strict=True)
    return {
        place: {"nodes": {n: _milliseconds(t) for n, t in zip(times.nodes, row, strict=True) if t == t}}
        for place, row in rows
    }


def _origin(record: FlightRecord) -> int:
    return int(record.frames["began"][0]) if len(record.frames) else record.now_ns


def _milliseconds(time_ns: float) -> float:
    return round(time_ns / 1e6, 4)
