"""If and For: branches, carried values, nested loops, and misuse."""

import numpy as np
import pytest

from tests.ops.reference import Reference, assert_same
from tests.ops.running import run
from warploom.engine.device.device import Device
from warploom.engine.ops import OpGraph, OpGraphBuilder, check_op_graph, compile_graph
from warploom.engine.ops.graph import OpPort


def _compare(device: Device, graph: OpGraph, inputs: dict[str, np.ndarray], shape: tuple[int, ...]) -> None:
    expected = Reference(graph, inputs, shape).outputs()
    found = run(device, graph, inputs, shape)
    for name, array in expected.items():
        assert_same(found[name], array, name)


def test_an_if_gives_what_the_branch_that_ran_gave(device: Device) -> None:
    """An If returns its branch's values, also of different types or from outside; a missing value counts as 0."""
    g = OpGraphBuilder()
    x = g.add("op.input", "x")["value"]
    i = g.add("op.index")["index"]
    choice = g.add("op.if", "choice", condition=g.add("op.greater", a=x, b=0.0)["out"])
    root = g.add("op.sqrt", region="choice", x=x)
    inner = g.add("op.if", "inner", region="choice", condition=g.add("op.bit_and", a=i, b=1.0)["out"])
    inner.connect("then_a", g.add("op.negate", region="inner", x=root["out"])["out"])
    inner.connect("else_a", root["out"])
    choice.connect("then_a", inner["a"])
    choice.connect("else_a", i)
    choice.connect("then_b", g.add("op.add", region="choice", a=i, b=5.0)["out"])
    choice.connect("else_c", g.add("op.vector2", region="choice.else", x=x, y=1.0)["out"])
    for slot in "abc":
        g.add("op.output", f"out_{slot}", value=choice[slot])
    x_values = np.linspace(-4, 5, 1023, dtype=np.float32)
    _compare(device, g.graph(), {"x": x_values}, (1023,))


def test_a_for_carries_values_from_turn_to_turn(device: Device) -> None:
    """A Mandelbrot loop with a stop, and a nested loop of differing numbers of turns, match the evaluator."""
    g = OpGraphBuilder()
    place = g.add("op.position")
    cx = g.add("op.remap", x=place["u"], new_low=-2.0, new_high=1.0)["out"]
    cy = g.add("op.remap", x=place["v"], new_low=-1.5, new_high=1.5)["out"]
    loop = g.add("op.for", "loop", count=40.0)
    x, y = loop["a"], loop["b"]
    xx, yy, xy = (g.add("op.multiply", region="loop", a=a, b=b)["out"] for a, b in ((x, x), (y, y), (x, y)))
    real = g.add("op.subtract", region="loop", a=xx, b=yy)["out"]
    loop.connect("next_a", g.add("op.add", region="loop", a=real, b=cx)["out"])
    loop.connect("next_b", g.add("op.multiply_add", region="loop", a=xy, b=2.0, c=cy)["out"])
    size = g.add("op.add", region="loop", a=xx, b=yy)["out"]
    loop.connect("stop", g.add("op.greater", region="loop", a=size, b=4.0)["out"])
    outer = g.add("op.for", "outer", count=place["x"])
    inner = g.add("op.for", "inner", region="outer", count=outer["index"], initial_a=outer["a"])
    inner.connect("next_a", g.add("op.add", region="inner", a=inner["a"], b=inner["index"])["out"])
    half = g.add("op.multiply", region="outer", a=inner["a"], b=0.5)
    outer.connect("next_a", half["out"])
    outer.connect("next_b", g.add("op.vector2", region="outer", x=outer["index"], y=outer["c"])["out"])
    for name, port in (("turns", loop["index"]), ("x", x), ("total", outer["a"]), ("pair", outer["b"])):
        g.add("op.output", f"out_{name}", value=port)
    _compare(device, g.graph(), {}, (9, 33))


