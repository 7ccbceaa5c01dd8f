"""How libraries see a layout: as many equal pieces, such as matrices or signals, at equal distances."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod


def pieces(what: str, sizes: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """Return how many pieces the leading axes hold, and the distance of neighbours in elements, 0 for a single one.

    ValueError, with a sentence about `what` the pieces are, when distances differ.
    """
    distance, passed = 0, 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size == 1:
            continue
        distance = distance or stride
        if stride != distance * passed:
            raise ValueError(f"{what} must lie at equal distances, got strides {list(strides)}")
        passed *= size
    return prod(sizes), distance
