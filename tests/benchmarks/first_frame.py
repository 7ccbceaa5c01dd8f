"""The first frame of a patch, phase by phase: `python -m tests.benchmarks.bench_frame --first-frame --device cuda:0`.

Each fresh process runs the patches one after the other, each with an engine of its own: a chain twice, which shows the
cost of the very first engine, then a patch of mixed blocks twice. Phases are functions that run a few times a frame;
each is timed without those inside it, so that all of them and the rest add up to the whole.
"""

import argparse
import gc
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from warploom import Engine, Patch, ProfilingLevel, open_device
from warploom.engine.device.device import Device

#: The names of the phases, and the functions that are timed, as "module:name" or "module:class.name".
PHASES = {
    "engine made": ("warploom.engine.runtime.engine:LocalEngine.__init__",),
    "changes posted": ("warploom.engine.protocol.client:Client.__init__",),
    "changes followed": ("warploom.engine.runtime.frame.cuda_engine:CudaEngine.read_inbox",),
    "snapshot": ("warploom.engine.runtime.model.context:CudaContext.snapshot",),
    "blocks described": ("warploom.engine.runtime.update.prepare:describe_patch",),
    "composites inlined": ("warploom.engine.runtime.model.describe_patch:inline",),
    "kernels found": (
        "warploom.engine.runtime.update.prepare:unusable_kernels",
        "warploom.engine.runtime.update.prepare:stale_kernels",
    ),
    "kernels compiled": ("warploom.engine.runtime.model.module_cache:load_image",),
    "modules loaded": ("warploom.engine.runtime.model.module_cache:ModuleCache.load",),
    "plan: the rest": ("warploom.engine.runtime.update.prepare:plan_what_can_run",),
    "plan: checked": ("warploom.engine.compiler.planning:check_description",),
    "plan: buffers": ("warploom.engine.compiler.planning:plan_buffers",),
    "plan: ordered": ("warploom.engine.compiler.planning:order_blocks",),
    "plan: scheduled": (
        "warploom.engine.compiler.planning:schedule",
        "warploom.engine.compiler.planning:region_outputs",
    ),
    "plan: fused": ("warploom.engine.compiler.planning:fuse",),
    "plan: placed": ("warploom.engine.compiler.planning:place_buffers",),
    "kernels checked": (
        "warploom.engine.runtime.update.prepare:argument_problems",
        "warploom.engine.runtime.update.prepare:count_problems",
    ),
    "memory": (
        "warploom.engine.runtime.update.prepare:require_memory",
        "warploom.engine.runtime.update.prepare:allocate_buffers",
    ),
    "graph: nodes": ("warploom.engine.compiler.executable.compiled_graph:build_graph",),
    "graph: instantiated": ("warploom.engine.device.graph:Graph.instantiate",),
    "graph: the rest": ("warploom.engine.runtime.update.prepare:compile_plan",),
    "graph: uploaded": ("warploom.engine.compiler.executable.compiled_graph:CompiledGraph.upload",),
    "told of kernels": (
        "warploom.engine.runtime.update.prepare:node_kernels",
        "warploom.engine.runtime.update.prepare:launch_warnings",
        "warploom.engine.runtime.update.prepare:buffer_reports",
    ),
    "swapped in": ("warploom.engine.runtime.update.updater:Updater._finish",),
    "launched": ("warploom.engine.runtime.frame.launcher:Launcher.launch",),
    "device works": ("warploom.engine.runtime.frame.launcher:Launcher.synchronize",),
    "report": (
        "warploom.engine.runtime.frame.reporter:Reporter.prepare",
        "warploom.engine.runtime.frame.cuda_engine:CudaEngine._record",
        "warploom.engine.runtime.frame.reporter:Reporter.report",
    ),
}
COLLECTING, REST, TOTAL = "garbage collected", "the rest", "first frame"
BLOCKS = 1000
#: The patches of a process, in this order.
RUNS = ("chain, cold", "chain, warm", "mixed, first", "mixed, warm")


def chain(length: int) -> Patch:
    """Return a patch of `length` saxpy blocks in a row."""
    patch = Patch()
    source = patch.add("io.array", data=np.ones(1024, np.float32))["out"]
    output = source
    for _ in range(length):
        block = patch.add("math.saxpy", a=1.0)
        patch.connect(output, block["x"])
        patch.connect(source, block["y"])
        output = block["out"]
    return patch


#: The types of a mixed patch in turn, and the inputs of each: the previous result, then the source.
MIXED = (
    ("math.saxpy", ("x", "y")),
    ("buffer.copy", ("x",)),
    ("math.scale_offset", ("x",)),
    ("filter.mean", ("image",)),
    ("math.add", ("x", "y")),
    ("kernel.expression", ("x",)),
    ("math.multiply", ("x", "y")),
    ("signal.window", ("x",)),
)


def mixed(length: int) -> Patch:
    """Return a patch of `length` blocks of several types in a row; some have kernels that are fused."""
    patch = Patch()
    source = patch.add("io.array", data=np.ones((32, 32), np.float32))["out"]
    output = source
    for number in range(length):
        type_id, inputs = MIXED[number % len(MIXED)]
        block = patch.add(type_id)
        for name, fed in zip(inputs, (output, source), strict=False):
            patch.connect(fed, block[name])
        output = block["out"]
    return patch


