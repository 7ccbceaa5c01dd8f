"""Operators and methods equal numpy's."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.evaluation import evaluate
from warploom.engine.tensor_ir.gradients import gradients
from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode
from warploom.engine.tensor_ir.operations.elementwise import Elementwise
from warploom.engine.tensor_ir.operations.leaves import Constant, Leaf
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import Array, Shape, bf16, f16, f64, s32


def held(*arrays: Any) -> tuple[dict[TensorNode, Array], list[TensorNode]]:
    """Return leaves with values."""
    graph = TensorGraph()
    nodes = [graph.add(Leaf(TensorType(np.shape(array), f64))) for array in arrays]
    return {node: np.asarray(array, float) for node, array in zip(nodes, arrays, strict=True)}, nodes


@pytest.mark.parametrize(
    "apply",
    [
        *(operator.add, operator.sub, operator.mul, operator.truediv, operator.pow),
        lambda a, b: abs(-a) ** b,
    ],
)
def test_operators_take_tensors_and_numbers_on_both_sides(apply: Callable[..., Any]) -> None:
    """Operators have numpy's results with a tensor or a number on either side."""
    values, (a, b) = held([1.0, 2.5, 4.0], [[0.5], [3.0]])
    for left, right in ((a, b), (a, 2), (2, a), (0.5, b), (b, -1.5)):
        numbers = [values[each] if isinstance(each, TensorNode) else each for each in (left, right)]
        np.testing.assert_allclose(
            evaluate([apply(left, right)], values)[0],
            apply(
                *map(np.asarray, numbers),
            ),
            1e-15,
        )


METHODS: list[Callable[[Any], Any]] = [
    *(operator.methodcaller(name) for name in ("sum", "mean", "max", "min", "copy", "transpose")),
    lambda x: x.sum(axis=1),
    lambda x: x.sum(axis=(0, -1), keepdims=True),
    lambda x: x.mean(axis=-2),
    lambda x: x.max(axis=(1,)),
    lambda x: x.min(axis=0, keepdims=True),
    lambda x: x.sum(axis=()),
    lambda x: x.reshape(-1),
    lambda x: x.reshape(4, -1, 3),
    lambda x: x.reshape((6, 4)),
    lambda x: x.transpose((2, 0, 1)),
    lambda x: abs(x),
    lambda x: -x,
]


@pytest.mark.parametrize("method", METHODS)
def test_methods(method: Callable[[Any], Any]) -> None:
    """Methods of tensors have the shapes and values of numpy's."""
    values, (x,) = held(np.random.default_rng(1).normal(size=(2, 3, 4)))
    found = method(x)
    expected = method(values[x])
    assert found.type.shape == np.shape(expected)
    np.testing.assert_allclose(evaluate([found], values)[0], expected, rtol=1e-14)


def test_transpose_of_the_last_axes() -> None:
    """A permutation of two numbers leaves the axes before the last two."""
    _, (x,) = held(np.zeros((2, 3, 4, 5)))
    assert x.transpose((1, 0)).type.shape == (2, 3, 5, 4)
    assert x.transpose().type.shape == (5, 4, 3, 2)


indices = st.one_of(
    st.integers(-4, 3), st.builds(slice, *[st.none() | st.integers(-5, 5)] * 2, st.none() | st.integers(1, 3))
)


@settings(max_examples=many(150), deadline=None)
@given(st.lists(indices, max_size=3), st.booleans(), st.integers(0, 3))
def test_parts_are_those_of_numpy(parts: list[int | slice], has_ellipsis: bool, at: int) -> None:
    """Indices from either end, slices with steps and an ellipsis equal numpy's; what numpy refuses is refused."""
    index: tuple[Any, ...] = (*parts[:at], ..., *parts[at:]) if has_ellipsis else tuple(parts)
    values, (x,) = held(np.arange(24.0).reshape(2, 3, 4))
    try:
        expected = values[x][index]
    except IndexError:
        with pytest.raises(ShapeMismatch, match="index must be a slice or a number below"):
            x[index]
        return
    np.testing.assert_array_equal(evaluate([x[index]], values)[0], expected)


def test_parts_that_there_are_not() -> None:
    """Too many axes, backward steps, two ellipses and other tensors are refused, and a tensor is not a sequence."""
    _, (x,) = held(np.zeros((2, 3)))
    with pytest.raises(ShapeMismatch, match="index must have at most 2 axes and one ellipsis"):
        x[0, 0, 0]
    with pytest.raises(ShapeMismatch, match="index must have at most 2 axes and one ellipsis"):
        x[..., ...]
    with pytest.raises(InvalidOperation, match="step of an index must be above 0, got -1"):
        x[::-1]
    with pytest.raises(ShapeMismatch, match="index must be a slice or a number below 2"):
        x[x]  # type: ignore[index]
    with pytest.raises(TypeError, match="a tensor can't be iterated over"):
        list(x)


