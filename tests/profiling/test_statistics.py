"""Averages, percentiles and histories of measured times."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import Profile
from warploom.engine.profiling.statistics import WINDOW, Average, RecentRows

values = st.lists(st.integers(0, 10**9), min_size=1, max_size=2 * WINDOW)


@given(values)
def test_average_is_the_mean_of_the_last_values(numbers: list[int]) -> None:
    """Mean and median cover only the last values."""
    average = Average()
    assert average.mean is average.median is None
    for number in numbers:
        average.add(number)
    assert average.mean == round(math.fsum(numbers[-WINDOW:]) / len(numbers[-WINDOW:]))
    assert average.median == np.quantile(numbers[-WINDOW:], 0.5, method="lower")


@given(st.lists(st.tuples(*[st.integers(0, 10**9)] * 3), max_size=12), st.integers(1, 12))
def test_a_history_has_statistics_of_each_column(rows: list[tuple[int, int, int]], window: int) -> None:
    """Statistics cover the last rows only; before the first row they are zeros."""
    history = RecentRows(3, window)
    for row in rows:
        history.add(np.array(row))
    kept = np.array(rows[-window:] or [(0, 0, 0)])
    assert history.is_empty is (not rows)
    np.testing.assert_allclose(history.means(), kept.mean(axis=0))
    wanted = [np.quantile(column, 0.9, method="inverted_cdf") for column in kept.T.tolist()]
    assert history.percentiles(0.9).tolist() == wanted
    groups = [(0, 2), (1,), (2, 1, 0)]
    wanted = [np.quantile(kept[:, group].sum(axis=1), 0.9, method="inverted_cdf") for group in groups]
    assert history.percentiles_of_sums(groups, 0.9).tolist() == wanted
    assert history.percentiles_of_sums([], 0.9).tolist() == []


def test_overhead_is_the_share_of_the_time() -> None:
    """The overhead is a share of the elapsed time, and None before the second sample."""
    assert Profile(0, ProfilingLevel.PER_BLOCK, None, None, 10, 0).overhead is None
    assert Profile(0, ProfilingLevel.PER_BLOCK, None, None, 10, 200).overhead == pytest.approx(0.05)


def test_each_level_includes_those_before_it() -> None:
    """A level includes the ones before it, so "at least per block" is one comparison."""
    assert list(ProfilingLevel) == sorted(ProfilingLevel)
    names = "NONE SUMMARY PER_BLOCK PER_KERNEL DEEP_ASYNC DEEP_SYNC"
    assert " ".join(level.name for level in ProfilingLevel) == names
