"""Measure Warploom beside other programs, in one run.

    python -m tests.benchmarks.side_by_side --device host|cuda:0 [--only NAME ...] [--grow] [--json FILE]
        [--baseline [FILE]]

The programs of a row warm up, their results are compared, and they take turns in random order. The table has medians
and quartiles, the ratio of our time to that of the fastest other program or of the one that is named, and the bytes
that the work must read and write as a share of a copy's bandwidth. A program that is not installed is named. With
`--grow`, rows are measured at a 64th, a 16th and a quarter of their size too. `--baseline` compares the ratios with
those of an earlier run, which FILE holds. Without FILE, the run of this kind of machine in `baselines` is taken. Rows
that have become worse are listed, and the exit status is 1.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.benchmarks.bench_fusion import run_copy
from tests.benchmarks.side_by_side import table
from tests.benchmarks.side_by_side.contest import Contest, Row, hold
from tests.benchmarks.side_by_side.topics import (
    arrays,
    crowds,
    editors,
    edits,
    fluids,
    frames,
    host_kernels,
    media,
    programs,
    starts,
)
from warploom import open_device
from warploom.engine.device.device import Device

#: Topics whose rows grow, and those whose rows have sizes of their own.
GROWING = {each.__name__.rpartition(".")[2]: each.contests for each in (arrays, media, fluids, programs, crowds)}
FIXED = {each.__name__.rpartition(".")[2]: each.contests for each in (frames, edits, starts, host_kernels, editors)}
SIZES = (1 / 64, 1 / 16, 1 / 4, 1)


def chosen(device: Device, names: Sequence[str], sizes: Sequence[float]) -> Iterator[Contest]:
    """Yield the contests of topics or with names that begin so, or all; growing rows at each size in turn."""
    names = [name.lower() for name in names]
    are_topics = all(name in FIXED or name in GROWING for name in names)
    for topic in (*FIXED, *GROWING):
        if names and are_topics and topic not in names:  # their data takes a while to make
            continue
        for size in sizes if topic in GROWING else (1,):
            for contest in GROWING[topic](device, size) if topic in GROWING else FIXED[topic](device):
                if not names or topic in names or contest.name.lower().startswith(tuple(names)):
                    share = "" if size == 1 else f", 1/{round(1 / size)} of its size"
                    yield replace(contest, name=contest.name + share)


def main() -> int:
    """Hold the contests of the command line, and print their table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="host")
    parser.add_argument("--only", nargs="*", default=[], help="topics, or beginnings of names of rows")
    parser.add_argument("--grow", action="store_true", help="measure rows at several sizes")
    parser.add_argument("--json", type=Path, help="where the figures are written as JSON")
    parser.add_argument("--markdown", type=Path, help="where the table is written")
    parser.add_argument(
        "--baseline",
        type=Path,
        nargs="?",
        const=table.BASELINES,
        help="an earlier JSON file to compare ratios with",
    )
    options = parser.parse_args()
    for path in filter(None, (options.json, options.markdown)):
        if not path.resolve().parent.is_dir():
            parser.error(f"file must be in a folder that is there, got {path}")
    rows: list[Row] = []
    with closing(open_device(options.device)) as device:
        baseline = table.baseline_of(device.info) if options.baseline == table.BASELINES else options.baseline
        if baseline != options.baseline and not baseline.is_file():
            parser.error(f"baseline must be kept for this kind of machine, got none; write it with --json {baseline}")
        try:
            earlier = table.read_ratios(baseline) if baseline else {}
        except (OSError, ValueError, LookupError, TypeError) as problem:
            parser.error(f"baseline must be a file that --json wrote, got {baseline}: {problem}")
        about, on_gpu = table.machine(device.info.title), device.info.name != "host"
        copied = np.ones(1 << (26 if on_gpu else 24), np.float32)
        ceiling = 2 * copied.nbytes / (run_copy(device, copied, 10 if on_gpu else 1) * 1e-3)
        for contest in chosen(device, options.only, SIZES if options.grow else (1,)):
            rows.append(hold(contest))
            print(rows[-1], file=sys.stderr, flush=True)
            if options.json:  # a run that is stopped has written the rows so far
                table.write_json(options.json, about, rows)
    if not rows:
        parser.error(
            f"--only must name a topic ({', '.join((*FIXED, *GROWING))}) or a row, got {' '.join(options.only)}"
        )
    text = table.markdown(about, rows, ceiling)
    print(text)
    if options.markdown:
        options.markdown.write_text(text + "\n")
    worse = table.worse_than(earlier, rows)
    print(*(f"worse: {line}" for line in worse), sep="\n")
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main())
