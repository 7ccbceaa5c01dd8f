"""Shapes and indices as people write them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite, prod
from numbers import Real
from operator import index as whole
from types import EllipsisType
from typing import Any, SupportsIndex

from engine.descriptions.checks import shown
from engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from engine.types import Shape


def whole_number(subject: str, value: SupportsIndex) -> int:
    """Return a number that is whole, of any type of integers; InvalidOperation, which names it, for anything else."""
    try:
        return whole(value)
    except TypeError:
        raise InvalidOperation(f"{subject} must be a whole number, got {value!r}") from None


def real_number(subject: str, value: object, *, finite: bool = True) -> float:
    """Return a real number, if wanted a finite one; InvalidOperation, which names it, for anything else."""
    if isinstance(value, Real) and (not finite or isfinite(value)):
        return float(value)
    raise InvalidOperation(f"{subject} must be a {'finite ' * finite}number, got {shown(value)}")


def whole_numbers(subject: str, values: Iterable[Any]) -> tuple[int, ...]:
    """Return numbers that are whole, of any type of integers; ShapeMismatch, which names them, for anything else."""
    try:
        return tuple(map(whole, values))
    except TypeError:
        raise ShapeMismatch(f"{subject} must be a sequence of whole numbers, got {values!r}") from None


def whole_shape(sizes: Sequence[int], count: int) -> Shape:
    """Return a shape with a size of -1, if any, computed from the number of elements; ShapeMismatch if none fits."""
    if sizes.count(-1) > 1 or any(size < -1 for size in sizes):
        raise ShapeMismatch(f"shape must have sizes of which one may be -1, got {list(sizes)}")
    known = prod(size for size in sizes if size != -1)
    if -1 in sizes and (known == 0 or count % known):
        raise ShapeMismatch(f"shape must share out {count} elements, got {list(sizes)}")
    return tuple(count // known if size == -1 else size for size in sizes)


def indexed(
    index: Sequence[int | slice | EllipsisType], shape: Shape
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], Shape]:
    """Return starts, sizes and steps of what numpy's index names of a shape, and the shape less the axes of ints."""
    if list(map(type, index)).count(EllipsisType) > 1 or len(index) - (... in index) > len(shape):
        raise ShapeMismatch(f"index must have at most {len(shape)} axes and one ellipsis, got {list(index)}")
    at = index.index(...) if ... in index else len(index)
    missing = [slice(None)] * (len(shape) - len(index) + (... in index))
    starts, sizes, steps, kept = [], [], [], []
    for each, there in zip([*index[:at], *missing, *index[at + 1 :]], shape, strict=True):
        if isinstance(each, slice):
            try:
                start, stop, step = each.indices(there)
            except TypeError:
                raise InvalidOperation(f"slice must have whole numbers, got {each}") from None
            if step < 1:
                raise InvalidOperation(f"step of an index must be above 0, got {step}")
            size = len(range(start, stop, step))
            kept.append(size)
        elif isinstance(each, SupportsIndex) and -there <= int(each) < there:
            start, size, step = int(each) % there, 1, 1
        else:
            raise ShapeMismatch(f"index must be a slice or a number below {there}, got {each!r}")
        starts.append(start if size else 0)
        sizes.append(size)
        steps.append(step)
    return tuple(starts), tuple(sizes), tuple(steps), tuple(kept)
