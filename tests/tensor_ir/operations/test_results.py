"""Operations refuse wrong operands with a message that says what must hold, and their results have the right types."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch, TensorError
from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode, TensorOperation
from warploom.engine.tensor_ir.operations.elementwise import Elementwise
from warploom.engine.tensor_ir.operations.fused import FUSIBLE, DualSparseAffineActivate, SparseAffineActivate
from warploom.engine.tensor_ir.operations.indexing import Gather, ScatterAdd
from warploom.engine.tensor_ir.operations.leaves import Leaf
from warploom.engine.tensor_ir.operations.matrices import MatMul
from warploom.engine.tensor_ir.operations.reductions import BroadcastTo, Reduce, ReduceAcrossBatch, Softmax
from warploom.engine.tensor_ir.operations.rules import RULES
from warploom.engine.tensor_ir.operations.shaping import Concat, Pad, Reshape, Slice, Transpose
from warploom.engine.tensor_ir.operations.sparse import SparseMatMul, SparseOuter, SparseRows
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import bf16, boolean, f16, f32, f64, float4, s32, u8


def t(*shape: int, dtype: Any = f32, batched: bool = False, nnz: int | None = None) -> TensorType:
    """Return a type."""
    return TensorType(shape, dtype, batched, nnz)


COLUMN = t(6, 1, batched=True, nnz=3)


@pytest.mark.parametrize(
    ("operation", "inputs", "expected"),
    [
        (Elementwise("add"), [t(3), t(5, 1, batched=True)], t(5, 3, batched=True)),
        (Elementwise("less"), [t(3, dtype=s32), t(dtype=s32)], t(3, dtype=boolean)),
        (Elementwise("where"), [t(3, dtype=boolean, batched=True), t(1), t(3)], t(3, batched=True)),
        (Elementwise("not"), [t(dtype=boolean)], t(dtype=boolean)),
        (MatMul(True), [t(3, 4), t(3, 1, batched=True)], t(4, 1, batched=True)),
        (MatMul(sum_batch=True), [t(2, 4, 3, batched=True), t(3, 5)], t(2, 4, 5)),
        (Reduce("max", (0, 2)), [t(4, 3, 2, batched=True)], t(1, 3, 1, batched=True)),
        (ReduceAcrossBatch("min"), [t(4, batched=True)], t(4)),
        (BroadcastTo(t(2, 3, batched=True)), [t(3)], t(2, 3, batched=True)),
        (Transpose((1, 2, 0)), [t(4, 3, 2)], t(3, 2, 4)),
        (Concat(1), [t(4, 1), t(4, 3, batched=True)], t(4, 4, batched=True)),
        (Slice((1, 0), (2, 3), (3, 1)), [t(5, 3)], t(2, 3)),
        (Pad((1,), (0,), (2,)), [t(3)], t(8)),
        (Pad((1,), (1,), (2,)), [t(0)], t(2)),
        (Gather(1), [t(4, 5, 2), t(7, 3, dtype=s32, batched=True)], t(4, 7, 3, 2, batched=True)),
        (ScatterAdd(1, 9), [t(7, 3, dtype=s32), t(4, 7, 3, 2, batched=True)], t(4, 9, 2, batched=True)),
        (SparseMatMul(), [t(4, 6), COLUMN], t(4, 1, batched=True)),
        (SparseMatMul(True), [t(6, 4), COLUMN], t(4, 1, batched=True)),
        (SparseOuter(6, True), [t(4, 1, batched=True), COLUMN], t(6, 4)),
        (SparseRows(), [COLUMN], t(3, dtype=s32, batched=True)),
        (SparseAffineActivate(), [t(4, 6), COLUMN, t(4, 1)], t(4, 1, batched=True)),
        (DualSparseAffineActivate(), [t(4, 6), COLUMN, COLUMN, t(4, 1)], t(8, 1, batched=True)),
    ],
    ids=str,
)
def test_types_of_results(operation: TensorOperation, inputs: list[TensorType], expected: TensorType) -> None:
    """A result's type has its shape, its element type, and whether it is batched."""
    assert operation.result(*inputs) == expected


