"""The heat map: degrees and the text of its legend."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.app.app_support import make_report
from warploom.app.view_models.profile.heat import DEGREES, degree_of, heat, legend_text
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.protocol.messages import EngineStatistics, FrameReport, NodeReport, NodeState


def node(time_ns: int | None, share: float | None = None) -> NodeReport:
    """Return the report of a node with a time."""
    return NodeReport("t", NodeState.OK, "", time_ns, 1, share=share)


def report_of(launch_ns: int | None, level: ProfilingLevel, *nodes: NodeReport) -> FrameReport:
    """Return a report of some nodes."""
    statistics = EngineStatistics("host", work_ns=launch_ns, profiling=level)
    return make_report(nodes={str(number): each for number, each in enumerate(nodes)}, statistics=statistics)


@given(st.floats(0, 1), st.floats(0, 1))
def test_more_is_never_colder(one: float, other: float) -> None:
    """More time never lowers the degree, which is 0 for no time and 1 for the whole frame."""
    assert (heat(one) <= heat(other)) == (one <= other) or heat(one) == heat(other)
    assert heat(0) == 0
    assert heat(1) == heat(1.5) == 1


@pytest.mark.parametrize(
    ("time_ns", "degree"), [(None, 0), (0, 0), (10_000, 2), (250_000, 8), (1_000_000, DEGREES), (1_300_000, DEGREES)]
)
def test_a_degree_is_the_root_of_the_share(time_ns: int | None, degree: int) -> None:
    """A degree is the square root of a node's share of a launch of 1 ms, and 0 for a node that was not measured."""
    statistics = EngineStatistics("host", work_ns=1_000_000)
    assert degree_of(node(time_ns), statistics) == degree
    assert degree_of(None, statistics) == degree_of(node(5), EngineStatistics("host")) == 0


def test_inside_a_block_colours_are_shares_of_the_block() -> None:
    """Inside a block, a colour is the share of the block that the engine reports."""
    assert degree_of(node(10_000, 0.25), EngineStatistics("host", work_ns=1_000_000)) == DEGREES / 2


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (None, "Not measured yet"),
        (report_of(None, ProfilingLevel.NONE, node(None)), "Not measured: Run > Profiling > Each block"),
        (report_of(9, ProfilingLevel.SUMMARY, node(None)), "Not measured: Run > Profiling > Each block"),
        (report_of(9, ProfilingLevel.PER_BLOCK, node(None)), "Not measured yet"),
        (
            replace(report_of(9, ProfilingLevel.PER_BLOCK, node(None)), preparing=True),
            "Compiling: not measured yet",
        ),
        (report_of(1_020_000, ProfilingLevel.PER_BLOCK, node(5), node(None)), "Share of the frame's work, 1.02 ms"),
        (report_of(1_020_000, ProfilingLevel.PER_KERNEL, node(5, 0.5)), "Share of the block's time"),
    ],
)
def test_the_legend_says_what_colours_are_or_how_to_see_any(report: FrameReport | None, expected: str) -> None:
    """The legend explains the colours, or how to measure them, or what they wait for."""
    assert legend_text(report) == expected
