"""Matrix products as library calls: chooses which axes of the buffers are the library's rows and columns.

The bias and activation of a product are part of the call, or separate kernels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.descriptions.handles import BufferHandle
from engine.libraries import blas
from engine.tensor_ir.lowering.reducing import Axis, size_product, write_axes
from engine.tensor_ir.lowering.step import LoweringStep, SizeExpression
from engine.tensor_ir.operations.rules import RULES
from engine.tensor_ir.operations.rules.rule import GraphValue
from engine.tensor_ir.types import TensorType, broadcast_shapes
from engine.types import Shape, f32, f64


@dataclass(frozen=True)
class Factor:
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


def write_product(step: LoweringStep, gemm: blas.Gemm, *, sum_batch: bool) -> None:
    """Write the product of a node's two inputs, with a single BLAS call where possible.

    The calls have the options of `gemm`, with transposes set as needed.
    """
    a, b = _factors(step, gemm)
    if sum_batch:
        _write_summed(step, gemm, a, b)
    else:
        _write(step, gemm, a, b, step.out)


def write_affine(step: LoweringStep, gemm: blas.Gemm, *, activation: str | None) -> None:
    """Write the product of the first two inputs, plus a third input as bias, if present, and an activation."""
    a, b = _factors(step, gemm)
    bias = 2 if len(step.node.inputs) > 2 else None
    is_column = not (a.leading or b.leading or a.type.batched) and b.columns == 1 and a.rows > 1
    if bias is not None and is_column and activation in (None, "relu"):
        given = step.node.inputs[bias].type
        if given.shape == (a.rows, 1) and not given.batched:
            rows, columns = (step.batch if b.type.batched else 1), b.rows
            call = _call(gemm, transpose_b=not a.is_transposed, activation=activation or "none")
            operands = {
                "a": _matrix(step, b.handle, rows, columns),
                "b": step.seen_as(a.handle, *a.type.shape),
                "bias": step.seen_as(step.input(bias), a.rows),
                "out": step.seen_as(step.out, rows, a.rows),
            }
            step.build.capture(call.on(**operands))
            return
    if bias is None and activation is None:
        _write(step, gemm, a, b, step.out)
        return
    shape = broadcast_shapes(a.leading, b.leading)
    type_ = TensorType((*shape, a.rows, b.columns), step.node.type.dtype, a.type.batched or b.type.batched)
    out = step.temporary("product", type_.dtype, step.count(type_))
    _write(step, gemm, a, b, out)
    write_activation(step, out, type_, bias, activation)


def _factors(step: LoweringStep, gemm: blas.Gemm) -> tuple[Factor, Factor]:
    a, b = (node.type for node in step.node.inputs[:2])
    return Factor(step.input(0), a, gemm.transpose_a), Factor(step.input(1), b, gemm.transpose_b)


def _call(
    gemm: blas.Gemm, *, transpose_a: bool = False, transpose_b: bool = False, activation: str = "none"
) -> blas.Gemm:
    return blas.Gemm(transpose_a, transpose_b, activation, gemm.allow_tf32)


def _write(step: LoweringStep, gemm: blas.Gemm, a: Factor, b: Factor, out: BufferHandle) -> None:
    if (a.leading or b.leading) or not _write_rows(step, gemm, a, b, out):
        _write_stack(step, gemm, a, b, out, batched=a.type.batched or b.type.batched)


def _write_rows(step: LoweringStep, gemm: blas.Gemm, a: Factor, b: Factor, out: BufferHandle) -> bool:
    """Write a product with the examples of one operand as rows of one matrix; return False if impossible."""
    batch: SizeExpression = step.batch if a.type.batched or b.type.batched else 1
    if not b.type.batched and (a.is_vector or not a.is_transposed):
        rows = size_product([batch, a.rows])
        _multiply(step, gemm, _matrix(step, a.handle, rows, a.columns), b, out, (rows, b.columns))
        return True
    if not a.type.batched and b.columns == 1:
        # out = a b, computed as the row b' a' of each example.
        _multiply(step, gemm, _matrix(step, b.handle, batch, b.rows), _turned(a), out, (batch, a.rows))
        return True
    return False


def _multiply(
    step: LoweringStep,
    gemm: blas.Gemm,
    rows: BufferHandle,
    b: Factor,
    target: BufferHandle,
    shape: tuple[SizeExpression, SizeExpression],
) -> None:
    """Multiply a matrix of rows by a matrix that isn't batched."""
    height, width = shape
    if width == 1 and step.node.type.dtype in (f32, f64):
        vector, out = step.seen_as(b.handle, b.type.size), step.seen_as(target, height)
        step.build.capture(blas.Gemv().on(a=rows, x=vector, out=out))
        return
    if height == 1 and step.node.type.dtype in (f32, f64):
        matrix = step.seen_as(b.handle, *b.type.shape[-2:])
        vector, out = step.seen_as(rows, b.rows), step.seen_as(target, width)
        step.build.capture(blas.Gemv(transpose=not b.is_transposed).on(a=matrix, x=vector, out=out))
        return
    matrix = step.seen_as(b.handle, *b.type.shape[-2:])
    out = step.seen_as(target, height, width)
    step.build.capture(_call(gemm, transpose_b=b.is_transposed).on(a=rows, b=matrix, out=out))


