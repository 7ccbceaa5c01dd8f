"""Images by scipy; pixels with four channels have one more axis."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import ndimage, sparse

from engine.libraries.images import Box, Filter, Morphology, Resize

Array = np.ndarray[Any, Any]
Arrays = Mapping[str, Array]
Numbers = Mapping[str, Any]


def convolve(call: Filter, arrays: Arrays, numbers: Numbers) -> None:
    """Convolve each channel."""
    image, weights = arrays["image"], arrays["weights"]
    ndimage.convolve(image, weights.reshape(*weights.shape, *(1,) * (image.ndim - 2)), arrays["out"], mode="nearest")


def box(call: Box, arrays: Arrays, numbers: Numbers) -> None:
    """Take means of columns, then of rows. Running sums would carry a NaN on to the end of its row."""
    means = arrays["image"]
    for axis, size in enumerate((call.height, call.width)):
        means = ndimage.convolve1d(means, np.full(size, 1 / size), axis, mode="nearest")
    arrays["out"][...] = means


def resize(call: Resize, arrays: Arrays, numbers: Numbers) -> None:
    """Take weighted sums of rows, then of columns."""
    image, out = arrays["image"], arrays["out"]
    for axis, size in enumerate(out.shape[:2]):
        image = image.swapaxes(0, axis)
        sums = _weights(call.mode, image.shape[0], size) @ image.reshape(len(image), -1)
        image = sums.reshape(size, *image.shape[1:]).swapaxes(0, axis)
    out[...] = image


@lru_cache(maxsize=64)
def _weights(mode: str, source: int, target: int) -> Any:
    """Return what each pixel along an axis takes of which others, [target, source], as a sparse matrix."""
    pixels = np.arange(target)
    if mode == "area":  # edges of both in units that both have a whole number of
        edges = np.union1d(np.arange(target + 1) * source, np.arange(source + 1) * target)
        rows, columns, values = edges[:-1] // source, edges[:-1] // target, np.diff(edges) / source
    elif mode == "nearest":
        rows, columns, values = pixels, (2 * pixels + 1) * source // (2 * target), np.ones(target)
    else:
        middles = ((pixels + 0.5) * source / target - 0.5).clip(0, source - 1)
        before = middles.astype(int)
        rows, columns = np.tile(pixels, 2), np.concatenate([before, np.minimum(before + 1, source - 1)])
        values = np.concatenate([1 - middles + before, middles - before])
    return sparse.csr_array((values.astype(np.float32), (rows, columns)), shape=(target, source))


def morphology(call: Morphology, arrays: Arrays, numbers: Numbers) -> None:
    """Take the smallest and largest values, one after the other."""
    image, mask = arrays["image"], arrays["mask"] != 0
    footprint = mask.reshape(*mask.shape, *(1,) * (image.ndim - 2))
    for step in call.steps:
        take = ndimage.minimum_filter if step == "erode" else ndimage.maximum_filter
        image = take(image, footprint=footprint, mode="nearest")
    arrays["out"][...] = image


FUNCTIONS = {Filter: convolve, Box: box, Resize: resize, Morphology: morphology}
