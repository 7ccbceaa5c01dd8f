"""How exactly frames begin, the cost of waiting, and how long a thread waits for the interpreter's lock.

    python tests/benchmarks/bench_pacing.py

Needs no device and no patch. Run it on an idle machine: other processes distort every figure.
"""

import gc
import sys
import threading
import time
from statistics import median

import numpy as np

from warploom.engine.protocol.pacing import Pacer, Pacing

RATES = (30.0, 60.0, 120.0, 144.0, 240.0)
INTERVALS_S = (0.005, 0.001, 0.0005, 0.0002, 0.0001, 0.00005)


def bench_rate(rate: float, frames: int) -> None:
    """Print the mean rate over some frames, how late single ones begin, and the share of a core that waiting takes."""
    pacer, wake = Pacer(Pacing.fixed(rate)), threading.Lock()
    wake.acquire()
    starts, late = [], []
    cpu = time.thread_time()
    pacer.restart()
    for _ in range(frames + 1):
        starts.append(time.perf_counter_ns())
        pacer.advance()
        pacer.wait(wake)
        late.append((time.perf_counter_ns() - pacer.due_ns) / 1e3)
    seconds = (starts[-1] - starts[0]) / 1e9
    mean, busy = frames / seconds, (time.thread_time() - cpu) / seconds
    print(
        f"{rate:6.0f} a second: {mean:8.3f} ({mean / rate - 1:+.3%})   late: median {median(late):6.1f} us, "
        f"p99 {np.quantile(late, 0.99):6.1f} us   core: {busy:.1%}"
    )


def bench_switch_interval(interval_s: float, seconds: float) -> None:
    """Print how long a thread waits for the interpreter's lock while another computes, and how fast the other is."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(interval_s)
    is_over, turns = False, 0

    def work() -> None:
        nonlocal turns
        table: dict[int, int] = {}
        while not is_over:
            for number in range(1000):
                table[number] = 2 * number
            turns += 1

    busy = threading.Thread(target=work)
    busy.start()
    waits, end = [], time.perf_counter() + seconds
    try:
        while (start := time.perf_counter()) < end:
            time.sleep(0)
            waits.append((time.perf_counter() - start) * 1e6)
    finally:
        is_over = True
        busy.join()
        sys.setswitchinterval(before)
    print(
        f"switch interval {interval_s * 1e3:5.2f} ms: wait median {median(waits):7.1f} us, "
        f"p99 {np.quantile(waits, 0.99):7.1f} us   {turns / seconds:7.0f} turns a second beside it"
    )


def main() -> None:
    """Print all rows; takes about twenty seconds."""
    gc.disable()
    for rate in RATES:
        bench_rate(rate, frames=200)
    for interval_s in INTERVALS_S:
        bench_switch_interval(interval_s, seconds=1.0)


if __name__ == "__main__":
    main()
