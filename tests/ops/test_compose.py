"""A fused graph gives the same results as the separate kernels, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ops.reference import assert_same
from tests.ops.running import run
from warploom.engine.device.device import Device
from warploom.engine.ops import OpError, OpGraph, OpGraphBuilder, compile_graph, compose, parse_expression, with_types
from warploom.engine.types import NAMED

_X = (np.random.default_rng(9).normal(size=1027) * 300).astype(np.float32)
_Y = np.random.default_rng(8).normal(size=1027).astype(np.float32)


def _stage(text: str, given: str, stored: str) -> OpGraph:
    return parse_expression(text, inputs={"x": given, "y": "f32"}, output_type=stored)


@pytest.mark.parametrize("between", ["f32", "f16", "bf16", "f64", "s32", "u8", "s16", "boolean"])
def test_a_fused_chain_gives_the_same_bits(device: Device, between: str) -> None:
    """A fused chain gives the bits of separate kernels, as values are rounded to the types of the stages' outputs."""
    text = "x * y + amp" if between[0] in "fb" and between != "boolean" else "int(x * amp)"
    text = "x > amp" if between == "boolean" else text
    first, second = _stage(text, "f32", between), _stage("x / 3 + y * amp - x", between, "f32")
    middle = run(device, first, {"x": _X, "y": _Y}, 1027, amp=1.7)["out"]
    expected = run(device, second, {"x": middle, "y": _Y}, 1027, amp=0.3)["out"]
    fused = compose({"a": first, "b": second}, {"b.x": "a.out", "b.y": "a.y"}, keep=["a.out"])
    kernel = compile_graph(fused)
    assert [port.name for port in kernel.inputs] == ["a/x", "a/y"]
    assert [port.name for port in kernel.outputs] == ["a/out", "b/out"]
    assert kernel.is_elementwise
    found = run(device, kernel, {"a/x": _X, "a/y": _Y}, 1027, **{"a/amp": 1.7, "b/amp": 0.3})
    assert_same(found["b/out"], expected, between)
    assert_same(found["a/out"], middle, between)


_STAGES = ["x * y", "sin(x)", "x + amp", "x if x > y else y", "sqrt(abs(x))", "fma(x, y, amp)", "x / y", "-x", "exp(x)"]


@settings(max_examples=6)
@given(st.lists(st.sampled_from(_STAGES), min_size=2, max_size=8), st.integers(0, 7))
def test_any_chain_can_be_fused(host_device: Device, texts: list[str], fork: int) -> None:
    """A chain fused at once or in two steps gives the same bits, even if one result is read twice."""
    graphs = {f"s{at}": _stage(text, "f32", "f32") for at, text in enumerate(texts)}
    links = {f"s{at}.x": f"s{at - 1}.out" for at in range(1, len(texts))}
    links |= {f"s{at}.y": "s0.y" for at in range(1, len(texts))}
    if fork < len(texts) - 1:
        links[f"s{len(texts) - 1}.y"] = f"s{fork}.out"
    held = {"s0.x": _X, "s0.y": _Y}
    for at, graph in enumerate(graphs.values()):
        inputs = {name: held[links.get(f"s{at}.{name}", f"s{at}.{name}")] for name in ("x", "y")}
        held[f"s{at}.out"] = run(host_device, graph, inputs, 1027)["out"]
    last = f"s{len(texts) - 1}"
    fused = run(host_device, compose(graphs, links), {"s0/x": _X, "s0/y": _Y}, 1027)
    assert list(fused) == [f"{last}/out"]
    assert_same(fused[f"{last}/out"], held[f"{last}.out"], " | ".join(texts))


def test_composing_a_composition_keeps_its_names() -> None:
    """Composing once more with an unnamed part keeps the names of all ops."""
    stage = _stage("x * y", "f32", "f32")
    once = compose({"a": stage, "b": stage}, {"b.x": "a.out"})
    twice = compose({"": once, "c": stage}, {"c.x": ".b/out"})
    assert [port.name for port in compile_graph(twice).inputs] == ["a/x", "a/y", "b/y", "c/y"]


def test_what_can_not_be_fused_is_refused() -> None:
    """Other types, buffers that are read elsewhere, and unknown ports can't be fused."""
    stage = _stage("x * y", "f32", "f32")
    blur = _stage("x[i - 1] + x", "f32", "f32")
    with pytest.raises(OpError, match="x must be fed with f16, got f32"):
        compose({"a": stage, "b": _stage("x", "f16", "f32")}, {"b.x": "a.out"})
    with pytest.raises(OpError, match="a fused buffer must be read at the thread's own index"):
        compose({"a": stage, "b": blur}, {"b.x": "a.out"})
    with pytest.raises(OpError, match="link must be between inputs and outputs of the graphs"):
        compose({"a": stage, "b": stage}, {"b.z": "a.out"})
    assert not compile_graph(blur).is_elementwise


def test_sizes_of_a_fused_input_are_those_of_what_is_computed(device: Device) -> None:
    """A fused input's width is the width of the image that is computed."""
    g = OpGraphBuilder()
    x = g.add("op.input", "x")
    g.add("op.output", "out", value=g.add("op.multiply", a=x["width"], b=x["value"])["out"])
    fused = compose({"a": parse_expression("x + 1", inputs={"x": "f32"}), "b": g.graph()}, {"b.x": "a.out"})
    image = np.arange(35, dtype=np.float32).reshape(5, 7)
    found = run(device, compile_graph(fused, rank=2), {"a/x": image}, (5, 7))["b/out"]
    assert_same(found, np.float32(7) * (image + np.float32(1)), "out")


@pytest.mark.parametrize("dtype", ["boolean", "u8", "s16", "u32", "s64", "u64", "f16", "f32", "f64"])
def test_the_type_of_an_input_is_told_at_launch_or_part_of_the_graph(device: Device, dtype: str) -> None:
    """With types passed at launch or known, a kernel reads the same numbers and knows if they are integers."""
    g = OpGraphBuilder()
    x = g.add("op.input", "x", type="number")
    for port in ("value", "whole", "is_whole", "is_connected"):
        g.add("op.output", f"out_{port}", value=x[port])
    numbers = np.array([0, 1, 3, 200, 2**31, 2**53 + 1, 2**63 - 1], np.uint64)
    data = (
        numbers.astype(NAMED[dtype].numpy)
        if NAMED[dtype].kind != "float"
        else np.linspace(-3, 3, 7).astype(NAMED[dtype].numpy)
    )
    for graph in (g.graph(), with_types(g.graph(), {"x": dtype})):
        found = run(device, graph, {"x": data}, 7)
        np.testing.assert_array_equal(found["out_value"], data.astype(np.float64))
        np.testing.assert_array_equal(found["out_whole"], data.astype(np.int64))
        assert (found["out_is_whole"] == (NAMED[dtype].kind == "integer")).all()
        assert found["out_is_connected"].all()


def test_an_input_without_a_buffer_is_known_not_to_be_there(device: Device) -> None:
    """A graph for an unconnected input omits it from the kernel's arguments."""
    g = OpGraphBuilder()
    x, y = (g.add("op.input", name, type="number") for name in "xy")
    either = g.add("op.select", condition=y["is_connected"], a=y["value"], b=x["value"])
    g.add("op.output", "out", value=either["out"], type="f64")
    graph = with_types(g.graph(), {"y": ""})
    assert [port.name for port in compile_graph(graph).inputs] == ["x"]
    np.testing.assert_array_equal(run(device, graph, {"x": np.arange(5.0)}, 5)["out"], np.arange(5.0))
