"""Which frames are measured: as many as a share of the time allows."""

#: The share of the time that measuring may take.
SHARE = 0.05
#: What a sample takes at least, with what its own clock doesn't see. That makes 2,500 samples a second at most.
_LEAST_COST_NS = 20_000


class Sampler:
    """Spreads samples so that they take no more than `share` (0 to 1) of the time together."""

    def __init__(self, share: float = SHARE) -> None:
        self.share = share
        #: When the time since the last sample pays for another one.
        self.due_ns = 0

    def add(self, now_ns: int, cost_ns: int) -> None:
        """Note that a sample took `cost_ns` more than a frame that isn't measured; the next one is due by that."""
        self.due_ns = now_ns + round(max(cost_ns, _LEAST_COST_NS) / self.share)

    def begin_again(self) -> None:
        """Let the next frame be measured: there is another graph, or another level."""
        self.due_ns = 0
