"""Element-wise operations: a table of what each computes, as an op graph, with numpy, and backwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.ops import GraphBuilder
from engine.ops.graph import Port
from engine.tensor_graphs.errors import InvalidOperation, ShapeMismatch
from engine.tensor_graphs.graph import Node, Operation
from engine.tensor_graphs.types import TensorType, broadcast_shapes
from engine.types import DType

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Rule:
    """One row of the table.

    `emit` writes it into an op graph, `evaluate` computes it with numpy; both take the operands and then the
    operation's numbers. `gradients` has a function for each operand, of the output's gradient, the node and its numbers.
    None says that no gradient passes.
    """

    arity: int
    emit: Callable[..., Port]
    evaluate: Callable[..., Array]
    gradients: Sequence[Callable[..., Node] | None]


def _op(name: str) -> Callable[..., Port]:
    """Return what writes one op, whose inputs are a, b and c or x."""

    def emit(graph: GraphBuilder, *operands: Port) -> Port:
        names = ("x",) if len(operands) == 1 else ("a", "b", "c")
        given: dict[str, Any] = dict(zip(names, operands, strict=False))
        return graph.add(f"op.{name}", **given)["out"]

    return emit


#: Every element-wise operation, by name.
ELEMENTWISE: Mapping[str, Rule] = {
    "add": Rule(2, _op("add"), np.add, (lambda g, n: g, lambda g, n: g)),
    "sub": Rule(2, _op("subtract"), np.subtract, (lambda g, n: g, lambda g, n: -g)),
    "mul": Rule(2, _op("multiply"), np.multiply, (lambda g, n: g * n.inputs[1], lambda g, n: g * n.inputs[0])),
    "div": Rule(
        2,
        _op("divide"),
        np.divide,
        (lambda g, n: g / n.inputs[1], lambda g, n: -(g * n) / n.inputs[1]),
    ),
    "neg": Rule(1, _op("negate"), np.negative, (lambda g, n: -g,)),
}


@dataclass(frozen=True)
class Elementwise(Operation):
    """An operation of the table, applied to tensors that are broadcast to one shape."""

    name: str
    numbers: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.name not in ELEMENTWISE:
            raise InvalidOperation(f"element-wise operation must be one of {', '.join(ELEMENTWISE)}, got {self.name!r}")

    @property
    def rule(self) -> Rule:
        """Its row of the table."""
        return ELEMENTWISE[self.name]

    @property
    def label(self) -> str:
        """Its name, as "Add"."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type to which the operands are broadcast."""
        return elementwise_result(*inputs)

    def evaluate(self, *inputs: Array) -> Array:
        """Compute it with numpy."""
        return self.rule.evaluate(*inputs, *self.numbers)

    def backward(self, node: Node, gradient: Node) -> Sequence[Node | None]:
        """Apply the row's gradients."""
        return [None if rule is None else rule(gradient, node, *self.numbers) for rule in self.rule.gradients]


def elementwise_result(*inputs: TensorType) -> TensorType:
    """Return the type of what is computed element by element of tensors of one element type."""
    for other in inputs:
        if other.nnz is not None:
            raise InvalidOperation("operand must be dense, got a sparse tensor")
        if other.dtype != inputs[0].dtype:
            raise ShapeMismatch(f"operands must have one element type, got {inputs[0].dtype} and {other.dtype}")
    shape = broadcast_shapes(*(other.shape for other in inputs))
    return TensorType(shape, inputs[0].dtype, any(other.batched for other in inputs))


@dataclass(frozen=True)
class Cast(Operation):
    """The elements as another type."""

    dtype: DType

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the same shape of the other type."""
        (given,) = inputs
        return TensorType(given.shape, self.dtype, given.batched)

    def evaluate(self, *inputs: Array) -> Array:
        """Compute it with numpy."""
        return inputs[0].astype(self.dtype.numpy)

    def backward(self, node: Node, gradient: Node) -> Sequence[Node | None]:
        """Cast the gradient back."""
        return [gradient.cast(node.inputs[0].type.dtype)]
