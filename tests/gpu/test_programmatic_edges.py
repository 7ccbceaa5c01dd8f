"""Programmatic edges give the same bits as plain edges in random graphs of kernels with random run times."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from cuda.bindings import driver

from tests.device.graph_support import SOURCE, Kernels
from warploom.engine.device.cuda.cubin import waiting_kernels
from warploom.engine.device.cuda.module import CudaKernel, own_kernel
from warploom.engine.device.device import Buffer, Device
from warploom.engine.device.graph import Graph
from warploom.engine.device.open import open_device
from warploom.engine.device.protocol import ConditionalKind, GraphNode, LaunchConfig
from warploom.engine.diagnostics import DeviceError
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.ptx.waits import waiting_ptx

pytestmark = pytest.mark.gpu

#: Reads its neighbours, spins, and writes its own element in a cache line that other thread blocks write too.
MIX = """
extern "C" __global__ void stir(
    const unsigned* a, const unsigned* b, unsigned* out, unsigned n, unsigned key, unsigned spin)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned early = (i < n ? out[i] : 0) + a[(i + 33) % n] + b[(i * 7 + key) % n];
    long long end = clock64() + (blockIdx.x * 2654435761u + key) % spin;
    while (clock64() < end) {}
    unsigned late = a[(i + 1) % n] + 3 * b[(i + n - 1) % n];
    if (i < n) out[i] = 31 * early + late + key;
}
"""
#: Threads in a thread block. They write 400 bytes, which is not a multiple of a cache line.
THREADS = 100
SIZES = (96, 1000, 5000)


@dataclass
class Step:
    """A kernel, fill or copy that reads and writes buffers of a pool."""

    kind: str
    reads: tuple[int, ...]
    writes: int
    key: int
    spin: int
    after: set[int] = field(default_factory=set)


def random_steps(draw: random.Random, count: int, buffers: int, plain_share: float) -> list[Step]:
    """Return random steps, each with edges from the steps that it must follow, without redundant edges."""
    steps: list[Step] = []
    reaches: list[set[int]] = []
    for _ in range(count):
        kind = draw.choice(("fill", "copy")) if draw.random() < plain_share else "stir"
        writes = draw.randrange(buffers)
        others = [buffer for buffer in range(buffers) if buffer != writes]
        reads = tuple(draw.choice(others) for _ in range({"fill": 0, "copy": 1, "stir": 2}[kind]))
        step = Step(kind, reads, writes, draw.randrange(1, 200), draw.choice((1, 300, 3000)))
        touched = {writes, *reads}
        needed = {at for at, other in enumerate(steps) if other.writes in touched or writes in other.reads}
        implied = set().union(*(reaches[at] for at in needed))
        step.after = needed - implied
        reaches.append(needed | implied)
        steps.append(step)
    return steps


class Workshop:
    """Kernels that run with plain or with programmatic edges, and pools of buffers for them."""

    def __init__(self, device: Device, source: str) -> None:
        self.device = device
        self.kernels = Kernels(device, SOURCE + source)

    @property
    def loaded(self) -> list[CudaKernel]:
        """All kernels of the module."""
        module = self.kernels.module
        return [own_kernel(module.kernel(name)) for name in module.kernel_names]

    def add(self, graph: Graph, steps: list[Step], pool: list[Buffer], after: list[GraphNode]) -> list[GraphNode]:
        """Add steps to a graph, to run after the nodes `after`; return the last nodes."""
        nodes: list[GraphNode] = []
        for step in steps:
            before = [nodes[at] for at in step.after] or after
            out, size = pool[step.writes], pool[step.writes].size_bytes
            match step.kind:
                case "fill":
                    nodes.append(graph.add_memset(out.memory, step.key, size, before))
                case "copy":
                    nodes.append(graph.add_copy(out.memory, pool[step.reads[0]].memory, size, before))
                case _:
                    n = size // 4
                    config = LaunchConfig((-(-n // THREADS), 1, 1), (THREADS, 1, 1))
                    a, b = (pool[read] for read in step.reads)
                    values = (a, b, out, n, step.key, step.spin)
                    nodes.append(self.kernels.add(graph, "stir", *values, after=before, config=config))
        waited = set().union(*(step.after for step in steps))
        return [node for at, node in enumerate(nodes) if at not in waited]

    def pool(self, count: int, size: int) -> list[Buffer]:
        """Return new buffers, whose contents depend only on their index."""
        return [self.device.upload(np.arange(at, at + size, dtype=np.uint32)) for at in range(count)]

    def results(self, graph: Graph, pools: list[list[Buffer]], launches: int) -> list[bytes]:
        """Launch a graph a number of times and return the final contents of the buffers."""
        executable = graph.instantiate()
        for _ in range(launches):
            executable.launch(self.kernels.stream)
        self.kernels.stream.synchronize()
        found = [buffer.download().tobytes() for pool in pools for buffer in pool]
        executable.destroy()
        graph.destroy()
        for pool in pools:
            for buffer in pool:
                buffer.free()
        return found

    def flat(self, seed: int, launches: int) -> list[bytes]:
        """Run a random graph, which may contain a child graph."""
        draw = random.Random(seed)
        size, count = draw.choice(SIZES), draw.randint(3, 7)
        pool, graph = self.pool(count, size), self.device.create_graph()
        ends = self.add(graph, random_steps(draw, draw.randint(3, 40), count, draw.choice((0, 0.2))), pool, [])
        if draw.random() < 0.4:
            child = self.device.create_graph()
            self.add(child, random_steps(draw, draw.randint(2, 12), count, 0.1), pool, [])
            ends = [graph.add_child(child, ends)]
            child.destroy()
            self.add(graph, random_steps(draw, 5, count, 0), pool, ends)
        return self.results(graph, [pool], launches)

    def bodies(self, seed: int, launches: int) -> list[bytes]:
        """Run a random graph of parallel loops and choices, each with its own buffers."""
        draw = random.Random(seed)
        graph, pools, size = self.device.create_graph(), [], draw.choice(SIZES)
        for _ in range(draw.randint(1, 6)):
            pool = self.pool(4, size)
            pools.append(pool)
            first = self.add(graph, random_steps(draw, draw.randint(0, 4), 4, 0), pool, [])
            condition = graph.create_condition(1)
            if draw.random() < 0.7:
                kind, counter = ConditionalKind.WHILE, self.kernels.number(0)
                pools.append([counter])
                node, (inside,) = graph.add_conditional(kind, condition, first)
                ends = self.add(inside, random_steps(draw, draw.randint(1, 8), 4, draw.choice((0, 0.2))), pool, [])
                self.kernels.add(inside, "turn", condition, counter, draw.randint(1, 5), after=ends)
            else:
                decided = self.kernels.add(graph, "if_even", condition, pool[0], after=first)
                node, (inside,) = graph.add_conditional(ConditionalKind.IF, condition, [decided])
                self.add(inside, random_steps(draw, draw.randint(1, 8), 4, 0.1), pool, [])
            self.add(graph, random_steps(draw, draw.randint(1, 4), 4, 0), pool, [node])
        return self.results(graph, pools, launches)


@pytest.fixture(scope="module")
def device(cuda: Device) -> Device:
    """The first GPU, if its kernels can use programmatic edges."""
    if int(cuda.info.architecture.removeprefix("sm_")) < 90:
        pytest.skip("programmatic edges need compute capability 9.0")
    return cuda


@pytest.fixture(scope="module")
def workshop(device: Device) -> Workshop:
    """A workshop whose kernels wait for the kernels before them."""
    made = Workshop(device, MIX)
    assert all(kernel.waits for kernel in made.loaded)
    return made


def both(workshop: Workshop, run: str, seed: int, launches: int) -> Iterator[list[bytes]]:
    """Yield the results with plain edges, then those with programmatic edges."""
    for waits in (False, True):
        for kernel in workshop.loaded:
            kernel.waits = waits
        yield getattr(workshop, run)(seed, launches)


@pytest.mark.parametrize(("run", "graphs", "launches"), [("flat", 300, 25), ("bodies", 150, 20)])
def test_random_graphs_give_what_they_give_with_plain_edges(
    workshop: Workshop, run: str, graphs: int, launches: int
) -> None:
    """More than ten thousand launches of random graphs give the same results with plain and with programmatic edges."""
    for seed in range(graphs):
        plain, programmatic = both(workshop, run, seed, launches)
        assert plain == programmatic, f"seed {seed}"


def test_kernels_that_do_not_wait_would_be_wrong(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that do not wait give wrong results with programmatic edges, so the test above detects missing waits.

    Loops are left out: the next turn could begin while a kernel is active, which faults the GPU.
    """
    monkeypatch.setattr("warploom.engine.kernel_sources.cuda.nvrtc.waiting_cuda", lambda text, architecture: None)
    careless = Workshop(device, MIX + "// not waiting\n")
    assert not any(kernel.waits for kernel in careless.loaded)
    wrong = 0
    for seed in range(20):
        plain, programmatic = both(careless, "flat", seed, 3)
        wrong += plain != programmatic
    assert wrong >= 10


