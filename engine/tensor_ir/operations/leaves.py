"""Leaves, which are nodes without inputs, and random numbers that a seed determines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warploom.engine.tensor_ir.errors import ExecutionFailed, InvalidOperation
from warploom.engine.tensor_ir.graph import TensorNode, TensorOperation
from warploom.engine.tensor_ir.lowering.elements import computed_type
from warploom.engine.tensor_ir.lowering.step import LoweringStep, element_kernel, size_argument, write_only
from warploom.engine.tensor_ir.types import TensorType, require_floats
from warploom.engine.types import DType, f64, u32

if TYPE_CHECKING:
    from warploom.engine.ops.graph import OpPort
    from warploom.engine.tensor_ir.lowering.elements import Element


@dataclass(frozen=True)
class Leaf(TensorOperation):
    """A tensor that comes from outside, such as an input or a weight."""

    type: TensorType

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the leaf's type."""
        return self.type

    def lower(self, step: LoweringStep) -> None:
        """Raise ExecutionFailed: the leaf must already be in a buffer."""
        raise ExecutionFailed(f"leaf must have a buffer, got none for {step.node!r}")


class KnownTensor(TensorOperation):
    """A tensor whose elements are known without a buffer; no gradient passes to it."""

    type: TensorType

    is_differentiable = False

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the tensor's type."""
        return self.type

    def is_elementwise(self, node: TensorNode) -> bool:
        """Return True."""
        return True


@dataclass(frozen=True)
class Constant(KnownTensor):
    """A tensor whose elements all have one value."""

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
    """The number of examples, as one number. Like a leaf, it is set when the graph runs."""

    dtype: DType

    is_differentiable = False

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type of one number."""
        return TensorType((), self.dtype)

    def lower(self, step: LoweringStep) -> None:
        """Write the number."""
        kernel = element_kernel("tensor_numbers.cu", "store_size", self.dtype)
        step.build.launch(kernel, num_threads=1, thread_block=1, args=(write_only(step.out), size_argument(step.batch)))


@dataclass(frozen=True)
class Numbers(KnownTensor):
    """The numbers 0, 1, 2 and so on, in the order of elements in memory, the batch first."""

    type: TensorType

    def element(self, at: Element) -> OpPort:
        """Write the element's own number in memory."""
        number = at.place.number
        if isinstance(number, int):
            return at.constant(number, self.type.dtype)
        return at.op("convert", x=number, type=str(computed_type(self.type.dtype)))


#: The type of a seed.
SEED = TensorType((), u32)


@dataclass(frozen=True)
class Random(TensorOperation):
    """Numbers from 0 to below 1, multiples of 2**-24; each is a hash of its place and of a seed, a u32."""

    type: TensorType

    is_differentiable = False

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type. Raise InvalidOperation unless it has floats, and the input is a seed."""
        require_floats(self.type)
        (seed,) = inputs
        if seed != SEED:
            raise InvalidOperation(f"seed must be {SEED}, got {seed}")
        return self.type

    def evaluate(self, *inputs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Compute the numbers of one example with numpy."""
        places = np.arange(self.type.size, dtype=np.uint32)
        hashed = _mixed(np.full_like(places, (int(inputs[0].item()) - 0x61C88647) % (1 << 32)))
        for coordinate in (np.uint32(0), np.uint32(0), places):
            hashed = _mixed(hashed + coordinate)
        return ((hashed >> np.uint32(8)) * 2.0**-24).reshape(1, *self.type.shape)

    def is_elementwise(self, node: TensorNode) -> bool:
        """Return True."""
        return True

    def element(self, at: Element) -> OpPort:
        """Write the hash of the element's number."""
        made = at.op("random", x=at.place.number, seed=at.input(0))
        return at.op("convert", x=made, type="f64") if self.type.dtype == f64 else made

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return no gradient for the seed."""
        return [None]


def _mixed(h: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Return a hash of each word in which every output bit depends on every input bit: lowbias32, by Chris Wellons."""
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x7FEB352D)
    h = (h ^ (h >> np.uint32(15))) * np.uint32(0x846CA68B)
    return h ^ (h >> np.uint32(16))
