"""Series: what a plot draws of a sample."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from warploom.app.view_models.looking.tone import components_of
from warploom.engine.protocol.sampling import Reduction, Sample
from warploom.engine.types import Array

#: What can be plotted.
MODES = ("Line", "Rolling", "Spectrum", "Scatter")
#: Over time, so many numbers of a port are drawn.
ROLLED = 6
#: A buffer of two axes, of which one is at most so long, has a curve for each position of that axis.
MOST_LANES = 16
_NAMES = "xyzw"


@dataclass(frozen=True)
class Series:
    """A curve with its name."""

    name: str
    x: Array
    y: Array


def drawn_axis(shape: Sequence[int]) -> int:
    """Return the axis along which numbers are drawn: the last, or the first of a table with few columns."""
    return 0 if len(shape) == 2 and shape[1] <= MOST_LANES and shape[1] < shape[0] else max(len(shape) - 1, 0)


def drawn_part(shape: Sequence[int], most: int) -> tuple[tuple[int, int], ...]:
    """Return the part of a buffer that is drawn: up to `most` positions of the drawn axis, and a short other one whole.

    Of further axes, it is the first position.
    """
    along, has_lanes = drawn_axis(shape), len(shape) == 2 and min(shape) <= MOST_LANES
    return tuple((0, min(n, most) if axis == along else n if has_lanes else 1) for axis, n in enumerate(shape))


def lane_kind(shape: Sequence[int]) -> str:
    """Return what the curves of a buffer are: its columns, its rows, or the components of its elements."""
    if len(shape) != 2 or not 1 < min(shape) <= MOST_LANES:
        return "component"
    return "column" if drawn_axis(shape) == 0 else "row"


def columns_of(array: Array, shape: Sequence[int]) -> Array:
    """Return a sample's numbers as columns along the drawn axis, one for each lane and component."""
    numbers = np.moveaxis(components_of(array, len(shape)), drawn_axis(shape), 0) if shape else array.reshape(1, -1)
    return numbers.reshape(len(numbers), -1)


def curves_of(sample: Sample, columns: Sequence[str] = ()) -> list[Series]:
    """Return a curve for each lane and component: a line through elements, or from least to greatest of each cell.

    `columns` are the names of a table's columns.
    """
    assert sample.data is not None
    if sample.sampling.reduction is not Reduction.EXTREMES:
        rows = columns_of(sample.data, sample.shape)
        return [Series(name, np.arange(len(rows)), rows[:, i]) for i, name in enumerate(_names(rows, sample, columns))]
    low, high = (columns_of(end, sample.shape) for end in sample.data)
    begin, end = sample.part[drawn_axis(sample.shape)] if sample.part else (0, 1)
    count, cells, names = end - begin, len(low), _names(low, sample, columns)
    first = begin + np.arange(cells) * count // max(cells, 1)
    if cells >= count:
        return [Series(name, first, low[:, i].astype(np.float64)) for i, name in enumerate(names)]
    x = np.repeat(first, 2)
    return [
        Series(name, x, np.stack([low[:, i], high[:, i]], 1).reshape(-1).astype(np.float64))
        for i, name in enumerate(names)
    ]


def spectrum_of(sample: Sample, columns: Sequence[str] = ()) -> list[Series]:
    """Return the magnitudes of a spectrum for each lane and component; NaN in real numbers counts as 0."""
    assert sample.data is not None
    if sample.data.dtype.kind == "c":
        pairs = columns_of(sample.data, sample.shape)
        numbers = pairs[:, ::2] + 1j * pairs[:, 1::2]
        size = max(len(numbers), 1)
        x, names = np.fft.fftshift(np.fft.fftfreq(size)), _names(numbers, sample, columns)
        values = np.abs(np.fft.fftshift(np.fft.fft(numbers, axis=0), axes=0)) / size
        return [Series(name, x, values[:, i]) for i, name in enumerate(names)]
    rows = np.nan_to_num(columns_of(sample.data, sample.shape).astype(np.float64), posinf=0, neginf=0)
    size = max(len(rows), 1)
    x, names = np.fft.rfftfreq(size), _names(rows, sample, columns)
    return [Series(name, x, np.abs(np.fft.rfft(rows[:, i])) / size) for i, name in enumerate(names)]


def _names(rows: Array, sample: Sample, columns: Sequence[str]) -> list[str]:
    """Return the names of curves: a column by its name, another lane by its position, a component by its letter."""
    count, along = rows.shape[1], drawn_axis(sample.shape)
    lanes = prod(end - begin for axis, (begin, end) in enumerate(sample.part) if axis != along)
    components = max(count // max(lanes, 1), 1)
    letters = list(_NAMES[:components]) if components <= len(_NAMES) else list(map(str, range(components)))
    if components == 1:
        if len(columns) == count and lane_kind(sample.shape) != "row":
            return list(columns)
        return [""] if count == 1 else list(map(str, range(count)))
    return letters if lanes == 1 else [f"{lane}.{letter}" for lane in range(lanes) for letter in letters]
