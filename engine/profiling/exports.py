"""A profile as one object for JSON, and as a table for CSV."""

import csv
import io
import json
from typing import Any

import msgspec

from engine.profiling.critical_path import critical_path
from engine.profiling.profile import Profile
from engine.profiling.rows import row_times, rows

_COLUMNS = (
    "key", "kind", "node", "name", "branch", "parent", "turns", "first_ns", "last_ns", "busy_ns", "mean_ns", "p99_ns",
    "share", "is_critical", "slack_ns",
)  # fmt: skip


def profile_object(profile: Profile) -> dict[str, Any]:
    """Return a profile as plain values: the frame, its critical path, its `rows`, and what buffers held.

    Rows are as in `engine.profiling.rows`, with the key of the row around each as `parent`, "" at the top. `slack_ns`
    of a row is the least of its spans, by the means of lately; `is_critical` says that one is on the critical path.
    """
    spans = profile.spans
    path, found = critical_path(spans, lately=True), rows(spans)
    on_path, now = set(path.spans), critical_path(spans)
    told = []
    for row, times in zip(found, row_times(found, spans), strict=True):
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
        told.append(place | msgspec.to_builtins(times) | chain)
    return {
        "frame": profile.frame,
        "level": profile.level.name.lower().replace("_", "-"),
        "launch_ns": profile.launch_ns,
        "measured_ns": profile.measured_ns,
        "cost_ns": profile.cost_ns,
        "every_ns": profile.every_ns,
        "overhead": profile.overhead,
        "wall_ns": now.wall_ns,
        "busy_ns": now.busy_ns,
        "critical_path_ns": now.length_ns,
        "rows": told,
        "buffers": msgspec.to_builtins(profile.buffers),
    }


def profile_json(profile: Profile) -> str:
    """Return a profile as JSON; see `profile_object`."""
    return json.dumps(profile_object(profile), indent=1) + "\n"


def profile_csv(profile: Profile) -> str:
    """Return the rows of a profile as CSV with a header; what is not known is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(profile_object(profile)["rows"])
    return text.getvalue()
