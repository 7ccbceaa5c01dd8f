"""Traces: slices of time on tracks, in the format that Perfetto and chrome://tracing open."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TraceSlice:
    """An interval on a track: its name, start and duration in nanoseconds, and details."""

    track: str
    name: str
    start_ns: int
    duration_ns: int
    details: Mapping[str, str | int] = field(default_factory=dict)


def chrome_trace(slices: Iterable[TraceSlice]) -> str:
    """Return the slices as Trace Event JSON; times there are microseconds from the first slice on."""
    ordered = sorted(slices, key=lambda item: item.start_ns)
    origin_ns = ordered[0].start_ns if ordered else 0
    tracks = {name: number for number, name in enumerate(dict.fromkeys(item.track for item in ordered), start=1)}
    events: list[dict[str, object]] = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": number, "args": {"name": name}}
        for name, number in tracks.items()
    ]
    events += [
        {
            "ph": "X",
            "name": item.name,
            "cat": item.track,
            "pid": 1,
            "tid": tracks[item.track],
            "ts": (item.start_ns - origin_ns) / 1e3,
            "dur": item.duration_ns / 1e3,
            "args": dict(item.details),
        }
        for item in ordered
    ]
    return json.dumps({"displayTimeUnit": "ms", "traceEvents": events})
