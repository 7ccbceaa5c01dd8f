"""The dependencies of operations agree with the bytes that they access."""

from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.compiler.hazards import Hazards
from warploom.engine.compiler.operations import Access, Place
from warploom.engine.patch.changes import PortRef

places = st.builds(
    lambda owner, offset, size: Place(PortRef(owner, "out"), offset, size),
    st.sampled_from("ab"),
    st.integers(0, 6),
    st.integers(1, 4),
)
accesses = st.lists(st.tuples(st.lists(places, max_size=2), st.lists(places, max_size=2)), max_size=8)


def touched(found: list[Place]) -> set[tuple[str, int]]:
    """Return the bytes of some places."""
    return {(place.owner.node, place.offset + byte) for place in found for byte in range(place.size_bytes)}


@given(accesses)
def test_operations_wait_for_those_that_touch_the_same_bytes(steps: list[tuple[list[Place], list[Place]]]) -> None:
    """Operations are ordered if one writes bytes that the other accesses, and only such pairs are ordered directly."""
    hazards = Hazards()
    before: list[set[int]] = []
    for index, (reads, writes) in enumerate(steps):
        after = hazards.add(index, Access(tuple(reads), tuple(writes)))
        read, written = touched(reads), touched(writes)
        conflicting = {
            earlier
            for earlier, (r, w) in enumerate(steps[:index])
            if touched(w) & (read | written) or touched(r) & written
        }
        assert set(after) <= conflicting
        before.append(set(after).union(*(before[earlier] for earlier in after)))
        assert conflicting <= before[index]


def test_neighbours_do_not_wait_for_each_other() -> None:
    """Operations on adjacent bytes don't wait for each other, whichever comes first."""
    low, high = Place(PortRef("a", "out"), 0, 4), Place(PortRef("a", "out"), 4, 4)
    for one, other in ((low, high), (high, low)):
        hazards = Hazards()
        assert hazards.add(0, Access((), (one,))) == ()
        assert hazards.add(1, Access((other,), ())) == ()
        assert hazards.add(2, Access((), (other,))) == (1,)
