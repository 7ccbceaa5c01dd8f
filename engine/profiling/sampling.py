"""Which frames are measured: as many as a share of the time allows."""

#: The share of the time that samples and reports of times may take. Frames may take 5 % longer on average: the rest is
#: for what each frame pays to ask whether a sample is due.
SHARE = 0.04
#: After a change of the graph or the level, and after the first sample of it, the next one is due within so long,
#: whatever was spent.
_LONGEST_NS = 2_000_000_000


class Sampler:
    """Spreads samples so that they take no more than `share` (0 to 1) of the time, with all that belongs to them."""

    def __init__(self, share: float = SHARE) -> None:
        self.share = share
        #: When the time that has passed pays for all that was spent: then another sample is due.
        self.due_ns = 0

    def spend(self, now_ns: int, cost_ns: int) -> None:
        """Note that measuring took `cost_ns` until now; time that passed without a sample pays for nothing later."""
        self.due_ns = max(self.due_ns, now_ns) + round(cost_ns / self.share)

    def forgive(self, now_ns: int) -> None:
        """Let the next sample be due now: nobody expects frames at a rate who waits for one."""
        self.due_ns = min(self.due_ns, now_ns)

    def begin_again(self, now_ns: int) -> None:
        """Let a sample be due soon: there is another graph, or another level."""
        self.due_ns = min(self.due_ns, now_ns + _LONGEST_NS)
