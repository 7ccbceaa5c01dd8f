"""Child graphs on every device: all nodes of another graph as one node."""

import numpy as np
import pytest

from tests.device.graph_support import Kernels
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import ConditionalKind, GraphNode
from warploom.engine.diagnostics import DeviceError


@pytest.fixture(scope="module")
def kernels(device: Device) -> Kernels:
    """The kernels on each device in turn."""
    return Kernels(device)


def test_a_child_graph_runs_as_one_node(kernels: Kernels) -> None:
    """A child graph runs between its dependencies and its dependents, in its own order, and may be added twice."""
    device, out = kernels.device, kernels.number(0, np.int64)
    child, graph = device.create_graph(), device.create_graph()
    two = kernels.add(child, "digit", out, 2)
    kernels.add(child, "digit", out, 3, after=[two])
    one = kernels.add(graph, "digit", out, 1)
    first = graph.add_child(child, [one])
    four = kernels.add(graph, "digit", out, 4, after=[first])
    graph.add_child(child, [four])
    assert kernels.run(graph, out) == [123423]


def test_a_child_graph_is_taken_as_it_is(kernels: Kernels) -> None:
    """A child graph is copied when it is added, so later nodes and its destruction have no effect."""
    device, out = kernels.device, kernels.number(0, np.int64)
    child, graph = device.create_graph(), device.create_graph()
    node = kernels.add(child, "digit", out, 1)
    graph.add_child(child, [])
    kernels.add(child, "digit", out, 2, after=[node])
    child.destroy()
    assert kernels.run(graph, out) == [1]
    with pytest.raises(DeviceError, match="after it was destroyed"):
        graph.add_child(child, [])


def test_child_graphs_nest_and_hold_every_simple_node(kernels: Kernels) -> None:
    """Child graphs may contain kernels, fills, copies and other child graphs, even empty ones."""
    device = kernels.device
    a, b = kernels.number(5), kernels.number(0)
    pinned = device.pinned(np.zeros(1, np.int32))
    inner, outer, graph = (device.create_graph() for _ in range(3))
    fill = inner.add_memset(a.memory, 0, 4, [])
    kernels.add(inner, "add", a, 3, after=[fill])
    node = outer.add_child(inner, [])
    copied = outer.add_copy(b.memory, a.memory, 4, [node])
    outer.add_child(device.create_graph(), [copied])
    last = graph.add_child(outer, [])
    graph.add_copy(pinned, b.memory, 4, [last])
    assert kernels.run(graph, a, b) == [3, 3]
    assert pinned.array[0] == 3


def test_kernels_of_a_child_graph_can_be_updated(kernels: Kernels) -> None:
    """Kernels of a child graph at any depth are updated separately for each use of the child.

    Node `i` of the child has the number `added + 1 + i`.
    """
    device, out = kernels.device, kernels.number(0, np.int64)
    inner, child, graph = (device.create_graph() for _ in range(3))
    first = kernels.add(inner, "digit", out, 1)
    kernels.add(inner, "digit", out, 2, after=[first])
    begin = kernels.add(child, "digit", out, 3)
    within = child.add_child(inner, [begin])
    one = graph.add_child(child, [])
    _, (body,) = graph.add_conditional(ConditionalKind.IF, graph.create_condition(1), [one])
    two = body.add_child(child, [])
    executable = graph.instantiate()
    assert kernels.run(executable, out) == [312312]
    kernels.update(executable, GraphNode(one + 1 + within + 1 + first), "digit", out, 7)
    kernels.update(executable, GraphNode(two + 1 + begin), "digit", out, 9)
    device.fill(out.memory, 0)
    assert kernels.run(executable, out) == [372912]


def test_nodes_can_be_added_after_a_child(kernels: Kernels) -> None:
    """The node after a child is numbered after the child's nodes, which can't be dependencies."""
    device, out = kernels.device, kernels.number(0, np.int64)
    child, graph = device.create_graph(), device.create_graph()
    kernels.add(child, "digit", out, 1)
    kernels.add(child, "digit", out, 2, after=[GraphNode(0)])
    node = graph.add_child(child, [])
    with pytest.raises(DeviceError, match="same graph or body, got 1"):
        kernels.add(graph, "digit", out, 3, after=[GraphNode(node + 1)])
    assert kernels.add(graph, "digit", out, 3, after=[node]) == node + 3
    assert kernels.run(graph, out) == [123]


def test_child_graphs_have_no_conditions(kernels: Kernels) -> None:
    """A child graph with conditions is refused with a remedy, as CUDA refuses it; a graph can't be its own child."""
    device = kernels.device
    child, graph = device.create_graph(), device.create_graph()
    child.add_conditional(ConditionalKind.WHILE, child.create_condition(0), [])
    with pytest.raises(DeviceError, match=r"child graph must have no conditions.*add its nodes to the graph itself"):
        graph.add_child(child, [])
    with pytest.raises(DeviceError, match="child graph must be another graph"):
        graph.add_child(graph, [])
    assert kernels.run(graph) == []
