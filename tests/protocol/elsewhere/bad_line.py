"""A program that runs a command behind a line of 1 Mbit/s which stalls at random: `bad_line SEED COMMAND...`.

It ends with the command. If it is killed, the line is cut: what was on its way is lost.
"""

import os
import random
import subprocess
import sys
import threading
import time
from typing import IO

#: Bytes a second.
RATE = 125_000
_PART_BYTES = 2048


def carry(source: IO[bytes], sink: IO[bytes], chance: random.Random) -> None:
    """Carry bytes at the rate, with stalls."""
    due_s = time.monotonic()
    while part := os.read(source.fileno(), _PART_BYTES):
        if chance.random() < 0.01:
            due_s = max(due_s, time.monotonic()) + chance.uniform(0.05, 0.4)
        due_s = max(due_s, time.monotonic() - 0.05) + len(part) / RATE
        time.sleep(max(0.0, due_s - time.monotonic()))
        try:
            sink.write(part)
            sink.flush()
        except BrokenPipeError:
            break
    sink.close()


def main() -> None:
    """Run the command."""
    seed, *command = sys.argv[1:]
    chance = random.Random(int(seed))
    engine = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert engine.stdin is not None and engine.stdout is not None
    there = threading.Thread(target=carry, args=(sys.stdin.buffer, engine.stdin, chance), daemon=True)
    there.start()
    carry(engine.stdout, sys.stdout.buffer, random.Random(int(seed) + 1))
    sys.exit(engine.wait())


if __name__ == "__main__":
    main()
