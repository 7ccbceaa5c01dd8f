"""A check with an earlier result visits only what changed, and its result is that of a full check."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.compiler.support.descriptions import array, graph, i, node, o, ref
from warploom.engine.compiler.checking.check import Checked, check_description
from warploom.engine.compiler.description import GraphDescription
from warploom.engine.patch.changes import Connection
from warploom.engine.types import any_type, f32


def chain(length: int) -> GraphDescription:
    """Return blocks in a row, each of which has an optional second input."""
    blocks = [node(f"n{k}", i(), i("y", optional=True), o()) for k in range(1, length)]
    return graph(array("n0", 8), *blocks, wires=[f"n{k}.out n{k + 1}.x" for k in range(length - 1)])


def rewired(patch: GraphDescription, *made: str, cut: tuple[str, ...] = ()) -> GraphDescription:
    """Return the patch with other connections into one block."""
    gone = {str(Connection(*map(ref, wire.split()))) for wire in cut}
    kept = tuple(c for c in patch.connections if str(c) not in gone)
    return GraphDescription(patch.nodes, (*kept, *(Connection(*map(ref, wire.split())) for wire in made)))


def same(one: Checked, other: Checked) -> bool:
    """Return whether two check results are equal, apart from the order of blocks."""
    return (
        dict(one.nodes) == dict(other.nodes)
        and one.layouts == other.layouts
        and sorted(map(str, one.errors)) == sorted(map(str, other.errors))
        and one.warnings == other.warnings
    )


def assert_ordered(checked: Checked) -> None:
    """Assert that every block comes after its sources."""
    position = {name: place for place, name in enumerate(checked.nodes)}
    for connection in checked.description.connections:
        if connection.source.node in position and connection.target.node in position:
            assert position[connection.source.node] < position[connection.target.node]


def test_blocks_that_did_not_change_are_taken_over() -> None:
    """Unchanged blocks are the same objects in the earlier and the later result."""
    patch = chain(40)
    before = check_description(patch)
    after = check_description(rewired(patch, "n3.out n20.y"), before)
    assert [name for name in after.nodes if after.nodes[name] is not before.nodes[name]] == ["n20"]
    grown = GraphDescription(
        (*patch.nodes, node("new", i(), o())), (*patch.connections, *graph(wires=["n5.out new.x"]).connections)
    )
    after = check_description(grown, before)
    assert [name for name in after.nodes if after.nodes[name] is not before.nodes.get(name)] == ["new"]


def test_another_shape_reaches_everything_behind() -> None:
    """A new shape is checked again in all blocks behind it, and in none before it."""
    patch = chain(10)
    before = check_description(patch)
    half = node("n4", i(), i("y", optional=True), o(shape="[N // 2]"))
    after = check_description(replace(patch, nodes=tuple(half if n.id == "n4" else n for n in patch.nodes)), before)
    assert [name for name in after.nodes if after.nodes[name] is not before.nodes[name]] == [
        f"n{k}" for k in range(4, 10)
    ]
    assert after.layouts[ref("n9.out")].shape == (4,)
    assert before.layouts[ref("n9.out")].shape == (8,)


def test_a_block_is_inserted_into_a_row_and_removed() -> None:
    """A block is inserted into a row and removed again; the other blocks keep their objects and their order."""
    patch = chain(10)
    before = check_description(patch)
    longer = rewired(
        replace(patch, nodes=(*patch.nodes, node("new", i(), o()))),
        "n4.out new.x",
        "new.out n5.x",
        cut=("n4.out n5.x",),
    )
    after = check_description(longer, before)
    assert list(after.nodes) == [*(f"n{k}" for k in range(5)), "new", *(f"n{k}" for k in range(5, 10))]
    assert [name for name in after.nodes if after.nodes[name] is not before.nodes.get(name)] == ["new"]
    again = check_description(patch, after)
    assert list(again.nodes) == list(before.nodes)
    assert all(again.nodes[name] is before.nodes[name] for name in before.nodes)


def test_blocks_find_room_in_the_same_place_however_often() -> None:
    """Each of 80 blocks, inserted one after the other, is ordered between the previous one and its successor."""
    patch = chain(3)
    checked = check_description(patch)
    for k in range(80):
        last = f"m{k - 1}" if k else "n0"
        patch = rewired(
            replace(patch, nodes=(*patch.nodes, node(f"m{k}", i(), o()))),
            f"{last}.out m{k}.x",
            f"m{k}.out n1.x",
            cut=(f"{last}.out n1.x",),
        )
        checked = check_description(patch, checked)
        assert checked.errors == ()
        assert_ordered(checked)
    assert list(checked.nodes) == ["n0", *(f"m{k}" for k in range(80)), "n1", "n2"]


edits = st.lists(
    st.tuples(
        st.sampled_from(["wire", "cut", "describe", "add", "insert", "remove"]), st.integers(0, 11), st.integers(0, 11)
    ),
    min_size=1,
    max_size=8,
)


@given(edits)
def test_a_check_with_the_previous_result_tells_what_a_whole_one_tells(steps: list[tuple[str, int, int]]) -> None:
    """After each of a series of edits, right or wrong, the result is that of a full check."""
    patch = chain(10)
    checked = check_description(patch)
    for kind, a, b in steps:
        by_id = patch.by_id
        if kind == "wire":
            kept = tuple(c for c in patch.connections if c.target != ref(f"n{b}.y"))
            patch = GraphDescription(patch.nodes, (*kept, Connection(ref(f"n{a}.out"), ref(f"n{b}.y"))))
        elif kind == "cut":
            patch = GraphDescription(patch.nodes, tuple(c for c in patch.connections if c.target.node != f"n{b}"))
        elif kind == "describe" and f"n{b}" in by_id:
            shape = ["same(x)", "[N * 2]", "[N - 1]", "broadcast(x, y)"][a % 4]
            new = node(f"n{b}", i(dtype=[f32, any_type][a % 2]), i("y", optional=True), o(shape=shape))
            patch = GraphDescription(tuple(new if n.id == new.id else n for n in patch.nodes), patch.connections)
        elif kind == "add" and f"n{b}" not in by_id:
            patch = GraphDescription((*patch.nodes, node(f"n{b}", i(), i("y", optional=True), o())), patch.connections)
        elif kind == "insert" and f"n{b}" not in by_id and f"n{a}" in by_id:
            new = node(f"n{b}", i(), i("y", optional=True), o())
            made = (Connection(ref(f"n{a}.out"), ref(f"n{b}.x")),)
            patch = GraphDescription((*patch.nodes, new), (*patch.connections, *made))
        elif kind == "remove":
            kept = tuple(c for c in patch.connections if f"n{b}" not in (c.source.node, c.target.node) or a % 4 == 0)
            patch = GraphDescription(tuple(n for n in patch.nodes if n.id != f"n{b}"), kept)
        whole = check_description(GraphDescription(patch.nodes, patch.connections))
        checked = check_description(patch, checked)
        assert same(checked, whole)
        assert_ordered(checked)


@pytest.mark.parametrize("wire", ["n9.out n2.y", "n1.out n1.y", "n1.missing n2.y", "n1.out n2.x"])
def test_a_bad_edit_of_a_right_patch_is_found(wire: str) -> None:
    """A cycle, an unknown port or a second connection, added to a valid patch, is reported as in a full check."""
    patch = chain(10)
    edited = rewired(patch, wire)
    assert check_description(edited, check_description(patch)).errors == check_description(edited).errors
    assert len(check_description(edited).errors) == 1