def test_plain_edges_give_the_same(workshop: Workshop) -> None:
    """On a device opened with plain edges, kernels don't wait, and the results are the same."""
    device = open_device("cuda:0", plain_edges=True)
    plain = Workshop(device, MIX)
    assert not any(kernel.waits for kernel in plain.loaded)
    assert plain.flat(3, 5) == workshop.flat(3, 5)
    plain.kernels.stream.destroy()
    device.close()


@pytest.fixture(scope="module")
def careless(device: Device) -> Kernels:
    """The same kernels in a CUBIN in which none waits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warploom.engine.kernel_sources.cuda.nvrtc.waiting_cuda", lambda text, architecture: None)
        return Kernels(device, SOURCE + "// by another compiler\n")


def digits(kernels: Kernels) -> tuple[Graph, list[GraphNode], Buffer]:
    """Return a chain of three kernels that append the digits 1, 2 and 3 to a number."""
    graph, out, nodes = kernels.device.create_graph(), kernels.number(0, np.int64), list[GraphNode]()
    for value in (1, 2, 3):
        nodes.append(kernels.add(graph, "digit", out, value, after=nodes[-1:]))
    return graph, nodes, out


def test_an_executable_refuses_a_kernel_that_does_not_wait(workshop: Workshop, careless: Kernels) -> None:
    """An executable with programmatic edges refuses a kernel that does not wait, and keeps the old one."""
    kernels = workshop.kernels
    graph, nodes, out = digits(kernels)
    executable = graph.instantiate()
    with pytest.raises(DeviceError, match="must wait for the kernels before it"):
        careless.update(executable, nodes[1], "digit", out, 9)
    assert kernels.run(executable, out) == [123]
    kernels.update(executable, nodes[1], "digit", out, 7)
    assert kernels.run(executable, out) == [123173]


def test_a_graph_takes_one_and_back_again(workshop: Workshop, careless: Kernels) -> None:
    """A clone can replace a waiting kernel with one that doesn't wait, and back, and edit the edges around it."""
    kernels = workshop.kernels
    graph, nodes, out = digits(kernels)
    first = graph.instantiate()
    clone = graph.clone()
    clone.set_kernel(
        nodes[1],
        careless.module.kernel("digit"),
        LaunchConfig((1, 1, 1), (1, 1, 1)),
        careless.arguments("digit", out, 8),
    )
    assert kernels.run(clone, out) == [183]
    again = clone.clone()
    again.set_kernel(
        nodes[1], kernels.module.kernel("digit"), LaunchConfig((1, 1, 1), (1, 1, 1)), kernels.arguments("digit", out, 2)
    )
    again.set_after(nodes[2], [])
    again.set_after(nodes[0], [nodes[2]])
    assert kernels.run(again, out) == [183312]
    last = again.clone()
    last.remove(nodes[0])
    last.set_after(nodes[1], [nodes[2]])
    assert kernels.run(last, out) == [18331232]
    assert kernels.run(first, out) == [18331232123]


