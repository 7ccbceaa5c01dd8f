"""A view shows the same elements as numpy's view of the same memory."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from warploom.engine.compiler.checking.views import view_layout
from warploom.engine.descriptions.entries import ReinterpretView, ReshapeView, SliceView, Transform, TransposeView
from warploom.engine.descriptions.shapes.extents import ShapeRuleError
from warploom.engine.types import DType, f32, f64, float4, s32, u8, u16, u32, uchar4
from warploom.engine.types.layout import Layout

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


def memory(shape: tuple[int, ...], dtype: str = "float32") -> np.ndarray[Any, Any]:
    """Return an array whose elements all differ."""
    return np.arange(math.prod(shape)).astype(dtype).reshape(shape)


def seen(owner: np.ndarray[Any, Any], layout: Layout, offset: int) -> np.ndarray[Any, Any]:
    """Return the elements that a kernel reads by the layout, from an offset in the owner's bytes."""
    item = layout.dtype.size_bytes
    base = owner.reshape(-1).view(np.uint8)[offset : offset + layout.span_bytes].view(layout.dtype.numpy.base)
    return np.lib.stride_tricks.as_strided(
        base, layout.shape, [stride * item for stride in layout.element_strides], writeable=False
    )


def apply(transform: Transform, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return numpy's view for a transform."""
    match transform:
        case SliceView(axis, start, stop, step):
            index: list[slice] = [slice(None)] * array.ndim
            index[axis] = slice(start, stop, step)
            return array[tuple(index)]
        case ReshapeView(shape):
            return array.reshape(shape)
        case TransposeView(order):
            return array.transpose(order)
        case ReinterpretView(dtype):
            return array.view(dtype.numpy)


@st.composite
def slices(draw: st.DrawFn, shape: tuple[int, ...]) -> SliceView:
    """Draw a slice that is not empty; its ends count from either side."""
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    size = shape[axis]
    start = draw(st.integers(0, size - 1))
    stop = draw(st.integers(start + 1, size))
    return SliceView(
        axis,
        draw(st.sampled_from([start, start - size])),
        draw(st.sampled_from([stop, *([stop - size] if stop < size else [None])])),
        draw(st.integers(1, size + 1)),
    )


@st.composite
def chains(draw: st.DrawFn) -> tuple[tuple[int, ...], list[Transform]]:
    """Draw a shape and a sequence of transforms that are possible on it."""
    shape = draw(shapes)
    array = memory(shape)
    transforms: list[Transform] = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["slice", "transpose", "reshape", "reinterpret"]))
        transform: Transform
        if kind == "slice" and array.ndim:
            transform = draw(slices(array.shape))
        elif kind == "transpose":
            order = draw(st.permutations(range(array.ndim)))
            transform = TransposeView(tuple(a - array.ndim if draw(st.booleans()) else a for a in order))
        elif array.flags["C_CONTIGUOUS"] and kind == "reshape":
            transform = ReshapeView(draw(st.sampled_from([(-1,), (array.size,), (1, -1), (*array.shape, 1), (-1, 1)])))
        elif array.flags["C_CONTIGUOUS"] and kind == "reinterpret" and array.ndim:
            transform = ReinterpretView({4: u16, 2: s32}[array.dtype.itemsize])
            assume(array.shape[-1] * array.dtype.itemsize % 4 == 0 and array.__array_interface__["data"][0] % 4 == 0)
        else:
            continue
        transforms.append(transform)
        array = apply(transform, array)
    return shape, transforms


@given(chains())
def test_a_chain_of_views_shows_what_numpy_shows(case: tuple[tuple[int, ...], list[Transform]]) -> None:
    """A chain of views shows the elements of numpy's views in the same bytes, and is contiguous where they are."""
    shape, transforms = case
    owner = expected = memory(shape)
    layout, start = Layout(f32, shape), 0
    for transform in transforms:
        try:
            layout, offset = view_layout(transform, layout)
        except ShapeRuleError:
            # After a slice, elements may be at offsets at which wider elements must not start.
            assert isinstance(transform, ReinterpretView)
            assert start % transform.dtype.alignment or layout.alignment < transform.dtype.alignment
            return
        start += offset
        expected = apply(transform, expected)
        assert np.shares_memory(owner, expected)
        assert start == expected.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        assert start % layout.alignment == 0
    assert layout.shape == expected.shape
    assert (layout.strides is None) == expected.flags["C_CONTIGUOUS"]
    assert start + layout.span_bytes <= owner.nbytes
    np.testing.assert_array_equal(seen(owner, layout, start), expected)


