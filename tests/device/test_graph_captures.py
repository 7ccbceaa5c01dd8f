"""Captured work in graphs on every device; here, copies stand for a library's work on a stream."""

import numpy as np
import pytest

from tests.device.graph_support import Kernels
from warploom.engine.device.device import Buffer, Device
from warploom.engine.device.protocol import Capture, ConditionalKind, GraphNode, Stream
from warploom.engine.diagnostics import DeviceError


@pytest.fixture(scope="module")
def kernels(device: Device) -> Kernels:
    """The kernels on each device in turn."""
    return Kernels(device)


def copies(device: Device, *pairs: tuple[Buffer, Buffer]) -> Capture:
    """Return a function that issues a copy for each pair, from its second buffer to its first."""

    def issue(stream: Stream) -> None:
        for target, source in pairs:
            stream.copy(target.memory, source.memory, source.size_bytes)

    return device.capture("copies", issue)


def test_captured_work_runs_between_kernels(kernels: Kernels) -> None:
    """Captured work runs between its dependencies and its dependents at every launch, and not when it is captured."""
    device, a, b = kernels.device, kernels.number(1), kernels.number(0)
    capture = copies(device, (b, a))
    assert b.download() == [0]
    graph = device.create_graph()
    before = kernels.add(graph, "add", a, 10)
    node = graph.add_captured(capture, [before])
    kernels.add(graph, "add", b, 100, after=[node])
    assert kernels.run(graph, a, b) == [11, 111]


def test_a_capture_may_be_added_several_times(kernels: Kernels) -> None:
    """A capture may be added several times, also in a child graph, and after the last reference to it is gone."""
    device, a, b = kernels.device, kernels.number(1), kernels.number(0)
    child, graph = device.create_graph(), device.create_graph()
    capture = copies(device, (b, a))
    first = child.add_captured(capture, [])
    kernels.add(child, "add", b, 5, after=[first])
    inner = graph.add_child(child, [])
    graph.add_captured(copies(device, (a, b)), [inner])
    del capture
    assert kernels.run(graph, a, b) == [6, 6]


def test_captured_work_is_replaced_in_place(kernels: Kernels) -> None:
    """Captured work is replaced in one executable, also inside a child graph, and the graph keeps its own."""
    device = kernels.device
    a, b, c = kernels.number(1), kernels.number(2), kernels.number(0)
    child, graph = device.create_graph(), device.create_graph()
    child.add_captured(copies(device, (c, a)), [])
    node = graph.add_child(child, [])
    executable, stream = graph.instantiate(), device.create_stream()
    executable.update_captured(GraphNode(node + 1), copies(device, (c, b)))
    executable.launch(stream)
    stream.synchronize()
    assert c.download() == [2]
    assert kernels.run(graph, c) == [1]
    with pytest.raises(DeviceError, match="captured work"):
        executable.update_captured(node, copies(device, (c, b)))


def test_captured_work_runs_in_bodies(kernels: Kernels) -> None:
    """Captured work in a loop's body runs once in each turn."""
    device, a, b = kernels.device, kernels.number(1), kernels.number(0)
    graph = device.create_graph()
    condition = graph.create_condition(1)
    _, (body,) = graph.add_conditional(ConditionalKind.WHILE, condition, [])
    node = body.add_captured(copies(device, (b, a)), [])
    last = kernels.add(body, "add", a, 1, after=[node])
    kernels.add(body, "turn", condition, kernels.number(0), 3, after=[last])
    assert kernels.run(graph, a, b) == [4, 3]


def test_captured_work_stays_in_a_clone(kernels: Kernels) -> None:
    """A clone keeps captured work, and removing it from the clone does not affect the graph."""
    device, a, b = kernels.device, kernels.number(1), kernels.number(0)
    graph = device.create_graph()
    node = graph.add_captured(copies(device, (b, a)), [])
    clone = graph.clone()
    assert kernels.run(clone, b) == [1]
    b.upload(np.zeros(1, np.int32))
    clone = graph.clone()
    clone.remove(node)
    assert kernels.run(clone, b) == [0]
    assert kernels.run(graph, b) == [1]


def test_a_library_that_fails_says_so(kernels: Kernels) -> None:
    """A library's failure raises an error and leaves the device usable.

    The error occurs during the capture on CUDA, and during the run on the host.
    """
    device, a, b = kernels.device, kernels.number(1), kernels.number(0)

    def fail(stream: Stream) -> None:
        raise ValueError("no such algorithm")

    graph = device.create_graph()
    with pytest.raises(DeviceError, match=r"solve must (run|be captured), got ValueError: no such algorithm"):
        graph.add_captured(device.capture("solve", fail), [])
        kernels.run(graph)
    graph = device.create_graph()
    graph.add_captured(copies(device, (b, a)), [])
    assert kernels.run(graph, b) == [1]


@pytest.mark.parametrize("wrong", [None, 3, "copy"])
def test_calls_that_are_no_function_are_refused(device: Device, wrong: object) -> None:
    """What can't be called is refused when it is captured, not when the graph runs."""
    with pytest.raises(DeviceError, match="calls of sum must be a function of a stream, got "):
        device.capture("sum", wrong)  # type: ignore[arg-type]
