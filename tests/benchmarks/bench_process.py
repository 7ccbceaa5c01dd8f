"""The cost of an engine in a process of its own: `python -m tests.benchmarks.bench_process --device host|cuda:0`.

For an engine in this process and one in a child, in turns: pictures of 1280 x 720 a second, the processor time of this
process meanwhile, and the time from a slider to its picture and to its report.
"""

import argparse
import resource
import shlex
import sys
import time
from collections.abc import Callable
from statistics import median

from warploom import Patch, ProfilingLevel
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.sampling import ObservePorts, picture_of
from warploom.engine.runtime.engine import open_engine

SECONDS, SLIDERS = 4.0, 60
COMMAND = shlex.join([sys.executable, "-m", "app", "engine"])


def animated() -> Patch:
    """Return a patch with one picture, which a wave changes."""
    patch = Patch()
    picture = patch.add("image.checkerboard", node_id="picture", width=1280, height=720)
    patch.connect(picture["out"], patch.add("io.viewer", node_id="viewer")["image"])
    wave = patch.add("value.lfo", node_id="wave", amplitude=0.3, offset=0.5)
    patch.connect(wave["value"], PortRef("picture", "light"))
    return patch


def processor_s() -> float:
    """Return the processor time that this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def from_slider_ms(patch: Patch, arrived: Callable[[], object]) -> float:
    """Return the median time from a slider's value until something new has arrived."""
    times = []
    for number in range(SLIDERS):
        while arrived():
            pass
        began = time.perf_counter()
        patch.set("picture", light=0.3 + 0.005 * number)
        while not arrived():
            time.sleep(0.0001)
        times.append(1e3 * (time.perf_counter() - began))
        time.sleep(0.03)
    return median(times)


def measure(name: str, device: str, command: str | None) -> None:
    """Print the figures of one engine."""
    patch = animated()
    with open_engine(patch, device, command, profiling=ProfilingLevel.NONE) as engine:
        engine.post(ObservePorts({"viewer": picture_of("viewer")}))
        engine.start(rate=60)
        time.sleep(1.5)
        engine.take_sample("viewer")
        pictures, began_s, used_s = 0, time.perf_counter(), processor_s()
        while time.perf_counter() - began_s < SECONDS:
            pictures += engine.take_sample("viewer") is not None
            time.sleep(0.001)
        used = (processor_s() - used_s) / SECONDS
        patch.remove("wave")
        time.sleep(0.3)
        to_picture = from_slider_ms(patch, lambda: engine.take_sample("viewer") is not None)
        to_report = from_slider_ms(patch, lambda: _is_hot(engine))
    print(
        f"{name:>15}: {pictures / SECONDS:.1f} pictures a second, {100 * used:.0f} % of a core here; "
        f"a slider's picture after {to_picture:.2f} ms, its report after {to_report:.2f} ms",
        flush=True,
    )


def _is_hot(engine: Client) -> bool:
    report = engine.take_report()
    return report is not None and report.update_level != 0


def main() -> None:
    """Print the figures of both, three times."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--device", default="host")
    device = parser.parse_args().device
    for _ in range(3):
        measure("in this process", device, None)
        measure("in a child", device, COMMAND)


if __name__ == "__main__":
    main()
