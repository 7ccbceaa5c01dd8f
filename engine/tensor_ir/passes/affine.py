"""Fuses several operations into one: layers with bias and activation, errors, and linear combinations."""

from __future__ import annotations

from collections.abc import Sequence

from engine.tensor_ir.graph import TensorNode
from engine.tensor_ir.operations.elementwise import Elementwise
from engine.tensor_ir.operations.fused import Affine, DualSparseAffineActivate, SparseAffineActivate
from engine.tensor_ir.operations.matrices import MatMul
from engine.tensor_ir.operations.shaping import Concat
from engine.tensor_ir.operations.sparse import SparseMatMul
from engine.tensor_ir.passes.constants import constant_of
from engine.tensor_ir.passes.rewriting import NodeUses, rewrite

#: Activations that BLAS can apply while it writes a product. Other activations are separate kernels, which add the bias
#: too, so the product before them stays as it is.
DENSE_ACTIVATIONS = frozenset({"relu"})
#: Activations that the kernel for sparse columns applies.
SPARSE_ACTIVATIONS = frozenset({"relu", "crelu", "screlu", "sqr_relu", "sigmoid", "tanh"})


def fuse_affine(wanted: Sequence[TensorNode]) -> list[TensorNode]:
    """Replace activation(a @ b + bias) by one operation, if BLAS has the activation."""
    return rewrite(wanted, _fuse_dense)


def fuse_sparse_affine(wanted: Sequence[TensorNode]) -> list[TensorNode]:
    """Replace weights @ column + bias, for a sparse column, by one operation, which then takes in the activation."""
    return rewrite(wanted, _fuse_sparse)


def fuse_dual_sparse_affine(wanted: Sequence[TensorNode]) -> list[TensorNode]:
    """Replace two stacked sparse layers with the same weights by one operation."""
    return rewrite(wanted, _fuse_dual)


def hoist_past_concat(wanted: Sequence[TensorNode]) -> list[TensorNode]:
    """Replace f(concat(a, b)) by concat(f(a), f(b)), if f can then become part of the layers a and b."""
    return rewrite(wanted, _hoist)


def _fuse_dense(node: TensorNode, uses: NodeUses) -> TensorNode | None:
    if not _is_elementwise(node, DENSE_ACTIVATIONS):
        return None
    (total,) = node.inputs
    found = _biased(total, MatMul, uses)
    if found is None or not uses.can_absorb(total):
        return None
    product, bias = found
    assert isinstance(product.operation, MatMul)
    if product.operation.sum_batch:
        return None
    assert isinstance(node.operation, Elementwise)
    of = product.operation
    flags = (of.transpose_a, of.transpose_b, of.allow_tf32)
    return node.graph.add(Affine(node.operation.name, *flags), (*product.inputs, bias))


def _fuse_sparse(node: TensorNode, uses: NodeUses) -> TensorNode | None:
    if (found := _biased(node, SparseMatMul, uses)) is not None:
        product, bias = found
        assert isinstance(product.operation, SparseMatMul)
        return node.graph.add(SparseAffineActivate(transpose_a=product.operation.transpose_a), (*product.inputs, bias))
    if not _is_elementwise(node, SPARSE_ACTIVATIONS) or not uses.can_absorb(node.inputs[0]):
        return None
    (layer,) = node.inputs
    operation = layer.operation
    assert isinstance(node.operation, Elementwise)
    if isinstance(operation, SparseMatMul) or (
        isinstance(operation, SparseAffineActivate) and operation.activation is None
    ):
        return node.graph.add(SparseAffineActivate(node.operation.name, operation.transpose_a), layer.inputs)
    return None


def _fuse_dual(node: TensorNode, uses: NodeUses) -> TensorNode | None:
    if node.operation != Concat(0) or len(node.inputs) != 2:
        return None
    first, second = node.inputs
    operation = first.operation
    if not isinstance(operation, SparseAffineActivate) or operation != second.operation:
        return None
    weights, above, *bias = first.inputs
    others, below, *other_bias = second.inputs
    if weights is not others or bias != other_bias or not (uses.can_absorb(first) and uses.can_absorb(second)):
        return None
    dual = DualSparseAffineActivate(operation.activation, operation.transpose_a)
    return node.graph.add(dual, (weights, above, below, *bias))


def _hoist(node: TensorNode, uses: NodeUses) -> TensorNode | None:
    if not _is_elementwise(node, SPARSE_ACTIVATIONS):
        return None
    (joined,) = node.inputs
    if not isinstance(joined.operation, Concat) or not uses.can_absorb(joined):
        return None
    for layer in joined.inputs:
        is_layer = isinstance(layer.operation, SparseMatMul | MatMul) or layer.operation in _LAYERS or _is_sum(layer)
        if not is_layer or not uses.can_absorb(layer):
            return None
    parts = [node.graph.add(node.operation, (layer,)) for layer in joined.inputs]
    return node.graph.add(joined.operation, parts)


#: Layers that can still take in an activation.
_LAYERS = (SparseAffineActivate(), SparseAffineActivate(transpose_a=True))


def _is_sum(node: TensorNode) -> bool:
    return node.operation == Elementwise("add") and any(
        isinstance(other.operation, MatMul | SparseMatMul) for other in node.inputs
    )


def _is_elementwise(node: TensorNode, names: frozenset[str]) -> bool:
    return isinstance(node.operation, Elementwise) and node.operation.name in names


def _biased(
    node: TensorNode, kind: type[MatMul] | type[SparseMatMul], uses: NodeUses
) -> tuple[TensorNode, TensorNode] | None:
    """Return the product and the bias if a node is their sum, and if nothing else needs the product."""
    if node.operation != Elementwise("add"):
        return None
    for product, bias in (node.inputs, node.inputs[::-1]):
        fits = product.type == node.type and not bias.type.batched
        if isinstance(product.operation, kind) and fits and uses.can_absorb(product):
            return product, bias
    return None


def fuse_errors(wanted: Sequence[TensorNode]) -> list[TensorNode]:
    """Replace the power of an absolute difference, |a - b| ** power, by one operation."""
    return rewrite(wanted, _fuse_error)


def fuse_combinations(wanted: Sequence[TensorNode]) -> list[TensorNode]:
    """Replace sums and differences of scaled tensors by alpha * a + beta * b; scale factors become alpha and beta."""
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
    """Return a tensor and the factor that gives the node."""
    if is_absorbed or uses.can_absorb(node):
        if node.operation == Elementwise("neg"):
            return node.inputs[0], -1.0
        if node.operation == Elementwise("mul"):
            for slot, other in enumerate(node.inputs):
                factor = constant_of(other)
                if factor is not None and other.type.shape == ():
                    return node.inputs[1 - slot], factor
    return node, 1.0
