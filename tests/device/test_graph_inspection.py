"""What can be learnt of a graph and of a device's memory, on every device."""

from __future__ import annotations

import re

import pytest

from engine.device.device import Device
from engine.device.host import HostDevice
from engine.device.protocol import ConditionalKind, Graph
from tests.device.graph_support import Kernels


@pytest.fixture(scope="module")
def kernels(device: Device) -> Kernels:
    """The kernels on each device in turn."""
    return Kernels(device)


def loop_with_child(kernels: Kernels) -> Graph:
    """Make a graph with a kernel, a child graph, a fill, and a loop."""
    graph, child, out = kernels.device.create_graph(), kernels.device.create_graph(), kernels.number(0)
    kernels.add(child, "multiply", out, 2)
    first = kernels.add(graph, "add", out, 1)
    second = graph.add_child(child, [first])
    third = graph.add_memset(out.memory, 0, 4, [second])
    condition = graph.create_condition(1)
    _, (body,) = graph.add_conditional(ConditionalKind.WHILE, condition, [third])
    kernels.add(body, "count_to", condition, out, 3)
    return graph


def test_dot_names_the_kernels(kernels: Kernels) -> None:
    """It is a digraph with an edge for each dependency."""
    text = loop_with_child(kernels).dot()
    assert text.lstrip().startswith("digraph")
    assert text.count("{") == text.count("}")
    for name in ("add", "multiply"):
        assert re.search(rf"\b{name}\b", text)
    assert text.count("->") >= 3


def test_dot_of_an_empty_graph_is_a_digraph(kernels: Kernels) -> None:
    """With nothing in it."""
    text = kernels.device.create_graph().dot()
    assert text.lstrip().startswith("digraph")
    assert "->" not in text


def test_free_memory_is_part_of_all_memory(device: Device) -> None:
    """So a person can be told what is needed and what there is."""
    assert 0 < device.memory_free_bytes <= device.info.memory_bytes


def test_dot_on_the_host_shows_bodies_and_child_graphs_as_clusters(host: HostDevice) -> None:
    """With every node and dependency, launches and sizes."""
    lines = [line.strip() for line in loop_with_child(Kernels(host)).dot().splitlines()]
    for expected in (
        r'n0 [label="0: add\n(1, 1, 1) x (1, 1, 1)"];',
        'n1 [label="1: child graph"];',
        "subgraph cluster_1 {",
        'label="child graph of 1";',
        r'n2 [label="2: multiply\n(1, 1, 1) x (1, 1, 1)"];',
        r'n3 [label="3: memset\n4 bytes to 0"];',
        'n4 [label="4: WHILE"];',
        'label="WHILE body of 4";',
        r'n5 [label="5: count_to\n(1, 1, 1) x (1, 1, 1)"];',
        "n0 -> n1;",
        "n1 -> n3;",
        "n3 -> n4;",
        "n4 -> n5 [style=dashed, lhead=cluster_2];",
    ):
        assert expected in lines
