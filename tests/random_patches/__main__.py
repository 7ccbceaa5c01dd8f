"""Run many random patches and print which block types took part, what was refused, and every difference."""

import argparse
import contextlib
import faulthandler
import logging
import os
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.random_patches.comparing import KeptKernels, Outcome, run_patch
from tests.random_patches.devices import across
from tests.random_patches.materials import Materials
from tests.random_patches.patches import TYPES
from warploom.engine.device.open import open_device

#: A patch that takes longer than this hangs.
LIMIT_S = 60


def _give_up(seed: int) -> None:
    """End this process, and print which patch hangs and where each thread is."""
    sys.stderr.write(f"seed {seed} takes more than {LIMIT_S} s\n")
    faulthandler.dump_traceback()
    os._exit(1)


@contextmanager
def _limited(seed: int) -> Iterator[None]:
    timer = threading.Timer(LIMIT_S, _give_up, (seed,))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def run_some(seeds: list[int], devices: list[str]) -> list[Outcome]:
    """Run the patches of these seeds on each device; return the first one's outcomes, with the others' differences."""
    logging.disable()
    found, kernels, types = [], KeptKernels(), sorted(TYPES)
    with ExitStack() as closing:
        opened = [closing.enter_context(contextlib.closing(open_device(name))) for name in devices]
        folders = [Path(closing.enter_context(tempfile.TemporaryDirectory())) for _ in devices]
        closing.enter_context(kernels.used())
        materials = [Materials(folder, device) for folder, device in zip(folders, opened, strict=True)]
        for number, seed in enumerate(seeds):
            wanted = [types[seed % len(types)]]
            try:
                with _limited(seed):
                    outcome, *others = (
                        run_patch(seed, material, device, wanted=wanted)
                        for material, device in zip(materials, opened, strict=True)
                    )
                for other in others:
                    outcome.differences += across(outcome, other)
            except Exception as problem:  # noqa: BLE001 - a crash is a difference too
                told = [f"{type(problem).__name__}: {problem}", traceback.format_exc(limit=-3)]
                outcome = Outcome(seed, differences=told)
            if outcome.differences:
                sys.stdout.write(f"seed {seed}: " + "\n    ".join(outcome.differences[:4]) + "\n")
                sys.stdout.flush()
            outcome.made, outcome.last = None, {}
            found.append(outcome)
            kernels.shrink()
            if number % 100 == 99:
                sys.stderr.write(f"{number + 1} of {len(seeds)} patches\n")
    return found


def main() -> int:
    """Run as the command line says; return 1 if there is a difference."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_patches", description=__doc__)
    parser.add_argument("--patches", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="host", help="one, or several that are compared: host,cuda:0")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the patches that differ as JSON")
    given = parser.parse_args()
    devices = given.device.split(",")
    began = time.perf_counter()
    seeds = list(range(given.seed, given.seed + given.patches))
    if given.jobs == 1:
        outcomes = run_some(seeds, devices)
    else:
        with ProcessPoolExecutor(given.jobs) as pool:
            parts = [seeds[i : i + 200] for i in range(0, len(seeds), 200)]
            n = len(parts)
            done = pool.map(run_some, parts, [devices] * n)
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
    pictures, surveyed = sum(o.pictures for o in outcomes), sum(o.surveyed for o in outcomes)
    lines.append(f"{pictures} pictures seen twice, {surveyed} buffers' statistics compared with what they hold")
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
