"""Profiles as JSON and CSV."""

import csv
import io
import json

from tests.profiling.spans import span
from warploom.engine.profiling.exports import profile_csv, profile_json, profile_object
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import BufferStatistics, KernelFacts, Profile
from warploom.engine.profiling.side_work import SideKind, SideWork

KERNEL = KernelFacts((4, 2, 1), (256, 1, 1), 32, 0, None, 0.5, "registers")
SPANS = (
    span("loop", "region for", operation=0, busy_ns=100, is_region=True),
    span("glow/tone", 'to"ne, fast', operation=1, busy_ns=60, turns=3, region="loop", moved_bytes=40, kernel=KERNEL),
    span("view", "view", operation=2, first_ns=10, busy_ns=30),
)
WORK = (
    SideWork(SideKind.COMPILE, "blur.cu", 2, 900, 800),
    SideWork(SideKind.UPLOAD, "array.out", 1, 70, 70, 4096),
)
HELD = BufferStatistics(4, None, 2.5, 1, 0)
PROFILE = Profile(7, ProfilingLevel.PER_KERNEL, 120, 150, 10, 200, SPANS, {"glow.out": HELD}, {}, WORK, 3, 2, 4)


def test_json_has_the_frame_its_rows_and_buffers() -> None:
    """JSON has the frame's facts, and each row's parent, slack and moved bytes, and whether the row is critical."""
    found = json.loads(profile_json(PROFILE))
    rows = found.pop("rows")
    assert found == {
        "frame": 7, "level": "per-kernel", "measured_frames": 3, "first_frame": 2, "launches": 4,
        "launch_ns": 120, "measured_ns": 150, "cost_ns": 10, "every_ns": 200,
        "overhead": 0.05, "wall_ns": 100, "busy_ns": 130, "work_ns": 130, "critical_path_ns": 100,
        "buffers": {"glow.out": {"numbers": 4, "minimum": None, "maximum": 2.5, "nans": 1, "infinities": 0}},
        "side_work": [
            {"kind": "compile", "name": "blur.cu", "count": 2, "last_ns": 900, "mean_ns": 800, "size_bytes": 0},
            {"kind": "upload", "name": "array.out", "count": 1, "last_ns": 70, "mean_ns": 70, "size_bytes": 4096},
        ],
    }  # fmt: skip
    assert [(row["node"], row["name"], row["parent"], row["is_critical"], row["slack_ns"]) for row in rows] == [
        ("loop", "", "", True, 0),
        ("glow", "", "loop", True, 0),
        ("glow/tone", "", "glow", True, 0),
        ("glow/tone", 'to"ne, fast', "glow/tone", True, 0),
        ("view", "", "", False, 70),
        ("view", "view", "view", False, 70),
    ]
    assert (rows[3]["busy_ns"], rows[3]["turns"], rows[3]["p99_ns"]) == (60, 3, 61)
    assert [(row["moved_bytes"], row["bytes_per_s"]) for row in rows[:4]] == [(None, None), *[(120, 2e9)] * 3]
    assert rows[3]["kernel"]["grid"] == [4, 2, 1] and rows[3]["kernel"]["limited_by"] == "registers"
    assert [row["kernel"] for row in (*rows[:3], *rows[4:])] == [None] * 5


def test_csv_has_the_same_rows() -> None:
    """CSV has a row for each row of JSON, empty cells for unknown facts, and the work outside the frames last."""
    read = list(csv.DictReader(io.StringIO(profile_csv(PROFILE))))
    beside = [{key: value for key, value in row.items() if value} for row in read[-2:]]
    assert beside == [
        {"key": "compile blur.cu", "kind": "compile", "name": "blur.cu", "turns": "2", "busy_ns": "900",
         "mean_ns": "800", "moved_bytes": "0"},
        {"key": "upload array.out", "kind": "upload", "name": "array.out", "turns": "1", "busy_ns": "70",
         "mean_ns": "70", "moved_bytes": "4096"},
    ]  # fmt: skip
    del read[-2:]
    rows = profile_object(PROFILE)["rows"]
    wanted = [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]
    kernels = [row.pop("kernel") for row in wanted]
    assert [row.pop("grid") for row in read] == ["4x2x1" if kernel else "" for kernel in kernels]
    assert read[3]["thread_block"] == "256x1x1" and read[3]["occupancy"] == "0.5" and read[3]["local_bytes"] == ""
    read = [{key: row[key] for key in wanted[0]} for row in read]
    assert read == wanted


def test_a_profile_without_spans_has_no_rows() -> None:
    """An export of a profile at the summary level is a header only."""
    whole = Profile(3, ProfilingLevel.SUMMARY, 120, None, 10, 200)
    assert profile_object(whole)["rows"] == []
    assert profile_csv(whole).count("\n") == 1