@pytest.mark.parametrize(
    ("source", "target", "shape", "expected"),
    [
        (f32, s32, (3, 4), (3, 4)),
        (f32, u8, (3, 4), (3, 16)),
        (u8, f32, (3, 16), (3, 4)),
        (f32, f64, (6,), (3,)),
        (float4, f32, (5, 7), (5, 28)),
        (f32, float4, (5, 8), (5, 2)),
        (u32, uchar4, (2, 3), (2, 3)),
        (f32, s32, (), ()),
    ],
)
def test_another_element_type_shows_the_same_bytes(
    source: DType, target: DType, shape: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    """An array seen as another type keeps its bytes, and its last axis grows or shrinks."""
    layout, offset = view_layout(ReinterpretView(target), Layout(source, shape))
    assert (layout.dtype, layout.shape, offset) == (target, expected, 0)
    assert layout.size_bytes == Layout(source, shape).size_bytes


GAPS = view_layout(SliceView(1, 0, 2), Layout(f32, (4, 6)))[0]
REFUSED: list[tuple[Transform, Layout, str]] = [
    (SliceView(2), Layout(f32, (4, 6)), "axis of the slice must be one of shape [4, 6], got 2"),
    (SliceView(0), Layout(f32, ()), "axis of the slice must be one of shape [], got 0"),
    (SliceView(0, 0, None, 0), Layout(f32, (4,)), "step of the slice must be at least 1, got 0"),
    (SliceView(0, 0, None, -1), Layout(f32, (4,)), "step of the slice must be at least 1, got -1"),
    (SliceView(0, 1, 5), Layout(f32, (4,)), "slice must have elements within axis 0 of shape [4], got 1:5"),
    (SliceView(0, -5), Layout(f32, (4,)), "slice must have elements within axis 0 of shape [4], got -5:"),
    (SliceView(0, 2, 2), Layout(f32, (4,)), "slice must have elements within axis 0 of shape [4], got 2:2"),
    (ReshapeView((5, -1)), Layout(f32, (4, 6)), "shape [4, 6] must divide into [5, -1], got 24 elements"),
    (ReshapeView((5, 5)), Layout(f32, (4, 6)), "a reshape must keep the 24 elements of [4, 6], got [5, 5]"),
    (
        ReshapeView((-1, -1)),
        Layout(f32, (4, 6)),
        "sizes of a reshape must be at least 1, one of them may be -1, got [-1, -1]",
    ),
    (
        ReshapeView((0, -1)),
        Layout(f32, (4, 6)),
        "sizes of a reshape must be at least 1, one of them may be -1, got [0, -1]",
    ),
    (
        ReshapeView((8,)),
        GAPS,
        "buffer must lie in memory without gaps to be reshaped, got shape [4, 2] with strides [6, 1]",
    ),
    (
        ReinterpretView(s32),
        GAPS,
        "buffer must lie in memory without gaps to be reinterpreted, got shape [4, 2] with strides [6, 1]",
    ),
    (
        TransposeView((0, 0)),
        Layout(f32, (4, 6)),
        "order of a transpose must name each axis of shape [4, 6] once, got [0, 0]",
    ),
    (
        TransposeView((1, 0, 2)),
        Layout(f32, (4, 6)),
        "order of a transpose must name each axis of shape [4, 6] once, got [1, 0, 2]",
    ),
    (
        ReinterpretView(f64),
        Layout(f32, (4, 3)),
        "the last axis must be whole elements of f64 (8 bytes), got 12 bytes of f32 in shape [4, 3]",
    ),
    (
        ReinterpretView(u8),
        Layout(f32, ()),
        "the last axis must be whole elements of u8 (1 bytes), got 4 bytes of f32 in shape []",
    ),
    (
        ReinterpretView(float4),
        view_layout(SliceView(0, 1, 5), Layout(f32, (8,)))[0],
        "elements of float4 must lie at multiples of 16 bytes, got multiples of 4",
    ),
]


@pytest.mark.parametrize(("transform", "layout", "message"), REFUSED)
def test_views_that_cannot_be_say_why(transform: Transform, layout: Layout, message: str) -> None:
    """The error for an impossible view states the shape, the strides or the bytes that forbid it."""
    with pytest.raises(ShapeRuleError) as refused:
        view_layout(transform, layout)
    assert str(refused.value) == message


def test_an_axis_of_one_position_leaves_no_gap() -> None:
    """An axis of one position leaves no gap: one row is contiguous, and one column keeps the stride of its rows."""
    one_row, offset = view_layout(SliceView(0, 2, 3), Layout(f32, (4, 6)))
    assert (one_row.shape, one_row.strides, offset) == ((1, 6), None, 48)
    column, _ = view_layout(SliceView(1, 2, 3), Layout(f32, (4, 6)))
    assert (column.shape, column.strides, column.span_bytes) == ((4, 1), (6, 1), 19 * 4)