def test_shapes_and_axes_that_do_not_fit() -> None:
    """Shapes and axes that don't fit are refused with those that would fit."""
    _, (x,) = held(np.zeros((2, 3)))
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: x.reshape(-1, -1), "shape must have sizes of which one may be -1, got"),
        (lambda: x.reshape(4, -1), "shape must share out 6 elements, got"),
        (lambda: x.reshape(5), "shape must have 6 elements, got"),
        (lambda: x.sum(2), "axis must be at least -2 and below 2, got 2"),
        (lambda: x.reshape(2.0, 3), r"sizes of a shape must be a sequence of whole numbers, got \(2.0, 3\)"),
        (lambda: x.reshape(None), "sizes of a shape must be a sequence of whole numbers, got None"),
        (lambda: x.broadcast_to(2.5, 2, 3), "sizes of a shape must be a sequence of whole numbers"),
        (lambda: x.transpose((0.0, 1)), "permutation must be a sequence of whole numbers"),
        (lambda: x.pad((1.5, 1), (0, 0)), "padding must be a sequence of whole numbers"),
        (lambda: x.sum(1.5), "axes must be a sequence of whole numbers, got 1.5"),
        (lambda: x.sum((0.5,)), "axes must be a sequence of whole numbers"),
        (lambda: x.softmax(None), "axes must be a sequence of whole numbers"),
        (lambda: x.select(x, 4), "rows must be a multiple of the number of groups"),
    ]
    for make, message in cases:
        with pytest.raises(ShapeMismatch, match=message):
            make()


def test_choosing() -> None:
    """A comparison chooses between tensors and numbers; of two numbers, one must be a tensor."""
    values, (x, y) = held([1.0, -2.0, 3.0], 7.0)
    found = evaluate(
        [x.less(0.0).where(y, x), x.greater(0.0).where(1.0, x), x.equal(3).where(x, 0), x.not_equal(3).where(x, 0)],
        values,
    )
    assert [each.tolist() for each in found] == [[1, 7, 3], [1, -2, 1], [0, 0, 3], [1, -2, 0]]
    with pytest.raises(InvalidOperation, match=r"where must have a tensor to choose from, got 1\.0 and 0\.0"):
        x.less(0.0).where(1.0, 0.0)


def test_numbers_take_the_element_type_of_the_tensor() -> None:
    """A number with a fraction can't meet integers, and other objects are no operands."""
    graph = TensorGraph()
    whole = graph.add(Leaf(TensorType((2,), s32)))
    assert evaluate([whole * 3 + 1.0], {whole: [1, 2]})[0].tolist() == [4, 7]
    assert (whole + 1).inputs[1].operation == Constant(1.0, TensorType((), s32))
    with pytest.raises(InvalidOperation, match=r"number must be whole to meet elements of s32, got 0\.5; cast them"):
        whole + 0.5
    with pytest.raises(InvalidOperation, match="operand must be a tensor or a number, got str"):
        whole + "1"  # type: ignore[operator]


def test_numbers_may_be_those_of_numpy() -> None:
    """Numpy's numbers can be operands, axes, sizes and indices."""
    values, (x,) = held([[1.0, 2.0], [3.0, 4.0]])
    one: Any = np.int64(1)
    found = evaluate([x * np.float32(0.5), x.sum(one), x.reshape(np.int32(4), one), x[one, np.uint8(0)]], values)
    assert [each.tolist() for each in found] == [[[0.5, 1], [1.5, 2]], [3, 7], [[1], [2], [3], [4]], 3]


def test_what_changes_nothing_makes_no_node() -> None:
    """A reshape to the same shape, a cast to the same type, and a sum over no axis return the tensor itself."""
    _, (x,) = held(np.zeros((2, 3)))
    assert all(same is x for same in (x.reshape(2, 3), x.reshape(2, -1), x.cast(f64), x.sum(()), x.broadcast_to(2, 3)))


def test_products() -> None:
    """Products of matrices, stacks of matrices, and a sparse column equal numpy's."""
    random = np.random.default_rng(2)
    values, (a, b) = held(random.normal(size=(2, 1, 4, 3)), random.normal(size=(5, 3, 2)))
    np.testing.assert_allclose(evaluate([a @ b], values)[0], values[a] @ values[b])
    shape: Shape = (3, 1)
    column = a.graph.add(Leaf(TensorType(shape, f64, nnz=2)))
    assert (a[0, 0] @ column).operation.label == "SparseMatMul"


