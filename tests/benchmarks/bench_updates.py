"""The cost of edits: `python -m tests.benchmarks.bench_updates --device host|cuda:0`.

Every figure is a ratio within this one run. On CUDA our times are compared with the necessary driver calls; on the
host, where a launch is Python too, with the same calls of the device.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from tests.benchmarks.first_frame import chain
from warploom import Engine, Patch, ProfilingLevel, UpdateLevel, open_device
from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port
from warploom.engine.device.device import Device
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.patch.changes import ParameterChanged
from warploom.engine.protocol.messages import FrameReport, UpdateRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

REPEATS = 5
ROUNDS = 10
WAIT_S = 20.0
WARM_UP_S = 1.5
SOURCE = """
#include "frame.cuh"

extern "C" __global__ void saved(const float *x, float *out, float gain, const Frame *frame, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = x[i] * gain + frame->time * %d.0f;
}
"""
_folder = Path(tempfile.mkdtemp(prefix="bench-updates-"))
SAVED = _folder / "saved.cu"


class Saved(Block, id="bench.saved"):
    """A block whose kernel file is saved repeatedly, and whose output changes in every frame."""

    x: In[f32] = port(doc="What is scaled.")
    out: Out[f32] = port(doc="x * gain, and the time times a number.", shape="same(x)")
    gain: float = param(1.0, doc="Scale of x.")
    kernel = Kernel(str(SAVED), entry="saved")

    def describe(self, build: BlockBuilder) -> None:
        arguments = (self.x, self.out, self.gain, build.frame, self.out.size)
        build.launch(self.kernel, num_threads=self.out.size, args=arguments)


def times_us(call: Callable[[], object], repeats: int, before: Callable[[], object] | None = None) -> list[float]:
    """Return the times of a call in microseconds, without the time of `before`."""
    times = []
    for _ in range(repeats):
        if before is not None:
            before()
        began = time.perf_counter_ns()
        call()
        times.append((time.perf_counter_ns() - began) / 1e3)
    return times


class Bare:
    """The fewest calls that a frame and an update of an engine's graph need."""

    def __init__(self, engine: Engine) -> None:
        compiled = engine.core.updates.compiled
        assert compiled is not None
        executable: Any = compiled.variants[0].executable
        stream: Any = engine.core.launcher.stream
        handles = [kernel.handle for kernel in compiled.kernels]
        if engine.device.info.name == "host":
            self.launch = lambda: (executable.launch(stream), stream.synchronize())
            self.update = lambda: executable.refresh(handles[:1])
            self.update_all = lambda: executable.refresh(handles)
            return
        from cuda.bindings import driver

        graph, on, update = executable._handle, stream.handle, driver.cuGraphExecKernelNodeSetParams
        executable.refresh(handles)  # prepares the handles
        given = [(name, native) for name, _, native in (executable._prepared[handle] for handle in handles)]

        def launch() -> None:
            driver.cuGraphLaunch(graph, on)
            driver.cuStreamSynchronize(on)

        def update_all() -> None:
            for name, native in given:
                update(graph, name, native)

        first, native = given[0]
        self.launch, self.update_all = launch, update_all
        self.update = lambda: update(graph, first, native)