class Stopwatch:
    """Times named phases, each without the phases inside it, and only on the frame's own thread."""

    def __init__(self) -> None:
        self.times_ns: Counter[str] = Counter()
        self._open: list[str] = []
        self._since_ns = 0

    def timed(self, phase: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return `call`, wrapped so that its time counts for a phase."""

        def timed(*args: object, **kwargs: object) -> Any:
            if not _is_of_the_frame():
                return call(*args, **kwargs)
            self._turn()
            self._open.append(phase)
            try:
                return call(*args, **kwargs)
            finally:
                self._turn()
                self._open.pop()

        return timed

    def collecting(self, moment: str, _: dict[str, int]) -> None:
        """Count the time of Python's garbage collector, which calls this, as a phase of its own."""
        if not _is_of_the_frame():
            return
        self._turn()
        if moment == "start":
            self._open.append(COLLECTING)
        else:
            self._open.pop()

    def _turn(self) -> None:
        """Add the time since the last change of phase to the open phase."""
        now_ns = time.perf_counter_ns()
        if self._open:
            self.times_ns[self._open[-1]] += now_ns - self._since_ns
        self._since_ns = now_ns


def _is_of_the_frame() -> bool:
    thread = threading.current_thread()
    return thread is threading.main_thread() or thread.name.startswith("warploom-prepare")


@contextmanager
def replaced(place: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """Replace the function at "module:name" by the result of `make`."""
    module, path = place.split(":")
    *inside, name = path.split(".")
    owner: Any = import_module(module)
    for part in inside:
        owner = getattr(owner, part)
    before = getattr(owner, name)
    setattr(owner, name, make(before))
    try:
        yield
    finally:
        setattr(owner, name, before)


def first_frame(device: Device, patch: Patch) -> dict[str, float]:
    """Return the milliseconds of a patch's first frame, by phase."""
    watch = Stopwatch()
    with ExitStack() as stack:
        for phase, places in PHASES.items():
            for place in places:
                stack.enter_context(replaced(place, partial(watch.timed, phase)))
        gc.callbacks.append(watch.collecting)
        stack.callback(gc.callbacks.remove, watch.collecting)
        start_ns = time.perf_counter_ns()
        engine = stack.enter_context(Engine(patch, device, profiling=ProfilingLevel.NONE))
        engine.step()
        total_ns = time.perf_counter_ns() - start_ns
        assert engine.core.updates.compiled is not None
        told = {phase: watch.times_ns[phase] / 1e6 for phase in (*PHASES, COLLECTING)}
    return {**told, REST: total_ns / 1e6 - sum(told.values()), TOTAL: total_ns / 1e6}


def driver_calls(device: Device, patch: Patch) -> dict[str, tuple[int, float]]:
    """Return the count and the milliseconds of each CUDA driver function in a patch's first frame."""
    driver = import_module("cuda.bindings.driver")
    counts: Counter[str] = Counter()
    times_ns: Counter[str] = Counter()

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: object, **kwargs: object) -> Any:
            begun_ns = time.perf_counter_ns()
            try:
                return call(*args, **kwargs)
            finally:
                counts[name] += 1
                times_ns[name] += time.perf_counter_ns() - begun_ns

        return counted

    with ExitStack() as stack:
        for name in [name for name in dir(driver) if name.startswith("cu") and callable(getattr(driver, name))]:
            stack.enter_context(replaced(f"cuda.bindings.driver:{name}", partial(counted, name)))
        engine = stack.enter_context(Engine(patch, device, profiling=ProfilingLevel.NONE))
        engine.step()
        return {name: (count, times_ns[name] / 1e6) for name, count in counts.most_common()}


def in_this_process(name: str) -> dict[str, Any]:
    """Return the phases of each run, and the driver's calls of the last patch; at first, everything is cold."""
    device = open_device(name)
    told: dict[str, Any] = {}
    for run in RUNS:
        make = chain if run.startswith("chain") else mixed
        told[run] = first_frame(device, make(BLOCKS))
    if device.info.name.startswith("cuda"):
        told["calls"] = driver_calls(device, chain(BLOCKS))
    told["title"] = device.info.title
    device.close()
    return told


def print_first_frames(device: str, processes: int) -> None:
    """Print the phases of each run as a table, from the fastest of several fresh processes."""
    found: list[dict[str, Any]] = []
    for _ in range(processes):
        command = [sys.executable, "-m", "tests.benchmarks.first_frame", "--device", device]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    print(f"first frame of {BLOCKS} blocks in ms, {found[0]['title']}, fastest of {processes} processes")
    best = [min((told[run] for told in found), key=lambda phases: phases[TOTAL]) for run in RUNS]
    print(f"{'':22}" + "".join(f"{run:>14}" for run in RUNS))
    for phase in (*PHASES, COLLECTING, REST, TOTAL):
        print(f"{phase:22}" + "".join(f"{phases[phase]:14.2f}" for phases in best))
    totals = (" ".join(f"{total:.0f}" for total in sorted(t[run][TOTAL] for t in found)) for run in RUNS)
    for run, total in zip(RUNS, totals, strict=True):
        print(f"{run}, all processes: {total}")
    for name, (count, milliseconds) in sorted(found[-1].get("calls", {}).items(), key=lambda each: -each[1][1])[:20]:
        print(f"{name:40} {count:6} calls {milliseconds:8.2f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    print(json.dumps(in_this_process(parser.parse_args().device)))
