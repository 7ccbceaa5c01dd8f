"""Running statistics of the times that are measured every frame."""

from collections import deque
from collections.abc import Iterable


class Average:
    """The mean of the last `window` values, in the values' unit."""

    def __init__(self, window: int = 30) -> None:
        self._values: deque[int] = deque(maxlen=window)

    def add(self, value: int) -> None:
        """Add a value."""
        self._values.append(value)

    @property
    def mean(self) -> int | None:
        """The mean, rounded; None before the first value."""
        return round(sum(self._values) / len(self._values)) if self._values else None


def percentile(values: Iterable[float], fraction: float) -> float:
    """Return the smallest value that is not less than `fraction` of the values; 0 for no values."""
    ordered = sorted(values)
    if not ordered:
        return 0.0
    index = min(len(ordered) - 1, max(0, -(-len(ordered) * fraction // 1) - 1))
    return ordered[int(index)]


class SpanTimes:
    """Averaged times by span label, and by node: a node's time is the sum of its kernels'."""

    def __init__(self) -> None:
        self._spans: dict[str, Average] = {}

    def add(self, times_ns: dict[str, int]) -> None:
        """Add one frame's times."""
        for label, time_ns in times_ns.items():
            self._spans.setdefault(label, Average()).add(time_ns)

    def clear(self) -> None:
        """Forget everything, for a new graph."""
        self._spans.clear()

    def by_node(self) -> dict[str, int]:
        """Return nanoseconds by node id."""
        totals: dict[str, int] = {}
        for label, average in self._spans.items():
            node = label.partition("#")[0].partition("/")[0]  # what is inside a composite counts for it
            totals[node] = totals.get(node, 0) + (average.mean or 0)
        return totals