@pytest.mark.parametrize(
    ("operation", "inputs", "error", "message"),
    [
        (Elementwise("add"), [t(3), t(4)], ShapeMismatch, "shapes must broadcast to one, got [3] and [4]"),
        (Elementwise("add"), [t(3), t(3, dtype=f64)], InvalidOperation, "one element type, got f32 and f64; cast one"),
        (Elementwise("add"), [t(3)], InvalidOperation, "add must have 2 operands, got 1"),
        (Elementwise("add"), [t(6, 1), COLUMN], InvalidOperation, "must be dense, got f32[6, 1], batched, 3 nonzero"),
        (Elementwise("exp"), [t(3, dtype=s32)], InvalidOperation, "operands must be floats, got s32; cast them"),
        (Elementwise("neg"), [t(3, dtype=boolean)], InvalidOperation, "operands must be numbers, got boolean"),
        (Elementwise("and"), [t(3), t(3)], InvalidOperation, "operands must be boolean, got f32"),
        (Elementwise("where"), [t(3), t(3), t(3)], InvalidOperation, "condition must be boolean"),
        (MatMul(), [t(3, 4), t(3, 4)], ShapeMismatch, "matrices must fit each other, got 3 x 4 and 3 x 4"),
        (MatMul(), [t(4), t(4, 3)], ShapeMismatch, "matrices must have two axes or more, got [4] and [4, 3]"),
        (MatMul(sum_batch=True), [t(3, 4), t(4, 3)], InvalidOperation, "one operand must be batched"),
        (MatMul(), [t(3, 4, dtype=s32), t(4, 3, dtype=s32)], InvalidOperation, "operands must be floats, got s32"),
        (Reduce("sum", (2,)), [t(3, 4)], ShapeMismatch, "axes must be at least 0 and below 2, got 2"),
        (Reduce("sum", ()), [t(3, dtype=boolean)], InvalidOperation, "must hold dense numbers, got boolean[3]"),
        (ReduceAcrossBatch(), [t(3)], InvalidOperation, "must be batched, got f32[3]"),
        (BroadcastTo(t(3)), [t(3, batched=True)], InvalidOperation, "a batched tensor must stay batched"),
        (BroadcastTo(t(3)), [t(5, 3)], ShapeMismatch, "[5, 3] must be a part of [3]"),
        (BroadcastTo(t(3)), [t(3, dtype=f64)], InvalidOperation, "must be dense and f32, got f64[3]"),
        (Reshape((5,)), [t(2, 3)], ShapeMismatch, "shape must have 6 elements, got [5]"),
        (Transpose((0, 0)), [t(2, 3)], ShapeMismatch, "must name each of 2 axes once, got [0, 0]"),
        (Concat(0), [], InvalidOperation, "must have an operand"),
        (Concat(0), [t(2, 3), t(2, 4)], ShapeMismatch, "equal sizes but along axis 0, got [2, 3] and [2, 4]"),
        (Concat(0), [t(2), t(2, dtype=f64)], InvalidOperation, "must have one element type, got f32 and f64"),
        (Slice((1,), (3,), (2,)), [t(5)], ShapeMismatch, "must lie inside 5 elements, got 3 from 1 by 2"),
        (Slice((1,), (3,), (2,)), [t(5, 5)], ShapeMismatch, "slice must have 2 axes, got 1"),
        (Pad((1,), (-1,), (0,)), [t(5)], ShapeMismatch, "padding must be at least 0"),
        (Gather(0), [t(5), t(2)], InvalidOperation, "indices must be dense, of s32 or s64, got f32[2]"),
        (Gather(1), [t(5), t(2, dtype=s32)], ShapeMismatch, "axis must be at least 0 and below 1, got 1"),
        (ScatterAdd(0, 4), [t(3, dtype=s32), t(2)], ShapeMismatch, "the indices' shape [3], got [2]"),
        (ScatterAdd(0, 4, True), [t(3, dtype=s32), t(3)], InvalidOperation, "one operand must be batched"),
        (Softmax(1), [t(3)], ShapeMismatch, "axis must be at least 0 and below 1, got 1"),
        (SparseMatMul(), [t(4, 5), COLUMN], ShapeMismatch, "matrices must fit each other, got 4 x 5 and 6 x 1"),
        (SparseMatMul(), [t(4, 6), t(6, 1)], InvalidOperation, "must be a sparse column, got f32[6, 1]"),
        (SparseMatMul(), [t(4, 6, batched=True), COLUMN], InvalidOperation, "one matrix for all examples"),
        (SparseOuter(5), [t(4, 1), COLUMN], ShapeMismatch, "sparse column must have 5 rows, got [6, 1]"),
        (SparseOuter(6), [t(4, 2), COLUMN], ShapeMismatch, "first operand must be a column, got [4, 2]"),
        (SparseAffineActivate(), [t(4, 6), COLUMN, t(5, 1)], ShapeMismatch, "shapes must broadcast to one"),
        (
            SparseAffineActivate(),
            [t(4, 6), COLUMN, t(4, 4)],
            ShapeMismatch,
            "must broadcast to the product [4, 1], got [4, 4]",
        ),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(
    operation: TensorOperation, inputs: list[TensorType], error: type[TensorError], message: str
) -> None:
    """Invalid operands are refused with the rule and the given value."""
    with pytest.raises(error, match=re.escape(message)):
        operation.result(*inputs)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Elementwise("sine"), "element-wise operation must be one of add, sub"),
        (lambda: Elementwise("add", (2.0,)), "add must have 0 numbers, got 1"),
        (lambda: Elementwise("abs_pow"), "abs_pow must have 1 numbers, got 0"),
        (lambda: SparseAffineActivate("gelu"), "activation must be one of crelu, exp"),
    ],
)
def test_operations_that_there_are_not(make: Callable[[], TensorOperation], message: str) -> None:
    """Unknown operations are refused when they are made."""
    with pytest.raises(InvalidOperation, match=message):
        make()


