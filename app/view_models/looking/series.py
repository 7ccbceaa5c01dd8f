"""Series: what a plot draws of a sample."""

from dataclasses import dataclass

import numpy as np

from warploom.app.view_models.looking.tone import components_of
from warploom.engine.protocol.sampling import Reduction, Sample
from warploom.engine.types import Array

#: What can be plotted.
MODES = ("Line", "Rolling", "Spectrum", "Scatter")
#: Over time, so many numbers of a port are drawn.
ROLLED = 6
_NAMES = "xyzw"


@dataclass(frozen=True)
class Series:
    """A curve with its name."""

    name: str
    x: Array
    y: Array


def curves_of(sample: Sample) -> list[Series]:
    """Return a curve for each component: a line through elements, or from least to greatest of each column."""
    assert sample.data is not None
    axes = len(sample.shape)
    if sample.sampling.reduction is not Reduction.EXTREMES:
        numbers = components_of(sample.data, axes)
        rows = numbers.reshape(-1, numbers.shape[-1])
        return [Series(_name(i, rows), np.arange(len(rows)), rows[:, i]) for i in range(rows.shape[1])]
    low, high = (components_of(end, axes) for end in sample.data)
    low, high = (end.reshape(-1, end.shape[-1]) for end in (low, high))
    begin, end = sample.part[-1] if sample.part else (0, 1)
    count, columns = end - begin, len(low)
    first = begin + np.arange(columns) * count // max(columns, 1)
    if columns >= count:
        return [Series(_name(i, low), first, low[:, i].astype(np.float64)) for i in range(low.shape[1])]
    x = np.repeat(first, 2)
    return [
        Series(_name(i, low), x, np.stack([low[:, i], high[:, i]], 1).reshape(-1).astype(np.float64))
        for i in range(low.shape[1])
    ]


def spectrum_of(sample: Sample) -> list[Series]:
    """Return the magnitudes of a real spectrum for each component; NaN counts as 0."""
    assert sample.data is not None
    if sample.data.dtype.kind == "c":
        numbers = sample.data.reshape(-1, 1)
        size = max(len(numbers), 1)
        values = np.abs(np.fft.fftshift(np.fft.fft(numbers[:, 0]))) / size
        return [Series("", np.fft.fftshift(np.fft.fftfreq(size)), values)]
    numbers = components_of(sample.data, len(sample.shape))
    rows = np.nan_to_num(numbers.reshape(-1, numbers.shape[-1]).astype(np.float64), posinf=0, neginf=0)
    size = max(len(rows), 1)
    x = np.fft.rfftfreq(size)
    return [Series(_name(i, rows), x, np.abs(np.fft.rfft(rows[:, i])) / size) for i in range(rows.shape[1])]


def _name(index: int, rows: Array) -> str:
    if rows.shape[1] == 1:
        return ""
    return _NAMES[index] if rows.shape[1] <= len(_NAMES) else str(index)
