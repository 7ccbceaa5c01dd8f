"""Run many random patches and print what took part, what was refused, and every difference."""

import argparse
import logging
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from engine.device.open import open_device
from tests.random_patches.comparing import KeptKernels, Outcome, run_patch
from tests.random_patches.materials import Materials
from tests.random_patches.patches import TYPES


def run_some(seeds: list[int], device: str, everywhere: bool) -> list[Outcome]:
    """Run the patches of these seeds on a device of this process."""
    logging.disable()
    opened, found = open_device(device), []
    types = sorted(TYPES)
    kernels = KeptKernels(opened)
    with tempfile.TemporaryDirectory() as folder, kernels.used():
        materials = Materials(Path(folder), opened)
        for seed in seeds:
            try:
                outcome = run_patch(seed, materials, opened, wanted=[types[seed % len(types)]], everywhere=everywhere)
            except Exception as problem:  # noqa: BLE001 - a crash is a difference too
                outcome = Outcome(
                    seed, differences=[f"{type(problem).__name__}: {problem}", traceback.format_exc(limit=-3)]
                )
            if outcome.differences:
                sys.stdout.write(f"seed {seed}: " + "\n    ".join(outcome.differences[:4]) + "\n")
                sys.stdout.flush()
            found.append(outcome)
            kernels.shrink()
    opened.close()
    return found


def main() -> int:
    """Run what the command line says; 1 when there is a difference."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_patches", description=__doc__)
    parser.add_argument("--patches", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="host")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--everywhere", action="store_true", help="read outputs inside of regions too")
    parser.add_argument("--show", action="store_true", help="print the patches that differ as JSON")
    given = parser.parse_args()
    began = time.perf_counter()
    seeds = list(range(given.seed, given.seed + given.patches))
    if given.jobs == 1:
        outcomes = run_some(seeds, given.device, given.everywhere)
    else:
        with ProcessPoolExecutor(given.jobs) as pool:
            parts = [seeds[i : i + 50] for i in range(0, len(seeds), 50)]
            n = len(parts)
            done = pool.map(run_some, parts, [given.device] * n, [given.everywhere] * n)
            outcomes = [outcome for part in done for outcome in part]
    took = time.perf_counter() - began
    ran, checked, refused = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for outcome in outcomes:
        ran.update(outcome.ran.keys())
        refused.update(outcome.refused)
        checked.update(outcome.checked)
    wrong = [outcome for outcome in outcomes if outcome.differences]
    lines = [
        f"{ran[type_id]:7d} patches with {type_id}, {checked[type_id]} compared with numpy"
        for type_id in sorted(TYPES, key=lambda t: ran[t])
    ]
    lines += [f"{count:7d} refused {about}: {why}" for (about, why), count in refused.most_common(60)]
    frames, reads = sum(o.frames for o in outcomes), sum(o.reads for o in outcomes)
    lines.append(f"{len(outcomes)} patches, {frames} frames, {reads} ports read twice, {len(wrong)} patches differ")
    lines.append(
        f"{took:.0f} s, {len(outcomes) / took:.1f} patches a second; seeds that differ: {[o.seed for o in wrong]}"
    )
    if given.show:
        lines += [outcome.patch for outcome in wrong]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
