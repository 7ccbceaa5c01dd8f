"""Reports in a stream: each one without the parts that are as in the report before it.

A report has an entry for each node and each buffer, and few of them change from frame to frame. To decode a thousand
entries, 60 times a second, would hold the client's interpreter for several milliseconds each time.
"""

from typing import Any

import msgspec
from msgspec.structs import replace

from warploom.engine.protocol.messages import EngineStatistics, FrameReport, UpdateLevel

_LARGE = ("nodes", "buffers", "counts", "values", "diagnostics", "sightings")

#: The report before the first one.
NO_REPORT = FrameReport(0, UpdateLevel.NONE, 0, {}, {}, EngineStatistics(""))


class ReportChange(msgspec.Struct, frozen=True, tag=True):
    """A report whose dicts have only entries that are new or changed; `gone` are the keys that it lacks, by field.

    The fields in `kept` are empty here, since their values have not changed at all.
    """

    report: FrameReport
    kept: tuple[str, ...] = ()
    gone: dict[str, tuple[str, ...]] = {}


def report_change(last: FrameReport, report: FrameReport) -> ReportChange:
    """Return what changes from `last` to `report`."""
    parts: dict[str, Any] = {}
    kept: list[str] = []
    gone: dict[str, tuple[str, ...]] = {}
    for field in _LARGE:
        before, now = getattr(last, field), getattr(report, field)
        if now is before or now == before:
            parts[field] = type(now)()
            kept.append(field)
        elif isinstance(now, dict):
            parts[field] = {key: value for key, value in now.items() if key not in before or before[key] != value}
            if missing := before.keys() - now.keys():
                gone[field] = tuple(missing)
    return ReportChange(replace(report, **parts), tuple(kept), gone)


def changed_report(last: FrameReport, change: ReportChange) -> FrameReport:
    """Return the report whose change from `last` is given. What was kept is the same object as in `last`."""
    parts: dict[str, Any] = {}
    for field in _LARGE:
        before, given = getattr(last, field), getattr(change.report, field)
        if field in change.kept:
            parts[field] = before
        elif isinstance(given, dict):
            missing = set(change.gone.get(field, ()))
            parts[field] = {key: value for key, value in before.items() if key not in missing} | given
    return replace(change.report, **parts)
