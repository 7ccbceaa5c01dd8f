"""Buffers that share memory are never in use at once, and take little more memory than the minimum."""

from itertools import combinations, permutations
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.support.schedules import UNIT, Draft, Memory, Run, b, random_draft
from tests.fuzzing import many
from warploom.engine.compiler.buffers import Lifetime
from warploom.engine.compiler.memory.placement import Placement
from warploom.engine.compiler.memory.recomputation import recomputation
from warploom.engine.compiler.operations import RegionEntry
from warploom.engine.descriptions.entries import RegionKind
from warploom.engine.patch.changes import PortRef


def chain(sizes: list[int]) -> Draft:
    """Return operations that each read what the previous one wrote."""
    draft = Draft()
    for index, size in enumerate(sizes):
        draft.sizes[b(f"n{index}")] = size * UNIT
        draft.op(f"n{index}", [f"n{index - 1}"] if index else [])
    return draft


def units(placement: Placement) -> int:
    """Return the arena's size in units."""
    return placement.size_bytes // UNIT


# Correct sharing

drafts = st.builds(lambda seed, count: random_draft(Random(seed), count), st.integers(0, 10**9), st.integers(1, 40))


def before(draft: Draft, earlier: int, later: int) -> bool:
    """Return whether one operation ends before another begins in every iteration, by a backward search."""
    operations, scopes = draft.operations, draft.scopes
    seen: set[int] = set()
    waiting = [later]
    ancestors: set[int] = set()
    while waiting:
        index = waiting.pop()
        if index in seen:
            continue
        seen.add(index)
        ancestors |= set(operations[index].after)
        waiting += operations[index].after
        if operations[index].scope:
            waiting.append(scopes[operations[index].scope].region)
    while True:
        if earlier in ancestors:
            return True
        if not operations[earlier].scope:
            return False
        earlier = scopes[operations[earlier].scope].region


def excluded(draft: Draft, one: int, other: int) -> bool:
    """Return whether two operations lie in different branches of one condition."""

    def way(index: int) -> dict[int, int]:
        found = {}
        while scope := draft.operations[index].scope:
            index = draft.scopes[scope].region
            found[index] = scope
        return found

    a, c = way(one), way(other)
    return any(region in c and c[region] != scope for region, scope in a.items())


@given(drafts)
def test_buffers_at_the_same_bytes_are_never_in_use_at_once(draft: Draft) -> None:
    """If two buffers share bytes, all uses of one come before those of the other, or a frame uses only one of them."""
    placement = draft.place()
    users: dict[PortRef, list[int]] = {}
    for index, operation in enumerate(draft.operations):
        if not isinstance(operation.entry, RegionEntry):
            for owner in operation.reads | operation.writes:
                users.setdefault(owner, []).append(index)
    for one, other in combinations(placement.offsets, 2):
        if other in placement.sharers(one):
            pairs = [(i, j) for i in users[one] for j in users[other] if not excluded(draft, i, j)]
            assert all(before(draft, i, j) for i, j in pairs) or all(before(draft, j, i) for i, j in pairs)


@given(drafts, st.integers(0, 10**9))
@settings(max_examples=many(100), deadline=None)
def test_sharing_changes_nothing_that_is_computed(draft: Draft, seed: int) -> None:
    """In any allowed order, two frames read the same values with shared memory as with separate memory."""
    placement = draft.place()
    shared, separate = Memory(placement), Memory()
    for frame in range(2):
        runs = [Run(draft, m.read, m.write, Random(seed + frame)) for m in (shared, separate)]
        for run in runs:
            for state in draft.lifetimes:
                if frame == 0:
                    run.write(state, hash(str(state)))
            run.scope(0)
        assert runs[0].read_values == runs[1].read_values
        for owner in sorted(runs[1].written, key=str):
            if owner.port:
                assert contents_after(draft, placement, shared, owner) == separate.read(owner)


