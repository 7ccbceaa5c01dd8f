"""Measure Warploom beside other programs, in one run.

    python -m tests.benchmarks.side_by_side --device host|cuda:0 [--only NAME ...] [--json FILE] [--baseline FILE]

The programs of a row warm up, their results are compared, and they take turns in random order. The table has medians
and quartiles, the ratio of our time to that of the fastest other program or of the one that is named, and the bytes
that the work must read and write as a share of a copy's bandwidth. A program that is not installed is named. With
`--baseline`, rows whose ratio is worse than in that earlier run are listed, and the exit status is 1.
"""

import argparse
import sys
from contextlib import closing
from pathlib import Path

import numpy as np

from tests.benchmarks.bench_fusion import run_copy
from tests.benchmarks.side_by_side import arrays, frames, programs, table
from tests.benchmarks.side_by_side.contest import hold
from warploom import open_device

TOPICS = {"frames": frames.contests, "arrays": arrays.contests, "programs": programs.contests}


def main() -> int:
    """Hold the contests of the command line, and print their table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="host")
    parser.add_argument("--only", nargs="*", default=[], help="topics, or beginnings of names of rows")
    parser.add_argument("--json", type=Path, help="where the figures are written as JSON")
    parser.add_argument("--markdown", type=Path, help="where the table is written")
    parser.add_argument("--baseline", type=Path, help="an earlier JSON file that ratios are compared with")
    options = parser.parse_args()
    for path in filter(None, (options.json, options.markdown)):
        if not path.resolve().parent.is_dir():
            parser.error(f"file must be in a folder that is there, got {path}")
    try:
        earlier = table.read_ratios(options.baseline) if options.baseline else {}
    except (OSError, ValueError, LookupError, TypeError) as problem:
        parser.error(f"baseline must be a file that --json wrote, got {options.baseline}: {problem}")
    wanted, rows = tuple(name.lower() for name in options.only), []
    with closing(open_device(options.device)) as device:
        on_gpu = device.info.name != "host"
        copied = np.ones(1 << (26 if on_gpu else 24), np.float32)
        ceiling = 2 * copied.nbytes / (run_copy(device, copied, 10 if on_gpu else 1) * 1e-3)
        for topic, contests in TOPICS.items():
            for contest in contests(device):
                if not wanted or topic in wanted or contest.name.lower().startswith(wanted):
                    rows.append(hold(contest))
                    print(rows[-1], file=sys.stderr, flush=True)
        about = table.machine(device.info.title)
    if not rows:
        parser.error(f"--only must name a topic ({', '.join(TOPICS)}) or a row, got {' '.join(options.only)}")
    text = table.markdown(about, rows, ceiling)
    print(text)
    if options.markdown:
        options.markdown.write_text(text + "\n")
    if options.json:
        table.write_json(options.json, about, rows)
    worse = table.worse_than(earlier, rows)
    print(*(f"worse: {line}" for line in worse), sep="\n")
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main())
