"""The work beside frames: compiles, updates, uploads, pictures, reads and files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.profiling.side_work import SideKind, SideTimes, SideWork
from warploom.engine.profiling.statistics import WINDOW


@given(st.integers(1, 2 * WINDOW).flatmap(lambda n: st.lists(st.integers(0, 10**9), min_size=n, max_size=n)))
def test_times_of_one_thing_are_counted_and_averaged(times_ns: list[int]) -> None:
    """The mean covers the last `WINDOW` times, and the size is that of the last time."""
    times = SideTimes()
    for number, time_ns in enumerate(times_ns):
        times.add(SideKind.UPLOAD, "a.out", time_ns, number)
    (told,) = times.summary()
    assert (told.kind, told.name, told.count, told.last_ns) == (SideKind.UPLOAD, "a.out", len(times_ns), times_ns[-1])
    assert told.mean_ns == round(np.mean(times_ns[-WINDOW:])) and told.size_bytes == len(times_ns) - 1


def test_kinds_come_in_order_and_the_oldest_names_are_forgotten() -> None:
    """Only a hundred names of each kind are kept; a forgotten name that returns is new."""
    times = SideTimes()
    times.add(SideKind.SAVE, "picture.png", 1)
    for number in range(100):
        times.add(SideKind.COMPILE, f"{number}.cu", number)
    times.add(SideKind.COMPILE, "0.cu", 7)
    times.add(SideKind.COMPILE, "more.cu", 8)
    times.more.append(lambda: iter([SideWork(SideKind.UPDATE, "hot", 3, 2, 1)]))
    told = times.summary()
    assert [work.name for work in told] == [
        *(f"{n}.cu" for n in range(2, 100)),
        "0.cu",
        "more.cu",
        "hot",
        "picture.png",
    ]


def test_what_fails_is_not_told() -> None:
    """Work that raises an exception is left out of the summary."""
    times = SideTimes()
    with pytest.raises(ValueError, match="broken"), times.timed(SideKind.COMPILE, "a.cu"):
        raise ValueError("broken")
    with times.timed(SideKind.COMPILE, "b.cu"):
        pass
    assert [work.name for work in times.summary()] == ["b.cu"]