def contents_after(draft: Draft, placement: Placement, memory: Memory, owner: PortRef) -> Any:
    """Return the contents of a buffer, read directly or recomputed in private memory."""
    if not placement.overwritten(owner):
        return memory.read(owner)
    again = recomputation(draft.operations, placement.lasting, placement.overwritten, owner)
    assert again is not None
    private = {written for index in again for written in draft.operations[index].writes}
    assert not private & placement.lasting
    scratch: dict[PortRef, Any] = {}
    run = Run(draft, lambda o: scratch[o] if o in private else memory.read(o), scratch.__setitem__, Random(0))
    run.scope(0, again)
    return scratch[owner]


@given(drafts, st.integers(0, 10**9))
def test_buffers_stay_where_they_were(draft: Draft, seed: int) -> None:
    """With the same patch's placement nothing moves; with another patch's, the buffers read the same values."""
    old = draft.place()
    assert draft.place(keep=old).offsets == old.offsets
    changed = random_draft(Random(seed), 20)
    new = changed.place(keep=old)
    runs = [Run(changed, m.read, m.write, Random(seed)) for m in (Memory(new), Memory())]
    for run in runs:
        run.scope(0)
    assert runs[0].read_values == runs[1].read_values


def test_an_added_block_moves_no_other_buffer() -> None:
    """A chain that grows by one block keeps its offsets and its size."""
    old = chain([1, 2, 3, 2, 1, 3]).place()
    new = chain([1, 2, 3, 2, 1, 3, 2]).place(keep=old)
    assert {owner: new.offsets[owner] for owner in old.offsets} == old.offsets
    assert new.size_bytes == old.size_bytes


def test_all_buffers_move_when_staying_costs_more_than_a_tenth() -> None:
    """After 18 of 20 buffers in a row are removed, the rest is placed again in three units."""
    wide = Draft()
    for index in range(20):
        wide.op(f"n{index}")
    wide.op("end", [f"n{index}" for index in range(20)])
    narrow = Draft()
    narrow.op("n0")
    narrow.op("n19")
    narrow.op("end", ["n0", "n19"])
    assert units(narrow.place(keep=wide.place())) == 3


# Buffers with memory of their own


def test_pinned_and_lasting_buffers_are_not_shared() -> None:
    """Pinned buffers, state, buffers read before they are written, and results of these share no memory."""
    draft = chain([1] * 6)
    draft.pinned = {b("n2")}
    draft.lifetimes[b("n4")] = Lifetime.STATE
    draft.op("reader", ["unwritten"])
    draft.op("writer", [], ["unwritten"])
    placement = draft.place()
    assert {o.node for o in placement.offsets} == {"n0", "n1", "n3", "n5"}


def test_a_buffer_that_its_block_first_reads_and_writes_is_shared() -> None:
    """A buffer that its block reads and writes, but does not declare as state, shares memory."""
    draft = chain([1] * 4)
    draft.op("inner", ["n3", "inner"])
    draft.op("end", ["inner"])
    assert b("n0") in draft.place().sharers(b("inner"))


def test_a_status_word_that_is_cleared_each_frame_is_nothing_lasting() -> None:
    """Results of a loop share memory, although the loop's counter shares none."""
    draft = Draft()
    draft.lifetimes[b("stopped")] = Lifetime.STATUS
    draft.op("", [], ["stopped"])
    draft.op("n")
    (body,) = draft.region("stopped", RegionKind.FOR, "n")
    for index in range(4):
        draft.op(f"n{index}", [f"n{index - 1}" if index else "n"], scope=body)
    draft.op("stopped", ["stopped"], None, body)
    draft.end([body])
    placement = draft.place()
    assert b("stopped") not in placement.offsets
    assert b("n0") in placement.sharers(b("n2"))


def test_the_same_patch_gives_the_same_placement() -> None:
    """Two placements of one patch are equal."""
    draft = random_draft(Random(5), 60)
    assert draft.place() == draft.place()


# Regions


