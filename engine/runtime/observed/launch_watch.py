"""`LaunchWatch`: notices a device that does not finish. Only the end of the process stops a kernel on a GPU."""

import time

from warploom.engine.diagnostics import Mend, Source, error, warning
from warploom.engine.runtime.frame.cuda_engine import CudaEngine

#: The longest that an engine waits for a GPU if kernels have a time limit; after twice as long it gives up.
LIMIT_S = 2.0


class LaunchWatch:
    """Looks at how long an engine has waited for its device. Any thread may look while the engine's thread waits.

    An engine whose kernels have no time limit may wait for ever.
    """

    def __init__(self, engine: CudaEngine) -> None:
        self._engine = engine
        self._reported_ns = 0  # the wait that was reported

    def look(self) -> bool:
        """Report a wait over the limit. Return True if it was too long; the outbox then has the last report."""
        launcher, limit_s = self._engine.launcher, self._engine.time_limit_s
        since_ns, limit_s = launcher.waits_since_ns, min(limit_s, LIMIT_S) if limit_s is not None else None
        waited_s = (time.perf_counter_ns() - since_ns) / 1e9
        if not since_ns or limit_s is None or waited_s < limit_s:
            return False
        if since_ns != self._reported_ns:
            self._reported_ns = since_ns
            text = f"a launch must end within {limit_s:g} s, got one that goes on"
            remedy = f"after {2 * limit_s:g} s the engine's process is ended; run without a time limit to let it work"
            self._engine.outbox.put_event(warning(text, remedy=remedy, mend=Mend.LIFT_LIMIT, source=Source.LAUNCH))
        if waited_s < 2 * limit_s:
            return False
        text = f"a launch must end within {2 * limit_s:g} s, got one that goes on: a kernel of it may be endless"
        remedy = "correct the kernel or its inputs, or run without a time limit"
        self._engine.fail(error(text, remedy=remedy, mend=Mend.LIFT_LIMIT, source=Source.LAUNCH))
        return True
