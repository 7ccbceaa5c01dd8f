"""`Arithmetic`: the methods and operators of everything that stands for a tensor.

Nodes have them, and so do lazy tensors: both only say how an operation is applied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from engine.types import DType

if TYPE_CHECKING:
    from engine.tensor_graphs.graph import Node, Operation
    from engine.tensor_graphs.types import TensorType

#: What may stand for a tensor in arithmetic: a number becomes a constant of the other operand's type.
Number = int | float


class Arithmetic:
    """Operators and methods that apply operations; numbers become constants."""

    __slots__ = ()

    type: TensorType

    def _apply(self, operation: Operation, *inputs: Node) -> Self:
        """Apply an operation to nodes, and return what stands for the result."""
        raise NotImplementedError

    def _node(self) -> Node:
        """Return the node that this stands for."""
        raise NotImplementedError

    def elementwise(self, name: str, *others: Arithmetic | Number, numbers: Sequence[float] = ()) -> Self:
        """Apply an element-wise operation of the table in `operations/elementwise.py`."""
        from engine.tensor_graphs.operations.elementwise import Elementwise

        return self._apply(Elementwise(name, tuple(numbers)), self._node(), *map(self._operand, others))

    def _operand(self, value: Arithmetic | Number) -> Node:
        """Return the node of another operand; InvalidOperation when it is neither tensor nor number."""
        from engine.tensor_graphs.errors import InvalidOperation
        from engine.tensor_graphs.operations.leaves import Constant
        from engine.tensor_graphs.types import TensorType

        if isinstance(value, Arithmetic):
            return value._node()
        if isinstance(value, bool | int | float):
            return self._node().graph.add(Constant(float(value), TensorType((), self.type.dtype)))
        raise InvalidOperation(f"operand must be a tensor or a number, got {type(value).__name__}")

    def __add__(self, other: Arithmetic | Number) -> Self:
        return self.elementwise("add", other)

    def __sub__(self, other: Arithmetic | Number) -> Self:
        return self.elementwise("sub", other)

    def __mul__(self, other: Arithmetic | Number) -> Self:
        return self.elementwise("mul", other)

    def __truediv__(self, other: Arithmetic | Number) -> Self:
        return self.elementwise("div", other)

    def __neg__(self) -> Self:
        return self.elementwise("neg")

    def __matmul__(self, other: Arithmetic) -> Self:
        from engine.tensor_graphs.operations.matrices import MatMul

        return self._apply(MatMul(), self._node(), self._operand(other))

    def cast(self, dtype: DType) -> Self:
        """Return the elements as another type."""
        from engine.tensor_graphs.operations.elementwise import Cast

        return self._apply(Cast(dtype), self._node())
