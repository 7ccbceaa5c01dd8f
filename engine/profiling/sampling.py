"""Which frames are measured: as many as a share of the time allows."""

#: The share of the time that samples and reports of times may take. Frames may take 5 % longer on average: the rest is
#: for the check in each frame whether a sample is due.
SHARE = 0.04
#: Longest time to the next sample after a change of the graph or the level, and after the first sample, whatever the
#: cost so far.
_LONGEST_NS = 2_000_000_000


class Sampler:
    """Spreads samples so that they take no more than `share` (0 to 1) of the time, including all their costs."""

    def __init__(self, share: float = SHARE) -> None:
        self.share = share
        #: The time at which the costs so far are within `share`, so another sample is due.
        self.due_ns = 0

    def spend(self, now_ns: int, cost_ns: int) -> None:
        """Note that measuring took `cost_ns` until now; time that passed without a sample pays for nothing later."""
        self.due_ns = max(self.due_ns, now_ns) + round(cost_ns / self.share)

    def forgive(self, now_ns: int) -> None:
        """Make the next sample due now: a caller that runs single frames expects no frame rate."""
        self.due_ns = min(self.due_ns, now_ns)

    def begin_again(self, now_ns: int) -> None:
        """Let a sample be due soon: there is another graph, or another level."""
        self.due_ns = min(self.due_ns, now_ns + _LONGEST_NS)
