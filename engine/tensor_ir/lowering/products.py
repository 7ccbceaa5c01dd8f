"""Matrix products as library calls: chooses which axes of the buffers are the library's rows and columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

from warploom.engine.descriptions.handles import BufferHandle
from warploom.engine.libraries.blas import Gemm
from warploom.engine.tensor_ir.lowering.reducing import Axis, size_product, write_axes
from warploom.engine.tensor_ir.lowering.step import LoweringStep, SizeExpression
from warploom.engine.tensor_ir.types import TensorType, broadcast_shapes
from warploom.engine.types import Shape


@dataclass(frozen=True)
class _Factor:
    """An operand of a product: matrices in memory, and whether they are transposed first."""

    handle: BufferHandle
    type: TensorType
    is_transposed: bool

    @property
    def rows(self) -> int:
        """The rows of the matrix after transposing."""
        return self.type.shape[-1 if self.is_transposed else -2]

    @property
    def columns(self) -> int:
        """The columns of the matrix after transposing."""
        return self.type.shape[-2 if self.is_transposed else -1]

    @property
    def is_vector(self) -> bool:
        """Whether the matrix is a row or a column; both have the same layout."""
        return 1 in self.type.shape[-2:]

    @property
    def leading(self) -> Shape:
        """The axes in front of the matrix."""
        return self.type.shape[:-2]


def write_product(step: LoweringStep, gemm: Gemm, *, sum_batch: bool) -> None:
    """Write the product of a node's two inputs, with a single BLAS call where possible.

    The calls have the options of `gemm`, with transposes set as needed.
    """
    a, b = (
        _Factor(step.input(index), node.type, is_transposed)
        for index, (node, is_transposed) in enumerate(
            zip(step.node.inputs, (gemm.transpose_a, gemm.transpose_b), strict=True)
        )
    )
    if sum_batch:
        _write_summed(step, gemm, a, b)
    elif a.leading or b.leading or not _write_rows(step, gemm, a, b):
        _write_stack(step, gemm, a, b, step.out, batched=a.type.batched or b.type.batched)


def _write_rows(step: LoweringStep, gemm: Gemm, a: _Factor, b: _Factor) -> bool:
    """Write a product with the examples of one operand as rows of one matrix; return False if impossible."""
    rows: SizeExpression = step.batch if a.type.batched or b.type.batched else 1
    if not b.type.batched and (a.is_vector or not a.is_transposed):
        rows, columns, matrix = size_product([rows, a.rows]), a, b
    elif not a.type.batched and b.columns == 1:
        # out = a b, computed as the row b' a' of each example.
        columns, matrix = replace(b, is_transposed=not b.is_transposed), replace(a, is_transposed=not a.is_transposed)
    else:
        return False
    left = step.seen_as(columns.handle, rows, columns.columns)
    right = step.seen_as(matrix.handle, *matrix.type.shape[-2:])
    out = step.seen_as(step.out, rows, matrix.columns)
    step.build.capture(replace(gemm, transpose_a=False, transpose_b=matrix.is_transposed).on(a=left, b=right, out=out))
    return True


def _write_summed(step: LoweringStep, gemm: Gemm, a: _Factor, b: _Factor) -> None:
    """Write the sum over the examples as one product; its inner axis joins the inner axes of all examples."""
    both = a.type.batched and b.type.batched and not (a.leading or b.leading)
    if not (both and (a.is_transposed or a.is_vector) and (not b.is_transposed or b.is_vector)):
        out = step.temporary("each", step.node.type.dtype, step.batch, step.node.type.size)
        _write_stack(step, gemm, a, b, out, batched=True)
        axes = [Axis(step.batch, True), Axis(step.node.type.size, False)]
        write_axes(step, out, axes, "sum", step.node.type.dtype)
        return
    inner = size_product([step.batch, a.columns])
    rows, columns = a.rows, b.columns
    left, right = step.seen_as(a.handle, inner, rows), step.seen_as(b.handle, inner, columns)
    out = step.seen_as(step.out, rows, columns)
    step.build.capture(replace(gemm, transpose_a=True, transpose_b=False).on(a=left, b=right, out=out))


def _write_stack(step: LoweringStep, gemm: Gemm, a: _Factor, b: _Factor, out: BufferHandle, *, batched: bool) -> None:
    """Write a product for each example and leading index; an operand that lacks these axes is repeated."""
    leading = broadcast_shapes(a.leading, b.leading)
    count = size_product([step.batch if batched else 1, *leading])
    operands = []
    for number, factor in enumerate((a, b)):
        shape = factor.type.shape[-2:]
        if not factor.type.batched and factor.type.size == shape[0] * shape[1]:
            operands.append(step.seen_as(factor.handle, *shape))
            continue
        handle = factor.handle
        if factor.type.batched != batched or factor.leading != leading:
            handle = _repeated(step, number, TensorType((*leading, *shape), factor.type.dtype, batched))
        operands.append(step.seen_as(handle, count, *shape))
    is_one = count == 1 or all(not f.type.batched and f.type.size == f.rows * f.columns for f in (a, b))
    rows, columns = a.rows, b.columns
    target = step.seen_as(out, rows, columns) if is_one else step.seen_as(out, count, rows, columns)
    step.build.capture(gemm.on(a=operands[0], b=operands[1], out=target))


def _repeated(step: LoweringStep, number: int, to: TensorType) -> BufferHandle:
    """Return an operand repeated along leading axes and the batch."""
    kernel = step.kernel(to)
    out = step.temporary(f"operand{number}_", to.dtype, step.count(to))
    kernel.write(step.node.inputs[number], out)
    step.build.compute(kernel.made(), over=out, buffers=kernel.buffers)
    return out
