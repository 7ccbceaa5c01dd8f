"""Graphs of the host device in native code: interrupted loops, faults, printing, and the cost of an iteration."""

import sys
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from tests.device.graph_support import SOURCE, Kernels
from tests.waiting import repeated, until
from warploom.engine.device.device import Buffer
from warploom.engine.device.graph import Graph
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.graph import executable as host_executable
from warploom.engine.device.protocol import Condition, ConditionalKind, GraphNode, LaunchConfig
from warploom.engine.diagnostics import DeviceError, KernelFault

MORE = """
extern "C" __device__ int printf(const char*, ...);
extern "C" __global__ void say(const int* value) { printf("%d.%d ", *value, blockIdx.x); }
extern "C" __global__ void store_at(int* out, const int* index) { out[*index] = 1; }
extern "C" __global__ void fill_grid(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
extern "C" __global__ void stay(volatile int* out) { while (*out >= 0); }
extern "C" __global__ void spend(const int* rounds, int* out)
{
    int x = blockIdx.x;
    for (int i = 0; i < *rounds; i++) x = x * 1664525 + 1013904223;
    out[blockIdx.x] = x;
}
"""


@pytest.fixture
def device() -> Iterator[HostDevice]:
    """A host device for this test alone, without a time limit."""
    device = HostDevice(cores=2, kernel_time_limit_s=None, quick_first=False)
    yield device
    device.close()


def endless(kernels: Kernels, kind: str) -> tuple[Graph, GraphNode]:
    """Return a graph that never ends, and the name of its outermost loop."""
    graph, out = kernels.device.create_graph(), kernels.device.upload(np.zeros(1 << 20, np.int32))
    condition = graph.create_condition(1)
    node, (body,) = graph.add_conditional(ConditionalKind.WHILE, condition, [])
    if kind == "small kernel":
        kernels.add(body, "add", out, 1)
    elif kind == "large kernel":
        kernels.add(body, "fill_grid", out, config=LaunchConfig((4096, 1, 1), (256, 1, 1)))
    elif kind == "fill":
        body.add_memset(out.memory, 1, 64, [])
    elif kind == "long copy":
        body.add_copy(out.memory, out.memory, 4 << 20, [])
    elif kind == "inner loop":
        _, (inner,) = body.add_conditional(ConditionalKind.WHILE, body.create_condition(1), [])
        kernels.add(inner, "add", out, 1)
    return graph, node


KINDS = ("empty", "small kernel", "large kernel", "fill", "long copy", "inner loop")


@pytest.mark.parametrize("kind", KINDS)
def test_an_interruption_ends_a_loop(device: HostDevice, kind: str) -> None:
    """Ctrl+C ends a loop with any body, the error names the loop, and the device keeps working."""
    kernels = Kernels(device, SOURCE + MORE)
    graph, node = endless(kernels, kind)
    executable = graph.instantiate()
    for _ in range(2):
        refused = pytest.raises(DeviceError, match=f"loop of graph node {node} was stopped because that was asked for")
        with repeated(device.interrupt, 0.1), refused:
            executable.launch(kernels.stream)
    out = kernels.number(1)
    other = device.create_graph()
    kernels.add(other, "add", out, 1)
    assert kernels.run(other, out) == [2]


@pytest.mark.parametrize("kind", KINDS)
def test_the_time_limit_ends_a_loop(kind: str) -> None:
    """The time limit ends a loop even if each kernel in it is short, counted from the loop's start."""
    device = HostDevice(cores=2, kernel_time_limit_s=0.2, quick_first=False)
    kernels = Kernels(device, SOURCE + MORE)
    executable = endless(kernels, kind)[0].instantiate()
    begin = time.perf_counter()
    with pytest.raises(DeviceError, match=r"was stopped by the time limit of 0\.2 s"):
        executable.launch(kernels.stream)
    assert time.perf_counter() - begin > 0.19
    device.close()


