"""Records: what each update above HOT cost, and what the next one of its level may be expected to cost."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from statistics import median_low

from engine.protocol.messages import UpdateLevel, UpdateRecord

#: An estimate follows the last updates: the patch grows, and the first build compiles what later ones need not.
_REMEMBERED = 9


class Records:
    """The updates above HOT: those nobody has taken yet, and the median cost of the last ones of each level."""

    def __init__(self) -> None:
        self._new: list[UpdateRecord] = []
        self._costs: dict[UpdateLevel, deque[int]] = {}
        #: Nanoseconds by level; another object after each record, so that any thread may read it.
        self.estimates: Mapping[UpdateLevel, int] = {}

    def add(self, record: UpdateRecord) -> None:
        """Take note of an update."""
        self._new.append(record)
        costs = self._costs.setdefault(record.level, deque(maxlen=_REMEMBERED))
        costs.append(record.cost_ns)
        self.estimates = {**self.estimates, record.level: median_low(costs)}

    def take(self) -> tuple[UpdateRecord, ...]:
        """Return the updates since the last call."""
        if not self._new:
            return ()
        taken = tuple(self._new)
        self._new.clear()
        return taken