def _write_summed(step: LoweringStep, gemm: blas.Gemm, a: Factor, b: Factor) -> None:
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
    left, right = _matrix(step, a.handle, inner, rows), _matrix(step, b.handle, inner, columns)
    if 1 in (rows, columns) and step.node.type.dtype in (f32, f64):
        matrix, vector, size = (right, a.handle, columns) if rows == 1 else (left, b.handle, rows)
        out = step.seen_as(step.out, size)
        step.build.capture(blas.Gemv(transpose=True).on(a=matrix, x=step.seen_as(vector, inner), out=out))
        return
    out = step.seen_as(step.out, rows, columns)
    step.build.capture(_call(gemm, transpose_a=True).on(a=left, b=right, out=out))


def _write_stack(
    step: LoweringStep, gemm: blas.Gemm, a: Factor, b: Factor, out: BufferHandle, *, batched: bool
) -> None:
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
    call = _call(gemm, transpose_a=a.is_transposed, transpose_b=b.is_transposed)
    step.build.capture(call.on(a=operands[0], b=operands[1], out=target))


def _repeated(step: LoweringStep, number: int, to: TensorType) -> BufferHandle:
    """Return an operand repeated along leading axes and the batch."""
    kernel = step.kernel(to)
    out = step.temporary(f"operand{number}_", to.dtype, step.count(to))
    kernel.write(step.node.inputs[number], out)
    step.build.compute(kernel.made(), over=out, buffers=kernel.buffers)
    return out


def _matrix(step: LoweringStep, handle: BufferHandle, rows: SizeExpression, columns: SizeExpression) -> BufferHandle:
    return step.seen_as(handle, rows, columns)


def _turned(factor: Factor) -> Factor:
    return Factor(factor.handle, factor.type, not factor.is_transposed)


#: The activations that kernels apply themselves, by name in the table, with their names in `tensor_activations.cuh`.
IN_KERNELS: Mapping[str | None, str] = {
    None: "identity",
    **{name: name for name in ("relu", "crelu", "screlu", "sqr_relu", "sigmoid")},
}


def write_activation(
    step: LoweringStep, product: BufferHandle, given: TensorType, bias: int | None, activation: str | None
) -> None:
    """Write a step's output: a product of a given type, plus the bias (an input's number), and an activation."""
    type_ = step.node.type
    kernel = step.kernel(type_)
    value = GraphValue(kernel.graph, kernel.read_buffer(product, given, kernel.own))
    if bias is not None:
        added = kernel.read_buffer(step.input(bias), step.node.inputs[bias].type, kernel.own)
        value = value + GraphValue(kernel.graph, added)
    if activation is not None:
        value = RULES[activation].emit(value)
    kernel.write_value(value.port, step.out, type_.dtype)
    step.build.compute(kernel.made(), over=step.out, buffers=kernel.buffers)
