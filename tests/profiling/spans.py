"""Spans of profiles for tests."""

from warploom.engine.profiling.profile import KernelFacts, SpanProfile


def span(
    node: str = "a",
    name: str = "",
    *,
    region: str = "",
    branch: str = "",
    operation: int = -1,
    first_ns: int = 0,
    busy_ns: int = 10,
    turns: int = 1,
    mean_ns: int | None = None,
    is_region: bool = False,
    after: tuple[int, ...] = (),
    moved_bytes: int = 0,
    kernel: KernelFacts | None = None,
    parts: tuple[str, ...] = (),
) -> SpanProfile:
    """Return a span without pauses between its turns; by default its mean is this frame's time."""
    mean_ns = busy_ns if mean_ns is None else mean_ns
    last_ns = first_ns + busy_ns
    times = first_ns, last_ns, busy_ns, turns, mean_ns, mean_ns + 1
    return SpanProfile(node, name, region, operation, *times, is_region, branch, after, moved_bytes, kernel, parts)
