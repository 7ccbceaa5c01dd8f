"""Which frames are measured: as many as a share of the time allows."""

#: The share of the time that measuring may take.
SHARE = 0.05
#: No sample lasts so short that the next one is due at once.
_LEAST_COST_NS = 2_000


class Sampler:
    """Spreads samples so that they take no more than `share` (0 to 1) of the time together."""

    def __init__(self, share: float = SHARE) -> None:
        self.share = share
        self._due_ns = 0

    def is_due(self, now_ns: int) -> bool:
        """True when the time since the last sample pays for another one."""
        return now_ns >= self._due_ns

    def add(self, now_ns: int, cost_ns: int) -> None:
        """Note that a sample took `cost_ns` more than a frame that isn't measured; the next one is due by that."""
        self._due_ns = now_ns + round(max(cost_ns, _LEAST_COST_NS) / self.share)

    def begin_again(self) -> None:
        """Let the next frame be measured: there is another graph, or another level."""
        self._due_ns = 0
