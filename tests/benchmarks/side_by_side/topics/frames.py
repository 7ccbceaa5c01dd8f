"""Frames of small kernels, and frames in which parameters have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np

from tests.benchmarks.bench_edges import bare_chain, torch_chain
from tests.benchmarks.bench_updates import Bare
from tests.benchmarks.first_frame import chain
from tests.benchmarks.side_by_side.contest import OURS, Contest, Missing, Program
from warploom import Engine, ProfilingLevel
from warploom.engine.device.device import Device
from warploom.engine.patch.changes import ParameterChanged

#: The numbers of kernels of a frame, and our time over that of a bare graph that is wanted.
LENGTHS = {3: 0.8, 10: 0.8, 20: 0.7, 100: 0.7, 1000: 0.7}
BARE = "bare CUDA graph"
#: The fewest driver calls for our own graph.
DRIVER = "driver calls alone"


def contests(device: Device) -> Iterator[Contest]:
    """Yield the contests on a CUDA device; on the host there is no graph to compare with."""
    if device.info.name == "host":
        return
    for length, wanted in LENGTHS.items():
        programs = {
            OURS: partial(our_frame, device, length),
            BARE: lambda _, length=length: Program(bare_chain(length)),
            "torch": partial(torch_graph, length),
            "CuPy": partial(cupy_graph, length),
        }
        yield Contest(f"frame of {length} kernels", programs, wanted=wanted, against=BARE)
    for length in (10, 1000):
        changed = {OURS: partial(our_sliders, device, length), DRIVER: partial(bare_sliders, device, length)}
        yield Contest(f"frame of {length} kernels, each with a moved slider", changed, wanted=1.5, against=DRIVER)


def engine_of(device: Device, length: int, opened: ExitStack) -> Engine:
    """Return an engine of a chain that has run a frame."""
    engine = opened.enter_context(Engine(chain(length), device, profiling=ProfilingLevel.NONE, fuse=False))
    engine.step()
    return engine


def our_frame(device: Device, length: int, opened: ExitStack) -> Program:
    """Run whole frames, with their reports."""
    return Program(engine_of(device, length, opened).step)


def our_sliders(device: Device, length: int, opened: ExitStack, *, sliders: int | None = None) -> Program:
    """Run frames that each find new values for this number of kernels, or for all."""
    engine = engine_of(device, length, opened)
    names = [node for node in engine.patch.nodes if node.startswith("saxpy")][:sliders]
    messages = cycle([[ParameterChanged(node, "a", value, None) for node in names] for value in (1.0, 2.0)])

    def frame() -> None:
        engine.core.inbox.extend(next(messages))
        engine.core.frame()

    return Program(frame)


def bare_sliders(device: Device, length: int, opened: ExitStack) -> Program:
    """Set the parameters of every kernel of the same graph by driver calls, and launch it."""
    bare = Bare(engine_of(device, length, opened))

    def frame() -> None:
        bare.update_all()
        bare.launch()

    return Program(frame)


def torch_graph(length: int, _: ExitStack) -> Program:
    """Replay torch's graph of the same chain."""
    replay = torch_chain(length)
    if replay is None:
        raise Missing("torch with CUDA is not installed")
    return Program(replay)


def cupy_graph(length: int, _: ExitStack) -> Program:
    """Launch a graph that CuPy has captured of the same chain."""
    import cupy

    saxpy: Callable[..., Any] = cupy.ElementwiseKernel("T a, T x, T y", "T out", "out = a * x + y", "saxpy")
    source, turns = cupy.ones(1024, np.float32), [cupy.empty(1024, np.float32) for _ in range(2)]
    stream = cupy.cuda.Stream(non_blocking=True)

    def run() -> None:
        last = source
        for index in range(length):
            saxpy(np.float32(1), last, source, turns[index % 2])
            last = turns[index % 2]

    with stream:
        run()  # compiles the kernel
        stream.begin_capture()
        run()
        graph = stream.end_capture()
    return Program(lambda: graph.launch(stream), stream.synchronize)
