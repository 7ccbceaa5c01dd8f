"""A profile as one object for JSON, and as a table for CSV."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

import msgspec

from warploom.engine.profiling.critical_path import critical_path
from warploom.engine.profiling.profile import KernelFacts, Profile, SpanProfile
from warploom.engine.profiling.rows import ProfileRow, RowKind, row_times, rows

_COLUMNS = (
    "key", "kind", "node", "name", "branch", "parent", "turns", "first_ns", "last_ns", "busy_ns", "mean_ns", "p99_ns",
    "share", "is_critical", "slack_ns", "moved_bytes", "bytes_per_s",
)  # fmt: skip
_KERNEL_COLUMNS = KernelFacts.__struct_fields__


def profile_object(profile: Profile) -> dict[str, Any]:
    """Return a profile as plain values: the frame, its critical path, its `rows`, and the contents of buffers.

    Rows are as in `engine.profiling.rows`, with the key of the row around each as `parent`, "" at the top. `slack_ns`
    of a row is the smallest slack of its spans, and `is_critical` is true for rows on the critical path; both use mean
    times. `moved_bytes` are those of all turns, None for rows with regions. `kernel` describes the kernel of a row with
    a single one. `side_work` is as in `engine.profiling.side_work`.
    """
    spans = profile.spans
    path, found = critical_path(spans, lately=True), rows(spans)
    on_path, now = set(path.spans), critical_path(spans)
    told = []
    for row, times in zip(found, row_times(found, profile), strict=True):
        place = {
            "key": row.key,
            "kind": str(row.kind),
            "node": row.node,
            "name": row.name,
            "branch": row.branch,
            "parent": found[row.parent].key if row.parent >= 0 else "",
        }
        chain = {
            "is_critical": not on_path.isdisjoint(row.spans),
            "slack_ns": min(path.slack_ns[number] for number in row.spans),
        }
        told.append(place | msgspec.to_builtins(times) | chain | _work(row, [spans[number] for number in row.spans]))
    return {
        "frame": profile.frame,
        "level": profile.level.name.lower().replace("_", "-"),
        "measured_frames": profile.measured_frames,
        "first_frame": profile.first_frame,
        "launches": profile.launches,
        "launch_ns": profile.launch_ns,
        "measured_ns": profile.measured_ns,
        "cost_ns": profile.cost_ns,
        "every_ns": profile.every_ns,
        "overhead": profile.overhead,
        "wall_ns": now.wall_ns,
        "busy_ns": now.busy_ns,
        "work_ns": profile.work_ns,
        "critical_path_ns": now.length_ns,
        "rows": told,
        "buffers": msgspec.to_builtins(profile.buffers),
        "side_work": msgspec.to_builtins(profile.side_work),
    }


def _work(row: ProfileRow, spans: Sequence[SpanProfile]) -> dict[str, Any]:
    """Return a row's moved bytes and its kernel."""
    moved_bytes = None if any(span.is_region for span in spans) else sum(s.moved_bytes * s.turns for s in spans)
    busy_ns = sum(span.busy_ns for span in spans)
    return {
        "moved_bytes": moved_bytes,
        "bytes_per_s": round(moved_bytes / busy_ns * 1e9) if moved_bytes and busy_ns else None,
        "kernel": msgspec.to_builtins(spans[0].kernel) if row.kind is RowKind.OPERATION else None,
    }


def profile_json(profile: Profile) -> str:
    """Return a profile as JSON; see `profile_object`."""
    return json.dumps(profile_object(profile), indent=1) + "\n"


def profile_csv(profile: Profile) -> str:
    """Return the rows of a profile as CSV with a header; unknown fields are empty.

    Work beside the frames follows, with how often it was done as `turns` and the last time as `busy_ns`.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, (*_COLUMNS, *_KERNEL_COLUMNS), lineterminator="\n")
    writer.writeheader()
    told = profile_object(profile)
    for row in told["rows"]:
        kernel = row.pop("kernel") or {}
        sizes = {name: "x".join(map(str, kernel[name])) for name in ("grid", "thread_block") if kernel}
        writer.writerow(row | kernel | sizes)
    for work in told["side_work"]:
        times = {"turns": work["count"], "busy_ns": work["last_ns"], "mean_ns": work["mean_ns"]}
        place = {"key": f"{work['kind']} {work['name']}", "kind": work["kind"], "name": work["name"]}
        writer.writerow(place | times | {"moved_bytes": work["size_bytes"]})
    return text.getvalue()
