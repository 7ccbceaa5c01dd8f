"""Run all examples under the sanitizers of a CUDA toolkit, and print their findings (`make sanitize-gpu`).

memcheck reports accesses outside memory and failed driver calls, racecheck reports races in shared memory, and
initcheck reports reads of uninitialised memory. The exit code is 1 if a tool reported anything or a run failed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

ROOT = Path(__file__).parents[2]
TOOLS = ("memcheck", "racecheck", "initcheck")
_SUMMARY = re.compile(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard")
_CALL_FAILED = re.compile(r"Program hit (\w+).* on CUDA API call to (\w+)")


class Found(NamedTuple):
    """One tool's result for one example: the number of errors, the failed driver calls, and how the run ended."""

    errors: int | None
    failed_calls: frozenset[str]
    status: int
    output: str
    took_s: float

    @property
    def text(self) -> str:
        """Return the result as a cell of the table."""
        if self.errors is None or self.status:
            return f"ended with {self.status}"
        return ", ".join((str(self.errors), *sorted(self.failed_calls)))


def sanitize(tool: str, example: Path, frames: int) -> Found:
    """Run some frames of an example under one tool."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as out:
        run = [sys.executable, "-m", "app", "run", str(example), "--frames", str(frames), "--device", "cuda:0"]
        done = subprocess.run(
            ["compute-sanitizer", "--tool", tool, *run, "--out", out],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONFAULTHANDLER": "1"},
        )
    output = done.stdout + done.stderr
    counts = [int(first or second) for first, second in _SUMMARY.findall(output)]
    calls = frozenset(f"{call}: {code}" for code, call in _CALL_FAILED.findall(output))
    return Found(sum(counts) if counts else None, calls, done.returncode, output, time.perf_counter() - began)


def main() -> int:
    """Parse the command line and run the tools."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--frames", type=int, default=2, help="frames of each example")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    parser.add_argument("examples", nargs="*", type=Path, help="patches; all examples if none is named")
    given = parser.parse_args()
    if given.jobs < 1 or given.frames < 1:
        parser.error("jobs and frames must be at least 1")
    if shutil.which("compute-sanitizer") is None:
        parser.error("compute-sanitizer must be on the PATH; it comes with a CUDA toolkit")
    examples = given.examples or sorted((ROOT / "resources" / "examples").glob("*.loom"))
    console, bad = Console(width=160), 0
    with ThreadPoolExecutor(given.jobs) as threads:
        places = [(example, tool) for example in examples for tool in TOOLS]
        runs = {threads.submit(sanitize, tool, example, given.frames): (example, tool) for example, tool in places}
        for run in as_completed(runs):
            (example, tool), found = runs[run], run.result()
            if found.errors != 0 or found.status:
                bad += 1
                console.print(found.output[-3000:], markup=False)
            console.print(
                f"{example.stem:14}{tool:12}{found.took_s:6.0f} s  {found.text}", markup=False, highlight=False
            )
    console.print(f"{len(places)} runs, {bad} of them with errors")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
