"""Graphs before and after a pass, as short texts."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode
from warploom.engine.tensor_ir.operations.elementwise import Elementwise
from warploom.engine.tensor_ir.operations.leaves import Constant, Leaf
from warploom.engine.tensor_ir.passes.pipeline import Pass
from warploom.engine.tensor_ir.passes.verification import verify_nodes
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import DType, f32


def leaf(
    graph: TensorGraph,
    name: str,
    shape: Sequence[int] = (3, 1),
    *,
    batched: bool = False,
    nnz: int | None = None,
    dtype: DType = f32,
    grad: bool | None = None,
) -> TensorNode:
    """Return a new leaf."""
    grad = (not batched) if grad is None else grad
    return graph.add(Leaf(TensorType(tuple(shape), dtype, batched, nnz)), name=name, requires_grad=grad)


def picture(node: TensorNode) -> str:
    """Return the expression that computes a node, such as "Add(Matmul(w, x), b)"."""
    operation = node.operation
    if isinstance(operation, Leaf):
        return node.name
    if isinstance(operation, Constant):
        return f"{operation.value:g}"
    settings = [f"{number:g}" for number in operation.numbers] if isinstance(operation, Elementwise) else []
    return f"{operation.label}({', '.join([*map(picture, node.inputs), *settings])})"


def after(run: Pass, *wanted: TensorNode) -> str:
    """Return the texts of nodes after a pass; the graph is verified."""
    found = run(wanted)
    verify_nodes(found, "in a test")
    assert [node.type for node in found] == [node.type for node in wanted]
    return " | ".join(map(picture, found))
