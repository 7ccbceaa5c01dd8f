"""Updating an executable from another graph, on every device: what is taken over, and what is refused and why."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from engine.device.device import Buffer, Device
from engine.device.protocol import ConditionalKind, Graph, GraphNode, UpdateResult
from engine.diagnostics import DeviceError
from tests.device.graph_support import Kernels


@pytest.fixture(scope="module")
def kernels(device: Device) -> Kernels:
    """The kernels on each device in turn."""
    return Kernels(device)


def chain(kernels: Kernels, out: Buffer, *steps: tuple[str, int]) -> Graph:
    """Make a graph of kernels, each after the one before."""
    graph, after = kernels.device.create_graph(), list[GraphNode]()
    for name, value in steps:
        after = [kernels.add(graph, name, out, value, after=after)]
    return graph


def test_functions_and_arguments_are_taken_over(kernels: Kernels) -> None:
    """The other graph may go afterwards, and nodes are updated by the numbers that both graphs gave them."""
    out, other = kernels.number(1), kernels.number(100)
    executable = chain(kernels, out, ("add", 2), ("multiply", 5)).instantiate()
    assert kernels.run(executable, out) == [15]
    graph = chain(kernels, other, ("multiply", 3), ("multiply", 2))
    assert executable.update_from(graph) == UpdateResult(True)
    graph.destroy()
    assert kernels.run(executable, out, other) == [15, 600]
    kernels.update(executable, GraphNode(1), "add", other, 1)
    assert kernels.run(executable, out, other) == [15, 1801]


def test_kernels_taken_over_outlive_their_module(kernels: Kernels) -> None:
    """As those of the first graph do."""
    out, theirs = kernels.number(1), Kernels(kernels.device)
    executable = chain(kernels, out, ("add", 2)).instantiate()
    graph = chain(theirs, out, ("multiply", 9))
    assert executable.update_from(graph).applied
    graph.destroy()
    theirs.module.unload()
    assert kernels.run(executable, out) == [9]
    executable.destroy()


def test_fills_copies_and_events_are_taken_over(kernels: Kernels) -> None:
    """With other places, values and sizes."""
    device = kernels.device
    a, b = (device.upload(np.arange(8, dtype=np.uint8)) for _ in range(2))
    pinned = [device.pinned(np.zeros(8, np.uint8)) for _ in range(2)]
    events = [device.create_event() for _ in range(4)]

    def build(memory: Buffer, value: int, size: int, index: int) -> Graph:
        graph = device.create_graph()
        start = graph.add_event_record(events[2 * index], [])
        fill = graph.add_memset(memory.memory, value, size, [start])
        copy = graph.add_copy(pinned[index], memory.memory, 4 + size, [fill])
        graph.add_event_record(events[2 * index + 1], [copy])
        return graph

    executable = build(a, 50, 2, 0).instantiate()
    assert executable.update_from(build(b, 60, 3, 1)).applied
    kernels.run(executable)
    np.testing.assert_array_equal(a.download(), np.arange(8))
    np.testing.assert_array_equal(pinned[0].array, np.zeros(8))
    np.testing.assert_array_equal(pinned[1].array, [60, 60, 60, 3, 4, 5, 6, 0])
    assert events[3].elapsed_ns(events[2]) >= 0


def test_child_graphs_are_updated_inside(kernels: Kernels) -> None:
    """Node by node."""
    out = kernels.number(0, np.int64)

    def build(*digits: int) -> Graph:
        graph = kernels.device.create_graph()
        node = graph.add_child(chain(kernels, out, *(("digit", digit) for digit in digits[:-1])), [])
        kernels.add(graph, "digit", out, digits[-1], after=[node])
        return graph

    executable = build(1, 2, 3).instantiate()
    assert executable.update_from(build(4, 5, 6)).applied
    assert kernels.run(executable, out) == [456]
    result = executable.update_from(build(1, 2, 3, 4))
    assert not result.applied
    assert result.reason
    assert kernels.run(executable, out) == [456456]


def counting(kernels: Kernels, out: Buffer, limit: int, step: int, *, default: int = 1) -> Graph:
    """Make a graph that counts `out` up to `limit` and adds `step` to it after each turn that ends below."""
    graph = kernels.device.create_graph()
    on, choice = graph.create_condition(default), graph.create_condition(1)
    _, (loop,) = graph.add_conditional(ConditionalKind.WHILE, on, [])
    counted = kernels.add(loop, "count_to", on, out, limit)
    _, (body,) = loop.add_conditional(ConditionalKind.IF, choice, [counted])
    kernels.add(body, "add", out, step)
    return graph


def test_graphs_with_loops_are_updated(kernels: Kernels) -> None:
    """Their kernels, which have the handles of the new conditions, and the defaults of those."""
    out = kernels.number(0)
    executable = counting(kernels, out, 10, 0).instantiate()
    assert kernels.run(executable, out) == [10]
    assert executable.update_from(counting(kernels, out, 20, 3)).applied
    # 11 + 3, 15 + 3, 19 + 3, 23 ends it, + 3
    assert kernels.run(executable, out) == [26]
    assert executable.update_from(counting(kernels, out, 20, 3, default=0)).applied
    assert kernels.run(executable, out) == [26]


def test_a_body_is_updated_after_an_update_of_the_whole(kernels: Kernels) -> None:
    """By the same number as before."""
    out = kernels.number(0)
    executable = counting(kernels, out, 2, 0).instantiate()
    assert executable.update_from(counting(kernels, out, 4, 0)).applied
    kernels.update(executable, GraphNode(3), "add", out, 100)
    assert kernels.run(executable, out) == [202]


def kernel(kernels: Kernels, graph: Graph, out: Buffer, *after: int) -> GraphNode:
    """Add a kernel that waits for some nodes."""
    return kernels.add(graph, "add", out, 1, after=[GraphNode(node) for node in after])


def fill(kernels: Kernels, graph: Graph, out: Buffer, *after: int) -> GraphNode:
    """Add a fill."""
    return graph.add_memset(out.memory, 0, 4, [GraphNode(node) for node in after])


def choice(kind: ConditionalKind) -> Callable[..., GraphNode]:
    """Return what adds a conditional node with a kernel in its first body."""

    def add(kernels: Kernels, graph: Graph, out: Buffer, *after: int) -> GraphNode:
        condition = graph.create_condition(0)
        node, bodies = graph.add_conditional(kind, condition, [GraphNode(before) for before in after])
        kernels.add(bodies[0], "add", out, 1)
        return node

    return add


def upload(kernels: Kernels, graph: Graph, out: Buffer, *after: int) -> GraphNode:
    """Add a copy from pinned memory."""
    source = kernels.device.pinned(np.zeros(1, np.int32))
    return graph.add_copy(out.memory, source, 4, [GraphNode(before) for before in after])


def move(kernels: Kernels, graph: Graph, out: Buffer, *after: int) -> GraphNode:
    """Add a copy between device memories."""
    source = kernels.number(0)
    return graph.add_copy(out.memory, source.memory, 4, [GraphNode(before) for before in after])


If, IfElse, While = (choice(kind) for kind in ConditionalKind)
Step = tuple[object, ...]


@pytest.mark.parametrize(
    ("before", "after", "reason", "node"),
    [
        ([(kernel,)], [(kernel,), (kernel, 0)], "there are 2 nodes, were 1", 1),
        ([(kernel,), (kernel, 0)], [(kernel,)], "there are 1 nodes, were 2", None),
        ([(kernel,)], [(fill,)], "node 0 is a memset, was a kernel", 0),
        ([(kernel,), (kernel, 0)], [(kernel,), (kernel,)], "node 1 waits for none, did for 0", 1),
        (
            [(kernel,), (kernel,), (kernel, 0, 1)],
            [(kernel,), (kernel,), (kernel, 1, 0)],
            "node 2 waits for 1, 0, did for 0, 1",
            2,
        ),
        ([(If,)], [(While,)], "node 0 is a conditional WHILE, was a conditional IF", 0),
        ([(If,)], [(IfElse,)], "node 0 is a conditional IF_ELSE, was a conditional IF", 0),
        ([(If,), (kernel, 0)], [(If,), (fill, 0)], "node 2 is a memset, was a kernel", 2),
        ([(move,)], [(upload,)], "node 0 is a copy from pinned memory to device memory, was a copy from device", 0),
        ([], [(kernel,)], "there are 1 nodes, were 0", 0),
    ],
)
def test_a_graph_that_is_built_otherwise_is_refused(
    kernels: Kernels, before: list[Step], after: list[Step], reason: str, node: int | None
) -> None:
    """With the reason and the first node that differs; the executable goes on as it was."""
    out = kernels.number(0)
    graphs = []
    for steps in (before, after):
        graph = kernels.device.create_graph()
        for add, *waits in steps:
            add(kernels, graph, out, *waits)  # type: ignore[operator]
        graphs.append(graph)
    executable = graphs[0].instantiate()
    expected = kernels.run(executable, out)[0]
    result = executable.update_from(graphs[1])
    assert not result.applied
    assert result.reason.startswith(reason)
    assert result.node == node
    kernels.device.fill(out.memory, 0)
    assert kernels.run(executable, out) == [expected]


def test_a_node_that_went_into_a_body_is_noticed(kernels: Kernels) -> None:
    """Though nodes of the same kinds were added in the same order."""
    out, graphs = kernels.number(0), []
    for inside in (False, True):
        graph = kernels.device.create_graph()
        _, (body,) = graph.add_conditional(ConditionalKind.IF, graph.create_condition(1), [])
        kernels.add(body if inside else graph, "add", out, 1)
        graphs.append(graph)
    result = graphs[0].instantiate().update_from(graphs[1])
    assert result == UpdateResult(False, "node 1 is in another body", GraphNode(1))


def test_what_cannot_be_updated_or_updated_from_is_an_error(kernels: Kernels) -> None:
    """A body, a destroyed graph, a graph with a loose condition, a destroyed executable."""
    graph, other = kernels.device.create_graph(), kernels.device.create_graph()
    _, (body,) = other.add_conditional(ConditionalKind.IF, other.create_condition(1), [])
    executable = graph.instantiate()
    with pytest.raises(DeviceError, match="body"):
        executable.update_from(body)
    other.destroy()
    with pytest.raises(DeviceError, match="destroyed"):
        executable.update_from(other)
    loose = kernels.device.create_graph()
    loose.create_condition(1)
    with pytest.raises(DeviceError, match="every condition must have a conditional node"):
        executable.update_from(loose)
    executable.destroy()
    with pytest.raises(DeviceError, match="destroy"):
        executable.update_from(graph)
