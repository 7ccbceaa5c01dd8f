"""The memory of a process that opens many patches: `python -m tests.benchmarks.bench_memory [ROUNDS]`.

Each round opens every example on the host, runs it and closes it, and then closes 100 engines within 10 ms. It prints
the resident memory, that after freed memory was given back to the system, and the numbers of threads and files.
`MALLOC_ARENA_MAX=16` before the command shows what shared heaps save on two cores.
"""

import ctypes
import gc
import os
import random
import sys
import threading
import time
from pathlib import Path

from warploom import Engine, Patch
from warploom.engine.patch.files import EXAMPLES_FOLDER, load_patch


def resident_mb() -> float:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def report(what: str) -> None:
    """Print the present use of memory, threads and files."""
    gc.collect()
    before = resident_mb()
    ctypes.CDLL(None).malloc_trim(0)
    threads, files = threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))
    print(f"{what:12} {before:6.0f} MB, trimmed {resident_mb():6.0f} MB, {threads} threads, {files} files", flush=True)


def run_briefly(patch: Patch, chance: random.Random) -> None:
    """Start an engine and close it, mostly while it prepares its first frame."""
    with Engine(patch, "host") as engine:
        engine.start()
        time.sleep(0.01 * chance.random())


def main() -> None:
    """Print a line before, and two after each round."""
    patches, chance = [load_patch(path) for path in sorted(EXAMPLES_FOLDER.glob("*.loom"))], random.Random(1)
    report("start")
    for number in range(1, int(sys.argv[1]) + 1 if len(sys.argv) > 1 else 5):
        for patch in patches:
            with Engine(patch, "host") as engine:
                for _ in range(3):
                    engine.step()
        report(f"{len(patches) * number} patches")
        for _ in range(100):
            run_briefly(chance.choice(patches), chance)
        report(f"{100 * number} brief")


if __name__ == "__main__":
    main()
