"""Views: the layout after a slice, a reshape, a transpose or a change of element type, with numpy's rules.

No element moves: a view has an offset from its source's first element, and strides from one element to the next.
"""

import math

from warploom.engine.descriptions.entries import ReinterpretView, ReshapeView, SliceView, Transform, TransposeView
from warploom.engine.descriptions.shapes.extents import ShapeRuleError
from warploom.engine.types import element_count
from warploom.engine.types.layout import Layout, strided_layout


def view_layout(transform: Transform, layout: Layout) -> tuple[Layout, int]:
    """Return a view's layout and its offset in bytes from its source. Raise ShapeRuleError for an impossible view."""
    match transform:
        case SliceView():
            return _slice(transform, layout)
        case ReshapeView():
            return _reshape(transform, layout), 0
        case TransposeView():
            return _transpose(transform, layout), 0
        case ReinterpretView():
            return _reinterpret(transform, layout), 0


def _slice(view: SliceView, layout: Layout) -> tuple[Layout, int]:
    shape, strides = layout.shape, layout.element_strides
    if not -len(shape) <= view.axis < len(shape):
        raise ShapeRuleError(f"axis of the slice must be one of shape {list(shape)}, got {view.axis}")
    if view.step < 1:
        raise ShapeRuleError(f"step of the slice must be at least 1, got {view.step}")
    axis = view.axis % len(shape)
    size = shape[axis]
    start = view.start + size if view.start < 0 else view.start
    stop = size if view.stop is None else view.stop + size if view.stop < 0 else view.stop
    if not 0 <= start < stop <= size:
        given = f"{view.start}:{'' if view.stop is None else view.stop}"
        raise ShapeRuleError(f"slice must have elements within axis {axis} of shape {list(shape)}, got {given}")
    offset_bytes = start * strides[axis] * layout.dtype.size_bytes
    sliced = strided_layout(
        layout.dtype,
        (*shape[:axis], -(-(stop - start) // view.step), *shape[axis + 1 :]),
        (*strides[:axis], strides[axis] * view.step, *strides[axis + 1 :]),
        math.gcd(layout.alignment, offset_bytes),
    )
    return sliced, offset_bytes


def _reshape(view: ReshapeView, layout: Layout) -> Layout:
    _require_contiguous("reshaped", layout)
    shape = view.shape
    unknown = shape.count(-1)
    if unknown > 1 or any(size < 1 and size != -1 for size in shape):
        raise ShapeRuleError(f"sizes of a reshape must be at least 1, one of them may be -1, got {list(shape)}")
    elements = element_count(layout.shape)
    if unknown:
        others = -element_count(shape)
        if elements % others:
            raise ShapeRuleError(f"shape {list(layout.shape)} must divide into {list(shape)}, got {elements} elements")
        shape = tuple(elements // others if size == -1 else size for size in shape)
    if element_count(shape) != elements:
        raise ShapeRuleError(f"a reshape must keep the {elements} elements of {list(layout.shape)}, got {list(shape)}")
    return Layout(layout.dtype, shape, None, layout.alignment)


def _transpose(view: TransposeView, layout: Layout) -> Layout:
    rank = len(layout.shape)
    order = tuple(axis + rank if axis < 0 else axis for axis in view.order)
    if sorted(order) != list(range(rank)):
        raise ShapeRuleError(
            f"order of a transpose must name each axis of shape {list(layout.shape)} once, got {list(view.order)}"
        )
    strides = layout.element_strides
    return strided_layout(
        layout.dtype,
        tuple(layout.shape[axis] for axis in order),
        tuple(strides[axis] for axis in order),
        layout.alignment,
    )


def _reinterpret(view: ReinterpretView, layout: Layout) -> Layout:
    _require_contiguous("reinterpreted", layout)
    old, new = layout.dtype, view.dtype
    if new.size_bytes == 0:
        raise ShapeRuleError(f"elements must be reinterpreted as a type with a size, got {new}")
    if layout.alignment % new.alignment:
        raise ShapeRuleError(
            f"elements of {new} must lie at multiples of {new.alignment} bytes, got multiples of {layout.alignment}"
        )
    if old.size_bytes == new.size_bytes:
        return Layout(new, layout.shape, None, layout.alignment)
    row_bytes = (layout.shape[-1] if layout.shape else 1) * old.size_bytes
    if not layout.shape or row_bytes % new.size_bytes:
        raise ShapeRuleError(
            f"the last axis must be whole elements of {new} ({new.size_bytes} bytes), "
            f"got {row_bytes} bytes of {old} in shape {list(layout.shape)}"
        )
    return Layout(new, (*layout.shape[:-1], row_bytes // new.size_bytes), None, layout.alignment)


def _require_contiguous(what: str, layout: Layout) -> None:
    if layout.strides is not None:
        found = f"shape {list(layout.shape)} with strides {list(layout.strides)}"
        raise ShapeRuleError(f"buffer must lie in memory without gaps to be {what}, got {found}")
