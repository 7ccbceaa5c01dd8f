"""Independent nodes of a graph run in parallel, with the results, faults and output of a sequential run."""

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.fuzzing import seeds
from tests.waiting import repeated
from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.device import Buffer
from warploom.engine.device.graph import Graph
from warploom.engine.device.host import pool
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.graph import sections, stepper
from warploom.engine.device.host.graph.sections import Section, plan_section
from warploom.engine.device.protocol import ConditionalKind, GraphNode, LaunchConfig
from warploom.engine.diagnostics import KernelFault

SOURCE = r"""
__device__ int me() { return blockIdx.x * blockDim.x + threadIdx.x; }
extern "C" __global__ void mix(unsigned* out, const unsigned* a, const unsigned* b, unsigned k, int n) {
  int i = me();
  if (i < n) out[i] = 31 * a[i] + 17 * b[n - 1 - i] + k;
}
extern "C" __global__ void turns(float* x, const int* n) {
  float v = x[threadIdx.x];
  for (int i = 0; i < *n; i++) v = 3.7f * v * (1.0f - v);
  x[threadIdx.x] = v;
}
extern "C" __global__ void bad(unsigned* x, int at) { x[at] = 1; }
extern "C" __global__ void sum(float* total, const float* x, int n) { if (me() < n) atomicAdd(total, x[me()]); }
extern "C" __global__ void say(const int* which) { if (*which) printf("%d,%d;", *which, blockIdx.x); }
extern "C" __device__ __cudart_builtin__ void cudaGraphSetConditional(unsigned long long, unsigned);
extern "C" __global__ void down(unsigned long long condition, int* left) {
  cudaGraphSetConditional(condition, --*left > 0);
}
"""
WIDE = 128


