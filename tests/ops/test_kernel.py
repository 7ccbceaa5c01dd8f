"""Whole kernels: their arguments, their code, and that they run."""

from typing import Literal

import numpy as np
import pytest

from tests.ops.reference import assert_same
from tests.ops.running import run
from warploom.engine.device.device import Device
from warploom.engine.ops import (
    InputPointer,
    LiveParameter,
    OpExtent,
    OpGraph,
    OpGraphBuilder,
    OutputPointer,
    compile_graph,
    graph_from_json,
    graph_to_json,
    parse_expression,
)
from warploom.engine.types import NAMED


def _saxpy() -> OpGraph:
    g = OpGraphBuilder()
    x = g.add("op.input", "x")
    y = g.add("op.input", "y", type="f16")
    a = g.add("op.parameter", "a", default=2.0)
    product = g.add("op.multiply", "product", a=x["value"], b=a["out"])
    total = g.add("op.add", "total", a=product["out"], b=y["value"])
    g.add("op.output", "result", value=total["out"])
    return g.graph()


def test_arguments_are_the_inputs_the_outputs_and_what_else_the_ops_need() -> None:
    """Arguments are the graph's pointers in order, then sizes and parameters."""
    kernel = compile_graph(_saxpy())
    assert kernel.arguments == (
        InputPointer("x", "f32"),
        InputPointer("y", "f16"),
        OutputPointer("result", "f32"),
        OpExtent("size"),
        LiveParameter("a", "f32"),
    )
    assert kernel.is_elementwise
    assert kernel.rank == 1


def test_a_kernel_computes_each_element_of_any_size(device: Device) -> None:
    """Every element is computed, and none beyond, for sizes that are no multiple of a thread block."""
    kernel = compile_graph(_saxpy())
    for size in (1, 7, 1023, 1027):
        x = np.linspace(-3, 3, size, dtype=np.float32)
        y = np.linspace(0, 9, size).astype(np.float16)
        found = run(device, kernel, {"x": x, "y": y}, size, a=3.0)["result"]
        np.testing.assert_array_equal(found, x * np.float32(3) + y.astype(np.float32))


@pytest.mark.parametrize("count", [2, 4])
def test_several_elements_a_thread_give_the_same_bits(device: Device, count: Literal[2, 4]) -> None:
    """Several elements per thread give the same bits for any size, type and alignment."""
    g = OpGraphBuilder()
    total = g.add("op.index", "index")["index"]
    inputs = {}
    random = np.random.default_rng(7)
    for name in ("f32", "f64", "f16", "bf16", "u8", "s16", "s64", "boolean", "uchar4"):
        dtype = NAMED[name]
        source = g.add("op.input", name, type=name)["value"]
        shape = (1027, dtype.components) if dtype.components > 1 else (1027,)
        inputs[name] = random.integers(0, 2 if name == "boolean" else 100, shape).astype((dtype.of or dtype).numpy)
        scaled = g.add("op.add", a=source, b=total)["out"] if name != "boolean" else source
        kind = g.add("op.convert", x=scaled, type="s32")["out"] if name in ("u8", "s16", "uchar4") else scaled
        g.add("op.output", f"out_{name}", value=kind, type=name)
    loop = g.add("op.for", "loop", count=3.0, initial_a=total)
    loop.connect("next_a", g.add("op.multiply", region="loop", a=loop["a"], b=3.0)["out"])
    g.add("op.output", "looped", value=loop["a"])
    graph = g.graph()
    kernel = compile_graph(graph, elements_per_thread=count)
    assert kernel.elements_per_thread == count
    assert ".v4" in kernel.ptx if count == 4 else ".v2" in kernel.ptx
    for size in (1, 7, 1023, 1027):
        given = {name: array[:size] for name, array in inputs.items()}
        expected = run(device, graph, given, size)
        for offset in (0, 8):
            found = run(device, kernel, given, size, offset=offset)
            for name, array in expected.items():
                assert_same(found[name], array, f"{name} of {size}")


def test_optimised_code_takes_the_arguments_of_the_code_before() -> None:
    """Optimised code has the arguments of quick code in the same order, even with types and numbers from the launch."""
    g = OpGraphBuilder()
    x, y = (g.add("op.input", name, type="number") for name in "xy")
    scaled = g.add("op.multiply", a=x["value"], b=g.add("op.parameter", "k", type="f64")["out"])
    held = g.add("op.add", a=g.add("op.add", a=scaled["out"], b=0.3)["out"], b=y["size"])
    either = g.add("op.select", condition=y["is_connected"], a=y["value"], b=held["out"])
    g.add("op.output", "out", value=either["out"], type="f64")
    graph = g.graph()
    first = compile_graph(graph).arguments
    assert first == compile_graph(graph, elements_per_thread=4).arguments
    assert first == compile_graph(graph, elements_per_thread=4, is_told=True).arguments


def test_kernels_whose_threads_know_of_each_other_have_one_element_a_thread() -> None:
    """Kernels with exchanging threads, two axes or large vectors compute one element per thread, others several."""
    for text, kind, count in (("x[i + 1]", "f32", 4), ("x * u", "f32", 1), ("x * 2", "float4", 1)):
        kernel = compile_graph(parse_expression(text, inputs={"x": kind}), elements_per_thread=4)
        assert kernel.elements_per_thread == count
    stored = OpGraphBuilder()
    value = stored.add("op.input", "x")["value"]
    out = stored.add("op.output", "y", value=value)["buffer"]
    stored.add("op.store", buffer=out, index=0.0, value=value)
    kernel = compile_graph(stored.graph(), elements_per_thread=4)
    assert (kernel.elements_per_thread, kernel.is_free) == (1, False)


@pytest.mark.parametrize("count", [2, 4])
def test_loads_from_elsewhere_in_kernels_with_several_elements_a_thread(device: Device, count: Literal[2, 4]) -> None:
    """With several elements per thread, loads of neighbours match the evaluator for every size and alignment."""
    x = np.arange(1027, dtype=np.float32)
    graph = parse_expression("x + x[i // 3]", inputs={"x": "f32"})
    kernel = compile_graph(graph, elements_per_thread=count)
    for size in (1, 7, 1023, 1027):
        for offset in (0, 8):
            found = run(device, kernel, {"x": x[:size]}, size, offset=offset)
            assert_same(next(iter(found.values())), x[:size] + x[np.arange(size) // 3], f"{size}")


def test_the_same_graph_gives_the_same_ptx_and_key() -> None:
    """Compiling is deterministic, and a graph that is stored as JSON gives the same kernel."""
    again = graph_from_json(graph_to_json(_saxpy()))
    assert again.key() == _saxpy().key()
    assert compile_graph(again) == compile_graph(_saxpy())


def test_each_line_of_code_names_its_op() -> None:
    """In PTX and LLVM IR, the line of the product's op is a mul."""
    kernel = compile_graph(_saxpy())
    for text, lines in ((kernel.ptx, kernel.ptx_lines()), (kernel.llvm_ir, kernel.llvm_lines())):
        (found,) = [text.splitlines()[line - 1] for line, op in lines.items() if op == "product"]
        assert "mul" in found
