"""The cost of editing a kernel's op graph: `python -m tests.benchmarks.bench_ops --device host|cuda:0`.

Kernels have 50 ops: arithmetic alone, with four exponentials, or with four sines. One edit changes an operation, so
that no cache has the kernel; another changes a number, which is passed to the kernel. The shortest time of several is
printed, since other work on the machine only adds to it; for edits, the median is printed too.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from warploom import Engine, Patch, ProfilingLevel, open_device
from warploom.api import Block, BlockBuilder, Out, f32, port
from warploom.engine.device.device import Device
from warploom.engine.ops import OpGraph, OpGraphBuilder, compile_graph, graph_from_json, graph_to_json

OPS, CALLS, REPEATS = 50, 4, 9
#: The pause after an edit, as a person makes one, in which the optimiser works.
PAUSE_S = 0.5
WAIT_S = 20.0


class Ramp(Block, id="bench.ramp"):
    """Outputs an array to compute with."""

    out: Out[f32] = port(doc="Numbers from 0 to 1.", shape="[65536]")

    def describe(self, build: BlockBuilder) -> None:
        build.provide(self.out, np.linspace(0, 1, 65536, dtype=np.float32))


def graph(function: str, change: float, edit: tuple[int, str] = (-1, "")) -> OpGraph:
    """Return a chain of OPS ops, CALLS of which are calls of a function if one is named.

    `change` changes the numbers; `edit` is the place and the type of an op.
    """
    build = OpGraphBuilder()
    value = build.add("op.input", "x", name="x")["value"]
    amount = build.add("op.parameter", "amount", name="amount", default=2.0)["out"]
    length = OPS - 3
    for index in range(length):
        if function and index % (length // CALLS) == length // CALLS - 1:
            value = build.add(f"op.{function}", f"n{index}", x=value)["out"]
        else:
            kind = edit[1] if index == edit[0] else ("op.add", "op.multiply", "op.subtract")[index % 3]
            other: Any = amount if index % 5 == 0 else 1.0 + change + index / 100
            value = build.add(kind, f"n{index}", a=value, b=other)["out"]
    build.add("op.output", "out", name="out", value=value)
    return build.graph()


def taken_ms(call: Callable[[int], object], pause_s: float = 0.0) -> tuple[float, float]:
    """Return the shortest and the median time of a call, which is given the number of its repetition."""
    times = []
    for number in range(REPEATS):
        began = time.perf_counter_ns()
        call(number)
        times.append(time.perf_counter_ns() - began)
        time.sleep(pause_s)
    return min(times) / 1e6, median(times) / 1e6


def bench(device: Device, function: str) -> None:
    """Print a row of the table."""
    texts = [graph_to_json(graph(function, 0, (number, "op.minimum"))) for number in range(REPEATS)]
    compiling, _ = taken_ms(lambda number: compile_graph(graph_from_json(texts[number])))
    kernels = [compile_graph(graph_from_json(text)) for text in texts]

    def load(number: int) -> None:
        device.load_module(kernels[number].ptx).kernel(kernels[number].entry)

    loading, _ = taken_ms(load, PAUSE_S)
    edits = {name: bench_edit(device, function, is_number=name == "a number") for name in ("an op", "a number")}
    said = "   ".join(
        f"{name} {least:5.1f} ms, {usual:5.1f} ({', '.join(levels)})" for name, (least, usual, levels) in edits.items()
    )
    print(
        f"{function or 'arithmetic':12} {len(kernels[0].ptx):6} bytes of PTX   JSON to PTX {compiling:5.1f} ms   "
        f"PTX to kernel {loading:5.1f} ms   edit to running: {said}"
    )


def bench_edit(device: Device, function: str, *, is_number: bool) -> tuple[float, float, set[str]]:
    """Return the shortest and the median time from a block's edit until its kernel runs, and the update levels."""
    patch = Patch()
    ramp, block = patch.add("bench.ramp"), patch.add("kernel.graph", graph=graph_to_json(graph(function, 0.5)))
    patch.connect(ramp["out"], block["x"])
    levels = set()
    with Engine(patch, device, profiling=ProfilingLevel.NONE) as engine:
        engine.step()

        def edit(number: int) -> None:
            edited = graph(function, 1e-3 * number) if is_number else graph(function, 0.5, (number, "op.maximum"))
            patch.set(block.id, graph=graph_to_json(edited))
            levels.add(engine.step().update_level.name)

        least, usual = taken_ms(edit, PAUSE_S)
    return least, usual, levels


def main() -> None:
    """Print the table for the device named on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="auto")
    chosen = parser.parse_args()
    # An empty folder, so that no kernel is in the cache.
    with tempfile.TemporaryDirectory(prefix="bench-ops-") as folder:
        os.environ["XDG_CACHE_HOME"] = str(Path(folder))
        device = open_device(chosen.device)
        print(device.info.name, device.info.title)
        for function in ("", "exp", "sin"):
            bench(device, function)
        device.close()


if __name__ == "__main__":
    main()
