"""Many buffers of one size are packed in columns that take no more memory than is in use at once."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from warploom.engine.compiler.memory.packing import pack_buffers
from warploom.engine.compiler.memory.reuse_order import ReuseOrder, sharing_groups

#: The first and the last step in which each buffer is in use, ordered by first step.
Spans = list[tuple[int, int]]


@st.composite
def spans(draw: st.DrawFn) -> Spans:
    """Draw lengths and starts of up to 150 lifetimes."""
    starts = sorted(draw(st.lists(st.integers(0, 60), min_size=1, max_size=150)))
    return [(start, start + draw(st.integers(0, 20))) for start in starts]


def reuse_order(found: Spans) -> ReuseOrder:
    """Return which buffers may reuse the memory of which others, if every step waits for the previous one."""
    after = [sum(1 << b for b, (start, _) in enumerate(found) if start > end) for _, end in found]
    before = [sum(1 << a for a, (_, end) in enumerate(found) if end < start) for start, _ in found]
    return ReuseOrder(after, before)


def packed(found: Spans, sizes: list[int]) -> tuple[list[int], int]:
    """Return offsets and size of a packing."""
    order = reuse_order(found)
    made = pack_buffers(sizes, order, sharing_groups(order, sizes, found))
    return made.offsets, made.size_bytes


def in_use(found: Spans, sizes: list[int]) -> int:
    """Return the largest number of bytes that are in use in one step."""
    last = max(end for _, end in found)
    return max(sum(size for (a, b), size in zip(found, sizes, strict=True) if a <= t <= b) for t in range(last + 1))


@given(spans(), st.sampled_from([256, 4096]))
@settings(max_examples=many(60), deadline=None)
def test_buffers_of_one_size_take_what_is_in_use_at_once(found: Spans, size: int) -> None:
    """Buffers of one size take as much memory as the peaks of their groups, which can't share memory."""
    sizes = [size] * len(found)
    offsets, total = packed(found, sizes)
    groups = sharing_groups(reuse_order(found), sizes, found)
    assert total == sum(group.peak_bytes for group in groups)
    assert total >= in_use(found, sizes)
    assert all(offset % size == 0 and offset < total for offset in offsets)


@given(spans(), st.data())
@settings(max_examples=many(60), deadline=None)
def test_buffers_in_use_at_once_lie_apart(found: Spans, data: st.DataObject) -> None:
    """Buffers of any sizes that are in use at once are at separate bytes, and sharing never takes more memory."""
    large = data.draw(st.integers(1, len(found)))
    sizes = [4096 if index % large else 256 * data.draw(st.integers(1, 20)) for index in range(len(found))]
    offsets, total = packed(found, sizes)
    assert in_use(found, sizes) <= total <= sum(sizes)
    for a, (start, end) in enumerate(found):
        for b in range(a):
            if found[b][1] >= start and found[b][0] <= end:
                apart = offsets[a] + sizes[a] <= offsets[b] or offsets[b] + sizes[b] <= offsets[a]
                assert apart, f"{a} and {b} share bytes and are in use at once"


@given(spans())
@settings(max_examples=many(60), deadline=None)
def test_groups_are_what_sharing_connects(found: Spans) -> None:
    """Two buffers are in one group exactly if a chain of buffers that may share memory connects them."""
    order = reuse_order(found)
    groups = sharing_groups(order, [256] * len(found), found)
    name = list(range(len(found)))  # the group of each buffer; groups are joined pair by pair
    for a, mask in enumerate(order.after):
        for b in range(len(found)):
            if mask >> b & 1 and name[a] != name[b]:
                old, new = max(name[a], name[b]), min(name[a], name[b])
                name = [new if group == old else group for group in name]
    expected = [[b for b, group in enumerate(name) if group == first] for first in sorted(set(name))]
    assert [group.members for group in groups] == expected
