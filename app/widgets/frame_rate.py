"""The rate of an event per second, counted over the last second."""

from collections import deque

_WINDOW_S = 1.0


class FrameRate:
    """Counts by sequence number (of launches, of pictures), so that skipped events count too."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def add(self, frame: int, now_s: float) -> None:
        """Record that number `frame` was seen at `now_s`. A number smaller than before restarts the count."""
        if self._seen and frame < self._seen[-1][1]:
            self._seen.clear()
        if not self._seen or frame > self._seen[-1][1]:
            self._seen.append((now_s, frame))
        while len(self._seen) > 2 and now_s - self._seen[0][0] > _WINDOW_S:
            self._seen.popleft()

    def per_second(self, now_s: float) -> float | None:
        """Return the rate; None before the second frame, and when no frame came for a while."""
        if len(self._seen) < 2 or now_s - self._seen[-1][0] > 2 * _WINDOW_S:
            return None
        (first_s, first), (last_s, last) = self._seen[0], self._seen[-1]
        return (last - first) / (last_s - first_s) if last_s > first_s else None

    def clear(self) -> None:
        """Forget all frames."""
        self._seen.clear()
