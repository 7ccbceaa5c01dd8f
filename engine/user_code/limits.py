"""How long a person's code may take, and the exception that stops code which takes longer."""

import traceback
from collections.abc import Sequence
from typing import NamedTuple


class TimeLimits(NamedTuple):
    """How long a call may compute, and how long it may take with all its waiting, in seconds.

    A busy machine doesn't use up `computing_s`, which is the thread's own time.
    """

    computing_s: float
    total_s: float


#: For `describe` and the other methods of blocks.
CALL = TimeLimits(2.0, 10.0)
#: For `describe` of Warploom's own blocks, which always ends but may read a large file.
OWN_CALL = TimeLimits(600.0, 600.0)
#: For calls that frames or other files wait for.
SHORT_CALL = TimeLimits(2.0, 2.0)
#: For a block file, which may import large libraries.
FILE = TimeLimits(20.0, 20.0)
#: A call that still runs this long after it was stopped is abandoned, with its thread.
GRACE_S = 0.3


class TookTooLong(BaseException):
    """Raised inside code that exceeds its time limit; not an `Exception`, so that the code doesn't catch it.

    `rule` is the requirement, `stack` the place in the code.
    """

    def __init__(self, rule: str = "finish in time", stack: Sequence[traceback.FrameSummary] = ()) -> None:
        super().__init__(rule)
        self.rule = rule
        self.stack = stack
