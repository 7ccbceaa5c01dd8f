"""Views: outputs that show an input's memory in another way and own none, and what each kind does to a layout.

A view costs nothing at run time: it is its source's memory at an offset, with a shape and strides of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.types import DType


@dataclass(frozen=True)
class SliceView:
    """Every `step`-th position of one axis from `start` up to `stop`, counted as Python counts.

    A negative number counts from the end; `stop` None means to the end. `step` is at least 1.
    """

    axis: int
    start: int = 0
    stop: int | None = None
    step: int = 1


@dataclass(frozen=True)
class ReshapeView:
    """The same elements in the same order in another shape; one size may be -1 and follows from the others."""

    shape: tuple[int, ...]


@dataclass(frozen=True)
class TransposeView:
    """The axes in another order, as numpy's `transpose` takes it."""

    order: tuple[int, ...]


@dataclass(frozen=True)
class ReinterpretView:
    """The same bytes as elements of another type; the last axis grows or shrinks with the size of an element."""

    dtype: DType


Transform = SliceView | ReshapeView | TransposeView | ReinterpretView


@dataclass(frozen=True)
class View:
    """An output port (`target`) that shows the memory of an input port (`source`)."""

    target: str
    source: str
    transform: Transform
