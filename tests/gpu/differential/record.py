"""Records a CUDA device's results for every form: `python -m tests.gpu.differential.record --out FILE`."""

import argparse
import sys
from pathlib import Path

from tests.gpu.differential.compare import start_zones
from tests.gpu.differential.execute import Runner
from tests.gpu.differential.recording import LANES, THREADS, write
from tests.gpu.differential.samples import inputs
from tests.gpu.differential.tables import FORMS
from warploom.engine.device.device import Device
from warploom.engine.device.open import open_device


def record(device: Device, path: Path, seed: int) -> Runner:
    """Run every form once, or twice if threads share memory, and write the results that did not vary."""
    runner, again = Runner(device, LANES, THREADS), Runner(device, LANES, THREADS)
    forms = list(FORMS)
    given, zones = {form.name: inputs(form, LANES, seed) for form in forms}, start_zones(forms, seed)
    results = runner.run(forms, given, zones)
    shared = [form for form in forms if form.zone or form.thread_block]
    second = again.run(shared, given, zones)
    for name in second.values:
        same = (results.values[name] == second.values[name]).all()
        if not same or (name in second.zones and (results.zones[name] != second.zones[name]).any()):
            runner.failed[name] = "gives other results each time"
            del results.values[name]
    write(path, forms, results, seed)
    return runner


def main() -> None:
    """Record the results, and print which forms could not be recorded."""
    parser = argparse.ArgumentParser(description="Record what a device gives for every instruction form.")
    parser.add_argument("--out", type=Path, required=True, help="the .npz to write")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    device = open_device(options.device)
    try:
        runner = record(device, options.out, options.seed)
    finally:
        device.close()
    lines = [f"{options.out}: {options.out.stat().st_size} bytes, {len(FORMS)} forms asked for"]
    lines += [f"not recorded: {name}: {why}" for name, why in (*runner.refused.items(), *runner.failed.items())]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
