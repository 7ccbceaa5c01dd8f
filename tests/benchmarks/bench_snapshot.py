"""The cost of viewers in a frame: `python -m tests.benchmarks.bench_snapshot --device cuda:0`.

An example with four viewers runs freely, with 0, 1 and 4 of them observed by a reader, who takes pictures 60 times a
second on a separate thread. Pictures have the size of a dock, or are whole; or, as before snapshots, whole pictures are
read within the frame that finds that the last ones were taken. Times of a frame are in milliseconds; ratios are to a
frame without observers.
"""

import argparse
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from warploom import Engine, Patch, ProfilingLevel, open_device
from warploom.engine.device.device import Device
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import load_patch
from warploom.engine.protocol.sampling import ObservePorts, picture_of
from warploom.engine.runtime.preview.reading import read_buffer

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"
DOCK = (540, 960)
READS_A_SECOND = 60


class Before:
    """The old way: once the last pictures were taken, a frame reads whole pictures and waits for them."""

    def __init__(self, engine: Engine, nodes: list[str]) -> None:
        self._engine, self._nodes = engine.core, nodes
        self.pictures: dict[str, object] = {}

    def take_all(self) -> int:
        """Take all pictures and return their number."""
        taken = len(self.pictures)
        self.pictures.clear()
        return taken

    def after_frame(self) -> None:
        """Read whole pictures if the last ones were taken."""
        compiled = self._engine.updates.compiled
        assert compiled is not None
        for node in self._nodes:
            if node not in self.pictures:
                self.pictures[node] = read_buffer(compiled, self._engine.device, PortRef(node, "pixels"))


@contextmanager
def reader(take: object) -> Iterator[list[int]]:
    """Call `take` as often as a display would, on another thread; yield a list with the number of pictures."""
    count, stop = [0], threading.Event()

    def run() -> None:
        while not stop.wait(1 / READS_A_SECOND):
            count[0] += take()  # type: ignore[operator]

    thread = threading.Thread(target=run)
    thread.start()
    yield count
    stop.set()
    thread.join()


def measure(
    patch: Patch, device: Device, nodes: list[str], size: tuple[int, ...] | None, seconds: float
) -> list[float]:
    """Return the mean, median, 99th percentile and worst frame in ms, and pictures a second; None means the old way."""
    with Engine(patch, device, profiling=ProfilingLevel.NONE) as engine:
        before = Before(engine, nodes if size is None else [])
        if size is not None:
            engine.post(ObservePorts({node: picture_of(node, size) for node in nodes}))
        for _ in range(20):
            engine.step()
        core, times = engine.core, []

        def take() -> int:
            return before.take_all() + sum(engine.take_sample(node) is not None for node in nodes)

        with reader(take) as count:
            end = time.perf_counter() + seconds
            while (start := time.perf_counter()) < end:
                core._is_current = False  # launches even a patch without changes
                core.frame(free_running=True)
                before.after_frame()
                times.append(time.perf_counter() - start)
        ms = np.array(times) * 1e3
    return [ms.mean(), np.median(ms), np.percentile(ms, 99), ms.max(), count[0] / seconds]


def particles(width: int, height: int) -> Patch:
    """Return the example's particles, drawn in another size."""
    patch = load_patch(EXAMPLES / "particles.loom")
    patch.set("render", width=width, height=height)
    return patch


def main() -> None:
    """Print a table for each patch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    device = open_device(given.device)
    print(device.info.name, device.info.title)
    patches = {
        "photo": load_patch(EXAMPLES / "photo.loom"),
        "particles": load_patch(EXAMPLES / "particles.loom"),
        "particles 3840 x 2160": particles(3840, 2160),
    }
    for name, patch in patches.items():
        shown = patch.source_of(PortRef("viewer", "image"))
        assert shown is not None
        nodes = ["viewer"]
        for _ in range(3):
            nodes.append(patch.add("io.viewer").id)
            patch.connect(shown, PortRef(nodes[-1], "image"))
        idle = measure(patch, device, [], (), given.seconds)
        print(f"{name}: nobody looks   mean {idle[0]:.3f} median {idle[1]:.3f} p99 {idle[2]:.3f} worst {idle[3]:.2f}")
        for count in (1, 4):
            for way, size in (("before", None), ("in full", ()), ("in a dock", DOCK)):
                mean, median, most, worst, rate = measure(patch, device, nodes[:count], size, given.seconds)
                print(
                    f"  {count} viewers, {way:9}  mean {mean:.3f} ({mean / idle[0]:.2f} x) median {median:.3f} "
                    f"p99 {most:.3f} ({most / idle[2]:.2f} x) worst {worst:.2f}   {rate:.0f} pictures/s"
                )
    device.close()


if __name__ == "__main__":
    main()