def test_what_a_loop_reads_is_kept_for_all_its_turns() -> None:
    """A loop's last buffer may share memory with an earlier one of the body, not with one that each iteration reads."""
    draft = Draft()
    draft.op("n")
    draft.op("outer")
    (body,) = draft.region("loop", RegionKind.FOR, "n")
    draft.op("early", ["outer"], scope=body)
    draft.op("late", ["early"], scope=body)
    draft.op("last", ["late"], scope=body)
    draft.end([body])
    placement = draft.place()
    assert b("outer") not in placement.sharers(b("last"))
    assert b("early") in placement.sharers(b("last"))


@pytest.mark.parametrize(("kind", "names"), [(RegionKind.IF_ELSE, "xy"), (RegionKind.SWITCH, "xyz")])
def test_branches_of_a_region_share_memory(kind: RegionKind, names: str) -> None:
    """The buffers of all branches of a region share memory."""
    draft = Draft()
    draft.op("n")
    branches = draft.region("choice", kind, "n")
    for name, branch in zip(names, branches, strict=True):
        draft.op(f"{name}0", ["n"], scope=branch)
        draft.op(f"{name}1", [f"{name}0"], scope=branch)
    draft.end(branches)
    assert units(draft.place()) == 3


def test_buffers_that_a_turn_may_not_write_count_as_overwritten_where_memory_is_shared() -> None:
    """In a loop, the buffers of two branches share memory, and both count as overwritten."""
    draft = Draft()
    draft.op("n")
    (body,) = draft.region("loop", RegionKind.FOR, "n")
    branches = draft.region("choice", RegionKind.IF_ELSE, "n", body)
    draft.op("x", ["n"], scope=branches[0])
    draft.op("y", ["n"], scope=branches[1])
    draft.end(branches)
    draft.end([body])
    placement = draft.place()
    assert placement.sharers(b("x")) == (b("y"),)
    assert placement.overwritten(b("x"))
    assert placement.overwritten(b("y"))


# Little more than the minimum


@pytest.mark.parametrize(
    ("sizes", "optimum"),
    [
        ([1], 1),
        ([1] * 100, 2),
        (list(range(1, 41)), 79),
        (list(range(40, 0, -1)), 79),
        ([1, 7] * 30, 8),
        ([5, 1, 4, 2, 3] * 20, 8),
        ([1, 2, 4, 8, 16, 32], 48),
        ([100, 1, 1, 1, 100, 1, 1, 1], 101),
    ],
)
def test_a_chain_needs_its_largest_pair_of_neighbours(sizes: list[int], optimum: int) -> None:
    """A chain's arena is as large as its largest pair of neighbours, within a tenth."""
    placement = chain(sizes).place()
    assert placement.peak_bytes == optimum * UNIT
    assert units(placement) <= optimum * 1.1
    assert placement.unshared_bytes == sum(sizes) * UNIT


def test_diamonds_in_a_row() -> None:
    """Diamonds in a row take three buffers, which the next diamond reuses."""
    draft = Draft()
    draft.op("j0")
    for index in range(30):
        draft.op(f"l{index}", [f"j{index}"])
        draft.op(f"r{index}", [f"j{index}"])
        draft.op(f"j{index + 1}", [f"l{index}", f"r{index}"])
    assert units(draft.place()) == 3


@pytest.mark.parametrize("depth", [1, 2, 3, 5, 8, 10])
def test_a_tree_of_sums(depth: int) -> None:
    """A tree of sums takes the memory of all leaves and of their first sums."""
    draft = Draft()
    names = [f"leaf{index}" for index in range(2**depth)]
    for name in names:
        draft.op(name)
    while len(names) > 1:
        pairs = [(names[i], names[i + 1]) for i in range(0, len(names), 2)]
        names = [draft.operations[draft.op(f"{left}+", [left, right])].node for left, right in pairs]
    assert units(draft.place()) == 2**depth + 2 ** (depth - 1)


