"""Edits of a graph: a slider, `patch.set` itself, a saved kernel and an added block, until the next frame has run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from tests.benchmarks import bench_updates
from tests.benchmarks.bench_updates import Bare, moving_chain
from tests.benchmarks.side_by_side.contest import OURS, Contest, Missing, Program
from tests.benchmarks.side_by_side.peers import warp_programs
from tests.benchmarks.side_by_side.topics.frames import DRIVER, engine_of, our_sliders
from warploom import Engine, ProfilingLevel
from warploom.engine.device.device import Device
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import KernelFilesChanged

SLIDERS, GRAPHS = (10, 1000), (10, 1000)
#: Each saved kernel has a number that no earlier run has compiled, so that no cache holds it.
_numbers = count(time.time_ns())
SOURCE = """
extern "C" __global__ void saxpy(const float *x, const float *y, float *out, float a, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i] + 0.0f * %d.0f;
}
"""


def contests(device: Device) -> Iterator[Contest]:
    """Yield the contests on a device. On the host, the bare calls are those of the host device."""
    on_gpu = device.info.name != "host"
    bare = DRIVER if on_gpu else "bare calls"
    yield Contest(
        "the edit of a slider, in 10 kernels",
        {OURS: partial(our_edit, device, 10), bare: partial(bare_edit, device, 10)},
        wanted=3.0, against=bare,
    )  # fmt: skip
    for length in SLIDERS:
        changed = {
            OURS: partial(our_sliders, device, length, sliders=1),
            bare: partial(bare_slider, device, length),
        }
        yield Contest(f"frame of {length} kernels, one with a moved slider", changed, against=bare)
    for length in GRAPHS:
        saved: dict[str, Callable[[ExitStack], Program]] = {OURS: partial(our_save, device, length)}
        added: dict[str, Callable[[ExitStack], Program]] = {OURS: partial(our_block, device, length)}
        if on_gpu:
            for name, capture in (("torch", TorchChain), ("CuPy", CupyChain), ("Warp", warp_programs.Chain)):
                saved[name] = partial(captured_again, capture, length, is_saved=True)
                added[name] = partial(captured_again, capture, length, is_saved=False)
        # Each save makes code that is optimised later, so they never settle.
        yield Contest(f"kernel saved among {length}, to the end of the next frame", saved, settles=False)
        yield Contest(f"block added or removed among {length}, to the end of the next frame", added)


def our_edit(device: Device, length: int, opened: ExitStack) -> Program:
    """Set a parameter as a drag of a slider does, and post it to an engine."""
    engine = engine_of(device, length, opened)
    patch, inbox, value = engine.patch, engine.core.inbox, 1.0

    def edit() -> None:
        nonlocal value
        value = value % 9 + 1e-3
        patch.set("saxpy", gesture="drag", a=value)
        inbox.clear()

    return Program(edit)


def bare_edit(device: Device, length: int, opened: ExitStack) -> Program:
    """Set the parameters of one kernel in the same graph."""
    return Program(Bare(engine_of(device, length, opened)).update)


def bare_slider(device: Device, length: int, opened: ExitStack) -> Program:
    """Set the parameters of one kernel, and launch the graph."""
    bare = Bare(engine_of(device, length, opened))

    def frame() -> None:
        bare.update()
        bare.launch()

    return Program(frame)


def moving(device: Device, length: int, opened: ExitStack) -> tuple[Patch, Engine]:
    """Return a patch with a kernel file, and its engine, which has run a frame."""
    patch = moving_chain(length)
    engine = opened.enter_context(Engine(patch, device, profiling=ProfilingLevel.NONE, fuse=False))
    engine.step()
    return patch, engine


def our_save(device: Device, length: int, opened: ExitStack) -> Program:
    """Save a kernel, and run the next frame, which compiles it and swaps it in."""
    _, engine = moving(device, length, opened)

    def save() -> None:
        bench_updates.SAVED.write_text(bench_updates.SOURCE % next(_numbers))
        engine.post(KernelFilesChanged(frozenset([bench_updates.SAVED])))
        engine.step()

    return Program(save)


def our_block(device: Device, length: int, opened: ExitStack) -> Program:
    """Add a block, and the next time remove it, each with the next frame."""
    patch, engine = moving(device, length, opened)
    is_added = False

    def edit() -> None:
        nonlocal is_added
        if is_added:
            patch.undo()
        else:
            with patch.edit("Add"):
                block = patch.add("math.saxpy", a=0.5)
                patch.connect(patch["array"]["out"], block["x"])
                patch.connect(patch["saxpy"]["out"], block["y"])
        is_added = not is_added
        engine.step()

    return Program(edit)


def captured_again(make: Callable[[], Any], length: int, _: ExitStack, *, is_saved: bool) -> Program:
    """Compile a kernel again or add a launch, capture the graph again, and replay it, as there is no other way."""
    chain, is_added = make(), False
    chain.compile(next(_numbers))

    def edit() -> None:
        nonlocal is_added
        if is_saved:
            chain.compile(next(_numbers))
        else:
            is_added = not is_added
        chain.replay(length + is_added)

    return Program(edit)


class TorchChain:
    """Kernels in torch, captured as a graph; torch compiles CUDA C++ since its version 2.9."""

    def __init__(self) -> None:
        import torch

        if not torch.cuda.is_available() or not hasattr(torch.cuda, "_compile_kernel"):
            raise Missing("torch with CUDA that compiles kernels is not installed")
        self._torch, self._source = torch, torch.ones(1024, device="cuda")
        self._turns = [torch.empty_like(self._source) for _ in range(2)]

    def compile(self, number: int) -> None:
        """Compile the kernel anew."""
        self._kernel = self._torch.cuda._compile_kernel(SOURCE % number, "saxpy")

    def replay(self, length: int) -> None:
        """Capture the launches and replay them."""
        graph, last = self._torch.cuda.CUDAGraph(), self._source
        with self._torch.cuda.graph(graph):
            for index in range(length):
                out = self._turns[index % 2]
                self._kernel((4, 1, 1), (256, 1, 1), (last, self._source, out, 1.0, 1024))
                last = out
        graph.replay()
        self._torch.cuda.synchronize()


class CupyChain:
    """Kernels in CuPy, captured as a graph."""

    def __init__(self) -> None:
        import cupy

        self._cupy, self._source = cupy, cupy.ones(1024, np.float32)
        self._turns = [cupy.empty(1024, np.float32) for _ in range(2)]
        self._stream = cupy.cuda.Stream(non_blocking=True)

    def compile(self, number: int) -> None:
        """Compile the kernel anew."""
        self._kernel = self._cupy.RawKernel(SOURCE % number, "saxpy")
        self._kernel.compile()

    def replay(self, length: int) -> None:
        """Capture the launches and launch the graph."""
        with self._stream:
            self._stream.begin_capture()
            last = self._source
            for index in range(length):
                out = self._turns[index % 2]
                self._kernel((4,), (256,), (last, self._source, out, np.float32(1), np.uint32(1024)))
                last = out
            graph = self._stream.end_capture()
        graph.launch(self._stream)
        self._stream.synchronize()