def test_the_time_limit_counts_for_each_outermost_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Consecutive loops may together exceed the time limit if each stays within it."""
    # The process's processor time replaces the wall clock, so that a busy machine does not lengthen the loops.
    monkeypatch.setattr(host_executable, "time", SimpleNamespace(perf_counter_ns=time.process_time_ns))
    device = HostDevice(cores=2, kernel_time_limit_s=0.5, quick_first=False)
    kernels = Kernels(device, SOURCE + MORE)
    graph, after = device.create_graph(), list[GraphNode]()
    spend, ignored, times = kernels.module.kernel("spend"), kernels.number(0), []
    for _ in range(3):
        begin = time.process_time()
        device.launch(spend, (1,), (1,), [kernels.number(1_000_000), ignored])
        times.append(time.process_time() - begin)
    rounds = kernels.number(int(1_000_000 * 0.001 / min(times)))
    counters = [kernels.number(0) for _ in range(8)]
    for counter in counters:
        condition = graph.create_condition(1)
        node, (body,) = graph.add_conditional(ConditionalKind.WHILE, condition, after)
        first = kernels.add(body, "spend", rounds, ignored)
        kernels.add(body, "count_to", condition, counter, 75, after=[first])  # 75 turns of 1 ms
        after = [node]
    assert kernels.run(graph, *counters) == [75] * 8
    device.close()


def test_a_kernel_that_hangs_in_a_loop_is_stopped() -> None:
    """A kernel that hangs in a loop is stopped by its own time limit, and the error names the kernel."""
    device = HostDevice(cores=2, kernel_time_limit_s=1, quick_first=False)
    kernels = Kernels(device, SOURCE + MORE)
    graph, out, turns = device.create_graph(), kernels.number(-100), kernels.number(0)
    condition = graph.create_condition(1)
    _, (body,) = graph.add_conditional(ConditionalKind.WHILE, condition, [])
    stays = kernels.add(body, "stay", out)
    added = kernels.add(body, "add", out, 1, after=[stays])
    kernels.add(body, "count_to", condition, turns, 1000, after=[added])
    executable = graph.instantiate()
    with pytest.raises(KernelFault, match=r"kernel stay was stopped by the time limit of 1 s"):
        executable.launch(kernels.stream)
    assert [int(item.download()[0]) for item in (out, turns)] == [0, 100]
    device.close()


def test_closing_the_device_ends_a_loop(device: HostDevice) -> None:
    """Closing the device ends the launch of an endless loop, and the call to close returns."""
    kernels = Kernels(device, SOURCE + MORE)
    graph, turns = device.create_graph(), kernels.number(0)
    _, (body,) = graph.add_conditional(ConditionalKind.WHILE, graph.create_condition(1), [])
    kernels.add(body, "add", turns, 1)
    executable, errors = graph.instantiate(), []

    def launch() -> None:
        try:
            executable.launch(kernels.stream)
        except DeviceError as problem:
            errors.append(str(problem))

    thread = threading.Thread(target=launch)
    thread.start()
    until(lambda: turns.download()[0] > 0)
    device.close()
    thread.join()
    assert "because the device was closed" in errors[0]


def counted(kernels: Kernels, limit: int) -> tuple[Graph, Condition, Graph, GraphNode, Buffer]:
    """Return a graph whose loop has `turns` iterations: graph, condition, body, the body's last node, and counter."""
    graph, out = kernels.device.create_graph(), kernels.number(0)
    condition = graph.create_condition(1)
    _, (body,) = graph.add_conditional(ConditionalKind.WHILE, condition, [])
    node = kernels.add(body, "count_to", condition, out, limit)
    return graph, condition, body, node, out


def test_a_turn_of_small_kernels_costs_no_calls_of_python(device: HostDevice) -> None:
    """A loop of small kernels makes fewer calls of Python than a quarter of its iterations."""
    kernels = Kernels(device, SOURCE + MORE)
    turns = 20_000
    graph, _, body, node, out = counted(kernels, turns)
    for _ in range(3):
        node = kernels.add(body, "add", kernels.number(0), 1, after=[node])
    executable = graph.instantiate()
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        assert kernels.run(executable, out) == [turns]
    finally:
        sys.setprofile(None)
    assert calls < turns / 4


def test_a_fault_in_a_loop_names_the_kernel_and_ends_the_launch(device: HostDevice) -> None:
    """A fault in a loop ends the launch in that turn and names the kernel, even after turns without a fault."""
    kernels = Kernels(device, SOURCE + MORE)
    graph, _, body, node, out = counted(kernels, 1000)
    small, after = device.upload(np.zeros(10, np.int32)), kernels.number(0)
    stored = kernels.add(body, "store_at", small, out, after=[node])
    kernels.add(body, "add", after, 1, after=[stored])
    executable = graph.instantiate()
    with pytest.raises(KernelFault, match=r"kernel store_at, PTX line .*0 bytes past the end of the allocation of 40"):
        executable.launch(kernels.stream)
    assert [int(item.download()[0]) for item in (out, after)] == [10, 9]
    device.fill(out.memory, 255)
    kernels.update(executable, stored, "add", small, 1)
    assert kernels.run(executable, after) == [1010]


def test_output_printed_in_a_loop_comes_in_order(device: HostDevice, capsys: pytest.CaptureFixture[str]) -> None:
    """Output printed in a loop is ordered by turn, then by thread block."""
    kernels = Kernels(device, SOURCE + MORE)
    graph, _, body, node, out = counted(kernels, 5)
    kernels.add(body, "say", out, after=[node], config=LaunchConfig((3, 1, 1), (1, 1, 1)))
    kernels.run(graph)
    assert capsys.readouterr().out == "".join(f"{turn}.{block} " for turn in range(1, 6) for block in range(3))


