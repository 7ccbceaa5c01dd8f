"""Reducing: a buffer's contents become what a person looks at. Pure functions on arrays."""

import math
from typing import Any

import msgspec
import numpy as np

from warploom.engine.diagnostics import WarploomError
from warploom.engine.protocol.sampling import Reduction, Sample, Sampling, Statistics
from warploom.engine.types import Array, DType, bf16, from_bf16

#: A histogram counts about so many elements at most.
_HISTOGRAM_ELEMENTS = 1 << 18


def make_sample(
    name: str, sampling: Sampling, frame: int, dtype: DType, shape: tuple[int, ...], array: Array, first_row: int = 0
) -> Sample:
    """Return a sample of a buffer of this element type and shape.

    `array` holds its contents, as `Client.read` returns them; with `first_row`, it begins at that index of the first
    axis. The sample shares no memory with it. Raise WarploomError if the buffer can't be sampled like this.
    """
    dtype, array = _field(dtype, array, sampling.field)
    if (dtype.of or dtype) is bf16:
        array = from_bf16(array)
    part = part_of_shape(sampling, shape)
    chosen = array[tuple(slice(begin, end) for begin, end in moved(part, first_row))]
    probed = None
    if sampling.probe is not None and len(sampling.probe) == len(shape):
        at = tuple(index for index, _ in moved(tuple((i, i) for i in sampling.probe), first_row))
        if all(0 <= index < extent for index, extent in zip(at, array.shape, strict=False)):
            probed = np.array(array[at])
    statistics = _statistics(_components(dtype, array), sampling.bins) if sampling.bins and not dtype.fields else None
    data = _reduced(dtype, chosen, len(shape), sampling)
    return Sample(name, sampling, frame, str(dtype), shape, part, data, probed, statistics)


def part_of_shape(sampling: Sampling, shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return the wanted part of a buffer, cut to its shape."""
    wanted = (*sampling.part, *((0, extent) for extent in shape[len(sampling.part) :]))
    return tuple(
        (min(begin, extent), max(min(end, extent), min(begin, extent)))
        for (begin, end), extent in zip(wanted, shape, strict=False)
    )


def moved(part: tuple[tuple[int, int], ...], first_row: int) -> tuple[tuple[int, int], ...]:
    """Return a part in an array that begins at a later index of the first axis."""
    return tuple((b - first_row, e - first_row) if axis == 0 else (b, e) for axis, (b, e) in enumerate(part))


def _field(dtype: DType, array: Array, path: str) -> tuple[DType, Array]:
    """Return a field of structs and its type; with no path, all of the array."""
    for name in path.split(".") if path else ():
        if name not in dtype.fields:
            raise WarploomError(f"field must be one of {', '.join(dtype.fields) or 'a struct'}, got {path}")
        dtype, array = dtype.fields[name], array[name]
    return dtype, array


def _components(dtype: DType, array: Array) -> Array:
    """Return an array whose last axis has the components of vectors and complex numbers, one for other numbers."""
    if array.dtype.kind == "c":
        parts: Array = np.ascontiguousarray(array).view(array.real.dtype).reshape(*array.shape, 2)
        return parts.reshape(*array.shape[:-1], -1) if dtype.of else parts
    return array if dtype.of else array[..., None]


def _reduced(dtype: DType, array: Array, axes: int, sampling: Sampling) -> Array:
    sizes = [min(size, extent) for size, extent in zip(sampling.size, array.shape[:axes], strict=False)]
    #: By axis that is reduced, the first element of each cell.
    starts = {
        axis: np.arange(size) * array.shape[axis] // size for axis, size in enumerate(sizes) if size < array.shape[axis]
    }
    reduction = sampling.reduction
    if reduction is not Reduction.PICK:
        if dtype.fields:
            raise WarploomError(f"field of {dtype} must be chosen: {', '.join(dtype.fields)}")
        if array.dtype.kind == "c":
            array = _components(dtype, array)
    if reduction is Reduction.EXTREMES:
        low = high = array
        for axis, at in starts.items() if array.size else ():
            low, high = np.fmin.reduceat(low, at, axis), np.fmax.reduceat(high, at, axis)
        return np.stack([low, high])
    if reduction is Reduction.MEAN and starts and array.size:
        return _means(array, starts)
    for axis, at in starts.items():
        array = np.take(array, at, axis)
    return np.array(array)  # an element of no axes is no array


def _means(array: Array, starts: dict[int, Array]) -> Array:
    """Return the mean of each cell: sums in double precision, or in whole numbers where these are exact."""
    kind, is_short = array.dtype, array.dtype.itemsize <= 2 and array.dtype.kind in "bui"
    total: Any = array
    cells: Any = 1.0
    for axis, at in sorted(starts.items(), reverse=True):  # along the densest axis first
        total = np.add.reduceat(total, at, axis, dtype=np.int64 if is_short else np.float64)
        cells = cells * np.diff(at, append=array.shape[axis]).reshape(
            [-1 if a == axis else 1 for a in range(array.ndim)]
        )
    means = total / cells
    if kind == np.uint8:
        return np.asarray(means + 0.5).astype(np.uint8)
    return np.asarray(means, np.float64 if kind.itemsize >= 8 else np.float32)


def _statistics(parts: Array, bins: int) -> Statistics:
    """Return numbers about an array whose last axis has the components."""
    rows = parts.reshape(-1, parts.shape[-1])
    count, components = rows.shape
    columns = [rows[:, index] for index in range(components)]
    if rows.dtype.kind == "f":
        bad = [~np.isfinite(column) for column in columns]
        nan = [int(np.count_nonzero(np.isnan(column[wrong]))) for column, wrong in zip(columns, bad, strict=True)]
        infinite = [int(np.count_nonzero(wrong)) - none for wrong, none in zip(bad, nan, strict=True)]
        columns = [column[~wrong] if wrong.any() else column for column, wrong in zip(columns, bad, strict=True)]
    else:
        nan = infinite = [0] * components
    least = tuple(float(column.min()) if column.size else math.nan for column in columns)
    greatest = tuple(float(column.max()) if column.size else math.nan for column in columns)
    mean = tuple(float(column.mean(dtype=np.float64)) if column.size else math.nan for column in columns)
    step = max(1, -(-count // _HISTOGRAM_ELEMENTS))
    made = Statistics(count, least, greatest, mean, tuple(nan), tuple(infinite), step=step)
    low, high = made.range
    counts = tuple(tuple(_histogram(column[::step], low, high, bins).tolist()) for column in columns)
    return msgspec.structs.replace(made, bins=counts)


def _histogram(numbers: Array, low: float, high: float, bins: int) -> Array:
    """Return how many finite numbers lie in each bin; numpy's own takes ten times as long."""
    with np.errstate(over="ignore", invalid="ignore"):
        span = high / 2 - low / 2  # which is finite
        places = (numbers.astype(np.float64) / 2 - low / 2) * (bins / span if span > 0 else 0.0)
    return np.bincount(np.clip(places, 0, bins - 1).astype(np.int64), minlength=bins)
