"""Sweeps on one worker and on several: `python -m tests.benchmarks.bench_sweep --jobs 1,4,16`.

Runs a patch over 200 values on each number of worker processes, each with one core, and prints runs in a second and the
share of linear: 1.00 if N workers do N times the runs of one in the same time. Times begin when all workers have opened
their engines. CPU time, with the start of the processes, shows what workers cost each other where cores are not free.
`--dask ADDRESS` runs on a cluster instead, which must have as many workers as `--jobs` says.
"""

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from warploom import Patch
from warploom.engine.sweeps.sweep import Sweep

RUNS, FRAMES, SIZE = 200, 30, 256


def make_patch() -> Patch:
    """Return a patch of pictures: noise that is blurred."""
    patch = Patch()
    noise = patch.add("image.noise", node_id="noise", width=SIZE, height=SIZE)
    blur = patch.add("image.gaussian_blur", node_id="blur")
    patch.connect(noise["out"], blur["image"])
    return patch


class Measured(NamedTuple):
    """Runs in a second, CPU seconds for each run, and the seconds until the first record."""

    rate: float
    cpu_s: float
    start_s: float


def measure(jobs: int, device: str, dask: str | None, runs: int) -> Measured:
    """Sweep in an empty folder."""
    with tempfile.TemporaryDirectory() as out:
        grid = {"blur.sigma": [1 + number / runs for number in range(runs)]}
        count = jobs if dask is None else None
        sweep = Sweep(make_patch(), out=Path(out), grid=grid, frames=FRAMES, device=device, jobs=count, dask=dask)
        if device == "host":
            sweep.workers = [("host", 1)] * jobs  # a worker alone would use all cores
        before, begun_s = _cpu_s(), time.perf_counter()
        ends = []
        for record in sweep.run():
            assert record.state == "done", record.message
            ends.append(time.perf_counter())
        warm = 2 * jobs  # all workers have opened their engines
        rate = (len(ends) - 1 - warm) / (ends[-1] - ends[warm])
        return Measured(rate, (_cpu_s() - before) / runs, ends[0] - begun_s)


def _cpu_s() -> float:
    """Return the CPU time of this process and of those that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> None:
    """Measure each number of workers."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--jobs", default=f"1,2,{len(os.sched_getaffinity(0))}")
    arguments.add_argument("--device", default="host")
    arguments.add_argument("--dask")
    arguments.add_argument("--runs", type=int, default=RUNS)
    given = arguments.parse_args()
    base: float | None = None
    for jobs in map(int, given.jobs.split(",")):
        found = measure(jobs, given.device, given.dask, given.runs)
        base = base or found.rate / jobs
        print(
            f"{jobs} workers: {found.rate:.1f} runs/s, {found.rate / jobs / base:.2f} of linear, "
            f"{found.cpu_s * 1000:.0f} ms of CPU a run, first record after {found.start_s:.1f} s"
        )


if __name__ == "__main__":
    main()
