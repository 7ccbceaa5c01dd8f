"""Element-wise operations that together are one of the table: errors and linear combinations."""

from __future__ import annotations

from collections.abc import Sequence

from engine.tensor_ir.graph import TensorNode
from engine.tensor_ir.operations.elementwise import Elementwise
from engine.tensor_ir.passes.constants import constant_of
from engine.tensor_ir.passes.rewriting import NodeUses, rewrite


def fuse_errors(wanted: Sequence[TensorNode]) -> list[TensorNode]:
    """Replace the power of the size of a difference, |a - b| ** power, by one operation."""
    return rewrite(wanted, _fuse_error)


def fuse_combinations(wanted: Sequence[TensorNode]) -> list[TensorNode]:
    """Replace sums and differences of scaled tensors by alpha * a + beta * b, and take in what that is scaled by."""
    return rewrite(wanted, _fuse_combination)


def _fuse_error(node: TensorNode, uses: NodeUses) -> TensorNode | None:
    operation = node.operation
    if not isinstance(operation, Elementwise):
        return None
    if operation.name == "square":
        power = 2.0
    elif operation.name == "abs_pow":
        (power,) = operation.numbers
    else:
        return None
    (difference,) = node.inputs
    if difference.operation != Elementwise("sub") or not uses.can_absorb(difference):
        return None
    return node.graph.add(Elementwise("abs_power_error", (power,)), difference.inputs)


def _fuse_combination(node: TensorNode, uses: NodeUses) -> TensorNode | None:
    operation = node.operation
    if not isinstance(operation, Elementwise):
        return None
    if operation.name == "mul":
        return _scaled_combination(node, uses)
    if operation.name not in ("add", "sub"):
        return None
    (a, alpha), (b, beta) = (_scaled(other, uses) for other in node.inputs)
    if alpha == beta == 1.0 or a.type.shape == () or b.type.shape == ():
        return None  # nothing is scaled, or a number is added
    return _combination(node, a, b, alpha, -beta if operation.name == "sub" else beta)


def _scaled_combination(node: TensorNode, uses: NodeUses) -> TensorNode | None:
    combined, factor = _scaled(node, uses, is_absorbed=True)
    operation = combined.operation
    if combined is node or not isinstance(operation, Elementwise) or not uses.can_absorb(combined):
        return None
    if operation.name != "linear_combination":
        return None
    alpha, beta = operation.numbers
    a, b = combined.inputs
    return _combination(node, a, b, alpha * factor, beta * factor)


def _combination(node: TensorNode, a: TensorNode, b: TensorNode, alpha: float, beta: float) -> TensorNode | None:
    operation = Elementwise("linear_combination", (alpha, beta))
    return node.graph.add(operation, (a, b)) if operation.result(a.type, b.type) == node.type else None


def _scaled(node: TensorNode, uses: NodeUses, *, is_absorbed: bool = False) -> tuple[TensorNode, float]:
    """Return a tensor and the number that it is multiplied by to give the node."""
    if is_absorbed or uses.can_absorb(node):
        if node.operation == Elementwise("neg"):
            return node.inputs[0], -1.0
        if node.operation == Elementwise("mul"):
            for slot, other in enumerate(node.inputs):
                factor = constant_of(other)
                if factor is not None and other.type.shape == ():
                    return node.inputs[1 - slot], factor
    return node, 1.0