def test_a_value_leaves_a_region_only_through_its_op() -> None:
    """Each use of a value from inside a region is reported at the op whose input it is."""
    g = OpGraphBuilder()
    loop = g.add("op.for", "loop")
    inside = g.add("op.add", "inside", region="loop", a=loop["a"], b=1.0)
    g.add("op.output", "out", value=inside["out"])
    choice = g.add("op.if", "choice", condition=loop["index"])
    g.add("op.negate", "early", region="choice", x=choice["a"])
    other = g.add("op.negate", "other", region="choice.else", x=loop["index"])
    choice.connect("then_a", other["out"])
    g.add("op.output", "second", value=choice["a"])
    found = {f"{problem.node}.{problem.port}": problem.message for problem in check_op_graph(g.graph())}
    assert found["out.value"] == "value must use the outputs of loop, in which inside lies, got inside.out"
    assert found["early.x"] == "x must not use a result of choice from after its region, got choice.a"
    assert found["choice.then_a"] == "then_a must use the outputs of choice, in which other lies, got other.out"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([("a", "op.add", "", {}), ("b", "op.add", "", {}), "a.out>b.a", "b.out>a.a"], "ops must not feed themselves"),
        ([("a", "op.add", "gone", {})], "region must be an op of the graph, got 'gone'"),
        ([("a", "op.for", "b", {}), ("b", "op.for", "a", {})], "region must not lie inside itself"),
        ([("a", "op.add", "b.else", {}), ("b", "op.for", "", {})], "region must be a branch"),
        ([("a", "op.nothing", "", {})], "op must be one that exists, got 'op.nothing'"),
        ([("a", "op.add", "", {"z": 1})], "setting of Add must be one of b, got 'z'"),
        ([("a", "op.add", "", {"b": "2"})], "b must be a number, got '2'"),
        ([("a", "op.input", "", {"type": "f31"})], "type must be one of boolean"),
        ([("a.b", "op.input", "", {})], "op id must be printable text without a dot, got 'a.b'"),
        ([("a", "op.add", "", {}), "b.out>a.a"], "connection must be between ops of the graph, got 'b'"),
        ([("a", "op.add", "", {}), ("x", "op.input", "", {}), "x.out>a.a"], "output of Input must be one of value"),
        ([("a", "op.input", "", {"name": "1x"})], "name must be letters, digits and underscores, got '1x'"),
        ([("a", "op.input", "", {"name": "b"}), ("b", "op.output", "", {})], "name must differ"),
        ([("a", "op.add", "", {})], "a must be connected, got nothing"),
        ([("x", "op.input", "", {}), ("a", "op.bit_not", "", {}), "x.value>a.x"], "x must be a whole number, got f32"),
        (
            [("x", "op.input", "", {}), ("a", "op.negate", "", {}), "x.buffer>a.x"],
            "x must be a value, got buffer",
        ),
        ([("x", "op.input", "", {}), ("a", "op.load", "", {}), "x.value>a.buffer"], "buffer must be a buffer, got f32"),
    ],
)
def test_each_mistake_has_one_message_on_its_op(parts: list[tuple[str, str, str, dict] | str], message: str) -> None:
    """Each mistake is reported at its op, with the rule and the wrong value."""
    g = OpGraphBuilder()
    for part in parts:
        if isinstance(part, tuple):
            node_id, kind, region, settings = part
            g.add(kind, node_id, region=region, **settings)
        else:
            source, _, target = part.partition(">")
            g.connect(OpPort(*source.split(".")), *target.split("."))
    first = next(problem for problem in check_op_graph(g.graph()) if problem.message.startswith(message))
    assert first.node in {part[0] for part in parts if isinstance(part, tuple)}


def _powers(turns: int | None) -> OpGraph:
    """Return x + x^2 + ... + x^n + 1 by Horner's rule; the number of iterations is a parameter or a constant."""
    g = OpGraphBuilder()
    x, one = g.add("op.input", "x")["value"], g.add("op.constant", "one", value=1.0, type="f32")["out"]
    count = turns if turns is not None else g.add("op.parameter", "count", type="s32", default=5.0)["out"]
    loop = g.add("op.for", "loop", count=count, initial_a=one)
    loop.connect("next_a", g.add("op.multiply_add", region="loop", a=loop["a"], b=x, c=1.0)["out"])
    g.add("op.output", "out", value=loop["a"])
    return g.graph()


@pytest.mark.parametrize("turns", [0, 1, 5, 64])
def test_a_constant_number_of_turns_is_unrolled(optimised: Device, turns: int) -> None:
    """Optimised code for a constant number has no loop, and has the results of the code that runs first."""
    values = np.linspace(-1.5, 1.5, 1027, dtype=np.float32)
    expected = np.ones_like(values, dtype=np.float64)
    for _ in range(turns):
        expected = (expected * values + 1).astype(np.float32).astype(np.float64)
    for graph, given in ((_powers(turns), {}), (_powers(None), {"count": turns})):
        found = run(optimised, graph, {"x": values}, (1027,), is_inlined=True, **given)["out"]
        first = run(optimised, graph, {"x": values}, (1027,), **given)["out"]
        np.testing.assert_array_equal(found.astype(np.float64), expected)
        np.testing.assert_array_equal(found, first)
    # The first iteration adds 1 to x, which needs no product.
    assert compile_graph(_powers(turns)).inlined_ptx().count("fma.rn.f32") == max(turns - 1, 0)
    assert compile_graph(_powers(turns)).ptx.count("fma.rn.f32") == 1
