"""Axes of arrays that are evaluated, which have a batch axis in front."""

from __future__ import annotations

from collections.abc import Sequence

from engine.types import Array


def with_axes(array: Array, count: int) -> Array:
    """Return an array of so many axes: behind the batch axis come axes of size 1."""
    return array.reshape(array.shape[:1] + (1,) * (count - array.ndim) + array.shape[1:])


def aligned(arrays: Sequence[Array]) -> list[Array]:
    """Return arrays of as many axes each, so that they broadcast at the last axis and along the batch."""
    count = max(array.ndim for array in arrays)
    return [with_axes(array, count) for array in arrays]