def bench_hot(device: Device, length: int, repeats: int) -> None:
    """Print a frame beside a bare launch, and changed parameters beside bare updates."""
    patch = chain(length)
    blocks = [node for node in patch.nodes if node.startswith("saxpy")]
    with Engine(patch, device, profiling=ProfilingLevel.NONE) as engine:
        engine.step()
        bare, value = Bare(engine), 1.0

        def change(nodes: list[str]) -> None:
            nonlocal value
            value = value % 9 + 1e-3
            for node in nodes:
                engine.core.inbox.append(ParameterChanged(node, "a", value, None))

        change(blocks)
        engine.step()
        change(blocks)
        engine.step()

        def both() -> None:
            bare.update()
            bare.launch()

        def all_of_both() -> None:
            bare.update_all()
            bare.launch()

        frame, few, many = engine.core.frame, lambda: change(blocks[:1]), lambda: change(blocks)
        calls: dict[str, tuple[Callable[[], object], Callable[[], object] | None]] = {
            "bare": (bare.launch, None),
            "step": (engine.step, None),
            "frame": (frame, None),
            "one": (frame, few),
            "bare one": (both, None),
            "every": (frame, many),
            "bare every": (all_of_both, None),
            "edit": (lambda: patch.set("saxpy", gesture="drag", a=value), few),
        }
        until = time.monotonic() + WARM_UP_S
        while time.monotonic() < until:  # an idle processor takes a while to reach full speed
            for call, before in calls.values():
                times_us(call, 5, before)
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(ROUNDS):  # alternating, since a machine's speed varies
            for name, (call, before) in calls.items():
                engine.core.inbox.clear()  # drops the edits, which repeat what the engine has received
                times[name] += times_us(call, repeats // ROUNDS, before)
    took = {name: median(found) for name, found in times.items()}
    one, bare_one = took["one"] - took["frame"], took["bare one"] - took["bare"]
    every, bare_every = took["every"] - took["frame"], took["bare every"] - took["bare"]
    print(
        f"{length:5} kernels: bare {took['bare']:9.2f} us, frame {took['frame']:9.2f} us: "
        f"{took['frame'] / took['bare']:5.3f} x, step {took['step']:9.2f} us: {took['step'] / took['bare']:5.3f} x\n"
        f"      one slider moved: {one:7.2f} us more a frame, {bare_one:7.2f} us more a bare launch; "
        f"the edit itself {took['edit']:.2f} us\n"
        f"      {length} parameters: {every:9.2f} us more a frame, {bare_every:9.2f} us more a bare launch: "
        f"{every / bare_every:5.2f} x"
    )


class Watch:
    """Records every report and event of an engine that runs on its own thread."""

    def __init__(self, engine: Engine) -> None:
        self.frames: list[tuple[int, int]] = []  # when a frame ended, and its duration, in ns
        self.records: list[tuple[int, UpdateRecord]] = []
        self._lock = threading.Condition()
        outbox = engine.core.outbox
        put_report, put_event = outbox.put_report, outbox.put_event

        def report(item: FrameReport) -> None:
            self.frames.append((time.perf_counter_ns(), item.frame_time_ns))
            put_report(item)

        def event(item: Any) -> None:
            put_event(item)
            if isinstance(item, UpdateRecord):
                with self._lock:
                    self.records.append((time.perf_counter_ns(), item))
                    self._lock.notify()

        outbox.put_report, outbox.put_event = report, event  # type: ignore[method-assign]

    def wait_for(self, level: UpdateLevel) -> int:
        """Wait for the next update of a level and return the time of its report."""
        with self._lock:
            if not self._lock.wait_for(lambda: any(r.level is level for _, r in self.records), WAIT_S):
                raise TimeoutError(f"no update {level.name} within {WAIT_S} s, got {self.records}")
            return next(when for when, record in self.records if record.level is level)

    def between(self, first_ns: int, last_ns: int) -> list[int]:
        """Return the duration of each frame that ended in a span of time, in ns."""
        return [took for when, took in self.frames if first_ns <= when <= last_ns]


@contextmanager
def running(patch: Patch, device: Device) -> Iterator[tuple[Engine, Watch]]:
    """Run a patch as fast as possible on the engine's own thread."""
    with Engine(patch, device, profiling=ProfilingLevel.NONE) as engine:
        engine.step()
        watch = Watch(engine)
        engine.watch_files([_folder])
        engine.start(rate=None)
        time.sleep(0.3)
        yield engine, watch
        engine.stop()


def settle(watch: Watch) -> float:
    """Drop earlier measurements; return the median frame of a quiet moment, in ns."""
    watch.frames.clear()
    watch.records.clear()
    time.sleep(0.3)
    return median(took for _, took in watch.frames)


def moving_chain(length: int) -> Patch:
    """Return a chain whose output changes in every frame, so that no launch is skipped."""
    SAVED.write_text(SOURCE % 0)
    patch = chain(length - 1)
    saved = patch.add("bench.saved")
    patch.connect(patch["array"]["out"], saved["x"])
    patch.connect(saved["out"], patch["saxpy"]["y"])
    return patch


def bench_save(device: Device, length: int) -> None:
    """Print the time from a save to the running kernel, less the compiler's, and the frames meanwhile."""
    patch = moving_chain(length)
    beyond, longest = [], []
    with running(patch, device) as (_, watch):
        for number in range(1, REPEATS + 1):
            usual = settle(watch)
            began = time.perf_counter_ns()
            SAVED.write_text(SOURCE % number)
            done = watch.wait_for(UpdateLevel.CODE)
            other = _folder / "other.cu"
            other.write_text(SOURCE % (1000 + number))  # takes as long to compile, and is in no cache
            compiling = time.perf_counter_ns()
            load_image(other, device.info.architecture)
            compiled = time.perf_counter_ns() - compiling
            beyond.append((done - began - compiled) / 1e6)
            longest.append(max(watch.between(began, done)) / usual)
    print(
        f"{length:5} kernels: a kernel saved runs {median(beyond):6.1f} ms (worst {max(beyond):.1f}) after the "
        f"compiler's "
        f"{compiled / 1e6:.1f} ms; longest frame meanwhile {median(longest):5.2f} x the median "
        f"(worst {max(longest):.2f})"
    )


def bench_add(device: Device, length: int) -> None:
    """Print the longest frame while a block is added."""
    patch = moving_chain(length)
    longest, took, costs, swaps = [], [], [], []
    with running(patch, device) as (_, watch):
        for _ in range(REPEATS):
            usual = settle(watch)
            began = time.perf_counter_ns()
            with patch.edit("Add"):
                block = patch.add("math.saxpy", a=0.5)
                patch.connect(patch["array"]["out"], block["x"])
                patch.connect(patch["saxpy"]["out"], block["y"])
            done = watch.wait_for(UpdateLevel.COLD)
            time.sleep(0.1)
            frames = watch.between(began, done + 100_000_000)
            longest.append(max(frames) / usual)
            took.append((done - began) / 1e6)
            costs.append(sorted(frames)[-3:])
            swaps.append(next(record.swap_ns for _, record in watch.records if record.level is UpdateLevel.COLD) / 1e6)
    print(
        f"{length:5} kernels: a block added after {median(took):6.1f} ms; longest frame {median(longest):5.2f} x the "
        f"median of {usual / 1e6:.3f} ms (worst {max(longest):.2f}); the three longest of the last time "
        f"{', '.join(f'{cost / 1e6:.2f}' for cost in costs[-1])} ms; swapped in {median(swaps):.2f} ms"
    )


def main() -> None:
    """Run every benchmark on the device on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", choices=("hot", "save", "add"))
    chosen = parser.parse_args()
    device = open_device(chosen.device)
    print(device.info.name, device.info.title)
    for length, repeats in ((3, 2000), (10, 2000), (1000, 200)):
        if chosen.only in (None, "hot"):
            bench_hot(device, length, repeats)
        if chosen.only in (None, "save") and length > 3:
            bench_save(device, length)
        if chosen.only in (None, "add") and length > 3:
            bench_add(device, length)
    device.close()


if __name__ == "__main__":
    main()
