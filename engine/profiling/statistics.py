"""Running statistics of times that are measured again and again."""

from collections import deque
from collections.abc import Sequence
from itertools import chain
from statistics import median_low
from typing import Any

import numpy as np

#: Number of latest measurements for means and percentiles.
WINDOW = 50


class Average:
    """The mean of the last `WINDOW` values, in the values' unit."""

    def __init__(self) -> None:
        self._values: deque[int] = deque(maxlen=WINDOW)

    def add(self, value: int) -> None:
        """Add a value."""
        self._values.append(value)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def mean(self) -> int | None:
        """The mean, rounded; None before the first value."""
        return round(sum(self._values) / len(self._values)) if self._values else None

    @property
    def median(self) -> int | None:
        """The lower median, which a single slow one doesn't move; None before the first value."""
        return median_low(self._values) if self._values else None


class RecentRows:
    """The last `window` rows of whole numbers, `width` of them each."""

    def __init__(self, width: int, window: int = WINDOW) -> None:
        self._rows = np.zeros((window, width), np.int64)
        self._count = 0

    def add(self, row: np.ndarray[Any, Any]) -> None:
        """Add a row."""
        self._rows[self._count % len(self._rows)] = row
        self._count += 1

    @property
    def is_empty(self) -> bool:
        """True before the first row."""
        return not self._count

    def means(self) -> np.ndarray[Any, Any]:
        """Return the mean of each column over all rows; zeros before the first row."""
        total: np.ndarray[Any, Any] = self._rows.sum(axis=0)  # rows that are not filled yet are zeros
        return total / max(min(self._count, len(self._rows)), 1)

    def percentiles(self, fraction: float) -> np.ndarray[Any, Any]:
        """Return the percentile of each column over all rows; zeros before the first row."""
        return _percentiles(self._rows[: max(self._count, 1)], fraction)

    def percentiles_of_sums(self, groups: Sequence[Sequence[int]], fraction: float) -> np.ndarray[Any, Any]:
        """Return for each group of columns, none of them empty, the percentile of its sum over all rows."""
        if not groups:
            return np.zeros(0)
        begins = np.cumsum([0, *map(len, groups[:-1])])
        members = np.fromiter(chain.from_iterable(groups), np.intp)
        return _percentiles(np.add.reduceat(self._rows[: max(self._count, 1), members], begins, axis=1), fraction)


def _percentiles(rows: np.ndarray[Any, Any], fraction: float) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = np.quantile(rows, fraction, axis=0, method="inverted_cdf")
    return found
