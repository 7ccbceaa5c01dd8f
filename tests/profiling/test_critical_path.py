"""The longest chain of a frame, the slack of each span, and how both continue into regions."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiling.spans import span
from tests.small_examples import small
from warploom import Engine, ProfilingLevel
from warploom.engine.device.device import Device
from warploom.engine.profiling.critical_path import critical_path, longest_chains


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[int], list[list[int]]]:
    """Draw the times of some spans, and for each span the earlier ones that it waits for."""
    times = draw(st.lists(st.integers(0, 50), max_size=9))
    chance = random.Random(draw(st.integers(0, 2**32)))
    return times, [sorted(chance.sample(range(at), chance.randint(0, min(at, 3)))) for at in range(len(times))]


def all_chains(after: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return every chain between any two spans, one by one."""
    ending: list[list[tuple[int, ...]]] = []
    for number, earlier in enumerate(after):
        ending.append([(number,), *((*chain, number) for other in earlier for chain in ending[other])])
    return [chain for chains in ending for chain in chains]


@given(graphs())
def test_the_longest_chain_is_the_longest_of_all(graph: tuple[list[int], list[list[int]]]) -> None:
    """The longest chain, and the longest through each span, are those of an exhaustive search."""
    times, after = graph
    taken = {chain: sum(times[at] for at in chain) for chain in all_chains(after)}
    found = longest_chains(times, after)
    assert found.length == max(taken.values(), default=0)
    assert sum(times[at] for at in found.longest) == found.length
    assert all(earlier in after[later] for earlier, later in zip(found.longest, found.longest[1:], strict=False))
    for number, through in enumerate(found.through):
        assert through == max(time for chain, time in taken.items() if number in chain)


@given(graphs(), st.integers(0, 8), st.integers(0, 99))
def test_slack_is_what_a_span_may_take_more(graph: tuple[list[int], list[list[int]]], which: int, more: int) -> None:
    """A path's length grows by the part of a delay that exceeds the span's slack."""
    times, after = graph
    if not times:
        return
    which %= len(times)
    path = critical_path([span(busy_ns=time, after=tuple(before)) for time, before in zip(times, after, strict=True)])
    times[which] += more
    assert longest_chains(times, after).length == path.length_ns + max(0, more - path.slack_ns[which])


def test_side_by_side_work_is_not_added_up() -> None:
    """Of two branches between one start and one end, only the longer one is on the path."""
    spans = [
        span("start", first_ns=0, busy_ns=10),
        span("short", first_ns=10, busy_ns=20, after=(0,)),
        span("long", first_ns=12, busy_ns=50, after=(0,)),
        span("end", first_ns=62, busy_ns=5, after=(1, 2)),
        span("apart", first_ns=0, busy_ns=30),
    ]
    path = critical_path(spans)
    assert (path.wall_ns, path.busy_ns, path.length_ns) == (67, 115, 65)
    assert [spans[number].node for number in path.spans] == ["start", "long", "end"]
    assert path.slack_ns == (0, 30, 0, 0, 35)


def test_the_path_goes_on_inside_regions() -> None:
    """The slack inside a region includes the region's own, and only the branch that ran is on the path."""
    spans = [
        span("loop", busy_ns=100, is_region=True),
        span("other", busy_ns=140),
        span("a", region="loop", busy_ns=60, turns=6),
        span("b", region="loop", busy_ns=20, turns=6),
        span("pick", region="loop", busy_ns=30, turns=6, after=(2,), is_region=True),
        span("yes", region="pick", busy_ns=25, turns=6),
        span("no", region="pick", branch="else", busy_ns=0, turns=0),
    ]
    path = critical_path(spans)
    assert [spans[number].node for number in path.spans] == ["other"]
    assert path.slack_ns == (40, 0, 40, 110, 40, 40, 40)
    through = critical_path([spans[0], span("later", busy_ns=1, after=(0,)), *spans[2:4]])
    assert through.spans == (0, 2, 1)


def test_the_work_of_a_region_in_itself_ends_no_search() -> None:
    """The search ends for a block that loops in its own kernels, which has spans in a region of its own name."""
    spans = [span("solve", busy_ns=9, is_region=True), span("solve", region="solve", busy_ns=7, turns=3)]
    assert critical_path(spans).spans == (0, 1)
    lost = [span("inside", region="gone", busy_ns=3)]
    assert (critical_path(lost).length_ns, critical_path(lost).slack_ns) == (0, (0,))


def test_a_frame_without_spans_has_no_path() -> None:
    """A profile at the summary level has no spans, so its path is empty."""
    assert critical_path([]).spans == ()
    assert critical_path([span(turns=0, busy_ns=0, mean_ns=8)]).spans == ()
    assert critical_path([span(turns=0, busy_ns=0, mean_ns=8)], lately=True).length_ns == 8


@pytest.mark.parametrize("level", [ProfilingLevel.PER_BLOCK, ProfilingLevel.PER_KERNEL])
def test_a_measured_path_takes_no_longer_than_the_frame(device: Device, level: ProfilingLevel) -> None:
    """A measured path is at most as long as the frame, and in a chain of blocks all spans are on the path."""
    with Engine(small("nested"), device, profiling=level) as engine:
        for _ in range(4):
            engine.step()
        spans = engine.core.profiler.profile().spans
    path = critical_path(spans)
    assert 0 < path.length_ns <= path.wall_ns
    assert path.length_ns <= path.busy_ns
    assert {"turns", "step", "relief", "viewer"} <= {spans[number].node for number in path.spans}
    assert all(path.slack_ns[number] == 0 for number in path.spans)
