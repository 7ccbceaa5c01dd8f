"""Element-wise operations: those of the table in `rules`, and conversions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warploom.engine.ops import OpGraphBuilder
from warploom.engine.ops.graph import OpPort
from warploom.engine.ops.types import ELEMENTS, read_as
from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.graph import TensorNode, TensorOperation
from warploom.engine.tensor_ir.operations.rules import RULES, GraphValue, Rule
from warploom.engine.tensor_ir.operations.rules.arithmetic import FUNCTIONS
from warploom.engine.tensor_ir.operations.shaping import aligned
from warploom.engine.tensor_ir.types import FLOATS, TensorType, broadcast_shapes, require_dense
from warploom.engine.types import Array, DType, boolean

if TYPE_CHECKING:
    from warploom.engine.tensor_ir.lowering.elements import Element

#: Operations that take a kernel longer to compute than to read.
_SLOW = frozenset(
    (*FUNCTIONS, "sigmoid", "gelu", "gelu_tanh", "softplus", "power", "pow", "abs_pow", "abs_power_error")
) - {
    "floor",
    "ceil",
    "round",
}


class ElementwiseOperation(TensorOperation):
    """An operation that computes each element of its result from one element of each operand.

    Operands are broadcast. Connected operations of this kind become one kernel, into which `emit` writes each.
    """

    def emit(self, graph: OpGraphBuilder, *operands: OpPort) -> OpPort:
        """Write the operation into an op graph that has these operands, and return the result."""
        raise NotImplementedError

    def is_elementwise(self, node: TensorNode) -> bool:
        """Return True."""
        return True

    def element(self, at: Element) -> OpPort:
        """Write the operation for the operands' elements at the same position."""
        return self.emit(at.graph, *(at.input(index) for index in range(len(at.node.inputs))))

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy, for operands aligned at the last axis."""
        raise NotImplementedError


@dataclass(frozen=True)
class Elementwise(ElementwiseOperation):
    """An operation of the table, by name; `numbers` are its arguments besides the operands."""

    name: str
    numbers: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.name not in RULES:
            raise InvalidOperation(f"element-wise operation must be one of {', '.join(RULES)}, got {self.name!r}")
        if len(self.numbers) != self.rule.numbers:
            raise InvalidOperation(f"{self.name} must have {self.rule.numbers} numbers, got {len(self.numbers)}")

    @property
    def rule(self) -> Rule:
        """The operation's row of the table."""
        return RULES[self.name]

    @property
    def is_differentiable(self) -> bool:
        """Whether one of the operands can have a gradient."""
        return any(gradient is not None for gradient in self.rule.gradients)

    @property
    def is_quick(self) -> bool:
        """Whether the operation is plain arithmetic rather than a function of many instructions."""
        return self.name not in _SLOW

    @property
    def label(self) -> str:
        """The operation's name, such as "Add"."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type that the operands are broadcast to, with the table's element type."""
        if len(inputs) != self.rule.arity:
            raise InvalidOperation(f"{self.name} must have {self.rule.arity} operands, got {len(inputs)}")
        require_dense(*inputs)
        dtype = self._dtype([given.dtype for given in inputs])
        shape = broadcast_shapes(*(given.shape for given in inputs))
        return TensorType(shape, dtype, any(given.batched for given in inputs))

    def _dtype(self, given: list[DType]) -> DType:
        kind = self.rule.kind
        if kind == "choice" and given.pop(0) != boolean:
            raise InvalidOperation("condition must be boolean; compare it to something")
        dtype = given[0]
        for other in given:
            if other != dtype:
                raise InvalidOperation(f"operands must have one element type, got {dtype} and {other}; cast one")
        if kind == "float" and dtype not in FLOATS:
            raise InvalidOperation(f"operands must be floats, got {dtype}; cast them")
        if kind == "boolean" and dtype != boolean:
            raise InvalidOperation(f"operands must be boolean, got {dtype}; compare them to something")
        if kind in ("number", "comparison") and dtype not in FLOATS and dtype.kind != "integer":
            raise InvalidOperation(f"operands must be numbers, got {dtype}; cast them")
        return boolean if kind == "comparison" else dtype

    def emit(self, graph: OpGraphBuilder, *operands: OpPort) -> OpPort:
        """Write the operation by its row of the table."""
        return self.rule.emit(*(GraphValue(graph, operand) for operand in operands), *self.numbers).port

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy."""
        return self.rule.evaluate(*aligned(inputs), *self.numbers)

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return the gradients by the table."""
        return [None if rule is None else rule(gradient, node, *self.numbers) for rule in self.rule.gradients]


@dataclass(frozen=True)
class Cast(ElementwiseOperation):
    """Conversion to another type, as by op.convert: floats are truncated to whole numbers; all but 0 is true."""

    dtype: DType

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the same shape with the other element type."""
        (given,) = inputs
        require_dense(*inputs)
        _ = self._wide  # raises for vectors and the like
        return TensorType(given.shape, self.dtype, given.batched)

    def emit(self, graph: OpGraphBuilder, *operands: OpPort) -> OpPort:
        """Write a conversion to the type in which such elements are computed; storing narrows them."""
        return GraphValue(graph, operands[0]).call("convert", type=str(self._wide)).port

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy: clamp to the range, turn NaN into 0, and let narrower numbers wrap."""
        (given,) = inputs
        wide = self._wide.numpy
        if given.dtype.kind != "f" or wide.kind not in "iu":
            return given.astype(wide)
        limits = np.iinfo(wide)
        whole = np.nan_to_num(given, nan=0.0, posinf=np.inf, neginf=-np.inf)
        inside = np.where((whole >= limits.max) | (whole <= limits.min), 0, whole).astype(wide)
        most, least = wide.type(limits.max), wide.type(limits.min)
        found: Array = np.select([whole >= limits.max, whole <= limits.min], [most, least], inside)
        return found

    @property
    def _wide(self) -> DType:
        if not isinstance(self.dtype, DType) or str(self.dtype) not in ELEMENTS or self.dtype.components != 1:
            raise InvalidOperation(f"element type must be one of numbers such as f32, got {self.dtype!r}")
        return read_as(self.dtype).scalar

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Cast the gradient back; whole numbers get none."""
        given = node.inputs[0].type.dtype
        return [gradient.cast(given) if given in FLOATS else None]


@dataclass(frozen=True)
class Copy(ElementwiseOperation):
    """A copy of the operand's elements."""

    keeps_elements = True

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the operand's type."""
        return inputs[0]

    def emit(self, graph: OpGraphBuilder, *operands: OpPort) -> OpPort:
        """Return the operand."""
        return operands[0]

    def evaluate(self, *inputs: Array) -> Array:
        """Return the operand."""
        return inputs[0]

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return the gradient."""
        return [gradient]


@dataclass(frozen=True)
class StopGradient(Copy):
    """The same elements; no gradient passes to the operand."""

    is_differentiable = False


@dataclass(frozen=True)
class PassThrough(ElementwiseOperation):
    """The elements of the second operand; the gradient passes to the first one instead."""

    keeps_elements = True

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type of both operands."""
        first, second = inputs
        if first != second:
            raise ShapeMismatch(f"value that a gradient passes by must be {first}, got {second}")
        return first

    def emit(self, graph: OpGraphBuilder, *operands: OpPort) -> OpPort:
        """Return the second operand."""
        return operands[1]

    def evaluate(self, *inputs: Array) -> Array:
        """Return the second operand."""
        return inputs[1]

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return the gradient for the first operand."""
        return [gradient, None]
