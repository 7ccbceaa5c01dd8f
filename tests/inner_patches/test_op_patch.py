"""An op graph opens as a patch over a catalogue of ops."""

import json
from typing import Any

import pytest

from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import PatchError
from warploom.engine.inner_patches.op_patch import OpPatch, op_catalogue
from warploom.engine.ops import CATEGORIES, OPS, graph_from_json
from warploom.engine.ops.table import Misuse, OpCall
from warploom.engine.ops.types import S32, BufferType
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.rules import ConnectionRefused, TypeMismatch
from warploom.engine.types import f32, float4

_SCALED: dict[str, Any] = {
    "note": "kept",
    "nodes": [
        {"id": "x", "type": "op.input", "position": [0, 8], "title": "Wave"},
        {"id": "out", "type": "op.output", "position": [400, 0]},
        {"id": "times", "type": "op.multiply", "position": [200, 0], "parameters": {"b": 2.5}, "colour": "red"},
        {"id": "odd", "type": "op.of_another_version", "position": [0, 0], "parameters": {"depth": 3}},
    ],
    "connections": [
        {"source": "times.out", "target": "out.value"},
        {"source": "x.value", "target": "times.a"},
    ],
}


def _of(*types: str) -> OpPatch:
    patch = OpPatch()
    for type_id in types:
        patch.add(type_id, node_id=type_id.partition(".")[2])
    return patch


def test_a_graph_that_is_opened_and_written_is_the_same() -> None:
    written = OpPatch.parse(_SCALED).json()
    assert json.loads(json.dumps(written)) == _SCALED
    assert graph_from_json(written).key() == graph_from_json(_SCALED).key()


def test_every_op_can_be_placed_with_all_that_it_declares() -> None:
    for name, op in OPS.items():
        patch = OpPatch()
        node = patch.add(name)
        for setting in op.values:
            patch.set(node, **{setting.name: setting.default})
            assert patch.value(node, setting.name) == setting.default, name
        block = op_catalogue().require(name)
        assert [port.name for port in block.inputs()] == [port.name for port in op.inputs], name
        shown = [port.name for port in op.outputs if not port.is_internal]
        assert [port.name for port in block.outputs()] == shown, name
        assert graph_from_json(patch.json()).key() == patch.graph().key(), name


def test_an_input_takes_a_buffer_just_when_the_table_says_so() -> None:
    for op in OPS.values():
        settings = {setting.name: setting.default for setting in op.values}
        right = {port.name: BufferType(f32, writable=True) if port.takes_buffer else S32 for port in op.inputs}
        for port in op.inputs:
            wrong = S32 if port.takes_buffer else BufferType(f32, writable=True)
            try:
                used = op.rule(OpCall(op, _node(op.id), {**right, port.name: wrong}, settings)).inputs
            except Misuse as refused:
                assert refused.expected == ("buffer" if port.takes_buffer else "value"), op.id
            else:  # with these settings the op doesn't read this input
                assert port.name not in used and not port.takes_buffer, op.id


def _node(op: str) -> Any:
    return _of(op).graph().nodes[0]


def test_the_palette_has_the_order_of_the_table() -> None:
    shown = list(dict.fromkeys(op.category for op in op_catalogue().all()))
    assert shown == [category for category in CATEGORIES if category in shown]
    assert op_catalogue().search("multiply add")[0].id == "op.multiply_add"


def test_the_palette_has_every_op_but_those_that_only_warploom_uses() -> None:
    assert {op.id for op in op_catalogue().all()} == OPS.keys() - {"op.element", "op.aggregate"}


def test_types_are_inferred_at_both_ends_of_connections() -> None:
    patch = _of("op.input", "op.sin", "op.output")
    patch.connect(PortRef("input", "value"), PortRef("sin", "x"))
    patch.connect(PortRef("sin", "out"), PortRef("output", "value"))
    assert str(patch.flow(PortRef("output", "value"), is_input=True)) == "f32"
    patch.set("input", type="float4")
    assert str(patch.flow(PortRef("output", "value"), is_input=True)) == "float4"
    assert patch.flow(PortRef("input", "buffer"), is_input=False) == BufferType(float4)


def test_a_buffer_is_no_value_and_the_refusal_says_what_to_do() -> None:
    patch = _of("op.input", "op.add", "op.load")
    with pytest.raises(TypeMismatch, match="load an element of it"):
        patch.connect(PortRef("input", "buffer"), PortRef("add", "a"))
    with pytest.raises(TypeMismatch, match="connect the buffer of an input"):
        patch.connect(PortRef("input", "value"), PortRef("load", "buffer"))
    patch.connect(PortRef("input", "buffer"), PortRef("load", "buffer"))
    fitting = patch.fitting_ends(PortRef("input", "buffer"))
    assert fitting == {PortRef("load", "buffer")}
    assert PortRef("add", "a") in patch.fitting_ends(PortRef("load", "out"))


def test_what_a_region_computes_leaves_it_by_its_op() -> None:
    patch = _of("op.for", "op.add", "op.floor")
    patch.move_into("add", "for")
    patch.connect(PortRef("for", "a"), PortRef("add", "a"))
    patch.connect(PortRef("add", "out"), PortRef("for", "next_a"))
    with pytest.raises(ConnectionRefused, match="must use the outputs of for"):
        patch.connect(PortRef("add", "out"), PortRef("floor", "x"))
    patch.connect(PortRef("for", "a"), PortRef("floor", "x"))
    assert not [problem for problem in patch.problems if problem.node in patch.nodes]


def test_an_error_names_its_op() -> None:
    patch = _of("op.input", "op.output")
    patch.set("input", name="title")
    patch.connect(PortRef("input", "value"), PortRef("output", "value"))
    assert [(problem.node, problem.port) for problem in patch.problems] == [("input", "name")]


def test_an_input_that_has_a_value_is_connected_as_an_input() -> None:
    patch = _of("op.input", "op.add")
    connection = patch.connect(PortRef("input", "value"), PortRef("add", "b"))
    assert not patch.is_value_connection(connection)
    assert isinstance(patch.find_end(connection.target), PortSpec)
    assert patch.value("add", "b") == 0.0


def test_titles_tell_constants_and_named_ops_apart() -> None:
    patch = OpPatch()
    assert patch.title(patch.add("op.constant", value=2.5).id) == "2.5"
    assert [patch.title(patch.add("op.input").id) for _ in range(2)] == ["Input x", "Input x_2"]
    assert patch.title(patch.add("op.parameter", name="gain").id) == "Parameter gain"


@pytest.mark.parametrize(
    "graph", [{"nodes": 3}, {"nodes": [{"id": "a"}]}, {"connections": [{"source": "a.x", "target": "b.y"}]}]
)
def test_what_is_no_graph_is_refused(graph: dict[str, Any]) -> None:
    with pytest.raises(PatchError, match="op graph"):
        OpPatch.parse(graph)


def test_a_connection_to_a_port_that_no_op_has_is_a_problem_at_its_op() -> None:
    ends = [{"id": "x", "type": "op.input"}, {"id": "out", "type": "op.output"}]
    patch = OpPatch.parse({"nodes": ends, "connections": [{"source": "x.a.b", "target": "out.value"}]})
    (problem,) = patch.problems
    assert problem.node == "out" and problem.message.endswith("got 'a.b'")
