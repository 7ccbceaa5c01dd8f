"""`Arithmetic`: the methods and operators of nodes and lazy tensors.

A subclass, nodes or lazy tensors, only defines how an operation is applied.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from types import EllipsisType
from typing import NoReturn, Self, SupportsIndex

from warploom.engine.descriptions.checks import shown
from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.types import (
    TensorType,
    indexed,
    real_number,
    whole_number,
    whole_numbers,
    whole_shape,
)
from warploom.engine.types import DType, bf16, f16, f32, s64, u64

#: Operands of arithmetic. A number becomes a constant of the other operand's element type.
Number = int | float


class Arithmetic:
    """Operators and methods that apply operations; shapes broadcast, and numbers become constants.

    Axes are those of one example, numbered from 0, or from -1 backwards. `==` and `!=` compare identity, so that
    tensors can be keys; `equal` compares elements.
    """

    __slots__ = ()

    type: TensorType

    def _call(self, operation: str, /, *operands: Arithmetic | Number, **settings: object) -> Self:
        """Apply an operation, by its name in `OPERATIONS`, to operands that include this one."""
        raise NotImplementedError

    def elementwise(self, name: str, *others: Arithmetic | Number, numbers: Sequence[float] = ()) -> Self:
        """Apply an element-wise operation of the table in `operations/rules`."""
        return self._call(
            "Elementwise",
            self,
            *others,
            name=name,
            numbers=tuple([real_number(f"number of {name}", number, finite=False) for number in numbers]),
        )

    def _reversed(self, name: str, first: Number) -> Self:
        """Apply an operation of the table to a number and this tensor."""
        return self._call("Elementwise", first, self, name=name)

    def __add__(self, other: Arithmetic | Number) -> Self:
        return self.elementwise("add", other)

    def __radd__(self, other: Number) -> Self:
        return self._reversed("add", other)

    def __sub__(self, other: Arithmetic | Number) -> Self:
        return self.elementwise("sub", other)

    def __rsub__(self, other: Number) -> Self:
        return self._reversed("sub", other)

    def __mul__(self, other: Arithmetic | Number) -> Self:
        return self.elementwise("mul", other)

    def __rmul__(self, other: Number) -> Self:
        return self._reversed("mul", other)

    def __truediv__(self, other: Arithmetic | Number) -> Self:
        return self.elementwise("div", other)

    def __rtruediv__(self, other: Number) -> Self:
        return self._reversed("div", other)

    def __pow__(self, exponent: Arithmetic | Number) -> Self:
        if isinstance(exponent, Arithmetic):
            return self.elementwise("pow", exponent)
        return self.elementwise("power", numbers=(exponent,))

    def __rpow__(self, base: Number) -> Self:
        return self._reversed("pow", base)

    def __neg__(self) -> Self:
        return self.elementwise("neg")

    def __abs__(self) -> Self:
        return self.elementwise("abs")

    def abs(self) -> Self:
        """Return the absolute value of each element."""
        return self.elementwise("abs")

    def sign(self) -> Self:
        """Return the sign of each element: -1, 0 or 1."""
        return self.elementwise("sign")

    def square(self) -> Self:
        """Return the square of each element."""
        return self.elementwise("square")

    def sqrt(self) -> Self:
        """Return the square root of each element."""
        return self.elementwise("sqrt")

    def reciprocal(self) -> Self:
        """Return 1 divided by each element."""
        return self.elementwise("reciprocal")

    def exp(self) -> Self:
        """Return e to the power of each element."""
        return self.elementwise("exp")

    def log(self) -> Self:
        """Return the natural logarithm of each element."""
        return self.elementwise("log")

    def sin(self) -> Self:
        """Return the sine of each element."""
        return self.elementwise("sin")

    def cos(self) -> Self:
        """Return the cosine of each element."""
        return self.elementwise("cos")

    def tanh(self) -> Self:
        """Return the hyperbolic tangent of each element."""
        return self.elementwise("tanh")

    def sinh(self) -> Self:
        """Return the hyperbolic sine of each element."""
        return self.elementwise("sinh")

    def cosh(self) -> Self:
        """Return the hyperbolic cosine of each element."""
        return self.elementwise("cosh")

    def round(self) -> Self:
        """Return the nearest whole number to each element, and of two the even one."""
        return self.elementwise("round")

    def truncate(self) -> Self:
        """Return each element without its fraction."""
        return self.elementwise("trunc")

    def is_positive(self) -> Self:
        """Return 1 where an element is above 0, and 0 elsewhere, in the same type."""
        return self.greater(0.0).cast(self.type.dtype)

    def abs_pow(self, power: float) -> Self:
        """Return the absolute value of each element, raised to a power."""
        return self.elementwise("abs_pow", numbers=(power,))

    def relu(self) -> Self:
        """Return the larger of each element and 0."""
        return self.elementwise("relu")

    def crelu(self) -> Self:
        """Return each element, clamped to the range from 0 to 1."""
        return self.elementwise("crelu")

    def screlu(self) -> Self:
        """Return the square of `crelu`."""
        return self.elementwise("screlu")

    def sqr_relu(self) -> Self:
        """Return the square of `relu`."""
        return self.elementwise("sqr_relu")

    def sigmoid(self) -> Self:
        """Return 1 / (1 + exp(-x)) of each element x."""
        return self.elementwise("sigmoid")

    def softplus(self) -> Self:
        """Return log(1 + exp(x)) of each element x."""
        return self.elementwise("softplus")

    def gelu(self, *, tanh: bool = False) -> Self:
        """Return x times the normal distribution's probability below x, for each element x; `tanh` approximates it."""
        return self.elementwise("gelu_tanh" if tanh else "gelu")

    def maximum(self, other: Arithmetic | Number) -> Self:
        """Return the larger of two elements; NaN if either is NaN."""
        return self.elementwise("maximum", other)

    def minimum(self, other: Arithmetic | Number) -> Self:
        """Return the smaller of two elements; NaN if either is NaN."""
        return self.elementwise("minimum", other)

    def equal(self, other: Arithmetic | Number) -> Self:
        """Return booleans: whether elements are equal."""
        return self.elementwise("equal", other)

    def not_equal(self, other: Arithmetic | Number) -> Self:
        """Return booleans: whether elements differ."""
        return self.elementwise("not_equal", other)

    def less(self, other: Arithmetic | Number) -> Self:
        """Return booleans: whether elements are less than the others."""
        return self.elementwise("less", other)

    def less_equal(self, other: Arithmetic | Number) -> Self:
        """Return booleans: whether elements are less than or equal to the others."""
        return self.elementwise("less_equal", other)

    def greater(self, other: Arithmetic | Number) -> Self:
        """Return booleans: whether elements are greater than the others."""
        return self.elementwise("greater", other)

    def greater_equal(self, other: Arithmetic | Number) -> Self:
        """Return booleans: whether elements are greater than or equal to the others."""
        return self.elementwise("greater_equal", other)

    def where(self, chosen: Arithmetic | Number, other: Arithmetic | Number) -> Self:
        """Return elements of `chosen` where this boolean tensor is true, and of `other` elsewhere."""
        if not isinstance(chosen, Arithmetic) and not isinstance(other, Arithmetic):
            raise InvalidOperation(f"where must have a tensor to choose from, got {chosen!r} and {other!r}")
        return self.elementwise("where", chosen, other)

    def cast(self, dtype: DType) -> Self:
        """Return the elements converted to another type."""
        return self if dtype == self.type.dtype else self._call("Cast", self, dtype=dtype)

    def stop_gradient(self) -> Self:
        """Return the same elements; no gradient passes to this tensor."""
        return self._call("StopGradient", self)

    def pass_through(self, value: Arithmetic) -> Self:
        """Return `value`, whose gradient passes to this tensor unchanged instead of to `value`."""
        return self._call("PassThrough", self, value)

    def fake_quantise(self, scale: float, *, truncate: bool = False) -> Self:
        """Return elements as they are after they were multiplied by a scale and rounded to whole numbers.

        Of two nearest numbers, the even one is chosen; with `truncate`, fractions are cut off. The gradient passes
        through unchanged, so a network can be trained for the weights that it will have when they are quantised.
        """
        scale = real_number("scale", scale)
        if scale <= 0:
            raise InvalidOperation(f"scale must be above 0, got {scale:g}")
        whole = (self * scale).truncate() if truncate else (self * scale).round()
        return self.pass_through(whole / scale)

    def copy(self) -> Self:
        """Return the same elements in separate memory."""
        return self._call("Copy", self)

    def sum(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Self:
        """Return the sum over some axes of an example, by default all.

        As in numpy, the sum of booleans and signed whole numbers is s64, and that of unsigned ones u64, for all sizes.
        A sum of floats has their type; for f16 and bf16 it is computed in f32 and rounded at the end.
        """
        axes = self._axes(axis)
        # Adjacent axes are reduced at once, in f32.
        wide = self._wide() if axes and axes[-1] - axes[0] >= len(axes) else self._whole()
        total = wide._reduced("sum", axes, keepdims)
        return total.cast(self.type.dtype) if self.type.dtype in (f16, bf16) else total

    def max(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Self:
        """Return the largest element over some axes of an example, by default all."""
        return self._reduced("max", axis, keepdims)

    def min(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Self:
        """Return the smallest element over some axes of an example, by default all."""
        return self._reduced("min", axis, keepdims)

    def mean(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Self:
        """Return the mean over some axes of an example, by default all; f16 is computed as f32."""
        total = self._wide().sum(axis, keepdims=keepdims)
        return (total / prod(self.type.shape[each] for each in self._axes(axis))).cast(self.type.dtype)

    def _whole(self) -> Self:
        """Return whole numbers and booleans in the type in which numpy sums them; floats stay as they are."""
        dtype = self.type.dtype
        if dtype.kind not in ("integer", "boolean"):
            return self
        return self.cast(u64 if dtype.numpy.kind == "u" else s64)

    def _reduced(self, operation: str, axis: int | Sequence[int] | None, keepdims: bool) -> Self:
        axes = self._axes(axis)
        found = self._call("Reduce", self, operation=operation, axes=axes) if axes else self
        return found if keepdims else found.reshape([n for at, n in enumerate(self.type.shape) if at not in axes])

    def _axes(self, axis: int | Sequence[int] | None) -> tuple[int, ...]:
        """Return axes numbered from 0, in order. Raise ShapeMismatch for a missing or repeated one."""
        count = len(self.type.shape)
        if axis is None:
            return tuple(range(count))
        given = whole_numbers("axes", [axis] if isinstance(axis, SupportsIndex) else axis)
        for each in given:
            if not -count <= each < count:
                raise ShapeMismatch(f"axis must be at least {-count} and below {count}, got {each}")
        found = tuple(sorted({each % count for each in given}))
        if len(found) < len(given):
            raise ShapeMismatch(f"axes must be different ones, got {list(given)}")
        return found

    def _axis(self, axis: int) -> int:
        """Return one axis numbered from 0. Raise ShapeMismatch when it doesn't exist."""
        return self._axes([axis])[0]

    def sum_batch(self) -> Self:
        """Return the sum of all examples; whole numbers are summed as in `sum`."""
        return self._call("ReduceAcrossBatch", self._whole())

    def mean_batch(self) -> Self:
        """Return the mean of all examples; f16 is computed as f32."""
        total = self._wide().sum_batch()
        return (total / self._call("BatchSize", dtype=total.type.dtype)).cast(self.type.dtype)

    def _wide(self) -> Self:
        """Return the elements in a type that can hold their sums and counts."""
        return self.cast(f32) if self.type.dtype in (f16, bf16) else self._whole()

    def reshape(self, *shape: int | Sequence[int]) -> Self:
        """Return the same elements in another shape. One size may be -1; it follows from the others."""
        given = shape[0] if len(shape) == 1 and not isinstance(shape[0], SupportsIndex) else shape
        found = whole_shape(whole_numbers("sizes of a shape", given), self.type.size)
        return self if found == self.type.shape else self._call("Reshape", self, shape=found)

    def transpose(self, permutation: Sequence[int] | None = None) -> Self:
        """Return an example's last axes in another order, by default all axes in reverse order.

        `permutation` covers the last n axes, numbered from 0: axis i of the result is axis permutation[i].
        """
        count = len(self.type.shape)
        last = tuple(range(count))[::-1] if permutation is None else whole_numbers("permutation", permutation)
        kept = count - len(last)
        return self._call("Transpose", self, permutation=(*range(kept), *(kept + axis for axis in last)))

    def broadcast_to(self, *shape: int) -> Self:
        """Return the elements repeated along axes of size 1, and along new axes in front."""
        sizes = whole_numbers("sizes of a shape", shape)
        return self if sizes == self.type.shape else self._call("BroadcastTo", self, type=self.type.with_shape(sizes))

    def repeat(self, count: int, axis: int = 0) -> Self:
        """Return the tensor several times in sequence, joined along an axis."""
        at, count = self._axis(axis), whole_number("number of repeats", count)
        if count < 1:
            raise InvalidOperation(f"number of repeats must be 1 or more, got {count}")
        before, after = self.type.shape[:at], self.type.shape[at:]
        size, *rest = after
        return (
            self.reshape(*before, 1, *after).broadcast_to(*before, count, *after).reshape(*before, count * size, *rest)
        )

    def pairwise_mul(self, axis: int = 0) -> Self:
        """Return the first half of the elements along an axis times the second half."""
        at = self._axis(axis)
        size = self.type.shape[at]
        if size % 2:
            raise ShapeMismatch(f"axis of a pairwise product must have an even size, got {size}")
        every = (slice(None),) * at
        return self[(*every, slice(size // 2))] * self[(*every, slice(size // 2, None))]

    def concat(self, *others: Arithmetic, axis: int = 0) -> Self:
        """Return this and other tensors, joined along an axis."""
        at = self._axis(axis)
        return self._call("Concat", self, *others, axis=at)

    def __getitem__(self, index: int | slice | EllipsisType | tuple[int | slice | EllipsisType, ...]) -> Self:
        """Return a part of each example, with numpy's indexing; steps must be above 0."""
        starts, sizes, steps, shape = indexed(index if isinstance(index, tuple) else (index,), self.type.shape)
        return self._call("Slice", self, starts=starts, sizes=sizes, steps=steps).reshape(shape)

    def __iter__(self) -> NoReturn:  # otherwise Python would call __getitem__ with 0, 1, 2 and so on
        raise TypeError("a tensor can't be iterated over; index it")

    def pad(self, *widths: tuple[int, int], value: float = 0.0) -> Self:
        """Return the elements surrounded by a constant value; each axis has its numbers of values before and behind."""
        if not all(isinstance(width, Sequence) and len(width) == 2 for width in widths):
            raise InvalidOperation(f"padding must be two numbers for each axis, got {', '.join(map(shown, widths))}")
        low, high = (whole_numbers("padding", side) for side in ([w[0] for w in widths], [w[1] for w in widths]))
        number = real_number("value of the padding", value, finite=False)
        return self._call("Pad", self, low=low, high=high, interior=(0,) * len(widths), value=number)

    def gather(self, indices: Arithmetic, axis: int = 0) -> Self:
        """Return slices along an axis by their indices, s32 or s64; the axes of the indices replace the axis.

        An index out of range, such as -1, gives zeros.
        """
        at = self._axis(axis)
        return self._call("Gather", self, indices, axis=at)

    def scatter_add(self, indices: Arithmetic, updates: Arithmetic, axis: int = 0) -> Self:
        """Return the elements with slices added along an axis at these indices; an index out of range adds nothing."""
        at = self._axis(axis)
        return self + self._call("ScatterAdd", indices, updates, axis=at, size=self.type.shape[at])

    def select(self, chosen: Arithmetic, groups: int | None = None) -> Self:
        """Split the rows of a column into `groups` equal groups, and return one of them for each example.

        `chosen` is the group's number, or a sparse column that has a row for each group and a single 1.
        """
        if chosen.type.nnz is not None:
            groups = chosen.type.shape[0]
            chosen = chosen._call("SparseRows", chosen)
        if groups is None or groups < 1 or self.type.shape[0] % groups:
            raise ShapeMismatch(f"rows must be a multiple of the number of groups, got {self.type} and {groups}")
        rows = self.type.shape[0] // groups
        table = self.reshape(groups, rows, *self.type.shape[1:])
        return table.gather(chosen.reshape(()))

    def softmax(self, axis: int = -1) -> Self:
        """Return exp(x) divided by its sum over an axis."""
        return self._call("Softmax", self, axis=self._axis(axis))

    def log_softmax(self, axis: int = -1) -> Self:
        """Return the logarithm of `softmax`."""
        return self._call("LogSoftmax", self, axis=self._axis(axis))

    def __matmul__(self, other: Arithmetic) -> Self:
        is_sparse = isinstance(other, Arithmetic) and other.type.nnz is not None
        return self._call("SparseMatMul" if is_sparse else "MatMul", self, other)
