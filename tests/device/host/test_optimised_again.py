"""Kernels that are optimised again for launches that the first one was not like."""

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fuzzing import seeds
from warploom.engine.device import optimiser
from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.graph import program
from warploom.engine.device.host.modules import cache
from warploom.engine.device.host.modules import module as modules
from warploom.engine.device.host.modules.module import HostKernel
from warploom.engine.device.protocol import LaunchConfig

SOURCE = r"""
extern "C" __global__ void choose(const void* x, float* out, unsigned type, int mode, int step, int offset, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int at = offset + i * step;
  float value = type == 8 ? static_cast<float>(static_cast<const double*>(x)[at])
              : type == 4 ? static_cast<const float*>(x)[at] : static_cast<const unsigned char*>(x)[at];
  if (mode == 1) for (int k = 0; k < 5; k++) value = value * 2.0f + static_cast<float>(k);
  if (mode == 2) value = value * value + 1.0f;
  out[i] = value;
}
"""
#: Types, modes and distances between elements. Each combination is a version of its own; both 17 and -1 are too far.
KINDS = [*product((np.float64, np.float32, np.uint8), (0, 1, 2), (1, 3, 17, -1, 0))]
THREADS, MOST = 32, 100


class Chooser:
    """A device with the kernel, launched alone or as the only node of a graph, whose arguments then change."""

    def __init__(self, ptx: str, *, in_graph: bool = False, quick_first: bool = True) -> None:
        self.device = HostDevice(cores=2, quick_first=quick_first)
        self._module = self.device.load_module(ptx)
        kernel = self._module.kernel("choose")
        assert isinstance(kernel, HostKernel)
        self.kernel, self._in_graph = kernel, in_graph
        self._executable: Any = None

    def run(self, kind: tuple[type, int, int], n: int, offset: int) -> bytes:
        """Run the kernel, compare its result with numpy, and return it."""
        dtype, mode, step = kind
        x = np.random.default_rng(n).integers(0, 200, 2 * MOST * 18 + 8).astype(dtype)
        out, first = self.device.upload(np.zeros(MOST, np.float32)), MOST * 17 + offset
        given = self.device.upload(x)
        values = [given, out, x.itemsize, mode, step, first, n]
        config = LaunchConfig((-(-MOST // THREADS), 1, 1), (THREADS, 1, 1))
        if self._in_graph:
            arguments = pack_arguments(self.kernel.parameters, values)
            if self._executable is None:
                graph = self.device.create_graph()
                self._node = graph.add_kernel(self.kernel, config, arguments, [])
                self._executable = graph.instantiate()
            self._executable.update_kernel(self._node, self.kernel, config, arguments)
            for _ in range(2):  # native code runs it the second time
                self._executable.launch(self.device.create_stream())
            assert self.kernel.function_address in self._executable._program.code[:, 1]
        else:
            self.device.launch(self.kernel, config.grid, config.thread_block, values)
        value = x[first + step * np.arange(n)].astype(np.float32)
        for k in range(5 * (mode == 1)):
            value = value * 2 + k
        wanted = np.zeros(MOST, np.float32)
        wanted[:n] = value * value + 1 if mode == 2 else value
        found = out.download()
        assert np.array_equal(found, wanted), (kind, n, offset)
        return found.tobytes()

    def settle(self) -> None:
        """Wait until the kernel is optimised again, if it is about to be."""
        if self.kernel.next_job is not None:
            self.kernel.next_job.run()
            assert self.kernel.next_job is None


@pytest.fixture
def opened() -> Iterator[list[Chooser]]:
    """Choosers whose devices are closed after the test."""
    made: list[Chooser] = []
    yield made
    for each in made:
        each.device.close()


@pytest.fixture
def no_wait(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Optimise again after the first launch without a version, when the test says so; the cache begins empty."""
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(optimiser.QUEUE, "add", lambda _: None)
    monkeypatch.setattr(modules, "WORTH_OPTIMISING_NS", 0)
    monkeypatch.setattr(program, "LOOK_NS", 0)


@pytest.mark.usefixtures("no_wait")
@pytest.mark.parametrize("seed", seeds(2))
def test_code_follows_the_launches(opened: list[Chooser], cuda_ptx: Callable[..., str], seed: int) -> None:
    """Whatever the order of launches, results are those of general code; and soon all launches have a version.

    Two engines and later loads have a cache in common. It begins with code that was optimised without a launch.
    """
    random, ptx = np.random.default_rng(seed), cuda_ptx(SOURCE)

    def added(chooser: Chooser) -> Chooser:
        opened.append(chooser)
        return chooser

    def run(chooser: Chooser, kind: tuple[type, int, int]) -> None:
        n, offset = int(random.choice([0, 1, 31, MOST])), int(random.integers(8))
        assert chooser.run(kind, n, offset) == general.run(kind, n, offset)

    general = added(Chooser(ptx, quick_first=False))
    choosers = [added(Chooser(ptx)), added(Chooser(ptx, in_graph=True))]
    assert [chooser.kernel.launches for chooser in choosers] == [[], []]
    kinds = [KINDS[at] for at in random.permutation(len(KINDS))]
    for kind in kinds[:4]:
        for chooser in choosers:
            run(chooser, kind)
        choosers[int(random.integers(2))].settle()
    for chooser in (*choosers, added(Chooser(ptx, in_graph=seed % 2 == 0))):
        for kind in kinds[2:5]:
            run(chooser, kind)
            while chooser.kernel.next_job is not None:  # the first may yield the other engine's code
                chooser.settle()
                run(chooser, kind)
        for kind in kinds[2:5]:
            before = chooser.kernel.missed_blocks
            run(chooser, kind)
            assert chooser.kernel.missed_blocks == before
    assert not general.kernel.launches


@pytest.mark.usefixtures("no_wait")
def test_kernels_are_optimised_again_a_few_times_and_only_if_that_pays(
    opened: list[Chooser], cuda_ptx: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short launches change nothing, and neither do launches of new kinds after some time."""
    monkeypatch.setattr(modules, "WORTH_OPTIMISING_NS", 1 << 60)
    ptx = cuda_ptx(SOURCE)
    chooser = Chooser(ptx, quick_first=False)
    opened.append(chooser)
    for kind in KINDS[:9]:
        chooser.run(kind, MOST, 0)
        assert chooser.kernel.next_job is None
    assert chooser.kernel.missed_blocks >= 9 * 4  # two workers may both come first
    monkeypatch.setattr(modules, "WORTH_OPTIMISING_NS", 0)
    monkeypatch.setattr(modules, "MOST_TIMES", 2)
    for number, kind in enumerate(KINDS[:4]):
        chooser.run(kind, MOST, 0)
        assert (chooser.kernel.next_job is not None) == (number < 2)
        chooser.settle()
    assert len(chooser.kernel.launches or ()) == 2
    monkeypatch.setattr(modules, "MOST_TIMES", 3)
    known = chooser.kernel.launches
    chooser.run(KINDS[5], MOST, 0)
    assert chooser.kernel.next_job is not None
    chooser._module.unload(is_replaced=True)  # newer code has replaced it
    chooser.kernel.next_job.run()
    assert chooser.kernel.launches == known
