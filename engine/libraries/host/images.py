"""Images by numpy and scipy; pixels with four channels have one more axis."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from scipy import ndimage, sparse

from warploom.engine.libraries.host.backend import NamedArrays, NamedNumbers
from warploom.engine.libraries.images import Box, Filter, Morphology, Resize
from warploom.engine.types import Array


def convolve(call: Filter, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Add up the image, moved and weighted, for each weight."""
    weights, out = arrays["weights"], arrays["out"]
    total = np.zeros_like(out)
    for weight, moved in zip(weights[::-1, ::-1].flat, _moved(arrays["image"], weights.shape), strict=True):
        total += weight * moved
    out[...] = total


def box(call: Box, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Take means of columns, then of rows. Running sums would carry a NaN on to the end of its row."""
    means = arrays["image"]
    for axis, size in enumerate((call.height, call.width)):
        means = ndimage.convolve1d(means, np.full(size, 1 / size), axis, mode="nearest")
    arrays["out"][...] = means


def resize(call: Resize, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Take weighted sums of rows, then of columns."""
    image, out = arrays["image"], arrays["out"]
    for axis, size in enumerate(out.shape[:2]):
        image = image.swapaxes(0, axis)
        sums = _weights(image.shape[0], size) @ image.reshape(len(image), -1)
        image = sums.reshape(size, *image.shape[1:]).swapaxes(0, axis)
    out[...] = image


@lru_cache(maxsize=64)
def _weights(source: int, target: int) -> Any:
    """Return the weights of source pixels in target pixels along an axis, [target, source], as a sparse matrix."""
    # The edges of the pixels of both, in a unit in which all are whole numbers.
    edges = np.union1d(np.arange(target + 1) * source, np.arange(source + 1) * target)
    rows, columns, values = edges[:-1] // source, edges[:-1] // target, np.diff(edges) / source
    return sparse.csr_array((values.astype(np.float32), (rows, columns)), shape=(target, source))


def morphology(call: Morphology, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Compare the image with itself, moved, for each place of the mask; scipy is quicker for one without gaps."""
    image, mask = arrays["image"], arrays["mask"] != 0
    for step in call.steps:
        if mask.all():
            take = ndimage.minimum_filter if step == "erode" else ndimage.maximum_filter
            image = take(image, (*mask.shape, *(1,) * (image.ndim - 2)), mode="nearest")
        else:
            compare = np.minimum if step == "erode" else np.maximum
            image = reduce(
                compare, (moved for counts, moved in zip(mask.flat, _moved(image, mask.shape), strict=True) if counts)
            )
    arrays["out"][...] = image


def _moved(image: Array, window: tuple[int, ...]) -> Iterator[Array]:
    """Yield the pixels at each position of a window around each pixel, row by row of the window."""
    sides = [(size // 2, size // 2) for size in window]
    padded = np.pad(image, (*sides, *((0, 0),) * (image.ndim - 2)), mode="edge")
    height, width = image.shape[:2]
    for y, x in np.ndindex(*window):
        yield padded[y : y + height, x : x + width]


FUNCTIONS = {Filter: convolve, Box: box, Resize: resize, Morphology: morphology}