def test_activations_that_can_be_fused() -> None:
    """A fused activation's gradient follows from its result."""
    assert {"relu", "crelu", "screlu", "sqr_relu", "sigmoid", "tanh"} <= FUSIBLE
    assert not FUSIBLE & {"gelu", "softplus", "sin", "abs_pow"}


def test_casts() -> None:
    """Casts convert as kernels do: toward 0, to the nearest number in range, and wrapping where storing narrows."""
    graph = TensorGraph()
    x = graph.add(Leaf(t(9, dtype=f64)))
    value = np.array([1.9, -1.9, 0.0, 300.0, -1.0, 3e9, -3e9, np.nan, np.inf])
    big, small = 2**31 - 1, -(2**31)
    assert _values(x.cast(s32), value) == [1, -1, 0, 300, -1, big, small, 0, big]
    assert _values(x.cast(u8), value) == [1, 0, 0, 300 % 256, 0, 3000000000 % 256, 0, 0, 255]
    assert _values(x.cast(boolean), value) == [True, True, False, True, True, True, True, True, True]
    assert _values(x.cast(f16), value)[:4] == [np.float16(1.9), np.float16(-1.9), 0, 300]
    assert _values(x.cast(bf16), value)[3:6] == [300, -1, 3003121664]
    assert x.cast(f64) is x
    with pytest.raises(InvalidOperation, match="element type must be one of numbers such as f32, got float4"):
        x.cast(float4)


def _values(node: TensorNode, value: Any) -> list[Any]:
    from warploom.engine.tensor_ir.evaluation import evaluate

    found: list[Any] = evaluate([node], {node.inputs[0]: value})[0].tolist()
    return found


def test_each_row_of_the_table_is_named_once() -> None:
    """Arithmetic, functions, activations and conditions have no name in common."""
    from warploom.engine.tensor_ir.operations.rules import activations, arithmetic

    tables = (arithmetic.ARITHMETIC, arithmetic.FUNCTIONS, activations.ACTIVATIONS, arithmetic.CONDITIONS)
    assert sum(map(len, tables)) == len(RULES)


def test_the_message_has_nodes_and_the_line() -> None:
    """An error has the nodes, and the line of the user's code that applied the operation."""
    graph = TensorGraph()
    a, b = graph.add(Leaf(t(3)), name="a"), graph.add(Leaf(t(4)), name="b")
    with pytest.raises(
        ShapeMismatch, match=r"Add\(a: f32\[3\], b: f32\[4\]\): shapes must .* \(.*test_results.py:\d+\)"
    ):
        a + b