def test_the_drivers_compiler_keeps_the_wait_first(device: Device) -> None:
    """At each optimisation level, the driver's compiler keeps the wait before loads that it could otherwise move up."""
    source = """
    extern "C" __global__ void k(const float4* __restrict__ a, float4* __restrict__ out, const int* __restrict__ n)
    {
        float4 x = a[0], y = a[1], z = a[*n];
        out[0] = make_float4(x.x + y.x, z.x, 0, 0);
        out[1] = x;
    }
    """
    ptx = compile_cuda(source, Path("k.cu"), "compute_80", []).ptx
    ptx = ptx.replace(ptx[ptx.index(".version") :].splitlines()[0], ".version 7.0")
    assert "ld.global.nc" in ptx
    waiting = waiting_ptx(ptx)
    assert waiting is not None
    option = driver.CUjit_option.CU_JIT_OPTIMIZATION_LEVEL
    for level in range(5):
        result, link = driver.cuLinkCreate(1, [option], [level])
        assert not result
        data = waiting.encode() + b"\0"
        kind = driver.CUjitInputType.CU_JIT_INPUT_PTX
        (result,) = driver.cuLinkAddData(link, kind, data, len(data), b"k.ptx", 0, [], [])
        assert not result
        result, image, size = driver.cuLinkComplete(link)
        assert not result
        assert waiting_kernels(ctypes.string_at(image, size)) == {"k"}
        driver.cuLinkDestroy(link)
