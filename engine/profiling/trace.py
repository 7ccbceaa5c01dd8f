"""Traces: slices of time on tracks, in the format that Perfetto and chrome://tracing open."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from warploom.engine.profiling.profile import SpanProfile


class TraceSlice(msgspec.Struct, frozen=True):
    """An interval on a track: its name, start and duration in nanoseconds, and details."""

    track: str
    name: str
    start_ns: int
    duration_ns: int
    details: Mapping[str, str | int] = msgspec.field(default_factory=dict)


def lanes(spans: Sequence[SpanProfile]) -> list[int]:
    """Return for each span a lane, counted from 0, in which it overlaps no other but the regions around it.

    A span is shown from its first begin to its last end: in a loop, alternating spans overlap.
    """
    around = {span.node: span.region for span in spans if span.is_region and span.node != span.region}
    found = [0] * len(spans)
    open_in: list[list[SpanProfile]] = []  # for each lane the spans that have begun and not ended, the innermost last
    for number in sorted(range(len(spans)), key=lambda at: (spans[at].first_ns, -spans[at].last_ns)):
        span = spans[number]
        if not span.turns:
            continue
        regions, region = set[str](), span.region
        while region not in regions:
            regions.add(region)
            region = around.get(region, region)
        for begun in open_in:
            while begun and begun[-1].last_ns <= span.first_ns:
                begun.pop()
        lane = next((lane for lane, begun in enumerate(open_in) if _fits(span, begun, regions)), len(open_in))
        if lane == len(open_in):
            open_in.append([])
        open_in[lane].append(span)
        found[number] = lane
    return found


def _fits(span: SpanProfile, begun: Sequence[SpanProfile], regions: Collection[str]) -> bool:
    """Return whether a span inside of `regions` overlaps nothing in a lane but these."""
    return not begun or (begun[-1].is_region and begun[-1].node in regions and span.last_ns <= begun[-1].last_ns)


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
