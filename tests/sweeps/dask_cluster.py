"""A Dask cluster on this machine: `python -m tests.sweeps.dask_cluster WORKERS`, until standard input ends.

It prints the scheduler's address, then "kill" on standard input kills a worker at random. Workers are started again.
"""

import importlib
import os
import random
import signal
import sys
from typing import Any


def main() -> None:
    """Start the cluster, and follow standard input."""
    distributed: Any = importlib.import_module("distributed")
    dice = random.Random(3)
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(n_workers=int(sys.argv[1]), **options) as cluster:
        print(cluster.scheduler_address, flush=True)  # noqa: T201 - the test reads it
        for line in sys.stdin:
            if line.strip() == "kill":
                victim = dice.choice([nanny.pid for nanny in cluster.workers.values() if nanny.pid])
                os.kill(victim, signal.SIGKILL)
                print(victim, flush=True)  # noqa: T201 - the test reads it


if __name__ == "__main__":
    main()
