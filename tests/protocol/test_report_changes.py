"""Reports that arrive as changes are the reports that were sent."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.fuzzing import many
from warploom.engine.diagnostics import Sighting, warning
from warploom.engine.protocol.child.encoding import FromEngine, encode, make_decoder
from warploom.engine.protocol.child.report_changes import NO_REPORT, changed_report, report_change
from warploom.engine.protocol.messages import BufferReport, FrameReport, NodeReport, NodeState

_KEYS = st.sampled_from(["a", "b", "c.out", "d"])
_FOUND = st.lists(st.sampled_from(["hot", "late"]).map(warning), max_size=2).map(tuple)


@st.composite
def reports(draw: st.DrawFn) -> FrameReport:
    """Return a report with few different parts, so that neighbours often share some."""
    nodes = st.builds(
        NodeReport, st.just("math.add"), st.sampled_from(NodeState), time_ns=st.none() | st.integers(0, 1)
    )
    buffers = st.builds(BufferReport, st.just("<f4"), st.tuples(st.integers(1, 2)), st.just(4), st.just(4))
    found = draw(_FOUND)
    return replace(
        NO_REPORT,
        frame=draw(st.integers(0, 3)),
        nodes=draw(st.dictionaries(_KEYS, nodes)),
        buffers=draw(st.dictionaries(_KEYS, buffers)),
        counts=draw(st.dictionaries(_KEYS, st.integers(0, 2))),
        values=draw(st.dictionaries(_KEYS, st.sampled_from([0.0, 1.5, float("inf")]))),
        diagnostics=found,
        sightings=tuple(Sighting(float(i), float(i), 1) for i, _ in enumerate(found)),
    )


@settings(max_examples=many(60))
@given(st.lists(reports(), max_size=6))
def test_each_report_arrives_as_it_was_sent(sent: list[FrameReport]) -> None:
    decoder = make_decoder(FromEngine)
    before = received = NO_REPORT
    for report in sent:
        change = decoder.decode(encode(report_change(before, report)))
        last, received, before = received, changed_report(received, change), report
        assert received == report
        for field in ("nodes", "buffers", "counts", "values", "diagnostics", "sightings"):
            was, now = getattr(last, field), getattr(received, field)
            assert (was is now) == (was == now), field  # readers look at identity to see whether anything is new


def test_a_report_of_one_changed_node_is_short() -> None:
    nodes = {f"n{i}": NodeReport("math.add", NodeState.OK) for i in range(1000)}
    first = replace(NO_REPORT, nodes=nodes)
    second = replace(NO_REPORT, frame=2, nodes=nodes | {"n7": NodeReport("math.add", NodeState.ERROR, "wrong")})
    assert len(encode(report_change(first, second))) < len(encode(report_change(NO_REPORT, first))) / 50
