"""The marks of the critical path, and the slack of other blocks."""

import pytest

from tests.app.app_support import make_report
from tests.profiling.spans import span
from warploom.app.view_models.profile.path_marks import PathMarks, path_marks
from warploom.engine.patch.document import Patch
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import Profile, SpanProfile
from warploom.engine.protocol.messages import EngineStatistics, FrameReport, NodeReport, NodeState

BUDGET_NS = 1_000


def fork() -> Patch:
    """Return a patch: a source, a short and a long branch, their join, and a reader of the join and the source."""
    patch = Patch()
    source, short, long = (patch.add("kernel.expression", node_id=name, expression="x + 1.0") for name in "abc")
    join, last = (patch.add("math.saxpy", node_id=name) for name in "de")
    for branch, port in ((short, "x"), (long, "y")):
        patch.connect(source["out"], branch["x"])
        patch.connect(branch["out"], join[port])
    patch.connect(join["out"], last["x"])
    patch.connect(source["out"], last["y"])
    return patch


def lines(marks: PathMarks) -> set[str]:
    """Return the marked connections as texts such as "ab"."""
    return {f"{connection.source.node}{connection.target.node}" for connection in marks.connections}


FORK = (
    span("a", busy_ns=10),
    span("b", busy_ns=20, after=(0,)),
    span("c", busy_ns=50, after=(0,)),
    span("d", busy_ns=4, after=(1, 2)),
    span("e", busy_ns=1, after=(3,)),
)


def profile_of(*spans: SpanProfile, launch_ns: int | None = 70) -> Profile:
    """Return the profile of a frame."""
    return Profile(1, ProfilingLevel.PER_BLOCK, launch_ns, 80, 1, 100, spans)


def report_at(level: ProfilingLevel, **fused: str) -> FrameReport:
    """Return a report with a profiling level, and with nodes that are fused into others."""
    nodes = {node: NodeReport("t", NodeState.OK, fused_into=(into,)) for node, into in fused.items()}
    return make_report(statistics=EngineStatistics("host", profiling=level), nodes=nodes)


def test_the_longest_branch_is_marked_and_the_other_tells_its_slack() -> None:
    """The longest branch is marked and the other one shows its slack; one connection into each node is marked."""
    marks = path_marks(fork(), profile_of(*FORK), report_at(ProfilingLevel.PER_BLOCK), BUDGET_NS)
    assert marks.nodes == {"a", "c", "d", "e"}
    assert lines(marks) == {"ac", "cd", "de"}
    assert marks.slack == {"b": "slack 0.03 µs"}
    assert marks.text == "Critical path 0.07 µs\nFrame 0.07 µs, 0.93 µs below the budget of 1.00 µs"


def test_a_region_is_entered_from_what_is_right_before_it() -> None:
    """The path enters a region from the block right before it, and continues with the block that waits for it."""
    spans = (
        span("a", busy_ns=10),
        span("b", busy_ns=20, after=(0,)),
        span("loop", busy_ns=60, after=(1,), is_region=True),
        span("c", busy_ns=5, region="loop", turns=3),
        span("d", busy_ns=50, region="loop", turns=3, after=(3,)),
        span("e", busy_ns=4, after=(2,)),
    )
    marks = path_marks(fork(), profile_of(*spans), report_at(ProfilingLevel.PER_BLOCK), BUDGET_NS)
    assert marks.nodes == {"a", "b", "c", "d", "e"}
    assert lines(marks) == {"ab", "cd", "de"}


def test_blocks_without_work_hand_the_path_on() -> None:
    """The path passes through blocks without work, such as reshapes, but not through feedback."""
    patch = Patch()
    first, last = (patch.add("math.saxpy", node_id=name) for name in ("first", "last"))
    view, delay = patch.add("buffer.reshape", node_id="view"), patch.add("buffer.frame_delay")
    patch.connect(first["out"], view["x"])
    patch.connect(view["out"], last["x"])
    patch.connect(last["out"], delay["x"])
    patch.connect(delay["out"], first["x"])
    profile = profile_of(span("first", busy_ns=10), span("last", busy_ns=20, after=(0,)))
    marks = path_marks(patch, profile, report_at(ProfilingLevel.PER_BLOCK), BUDGET_NS)
    assert marks.nodes == {"first", "view", "last"}
    assert {connection.target.node for connection in marks.connections} == {"view", "last"}
    apart = profile_of(span("first", busy_ns=10), span("view", busy_ns=1), span("last", busy_ns=20, after=(0,)))
    assert not path_marks(patch, apart, report_at(ProfilingLevel.PER_BLOCK), BUDGET_NS).connections


def test_a_frame_may_be_over_its_budget() -> None:
    """The text says by how much a frame exceeds its budget; if its launch was not measured, the path's time counts."""
    marks = path_marks(fork(), profile_of(*FORK, launch_ns=None), report_at(ProfilingLevel.PER_BLOCK), 30)
    assert marks.text.endswith("Frame 0.07 µs, 0.04 µs over the budget of 0.03 µs")


def test_fused_nodes_are_marked_like_the_one_whose_kernel_does_their_work() -> None:
    """Fused nodes and their connections are marked like the node whose kernel computes them."""
    spans = (span("b", busy_ns=20), span("d", busy_ns=5, after=(0,)), span("c", busy_ns=1))
    marks = path_marks(fork(), profile_of(*spans), report_at(ProfilingLevel.PER_BLOCK, a="b"), BUDGET_NS)
    assert marks.nodes == {"a", "b", "d"}
    assert lines(marks) == {"ab", "bd"}
    spare = path_marks(fork(), profile_of(*spans), report_at(ProfilingLevel.PER_BLOCK, a="c"), BUDGET_NS)
    assert spare.slack["a"] == spare.slack["c"] == "slack 0.02 µs"


def test_composites_stand_for_what_is_inside_them() -> None:
    """A composite is marked for the blocks inside it, and nodes that were removed are not marked."""
    spans = (span("a/x", busy_ns=10), span("a/y", busy_ns=3), span("gone", busy_ns=90), span("b", busy_ns=0))
    marks = path_marks(fork(), profile_of(*spans), report_at(ProfilingLevel.PER_BLOCK), BUDGET_NS)
    assert (marks.nodes, marks.slack) == (frozenset(), {"a": "slack 0.08 µs"})


@pytest.mark.parametrize(
    ("level", "profile", "text"),
    [
        (ProfilingLevel.NONE, None, "Critical path not measured: Run > Profiling > Each block"),
        (ProfilingLevel.SUMMARY, profile_of(), "Critical path not measured: Run > Profiling > Each block"),
        (ProfilingLevel.PER_BLOCK, None, "Critical path: no frame has been measured yet"),
    ],
)
def test_what_is_not_measured_is_said(level: ProfilingLevel, profile: Profile | None, text: str) -> None:
    """If nothing was measured, the text says why instead of showing old marks; without a report there is no text."""
    assert path_marks(fork(), profile, report_at(level), BUDGET_NS) == PathMarks(text=text)
    assert path_marks(fork(), profile, None, BUDGET_NS) == PathMarks()
