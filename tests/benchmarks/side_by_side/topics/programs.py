"""Whole programs: ten million particles beside CUDA C++ by hand, and training steps beside torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

from tests.benchmarks import bench_particles, bench_tensor
from tests.benchmarks.side_by_side.contest import OURS, Contest, Program
from warploom import Engine, ProfilingLevel
from warploom.engine.device.device import Device

SIZE = 1920, 1080


def contests(device: Device, scale: float = 1.0) -> Iterator[Contest]:
    """Yield the contests on a device; `scale` multiplies the particles."""
    on_gpu = device.info.name != "host"
    count = round((10_000_000 if on_gpu else 200_000) * scale)
    particles = Particles(device, count)
    yield Contest(
        f"{count / 1e6:g} M particles",
        {
            OURS: particles.patch,
            "by hand, a kernel for each step": partial(particles.by_hand, at_once=False),
            "by hand, one kernel": partial(particles.by_hand, at_once=True),
        },
        batch=10 if on_gpu else 1, wanted=1.1,
    )  # fmt: skip
    for case in bench_tensor.cases(on_gpu) if scale == 1 else ():  # their networks have one size
        yield Contest(
            f"training step, {case.name}, batch {case.batch}",
            {OURS: partial(our_step, device, case), "torch": partial(torch_step, case, on_gpu)},
            batch=20,
        )


class Particles:
    """The patch of `bench_particles`, and the same program by hand."""

    def __init__(self, device: Device, count: int) -> None:
        self._device, self._count = device, count
        self._engine: Engine | None = None

    def patch(self, opened: ExitStack) -> Program:
        """Launch the patch's graph."""
        patch, self._moved, self._drawn = bench_particles.patch(self._count, SIZE)
        engine = self._engine = opened.enter_context(
            Engine(patch, self._device, profiling=ProfilingLevel.NONE, time_step_s=bench_particles.STEP_S)
        )
        for _ in range(bench_particles.FRAMES):
            engine.step()
        compiled, stream = engine.core.updates.compiled, engine.core.launcher.stream
        assert compiled is not None
        return Program(lambda: compiled.launch(stream), stream.synchronize)

    def by_hand(self, opened: ExitStack, *, at_once: bool) -> Program:
        """Launch the program by hand, which goes on from the patch's particles."""
        assert self._engine is not None
        particles = self._engine.read(self._moved["out"])
        program = bench_particles.ByHand(self._device, particles, SIZE, float(self._count), bench_particles.FRAMES)
        opened.callback(program.free)
        return Program(partial(program.frame, at_once=at_once), self._device.synchronize)


def our_step(device: Device, case: bench_tensor.Case, opened: ExitStack) -> Program:
    """Make a step of training."""
    graph = opened.enter_context(case.graph(device))
    return Program(graph.step, graph.synchronize)


def torch_step(case: bench_tensor.Case, on_gpu: bool, _: ExitStack) -> Program:
    """Make the same step in torch, as a CUDA graph on a GPU."""
    import torch

    _, step = case.torch_functions(torch, "cuda" if on_gpu else "cpu")
    wait: Callable[[], object] = torch.cuda.synchronize if on_gpu else lambda: None
    return Program(bench_tensor.captured(torch, step) if on_gpu else step, wait)
