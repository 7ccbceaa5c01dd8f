"""Averages and percentiles of what is measured every frame."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.profiling.levels import ProfilingLevel
from engine.profiling.statistics import Average, SpanTimes, percentile

values = st.lists(st.integers(0, 10**9), min_size=1, max_size=60)


@given(values)
def test_average_is_the_mean_of_the_last_thirty(numbers: list[int]) -> None:
    """Older values no longer count."""
    average = Average()
    assert average.mean is None
    for number in numbers:
        average.add(number)
    assert average.mean == round(math.fsum(numbers[-30:]) / len(numbers[-30:]))


@given(values, st.sampled_from((0.0, 0.01, 0.5, 0.9, 0.99, 1.0)))
def test_percentile_is_numpys_inverted_distribution(numbers: list[int], fraction: float) -> None:
    """The smallest value that at least this share of the values does not exceed."""
    assert percentile(numbers, fraction) == np.quantile(numbers, fraction, method="inverted_cdf")


def test_percentile_of_nothing_is_zero() -> None:
    """A report before the first frame has no times."""
    assert percentile([], 0.5) == 0.0


def test_a_nodes_time_is_the_sum_of_its_kernels() -> None:
    """Spans are labelled "node" or "node/kernel"; each is averaged on its own."""
    times = SpanTimes()
    times.add({"a/0": 10, "a/1": 30, "b": 5})
    times.add({"a/0": 20, "a/1": 30, "b": 7})
    assert times.by_node() == {"a": 45, "b": 6}
    times.clear()
    assert times.by_node() == {}


def test_each_level_includes_those_before_it() -> None:
    """So that "at least per block" is one comparison."""
    assert list(ProfilingLevel) == sorted(ProfilingLevel)
    assert ProfilingLevel.PER_KERNEL > ProfilingLevel.PER_BLOCK > ProfilingLevel.SUMMARY > ProfilingLevel.NONE