def test_memory_that_was_freed_is_not_written(device: HostDevice) -> None:
    """Small fills and copies in native code refuse memory that was freed, including pinned arrays."""
    memory, pinned = device.allocate(64), device.pinned(np.zeros(64, np.uint8))
    graph, other = device.create_graph(), device.create_graph()
    graph.add_memset(memory, 1, 64, [])
    other.add_copy(device.allocate(64), pinned, 64, [])
    executables, stream = (graph.instantiate(), other.instantiate()), device.create_stream()
    for executable in executables:
        executable.launch(stream)
    memory.free()
    pinned.free()
    for executable in executables:
        with pytest.raises(DeviceError, match="after it was freed"):
            executable.launch(stream)


def test_a_kernel_that_became_slow_is_measured_again(device: HostDevice) -> None:
    """The time of a kernel's thread block is measured again after the kernel became slow."""
    kernels = Kernels(device, SOURCE + MORE)
    graph, rounds, out = device.create_graph(), kernels.number(1), device.upload(np.zeros(64, np.int32))
    kernels.add(graph, "spend", rounds, out, config=LaunchConfig((64, 1, 1), (1, 1, 1)))
    executable, kernel = graph.instantiate(), kernels.module.kernel("spend")
    for _ in range(5):
        kernels.run(executable)
    quick_ns = kernel.block_ns  # type: ignore[attr-defined]
    rounds.upload(np.array([200_000], np.int32))
    for _ in range(2):
        kernels.run(executable)
    assert kernel.block_ns != quick_ns  # type: ignore[attr-defined]


def test_an_invalid_condition_handle_is_a_fault(device: HostDevice) -> None:
    """An invalid condition handle is a fault at the instruction that sets the condition."""
    kernels, buffer = Kernels(device), device.upload(np.zeros(4, np.int32))
    for handle in (0, buffer.pointer + 16, buffer.pointer + 2):
        with pytest.raises(KernelFault, match=r"kernel set, PTX line .* for 4 bytes"):
            device.launch(kernels.module.kernel("set"), (1,), (1,), [handle, 1])


def test_conditions_end_with_graph_and_executables(device: HostDevice) -> None:
    """A condition's handle is valid as long as its graph or an executable exists, and a fault afterwards."""
    kernels = Kernels(device)
    graph, condition, _, _, out = counted(kernels, 3)
    executable = graph.instantiate()
    graph.destroy()
    del graph, _
    before = len(device.table.snapshot())
    assert kernels.run(executable, out) == [3]
    executable.destroy()
    assert len(device.table.snapshot()) == before - 1
    with pytest.raises(KernelFault, match="in no live buffer"):
        device.launch(kernels.module.kernel("set"), (1,), (1,), [condition, 1])


def test_better_code_takes_over_in_the_middle_of_a_loop(optimiser: None) -> None:
    """A running loop switches to its kernels' optimised code as soon as that is ready."""
    device = HostDevice(cores=2, kernel_time_limit_s=None)
    kernels = Kernels(device, SOURCE + MORE)
    graph, out = device.create_graph(), kernels.number(0)
    _, (body,) = graph.add_conditional(ConditionalKind.WHILE, graph.create_condition(1), [])
    kernels.add(body, "add", out, 1)
    executable, kernel = graph.instantiate(), kernels.module.kernel("add")

    def wait() -> None:
        until(lambda: kernel.job is None)  # type: ignore[attr-defined]
        before = out.download()[0]
        until(lambda: out.download()[0] > before + 1000)
        device.interrupt()

    thread = threading.Thread(target=wait)
    thread.start()
    with pytest.raises(DeviceError, match="loop of graph node"):
        executable.launch(kernels.stream)
    thread.join()
    device.close()


def test_a_long_fill_after_a_small_kernel_is_not_skipped(device: HostDevice) -> None:
    """A long fill that native code leaves to Python runs in each launch, after a small kernel that native code runs."""
    kernels = Kernels(device)
    graph, count, long = device.create_graph(), kernels.number(0), device.upload(np.zeros(4 << 20, np.uint8))
    first = kernels.add(graph, "add", count, 1)
    fill = graph.add_memset(long.memory, 7, 4 << 20, [first])
    kernels.add(graph, "add", count, 10, after=[fill])
    executable, stream = graph.instantiate(), device.create_stream()
    for turn in range(1, 5):
        device.fill(long.memory, 0)
        executable.launch(stream)
        assert (long.download() == 7).all()
        assert int(count.download()[0]) == 11 * turn
