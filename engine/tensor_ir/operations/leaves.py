"""Leaves: nodes that are computed from no other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.ops.types import read_as
from engine.tensor_ir.errors import ExecutionFailed
from engine.tensor_ir.graph import TensorNode, TensorOperation
from engine.tensor_ir.lowering.cuda import element_kernel, size_argument
from engine.tensor_ir.lowering.step import LoweringStep, write_only
from engine.tensor_ir.types import TensorType
from engine.types import DType

if TYPE_CHECKING:
    from engine.ops.graph import OpPort
    from engine.tensor_ir.lowering.elements import Element


@dataclass(frozen=True)
class Leaf(TensorOperation):
    """A tensor that comes from outside, such as an input or a weight."""

    type: TensorType

    def result(self, *inputs: TensorType) -> TensorType:
        """Return its type."""
        return self.type

    def lower(self, step: LoweringStep) -> None:
        """Raise ExecutionFailed: it must be in a buffer already."""
        raise ExecutionFailed(f"leaf must have a buffer, got none for {step.node!r}")


class KnownTensor(TensorOperation):
    """A tensor whose elements are known without a buffer; no gradient passes to it."""

    type: TensorType

    @property
    def is_differentiable(self) -> bool:
        """Return False: it has no gradient."""
        return False

    def result(self, *inputs: TensorType) -> TensorType:
        """Return its type."""
        return self.type

    def is_elementwise(self, node: TensorNode) -> bool:
        """Return True."""
        return True


@dataclass(frozen=True)
class Constant(KnownTensor):
    """A tensor of one value throughout."""

    value: float
    type: TensorType

    def evaluate(self, *inputs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the tensor; it is broadcast along the batch."""
        return np.full((1, *self.type.shape), self.value)

    def element(self, at: Element) -> OpPort:
        """Write the number."""
        return at.constant(self.value, self.type.dtype)


@dataclass(frozen=True)
class BatchSize(TensorOperation):
    """The number of examples, as one number; it is set when the graph is run, as leaves are."""

    dtype: DType

    @property
    def is_differentiable(self) -> bool:
        """Return False: it has no gradient."""
        return False

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type of one number."""
        return TensorType((), self.dtype)

    def lower(self, step: LoweringStep) -> None:
        """Write the number."""
        kernel = element_kernel("tensor_numbers.cu", "store_size", self.dtype)
        step.build.launch(kernel, num_threads=1, thread_block=1, args=(write_only(step.out), size_argument(step.batch)))


@dataclass(frozen=True)
class Numbers(KnownTensor):
    """0, 1, 2 and so on, through the whole tensor as it lies in memory, the batch first."""

    type: TensorType

    def element(self, at: Element) -> OpPort:
        """Write the element's own number."""
        number = at.place.number
        if isinstance(number, int):
            return at.constant(number, self.type.dtype)
        kind = read_as(self.type.dtype)
        assert kind is not None  # a tensor has numbers
        return at.op("convert", x=number, type=str(kind.scalar))
