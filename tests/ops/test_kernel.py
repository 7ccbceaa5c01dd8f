"""Whole kernels: what a graph becomes, and that it runs."""

import numpy as np

from engine.device.device import Device
from engine.ops import (
    Extent,
    GraphBuilder,
    InputPointer,
    LiveParameter,
    OpGraph,
    OutputPointer,
    compile_graph,
    graph_from_json,
    graph_to_json,
)
from tests.ops.running import run


def _saxpy() -> OpGraph:
    g = GraphBuilder()
    x = g.add("op.input", "x")
    y = g.add("op.input", "y", type="f16")
    a = g.add("op.parameter", "a", default=2.0)
    product = g.add("op.multiply", "product", a=x["value"], b=a["out"])
    total = g.add("op.add", "total", a=product["out"], b=y["value"])
    g.add("op.output", "result", value=total["out"])
    return g.graph()


def test_arguments_are_the_inputs_the_outputs_and_what_else_the_ops_need() -> None:
    """Pointers come first, in the graph's order."""
    kernel = compile_graph(_saxpy())
    assert kernel.arguments == (
        InputPointer("x", "f32"),
        InputPointer("y", "f16"),
        OutputPointer("result", "f32"),
        Extent("size"),
        LiveParameter("a", "f32"),
    )
    assert kernel.is_elementwise
    assert kernel.rank == 1


def test_a_kernel_computes_each_element_of_any_size(device: Device) -> None:
    """Sizes that are no multiple of a thread block leave nothing out and touch nothing else."""
    kernel = compile_graph(_saxpy())
    for size in (1, 7, 1023, 1027):
        x = np.linspace(-3, 3, size, dtype=np.float32)
        y = np.linspace(0, 9, size).astype(np.float16)
        found = run(device, kernel, {"x": x, "y": y}, size, a=3.0)["result"]
        np.testing.assert_array_equal(found, x * np.float32(3) + y.astype(np.float32))


def test_the_same_graph_gives_the_same_ptx_and_key() -> None:
    """Compiling is deterministic, and a graph comes back from JSON as it was."""
    again = graph_from_json(graph_to_json(_saxpy()))
    assert again.key() == _saxpy().key()
    assert compile_graph(again) == compile_graph(_saxpy())


def test_each_line_of_code_names_its_op() -> None:
    """The product's line is a mul, in PTX as in LLVM IR."""
    kernel = compile_graph(_saxpy())
    for text, lines in ((kernel.ptx, kernel.ptx_lines()), (kernel.llvm_ir, kernel.llvm_lines())):
        (found,) = [text.splitlines()[line - 1] for line, op in lines.items() if op == "product"]
        assert "mul" in found
