"""`ElementPlace`: the place of an element in a tensor, as whole numbers that a kernel computes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from warploom.engine.ops import OpGraphBuilder
from warploom.engine.ops.graph import OpPort
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import Shape

#: A whole number, known now or computed by the kernel.
Whole = int | OpPort


class IndexArithmetic:
    """Arithmetic on whole numbers that are not negative; known numbers are computed at once."""

    def __init__(self, graph: OpGraphBuilder) -> None:
        self._graph = graph
        self._made: dict[tuple[str, Whole, Whole], OpPort] = {}

    def add(self, a: Whole, b: Whole) -> Whole:
        """Return a + b."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0:
            return b
        return a if b == 0 else self._op("add", a, b)

    def subtract(self, a: Whole, b: int) -> Whole:
        """Return a - b, which must not be negative where the result is used."""
        if isinstance(a, int):
            return a - b
        return a if b == 0 else self._op("subtract", a, b)

    def multiply(self, a: Whole, by: int) -> Whole:
        """Return a * by."""
        if isinstance(a, int):
            return a * by
        if by in (0, 1):
            return a if by else 0
        return self._op("multiply", a, by)

    def divide(self, a: Whole, by: int) -> Whole:
        """Return a // by."""
        if isinstance(a, int):
            return a // by
        return a if by == 1 else self._op("floor_divide", a, by)

    def modulo(self, a: Whole, by: int) -> Whole:
        """Return a % by."""
        if isinstance(a, int):
            return a % by
        return 0 if by == 1 else self._op("remainder", a, by)

    def _op(self, name: str, a: Whole, b: Whole) -> OpPort:
        key = (name, a, b)
        made = self._made.get(key)
        if made is None:
            if isinstance(a, int):
                a, b = b, a  # addition is commutative
            made = self._made[key] = self._graph.add(f"op.{name}", a=a, b=b)["out"]
        return made


class ElementPlace:
    """An element's place in a tensor, which may be batched: its number, or its position on each axis.

    With `is_own`, it is the thread's own element, which has the same number in the output buffer.
    """

    def __init__(
        self,
        arithmetic: IndexArithmetic,
        shape: Shape,
        *,
        batched: bool,
        number: Whole | None = None,
        batch: Whole = 0,
        axes: Sequence[Whole] = (),
        is_own: bool = False,
    ) -> None:
        self.shape, self.batched, self.is_own = shape, batched, is_own
        self._arithmetic, self._size = arithmetic, prod(shape)
        self._number, self._batch, self._axes = number, batch, axes
        self._seen: dict[tuple[Shape, bool], ElementPlace] = {(shape, batched): self}

    @property
    def number(self) -> Whole:
        """The element's number in memory, from 0."""
        if self._number is None:
            whole = self._arithmetic
            number = whole.multiply(self._batch, self._size)
            stride = self._size
            for size, position in zip(self.shape, self._axes, strict=True):
                stride //= size
                number = whole.add(number, whole.multiply(position, stride))
            self._number = number
        return self._number

    @property
    def batch(self) -> Whole:
        """The example's number."""
        if not self.batched:
            return 0
        return self._batch if self._number is None else self._arithmetic.divide(self._number, self._size)

    def axis(self, axis: int) -> Whole:
        """Return the position on one axis of the shape."""
        if self._axes:
            return self._axes[axis]
        if self.shape[axis] == 1:
            return 0
        whole = self._arithmetic
        position = whole.divide(self.number, prod(self.shape[axis + 1 :]))
        is_outermost = not self.batched and prod(self.shape[:axis]) == 1
        return position if is_outermost else whole.modulo(position, self.shape[axis])

    @property
    def axes(self) -> list[Whole]:
        """The position on each axis."""
        return [self.axis(axis) for axis in range(len(self.shape))]

    def at(self, shape: Shape, axes: Sequence[Whole]) -> ElementPlace:
        """Return another place in the same example, in a tensor of another shape."""
        return ElementPlace(self._arithmetic, shape, batched=self.batched, batch=self.batch, axes=tuple(axes))

    def reshaped(self, shape: Shape) -> ElementPlace:
        """Return the place of the element with the same number, in a tensor of another shape and equal size."""
        found = self._seen.get((shape, self.batched))
        if found is None:
            found = ElementPlace(self._arithmetic, shape, batched=self.batched, number=self.number, is_own=self.is_own)
            self._seen[shape, self.batched] = found
        return found

    def narrowed(self, to: TensorType) -> ElementPlace:
        """Return the place of the element in a tensor that broadcasts to this one."""
        key = (to.shape, to.batched)
        found = self._seen.get(key)
        if found is None:
            found = self._seen[key] = self._narrowed(to)
        return found

    def _narrowed(self, to: TensorType) -> ElementPlace:
        whole, batched = self._arithmetic, to.batched and self.batched
        if to.size == 1:
            return ElementPlace(whole, to.shape, batched=batched, number=self.batch if batched else 0)
        if to.size == self._size and (batched == self.batched or self._number is not None):
            if batched == self.batched:  # axes of size 1 are left out or added
                return ElementPlace(whole, to.shape, batched=batched, number=self.number, is_own=self.is_own)
            return ElementPlace(whole, to.shape, batched=False, number=whole.modulo(self.number, to.size))
        skipped = len(self.shape) - len(to.shape)
        axes = [0 if size == 1 else self.axis(skipped + axis) for axis, size in enumerate(to.shape)]
        return ElementPlace(whole, to.shape, batched=batched, batch=self.batch if batched else 0, axes=axes)
