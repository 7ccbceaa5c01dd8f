"""Products of matrices that take in what comes before or after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.tensor_graphs.graph import Node
from engine.tensor_graphs.operations.matrices import MatMul
from engine.tensor_graphs.operations.reductions import ReduceAcrossBatch
from engine.tensor_graphs.passes.rewriting import Uses, rewrite


def sum_products(wanted: Sequence[Node]) -> list[Node]:
    """Replace the sum over the batch of products by one product, whose inner axis is the batch too."""
    return rewrite(wanted, _sum)


def _sum(node: Node, uses: Uses) -> Node | None:
    if node.operation != ReduceAcrossBatch():
        return None
    (product,) = node.inputs
    if not isinstance(product.operation, MatMul) or not uses.can_absorb(product):
        return None
    if not all(other.type.batched for other in product.inputs):
        return None
    return node.graph.add(replace(product.operation, sum_batch=True), product.inputs)