@pytest.fixture
def device() -> Iterator[HostDevice]:
    """A device with four workers on every machine."""
    device = HostDevice(cores=4, quick_first=False)
    yield device
    device.close()


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every section in parallel, and each kernel on as many workers as it has thread blocks."""
    monkeypatch.setattr(sections, "WAKE_NS", 1)
    monkeypatch.setattr(pool, "WORTH_NS", 1)


@pytest.fixture
def ptx(cuda_ptx: Callable[..., str]) -> str:
    """The kernels above, as PTX."""
    return cuda_ptx(SOURCE)


class Nodes:
    """Adds kernels of a module to a graph."""

    def __init__(self, device: HostDevice, ptx: str, graph: Graph | None = None) -> None:
        self._module = device.load_module(ptx)
        self.graph = graph or device.create_graph()

    def add(
        self, name: str, *values: object, after: Any = (), blocks: int = 1, threads: int = 32, to: Any = None
    ) -> GraphNode:
        """Add a kernel node after other nodes, to a body if one is given."""
        kernel = self._module.kernel(name)
        config = LaunchConfig((blocks, 1, 1), (threads, 1, 1))
        return (to or self.graph).add_kernel(kernel, config, pack_arguments(kernel.parameters, values), list(after))


def zeros(device: HostDevice, count: int, dtype: Any = np.int32) -> Buffer:
    return device.upload(np.zeros(count, dtype))


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("seed", seeds(4))
def test_random_graphs_compute_what_numpy_computes(device: HostDevice, ptx: str, seed: int) -> None:
    """Random graphs of kernels, fills and child graphs, each reading two earlier results, equal numpy's results."""
    draw = random.Random(seed)
    n = draw.choice((1, 31, 1000, 4097))
    inputs = [np.random.default_rng(seed).integers(0, 2**32, n, np.uint32)]
    buffers, values = [device.upload(inputs[0])], list(inputs)
    graph, after = device.create_graph(), [()]
    for index in range(60):
        a, b = draw.randrange(len(buffers)), draw.randrange(len(buffers))
        order, target = [node for item in {a, b} for node in after[item]], zeros(device, n, np.uint32)
        if index % 10 == 7:
            node = graph.add_memset(target.memory, index, 4 * n, order)
            values.append(np.full(n, 0x01010101 * index, np.uint32))
        else:
            where = Nodes(device, ptx, None if index % 10 == 3 else graph)
            ahead = () if index % 10 == 3 else order
            blocks = -(-n // WIDE)
            node = where.add("mix", target, buffers[a], buffers[b], index, n, after=ahead, blocks=blocks, threads=WIDE)
            if where.graph is not graph:
                node = graph.add_child(where.graph, order)
            values.append(31 * values[a] + 17 * values[b][::-1] + np.uint32(index))
        buffers.append(target)
        after.append((node,))
    executable, stream = graph.instantiate(), device.create_stream()
    for _ in range(20):
        for buffer in buffers[1:]:
            device.fill(buffer.memory, 255)
        executable.launch(stream)
        for buffer, value in zip(buffers, values, strict=True):
            assert np.array_equal(buffer.download(), value)


def test_one_worker_adds_floats_in_the_order_of_the_thread_blocks(
    device: HostDevice, ptx: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one worker, atomic additions of floats follow the order of the thread blocks, even beside other branches."""
    monkeypatch.setattr(pool, "WORTH_NS", 1 << 60)  # else a machine with other work may seem to need more workers
    x = np.random.default_rng(0).normal(size=640).astype(np.float32)
    wanted = np.float32(0)
    for value in x:
        wanted += value
    given, turns = device.upload(x), device.upload(np.array([20_000], np.int32))
    totals, nodes = [zeros(device, 1, np.float32) for _ in range(4)], Nodes(device, ptx)
    for total in totals:
        first = nodes.add("turns", zeros(device, 32, np.float32), turns)
        nodes.add("sum", total, given, 640, after=[first], blocks=5, threads=128)
    executable, stream = nodes.graph.instantiate(), device.create_stream()
    for _ in range(20):
        for total in totals:
            device.fill(total.memory, 0)
        executable.launch(stream)
        assert [total.download()[0] for total in totals] == [wanted] * 4
    assert has_sections(executable)


def has_sections(executable: Any) -> bool:
    """Return whether an executable runs a section in parallel."""
    return bool(executable._program.sections.is_any_on)


@pytest.mark.usefixtures("always")
def test_a_fault_in_one_branch_names_its_kernel(device: HostDevice, ptx: str) -> None:
    """A fault in a branch names its kernel and stops later nodes; with a corrected argument, the next launch works."""
    x, y, nodes = zeros(device, 64, np.uint32), zeros(device, 64, np.uint32), Nodes(device, ptx)
    others = [zeros(device, 64, np.uint32) for _ in range(5)]
    for other in others:
        nodes.add("mix", other, x, x, 1, 64, blocks=2)
    kernel = nodes._module.kernel("bad")
    arguments = pack_arguments(kernel.parameters, [y, 1])
    node = nodes.graph.add_kernel(kernel, LaunchConfig((1, 1, 1), (1, 1, 1)), arguments, [])
    nodes.add("bad", y, 2, after=[node], threads=1)
    executable, stream = nodes.graph.instantiate(), device.create_stream()
    for _ in range(3):
        executable.launch(stream)
    assert has_sections(executable)
    for _ in range(20):
        device.fill(y.memory, 0)
        arguments.set(1, 64)
        executable.refresh([node])
        with pytest.raises(KernelFault, match=r"kernel bad,.*0 bytes past the end of the allocation of 256") as caught:
            executable.launch(stream)
        assert caught.value.kernel == "bad"
        assert not y.download().any()
        arguments.set(1, 1)
        executable.launch(stream)
        assert y.download()[:3].tolist() == [0, 1, 1]
        assert all((other.download() == 1).all() for other in others)


@pytest.mark.usefixtures("always")
def test_a_stop_ends_all_branches(ptx: str) -> None:
    """A stop ends both of two endless branches, and the device keeps working."""
    device = HostDevice(cores=3, quick_first=False, kernel_time_limit_s=None)
    nodes, count, stream = Nodes(device, ptx), device.upload(np.array([3], np.int32)), device.create_stream()
    for _ in range(2):
        nodes.add("turns", zeros(device, 32, np.float32), count)
    executable = nodes.graph.instantiate()
    executable.launch(stream)
    executable.launch(stream)
    assert has_sections(executable)
    device.write(count.memory, np.array([2**31 - 1], np.int32))
    with repeated(device.interrupt), pytest.raises(KernelFault, match="kernel turns was stopped because"):
        executable.launch(stream)
    device.write(count.memory, np.array([3], np.int32))
    executable.launch(stream)
    device.close()


@pytest.mark.usefixtures("always")
def test_the_time_limit_is_that_of_a_kernel(ptx: str) -> None:
    """The time limit applies to each kernel: a chain may take longer in total, but a kernel that hangs is stopped."""
    device = HostDevice(cores=2, quick_first=False, kernel_time_limit_s=0.3)
    nodes, stream = Nodes(device, ptx), device.create_stream()
    counts = [device.upload(np.array([3], np.int32)) for _ in range(2)]
    before: list[list[GraphNode]] = [[], []]
    for index in range(2 * 14):
        given = zeros(device, 32, np.float32), counts[index % 2]
        before[index % 2] = [nodes.add("turns", *given, after=before[index % 2])]
    executable = nodes.graph.instantiate()
    executable.launch(stream)

    turns, took_s = 0, 0.0
    while took_s < 0.4:  # seconds in total, of which each kernel takes about a fourteenth
        turns = 2 * turns or 20_000
        device.write(counts[0].memory, np.array([turns], np.int32))
        began = time.perf_counter()
        executable.launch(stream)
        took_s = time.perf_counter() - began
    device.write(counts[1].memory, np.array([2**31 - 1], np.int32))
    with pytest.raises(KernelFault, match=r"kernel turns was stopped by the time limit of 0\.3 s"):
        executable.launch(stream)
    device.close()


@pytest.mark.usefixtures("always")
def test_kernels_of_two_branches_print_one_after_the_other(
    device: HostDevice, ptx: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kernels of parallel branches print one after the other, even in the first launch that prints."""
    flags, nodes = [zeros(device, 1) for _ in range(3)], Nodes(device, ptx)
    for flag in flags:
        nodes.add("say", flag, blocks=2, threads=1)
    executable, stream = nodes.graph.instantiate(), device.create_stream()
    executable.launch(stream)
    executable.launch(stream)
    assert has_sections(executable)
    for index, flag in enumerate(flags):
        device.write(flag.memory, np.array([index + 1], np.int32))
    for _ in range(4):
        executable.launch(stream)
        assert capsys.readouterr().out == "1,0;1,1;2,0;2,1;3,0;3,1;"
    assert not has_sections(executable)


@pytest.mark.usefixtures("always")
def test_loops_captured_calls_and_other_kernels_stay_in_order(device: HostDevice, ptx: str) -> None:
    """A loop with branches in its body, a captured call and a kernel that reads both results run in order."""
    nodes, stream = Nodes(device, ptx), device.create_stream()
    graph, left, x = nodes.graph, zeros(device, 1), [zeros(device, 100, np.uint32) for _ in range(4)]
    out, nothing = (zeros(device, 100, np.uint32) for _ in range(2))
    condition = graph.create_condition(1)
    loop, (body,) = graph.add_conditional(ConditionalKind.WHILE, condition, [])
    for branch, buffer in enumerate(x):
        nodes.add("mix", buffer, buffer, nothing, branch, 100, blocks=4, to=body)
    nodes.add("down", condition, left, threads=1, to=body)
    call = device.capture("add 1", lambda _: x[0].memory.view.view(np.uint32).__iadd__(1))
    called = graph.add_captured(call, [loop])
    reader = nodes.add("mix", out, x[0], x[3], 5, 100, after=[called], blocks=4)
    executable = graph.instantiate()
    for round_ in range(12):
        for buffer in x:
            device.fill(buffer.memory, 0)
        device.write(left.memory, np.array([5], np.int32))
        if round_ == 6:
            kernel, values = nodes._module.kernel("mix"), (out, x[1], x[2], 6, 100)
            executable.update_kernel(
                reader, kernel, LaunchConfig((7, 1, 1), (16, 1, 1)), pack_arguments(kernel.parameters, values)
            )
        executable.launch(stream)
        wanted = [k * (31**5 - 1) // 30 + (k == 0) for k in range(4)]
        assert [int(buffer.download()[7]) for buffer in x] == wanted
        first, last, k = (0, 3, 5) if round_ < 6 else (1, 2, 6)
        assert (out.download() == (31 * wanted[first] + 17 * wanted[last] + k) % 2**32).all()


def test_the_time_that_workers_wait_is_no_work(device: HostDevice) -> None:
    """A launch's reported time excludes the time that workers sleep."""
    _, busy_ns = device.pool.run(lambda *_: time.sleep(0.05) is None, 8, workers=4)
    assert 0 < busy_ns < 50_000_000


@pytest.mark.parametrize(
    ("work_ns", "blocks", "cores", "wanted"),
    [(0, 100, 16, 1), (49_999, 100, 16, 1), (50_000, 100, 16, 2), (1e9, 100, 16, 16), (1e9, 3, 16, 3), (1e9, 9, 1, 1)],
)
def test_a_kernel_gets_the_workers_that_its_work_pays_for(work_ns: float, blocks: int, cores: int, wanted: int) -> None:
    """A kernel gets workers in proportion to its work, at most one for each thread block and each core."""
    assert pool.workers_for(work_ns, blocks, cores) == wanted


def section(*after: tuple[int, ...]) -> Section:
    """Return a section of instructions 1, 2 and so on; each waits for the given ones."""
    found = Section(0)
    for order in after:
        found.add(order)
    return found


def planned(found: Section, work_ns: list[float], blocks: int = 1, cores: int = 4) -> Any:
    count = len(work_ns)
    return plan_section(found, [stepper.KERNEL] * count, work_ns, [blocks] * count, cores)


def test_only_what_pays_is_planned() -> None:
    """Sections of short kernels run on one thread unless they have long branches; those of long kernels are planned."""
    chain, branches = section((), (1,), (2,), (3,)), section((), (), (), ())
    assert planned(chain, [40_000.0] * 4) is None
    assert planned(branches, [10_000.0] * 4) is None
    assert planned(branches, [40_000.0] * 4).first_wakes == 2
    assert planned(branches, [40_000.0] * 4, cores=1) is None
    assert [node[5] for node in planned(chain, [200_000.0] * 4, blocks=9).nodes] == [4] * 4
    assert planned(chain, [200_000.0] * 4).first_wakes == 0


def test_a_plan_has_every_dependency_once_and_the_longest_path_first() -> None:
    """A plan lists each dependency once, and a node's successors by their longest path to the end."""
    found = planned(section((), (1,), (1,), (2, 3), (3,)), [60_000.0, 10_000.0, 80_000.0, 30_000.0, 90_000.0])
    follows = {1 + index: found.links[node[2] : node[3]] for index, node in enumerate(found.nodes)}
    assert follows == {1: [3, 2], 2: [4], 3: [5, 4], 4: [], 5: []}
    assert [node[1] for node in found.nodes] == [0, 1, 1, 2, 1]
    assert [node[4] for node in found.nodes] == [230_000, 40_000, 170_000, 30_000, 90_000]
    assert (found.links[: found.begins], found.ends) == ([1], 2)
