"""The time of a turn of the event loop, which all work that can be continued in a later turn shares.

Between two turns, the loop handles input. Work of several kinds may be due in one turn, and only together does it keep
the window from responding.
"""

import time
from functools import cache

from PySide6.QtCore import QAbstractEventDispatcher

#: How long work that can be continued later may go on in a turn.
TURN_S = 0.008


class _Turn:
    """The present turn; it begins when the event loop awakes."""

    def __init__(self) -> None:
        self._began_s = 0.0
        QAbstractEventDispatcher.instance().awake.connect(self._begin)
        self._begin()

    def _begin(self) -> None:
        self._began_s = time.thread_time()

    def left_s(self) -> float:
        """Return what is left of `TURN_S`."""
        return max(self._began_s + TURN_S - time.thread_time(), 0.0)


@cache
def _turn() -> _Turn:
    return _Turn()


def left_s() -> float:
    """Return how long work may go on in this turn, in seconds of the UI's thread; 0.0 if it should go on in the next.

    It is called on the UI's thread. Work that gets 0.0 again and again should still do a little in each turn.
    """
    return _turn().left_s()