@pytest.mark.parametrize("width", [2, 10, 45, 100, 400])
def test_waves_of_small_buffers_between_large_ones(width: int) -> None:
    """Large buffers that are split into small ones and joined again take the memory of two large buffers."""
    draft = Draft()
    for wave in range(4):
        draft.sizes[b(f"whole{wave}")] = width * UNIT
        draft.op(f"whole{wave}", [f"part{wave - 1}_{i}" for i in range(width)] if wave else [])
        for index in range(width):
            draft.op(f"part{wave}_{index}", [f"whole{wave}"])
    assert units(draft.place()) <= 1.1 * 2 * width


@pytest.mark.parametrize("width", [3, 30, 300])
def test_parallel_chains_share_nothing_with_each_other(width: int) -> None:
    """Parallel chains take two buffers each."""
    draft = Draft()
    for step in range(6):
        for index in range(width):
            draft.op(f"{index}_{step}", [f"{index}_{step - 1}"] if step else [])
    assert units(draft.place()) == 2 * width


def optimum(conflicts: set[tuple[int, int]], sizes: list[int]) -> int:
    """Return the smallest total size, by placing buffers at the lowest free offset in every order."""
    best = sum(sizes)
    for order in permutations(range(len(sizes))):
        ends: dict[int, int] = {}
        for buffer in order:
            spans = sorted((ends[o] - sizes[o], ends[o]) for o in ends if (min(o, buffer), max(o, buffer)) in conflicts)
            offset = 0
            for start, end in spans:
                if start >= offset + sizes[buffer]:
                    break
                offset = max(offset, end)
            ends[buffer] = offset + sizes[buffer]
            if ends[buffer] >= best:
                break
        else:
            best = max(ends.values())
    return best


@given(st.integers(0, 10**9), st.lists(st.integers(1, 9), min_size=2, max_size=7))
@settings(deadline=None, max_examples=many(60))
def test_small_patches_are_within_a_fifth_of_the_optimum(seed: int, sizes: list[int]) -> None:
    """A small patch takes at most a fifth more memory than the minimum over all orders: mostly less than a tenth."""
    random, draft = Random(seed), Draft()
    for index, size in enumerate(sizes):
        draft.sizes[b(f"n{index}")] = size * UNIT
        draft.op(f"n{index}", [f"n{i}" for i in range(index) if random.random() < 0.5])
    placement = draft.place()
    users: list[list[int]] = [
        [i for i, o in enumerate(draft.operations) if b(f"n{n}") in o.reads | o.writes] for n in range(len(sizes))
    ]
    conflicts = {
        (i, j) for i, j in combinations(range(len(sizes)), 2) if not all(before(draft, user, j) for user in users[i])
    }
    assert units(placement) <= 1.2 * optimum(conflicts, sizes)


# Reading after the frame


def test_overwritten_buffers_are_computed_again_from_what_their_writers_read() -> None:
    """To recompute an overwritten buffer of a chain, the overwritten buffers before it are recomputed first."""
    draft = chain([1] * 5)
    placement = draft.place()
    gone = [placement.overwritten(b(f"n{index}")) for index in range(5)]
    assert gone == [True, True, True, False, False]
    again = [recomputation(draft.operations, placement.lasting, placement.overwritten, b(f"n{i}")) for i in range(3)]
    assert again == [(0,), (0, 1), (0, 1, 2)]


def test_buffers_computed_from_changed_state_keep_their_memory() -> None:
    """A buffer computed from state that then changes shares no memory, since it can't be recomputed."""
    draft = chain([1] * 6)
    draft.lifetimes[b("state")] = Lifetime.STATE
    draft.op("sees", ["n0", "state"])
    draft.op("uses", ["sees"])
    draft.op("more", ["uses"])
    draft.op("step", ["more", "state"], ["state"])
    placement = draft.place()
    assert b("sees") not in placement.offsets
    assert {b("uses"), b("more"), b("n3")} <= placement.offsets.keys()
    assert recomputation(draft.operations, placement.lasting, lambda _: True, b("sees")) is None
