"""Python's thread switching while an engine runs."""

from __future__ import annotations

import sys
import threading

#: How long a thread keeps the interpreter while another one waits for it, in seconds.
#:
#: A frame gives the interpreter up at every call of the driver. With Python's default of 5 ms, a worker that is busy
#: with Python (planning a rebuild, say) then keeps it for up to 5 ms each time. Measured by
#: `tests/benchmarks/bench_pacing.py` on 2 cores, a thread that gives it up all the time beside a busy one:
#:
#: | interval | median wait | 99th percentile | what the busy thread still does |
#: |---|---|---|---|
#: | 5 ms (Python's default) | 5.3 ms | 8.8 ms | 100 % |
#: | 1 ms | 1.3 ms | 2.3 ms | 96 % |
#: | 0.5 ms | 0.73 ms | 0.91 ms | 94 % |
#: | 0.2 ms | 0.41 ms | 0.58 ms | 90 % |
#: | 0.1 ms | 0.31 ms | 0.44 ms | 83 % |
#: | **0.05 ms** | **0.24 ms** | **0.34 ms** | **79 %** |
#:
#: On an H200, with a frame of 1000 kernels (0.98 ms), the longest frame while a block is added takes 1.5 to 2.2 times
#: the median at 0.2 ms, and 1.2 to 1.4 times at 0.05 ms. The last column is the worst case; beside 60 frames a second
#: the busy thread loses about 1 %.
SWITCH_INTERVAL_S = 0.00005

_lock = threading.Lock()
_held = 0
_before_s = 0.0


def hold_switch_interval() -> None:
    """Switch threads quickly until the matching `release_switch_interval`; engines may overlap."""
    global _held, _before_s
    with _lock:
        if _held == 0:
            _before_s = sys.getswitchinterval()
            sys.setswitchinterval(min(_before_s, SWITCH_INTERVAL_S))
        _held += 1


def release_switch_interval() -> None:
    """Put the interval back to what it was, when no other engine runs."""
    global _held
    with _lock:
        _held -= 1
        if _held == 0:
            sys.setswitchinterval(_before_s)
