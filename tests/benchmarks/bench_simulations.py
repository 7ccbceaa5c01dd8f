"""The time of a frame of simulations and renderers, beside a copy where they move memory.

    python -m tests.benchmarks.bench_simulations --device host|cuda:0 [--cases NAME ...]

Each row has the time of a frame, the elements that are computed in a second, and, where memory is the limit, the bytes
that a step must read and write as a share of a copy's bandwidth. Times are medians of one run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np

from tests.benchmarks.bench_fusion import milliseconds, run_copy
from warploom import Engine, Patch, ProfilingLevel, open_device
from warploom.engine.device.device import Device

#: A patch, the elements of a step, the steps of a frame, and the bytes of each element in a step or 0.
Case = tuple[Patch, int, int, int]


def field(block: str, port: str, edge: int, **parameters: Any) -> Case:
    """Return a field that spreads or lives."""
    patch = Patch()
    node = patch.add(block, **parameters)
    data = (np.random.default_rng(1).random((edge, edge), np.float32) < 0.3).astype(np.float32)
    patch.connect(patch.add("io.array", data=data)["out"], node[port])
    return patch, edge * edge, parameters.get("steps", 1), 8


def lattice(edge: int) -> Case:
    """Return a wind tunnel."""
    patch = Patch()
    patch.add("field.lattice_boltzmann", width=2 * edge, height=edge, steps=10)
    return patch, 2 * edge * edge, 10, 72


def water(count: int, steps: int) -> Case:
    """Return a cube of water, four particles deep into its reach."""
    patch, edge = Patch(), round(count ** (1 / 3))
    spacing = 1.0 / edge
    source = patch.add("particles.scatter", count=edge**3, shape="box", size=0.5, height=0.5, speed=0.0)
    node = patch.add("particles.sph", spacing=spacing, steps=steps, gravity=0.0, half_width=0.5, half_depth=0.5)
    patch.connect(source["particles"], node["particles"])
    return patch, edge**3, steps, 0


def cloth(edge: int) -> Case:
    """Return a sheet that hangs by its corners."""
    patch = Patch()
    patch.add("geometry.cloth", columns=edge, rows=edge, steps=16)
    return patch, edge * edge, 16, 0


def trails(count: int, length: int, width: int, blend: str) -> Case:
    """Return the trails of particles, and their picture if there is a width."""
    patch = Patch()
    source, move = patch.add("particles.scatter", count=count, speed=1.0), patch.add("particles.integrate", floor=-9.0)
    points, kept = patch.add("particles.points_of"), patch.add("geometry.trails", length=length)
    patch.connect(source["particles"], move["particles"])
    patch.connect(move["out"], points["particles"])
    patch.connect(points["points"], kept["points"])
    if width:
        draw = patch.add("geometry.render_lines", width=width, height=width * 9 // 16, distance=8.0, blend=blend)
        patch.connect(kept["lines"], draw["points"])
    return patch, count * length, 1, 0 if width else 32


def marched(width: int) -> Case:
    """Return the scene with which Ray March begins."""
    patch = Patch()
    node = patch.add("geometry.ray_march")
    patch.set(node, width=width, height=width * 9 // 16)
    return patch, width * width * 9 // 16, 1, 0


#: By name, the case and its sizes on the host and on a GPU.
CASES: dict[str, tuple[Callable[..., Case], tuple[Any, ...], tuple[Any, ...]]] = {
    "automaton": (
        lambda edge: field("field.cellular_automaton", "cells", edge),
        (1024,),
        (8192,),
    ),
    "heat": (lambda edge: field("field.heat", "field", edge, steps=4), (1024,), (8192,)),
    "lattice boltzmann": (lattice, (128,), (2048,)),
    "sph": (water, (8_000, 2), (1_000_000, 2)),
    "cloth": (cloth, (64,), (1024,)),
    "trails": (lambda count, length: trails(count, length, 0, ""), (2_000, 32), (400_000, 64)),
    "lines of light": (lambda *sizes: trails(*sizes, "light"), (1_000, 32, 960), (100_000, 64, 1920)),
    "wires": (lambda *sizes: trails(*sizes, "over"), (1_000, 32, 960), (100_000, 64, 1920)),
    "ray march": (marched, (320,), (1920,)),
}


def measure(device: Device, case: Case, batch: int) -> float:
    """Return the time of a frame in milliseconds, after some that fill the state."""
    with Engine(case[0], device, profiling=ProfilingLevel.NONE) as engine:
        for _ in range(3):
            report = engine.step()
            assert not report.diagnostics, report.diagnostics
        compiled, stream = engine.core.updates.compiled, engine.core.launcher.stream
        assert compiled is not None
        return milliseconds(lambda: compiled.launch(stream), stream.synchronize, batch)


def main() -> None:
    """Print the table for the device on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="host")
    parser.add_argument("--cases", nargs="*", default=[], help="beginnings of names of rows; all without it")
    options = parser.parse_args()
    with closing(open_device(options.device)) as device:
        on_gpu = device.info.name != "host"
        batch, data = (5, np.ones(1 << 26, np.float32)) if on_gpu else (1, np.ones(1 << 22, np.float32))
        copied = 2 * data.nbytes / run_copy(device, data, batch)
        print(f"{device.info.title}: a copy moves {copied * 1e-9:.3f} TB/s")
        for name, (make, small, large) in CASES.items():
            if options.cases and not name.startswith(tuple(options.cases)):
                continue
            sizes = large if on_gpu else small
            case = make(*sizes)
            taken, (_, elements, steps, size) = measure(device, case, batch), case
            rate = elements * steps / taken * 1e-6
            share = f"{elements * steps * size / taken / copied:7.2f} of a copy" if size else ""
            print(f"{name:20}{', '.join(map(str, sizes)):22}{taken:10.3f} ms {rate:10.3f} G/s {share}", flush=True)


if __name__ == "__main__":
    main()
