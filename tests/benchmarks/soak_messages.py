"""Post random messages from four threads for minutes, and print how the process's memory grows.

    python -m tests.benchmarks.soak_messages --seconds 200

The run fails if memory grows by more than 2 MB after the first 30 s, or if the engine stops.
"""

import argparse
import os
import random
import threading
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings

from tests.runtime.update.test_messages import messages
from warploom import Engine, Patch
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import Message, SetPacing
from warploom.engine.protocol.pacing import Pacing

WARM_UP_S, MOST_BYTES, MOST_WAITING, POOL = 30.0, 2 << 20, 200, 1500


def memory_bytes() -> int:
    """Return how many bytes of memory the process uses."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def pool() -> list[Message]:
    """Return random messages to post."""
    found: list[Message] = []

    @settings(max_examples=POOL, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(messages)
    def draw(message: Message) -> None:
        found.append(message)

    draw()
    return found


def soak(seconds: float) -> int:
    """Post messages for some seconds; return the largest growth of memory after the first half minute, in bytes."""
    patch = Patch()
    patch.add("buffer.constant", node_id="untouched", value=3.0)
    given_messages, posted, stopping = pool(), [0] * 4, threading.Event()
    with Engine(patch, device="host") as engine:
        engine.start(rate=None)

        def post(number: int) -> None:
            chance = random.Random(number)
            while not stopping.is_set():
                engine.post(chance.choice(given_messages))
                posted[number] += 1
                if posted[number] % 50 == 0:
                    engine.post(SetPacing(Pacing.free()))
                while len(engine.core.inbox) > MOST_WAITING and not stopping.is_set():
                    time.sleep(0.001)

        posters = [threading.Thread(target=post, args=(number,)) for number in range(4)]
        begun, first, grown = time.monotonic(), 0, 0
        for poster in posters:
            poster.start()
        while (elapsed := time.monotonic() - begun) < seconds:
            time.sleep(5)
            engine.take_events()
            report = engine.take_report()
            assert report is None or not report.failed, report.diagnostics
            now = memory_bytes()
            if elapsed > WARM_UP_S:
                first = first or now
                grown = max(grown, now - first)
            print(f"{elapsed:5.0f} s  {now / 2**20:7.1f} MB  {sum(posted):9,} messages")
        stopping.set()
        for poster in posters:
            poster.join()
        while engine.core.inbox or engine.core.updates.pending:
            time.sleep(0.01)
        engine.stop()
        engine.step()
        assert engine.read(PortRef("untouched", "out")).tolist() == [3.0]
    return grown


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=200.0)
    growth = soak(parser.parse_args().seconds)
    print(f"memory grew by {growth / 2**20:.2f} MB after the first {WARM_UP_S:.0f} s")
    raise SystemExit(growth > MOST_BYTES)