def test_the_mean_of_a_batch_and_of_axes() -> None:
    """The mean of a batch and the mean of axes divide by the number of summands."""
    graph = TensorGraph()
    x = graph.add(Leaf(TensorType((3,), f64, batched=True)))
    value = np.arange(12.0).reshape(4, 3)
    assert evaluate([x.mean_batch(), x.mean()], {x: value})[0].tolist() == value.mean(0).tolist()
    assert evaluate([x.mean()], {x: value})[0].tolist() == value.mean(1).tolist()


def test_the_mean_of_narrow_elements_is_in_range() -> None:
    """The mean of narrow elements equals numpy's, though their sum and their number exceed the type's range."""
    graph = TensorGraph()
    for dtype in (f16, bf16):
        x = graph.add(Constant(2.0, TensorType((100_000,), dtype, batched=True)))
        mean, examples = evaluate([x.mean(), x[:1].mean_batch()], {}, 3)
        assert (x.mean().type.dtype, mean.tolist(), examples.tolist()) == (dtype, [2, 2, 2], [2])


def test_joining_padding_and_looking_up() -> None:
    """concat, pad, gather and scatter_add have the elements that were computed by hand."""
    values, (a, b) = held([[1.0, 2.0]], [[3.0], [4.0]])
    rows = a.graph.add(Leaf(TensorType((3,), s32)))
    found = evaluate(
        [
            a.transpose().concat(b, b, axis=-1),
            a.pad((1, 0), (0, 2), value=9),
            b.gather(rows),
            b.scatter_add(rows, b.gather(rows)),
        ],
        {**values, rows: np.array([1, 1, 0])},
    )
    assert [each.tolist() for each in found] == [
        [[1, 3, 3], [2, 4, 4]],
        [[9, 9, 9, 9], [1, 2, 9, 9]],
        [[4], [4], [3]],
        [[6], [12]],
    ]


def test_every_method_of_one_operand_is_in_the_table() -> None:
    """Each method of one operand applies the table's row of that name."""
    names = "sign square sqrt reciprocal exp log sin cos tanh relu crelu screlu sqr_relu sigmoid softplus gelu abs"
    _, (x,) = held([1.0])
    for name in names.split():
        assert getattr(x, name)().operation == Elementwise(name)
    assert x.gelu(tanh=True).operation == Elementwise("gelu_tanh")
    assert x.abs_pow(3).operation == Elementwise("abs_pow", (3.0,))
    assert (x**2).operation == Elementwise("power", (2.0,))


def test_fake_quantisation_rounds_and_passes_gradients_through() -> None:
    """Elements are multiples of the scale's reciprocal, and their gradients are those of the exact elements."""
    given = np.array([-1.5, -0.51, -0.02, 0.0, 0.03, 0.17, 2.5])
    values, (x,) = held(given)
    for truncate, rounded in ((False, np.round), (True, np.trunc)):
        quantised = x.fake_quantise(16, truncate=truncate)
        slope = gradients((quantised * quantised).sum(), [x])[x]
        found, slopes = evaluate([quantised, slope], values)
        assert np.array_equal(found, rounded(given * 16) / 16)
        assert np.array_equal(slopes, 2 * found)
    with pytest.raises(InvalidOperation, match="scale must be above 0, got 0"):
        x.fake_quantise(0)
    with pytest.raises(ShapeMismatch, match="value that a gradient passes by must be"):
        x.pass_through(x.sum())


def test_functions_and_parts_of_tensors() -> None:
    """Truncation, signs, repeats and pairwise products equal numpy's; odd sizes and no repeats are refused."""
    given = np.array([[-1.5, -0.0], [0.5, 2.7], [3.0, -7.0], [0.0, 1.0]])
    values, (x,) = held(given)
    wanted = [x.truncate(), x.is_positive(), x.repeat(2), x.repeat(3, -1), x.pairwise_mul(), x.pairwise_mul(1)]
    oracle = [np.trunc(given), (given > 0).astype(float), np.tile(given, (2, 1)), np.tile(given, (1, 3))]
    oracle += [given[:2] * given[2:], given[:, :1] * given[:, 1:]]
    for found, expected in zip(evaluate(wanted, values), oracle, strict=True):
        assert np.array_equal(found, expected)
    with pytest.raises(InvalidOperation, match="number of repeats must be 1 or more, got 0"):
        x.repeat(0)
    with pytest.raises(ShapeMismatch, match="axis of a pairwise product must have an even size, got 3"):
        x[:3].pairwise_mul()
