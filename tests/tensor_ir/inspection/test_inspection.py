"""Drawings and texts of tensor graphs: order, single nodes, text, DOT and SVG."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.tensor_ir.errors import InvalidOperation, TopologicalSortFailed
from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode
from warploom.engine.tensor_ir.inspection import NodeRole, graph_dot, graph_svg, graph_text, node_info, node_text
from warploom.engine.tensor_ir.operations.leaves import Constant, Leaf
from warploom.engine.tensor_ir.ordering import topological_order
from warploom.engine.tensor_ir.types import TensorType

SVG = "{http://www.w3.org/2000/svg}"


def leaf(graph: TensorGraph, name: str, *, requires_grad: bool = False) -> TensorNode:
    """Return an input or weight f32[2, 3]."""
    return graph.add(Leaf(TensorType((2, 3))), name=name, requires_grad=requires_grad)


def square_minus() -> tuple[TensorNode, ...]:
    """Return a, b, a * a and a * a - b."""
    graph = TensorGraph()
    a, b = leaf(graph, "a"), leaf(graph, "b", requires_grad=True)
    square = a * a
    return a, b, square, square - b


def test_the_order_is_depth_first() -> None:
    """Nodes are ordered depth first: inputs by slot, each just before the node that needs it."""
    a, b, square, out = square_minus()
    assert topological_order([out]) == [a, square, b, out]
    assert topological_order([square, out]) == [a, square, b, out]
    assert topological_order([out], lambda node: node is square) == [b, out]
    assert topological_order([a], lambda node: True) == []


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=60), st.data())
def test_every_order_has_all_that_is_needed_after_its_inputs(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    """An order has exactly the ancestors of the wanted nodes, each once and after its inputs."""
    nodes = [leaf(TensorGraph(), "x")]
    for first, second in pairs:
        nodes.append(nodes[first % len(nodes)] + nodes[second % len(nodes)])
    wanted = data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=4))
    order = topological_order(wanted)
    place = {node: at for at, node in enumerate(order)}
    assert len(place) == len(order)
    assert all(place[other] < at for node, at in place.items() for other in node.inputs)
    needed = set(wanted)
    for node in reversed(nodes):
        if node in needed:
            needed.update(node.inputs)
    assert needed == set(order)


def test_a_cycle_is_named() -> None:
    """A cycle, which only changing nodes by hand can make, is an error that names its nodes."""
    a, _b, square, out = square_minus()
    square.inputs = (a, out)
    told = rf"got {out.label} f32\[2, 3\] of {square.label} f32\[2, 3\] of {out.label} .*\(made at .*py:"
    with pytest.raises(TopologicalSortFailed, match=told):
        topological_order([out])
    square.inputs = (square, a)
    with pytest.raises(TopologicalSortFailed, match=rf"got {square.label} .* of {square.label} "):
        graph_text([out])


def test_a_deep_graph_needs_no_recursion() -> None:
    """A graph with ten times as many nodes as Python's limit of nested calls can be sorted."""
    node = first = leaf(TensorGraph(), "x")
    for _ in range(10_000):
        node = node + first
    assert len(topological_order([node])) == 10_001


def test_the_work_of_sorting_is_linear() -> None:
    """Each input of a node is visited once, whatever the size of the graph."""
    for length in (2_000, 4_000):
        asked = 0

        def is_known(node: TensorNode) -> bool:
            nonlocal asked
            asked += 1
            return False

        node = first = leaf(TensorGraph(), "x")
        for _ in range(length):
            node = node + first
        topological_order([node], is_known)
        assert asked <= 2 * length + 1


def test_one_node() -> None:
    """A node is shown with its inputs by slot, its role, and the line that made it."""
    a, b, square, out = square_minus()
    info = node_info(out)
    assert (info.label, info.inputs, info.role) == (f"Sub{out.number}", (square.label, "b"), NodeRole.OPERATION)
    assert info.requires_grad and info.type == TensorType((2, 3))
    assert info.origin is not None and info.origin.file == __file__
    assert [node_info(node).role for node in (a, b)] == [NodeRole.INPUT, NodeRole.WEIGHT]
    assert node_info(a.graph.add(Constant(2.0, TensorType(())))).role is NodeRole.CONSTANT


def test_text_has_a_line_for_each_node() -> None:
    """The text has a line for each node, with its type, the caller's remark, and the line that made it."""
    a, _b, square, out = square_minus()
    lines = graph_text([out], lambda node: "computed" if node is a else "").splitlines()
    assert lines[0] == "graph of 4 nodes, 2 of them leaves"
    assert re.sub(r"[^ ]*/(\w+\.py):\d+", r"\1", "\n".join(lines[1:])).splitlines() == [
        "  a: f32[2, 3]; computed; test_inspection.py",
        f"  {square.label}: f32[2, 3] of a, a; test_inspection.py",
        "  b: f32[2, 3]; requires grad; test_inspection.py",
        f"  {out.label}: f32[2, 3] of {square.label}, b; requires grad; test_inspection.py",
    ]


def test_a_constant_shows_its_value() -> None:
    """A constant is shown by its value, since its number tells a reader nothing."""
    node = TensorGraph().add(Constant(0.5, TensorType(())))
    assert node_text(node).startswith(f"{node.label}: f32[] = 0.5; ")
    assert '[label="0.5\\nf32[]"' in graph_dot([node])


def test_dot_has_a_box_for_each_node_and_an_arrow_for_each_input() -> None:
    """If a node has several inputs, each arrow has the number of the slot."""
    a, b, square, out = square_minus()
    text = graph_dot([out])
    assert len(re.findall(r"^  n\d+ \[label", text, re.M)) == 4
    arrows = re.findall(r"n(\d+) -> n(\d+) \[label=(\d)\];", text)
    ends = [(a, square, 0), (a, square, 1), (square, out, 0), (b, out, 1)]
    assert arrows == [(str(s.number), str(t.number), str(slot)) for s, t, slot in ends]
    assert text.count("{") == text.count("}")


def test_names_are_escaped() -> None:
    """Special characters in a node's name are escaped in DOT and in SVG."""
    node = leaf(TensorGraph(), '<b> "&')
    assert '<b> \\"&' in graph_dot([node])
    root = ElementTree.fromstring(graph_svg([node]))
    assert '<b> "&' in [item.text for item in root.iter(f"{SVG}text")]


def test_the_drawing_has_every_node_and_arrow() -> None:
    """The drawing has every node and every arrow, even an arrow that others imply."""
    graph = TensorGraph()
    a = leaf(graph, "a")
    out = (a + a) * a
    root = ElementTree.fromstring(graph_svg([out]))
    tips = [item.text for item in root.iter(f"{SVG}title")]
    assert tips == [node_text(node) for node in topological_order([out])]
    assert len(list(root.iter(f"{SVG}path"))) == 3 * 2  # a line and a head for each


def test_a_drawing_has_a_limit() -> None:
    """A drawing of thousands of boxes is refused, since nobody could read it."""
    node = leaf(TensorGraph(), "x")
    for _ in range(2000):
        node = -node
    with pytest.raises(InvalidOperation, match="at most 2,000 nodes, got 2,001; write DOT"):
        graph_svg([node])
