"""Regions in the document: which blocks they may hold, how they order blocks, and what edits do to them."""

import json
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import Change, Node, NodeAdded, NodeRegionChanged, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch, parse_patch
from warploom.engine.patch.regions import DEEPEST_IN_FILE, RegionRefused, Scopes, branch_of, region_of, scope_text
from warploom.engine.patch.rules import CrossesBranches, WouldCycle, find_cycle


@pytest.fixture
def patch(region_blocks: None) -> Patch:
    """A loop, a choice inside it, and four pass-throughs outside."""
    patch = Patch()
    loop = patch.add("test_region.loop", node_id="loop")
    patch.add("test_region.choice", node_id="choice", region=loop)
    for name in "abcd":
        patch.add("test_region.pass", node_id=name)
    return patch


def link(patch: Patch, *texts: str) -> None:
    for text in texts:
        source, target = text.split()
        patch.connect(PortRef(*source.split(".")), PortRef(*target.split(".")))


def regions(patch: Patch) -> dict[str, str]:
    return {node.id: node.region for node in patch.nodes.values()}


# Where blocks may lie


def test_a_region_can_be_named_by_handle_body_or_text(patch: Patch) -> None:
    """A handle names the first body; the other branch has a name of its own."""
    loop, choice = patch["loop"], patch["choice"]
    assert (loop.body, choice.body, choice.otherwise) == ("loop", "choice", "choice.else")
    for n, region in enumerate((loop, loop.body, "loop", choice.otherwise, "")):
        patch.add("test_region.pass", node_id=f"n{n}", region=region)
    assert [patch.nodes[f"n{n}"].region for n in range(5)] == ["loop", "loop", "loop", "choice.else", ""]
    assert patch.members(loop) == ["choice", "n0", "n1", "n2"]
    assert patch.members("choice") == ["n3"]


@pytest.mark.parametrize(
    ("region", "message"),
    [
        ("gone", "region of new must be a node of the patch, got 'gone'"),
        ("a", r"region of new must be a block that holds others, got a \(test_region.pass\)"),
        ("loop.else", r"region of new must be loop \(test_region.loop\), got loop.else"),
        ("choice.other", r"region of new must be choice or choice.else \(test_region.choice\), got choice.other"),
    ],
)
def test_only_region_blocks_hold_blocks(patch: Patch, region: str, message: str) -> None:
    """Only region blocks may contain blocks; the message names the block that is no region."""
    before = dump_patch(patch)
    with pytest.raises(RegionRefused, match=message):
        patch.add("test_region.pass", node_id="new", region=region)
    assert dump_patch(patch) == before


def test_only_region_blocks_have_a_body(patch: Patch) -> None:
    """Only a region has a body, and only a region with two branches has an `else` body."""
    with pytest.raises(RegionRefused, match="must be a block that holds others, got a"):
        _ = patch["a"].body
    with pytest.raises(RegionRefused, match=r"must be loop .*, got loop\.else"):
        _ = patch["loop"].otherwise


def test_branches_have_numbers(patch: Patch) -> None:
    """The scope of each branch has a number from 0 on; a wrong number is refused with the largest one."""
    assert [patch["choice"].branch(number) for number in (0, 1)] == ["choice", "choice.else"]
    switch = patch.add("control.switch", branches=16)
    assert [switch.branch(number) for number in (0, 1, 15)] == ["switch", "switch.1", "switch.15"]
    for number in (-1, 16, 1.0, "1", None):
        with pytest.raises(RegionRefused, match="branch of switch must be from 0 to 15, got"):
            switch.branch(number)  # type: ignore[arg-type]
    with pytest.raises(RegionRefused, match="branch of a must be left out, since the block is no region, got 0"):
        patch["a"].branch(0)


def test_a_branch_with_blocks_is_not_removed(patch: Patch) -> None:
    """A Switch keeps the branches that hold blocks; the message names such a block."""
    switch = patch.add("control.switch", branches=4)
    patch.move_into("a", switch.branch(2))
    for refused in (lambda: patch.set(switch, branches=2), lambda: patch.set(switch, element=1, branches=2)):
        with pytest.raises(RegionRefused, match=r"branches of switch must keep .*, got a in switch\.2; move it"):
            refused()
    assert patch.value(switch, "branches") == 4 and patch.value(switch, "element") == 0
    patch.set(switch, branches=3)
    with pytest.raises(RegionRefused, match=r"must be switch or switch\.1 or switch\.2 "):
        patch.move_into("b", "switch.3")
    patch.set(switch, branches=5)
    patch.move_into("a", switch.branch(4))
    with pytest.raises(RegionRefused, match=r"got a in switch\.4"):
        patch.reset(switch, "branches")
    patch.move_into("a", "")
    patch.reset(switch, "branches")
    patch.undo(), patch.undo()
    assert regions(patch)["a"] == "switch.4" and patch.branches(switch) == ["", "1", "2", "3", "4"]
    again = parse_patch(dump_patch(patch), catalogue=patch.catalogue)
    assert regions(again) == regions(patch)


def test_a_placeholder_may_be_a_region(patch: Patch) -> None:
    """A block of an unknown type may hold blocks, since it may be a region."""
    patch.restore([NodeAdded(Node(id="old", type="gone.loop"))])
    assert patch.add("test_region.pass", node_id="new", region="old.else").id == "new"


def test_no_region_lies_inside_itself(patch: Patch) -> None:
    """A region can't contain itself, directly or through others; the message names the path."""
    for region in ("loop", "choice", "choice.else"):
        with pytest.raises(RegionRefused, match=r"region must not lie inside itself, got (loop|choice) in "):
            patch.move_into("loop", region)
    assert regions(patch)["loop"] == ""


def test_ids_hold_no_slash(patch: Patch) -> None:
    """A node id with a slash, which separates a composite from a block inside it, is refused."""
    with pytest.raises(
        PatchError, match="node id must not hold a slash, which leads to a block in a composite, got 'a/b'"
    ):
        patch.add("test_region.pass", node_id="a/b")
    with pytest.raises(PatchError, match="node id must not hold a slash"):
        parse_patch('{"schema": 1, "nodes": [{"id": "a/b", "type": "x.y"}]}')


# Moving and removing


def test_moving_into_a_region_is_one_undo_step(patch: Patch) -> None:
    """Moving several nodes into a region is one undo step, and nodes that are already there don't change."""
    heard: list[Change] = []
    patch.subscribe(heard.append)
    patch.move_into([patch["a"], "b"], patch["choice"].otherwise)
    patch.move_into("a", "choice.else")
    assert heard == [NodeRegionChanged("a", "choice.else", ""), NodeRegionChanged("b", "choice.else", "")]
    assert patch.history.undo_name == "Move 2 nodes into Choice"
    patch.undo()
    assert regions(patch)["a"] == regions(patch)["b"] == ""
    patch.redo()
    patch.move_into("a", "")
    assert patch.history.undo_name == "Move Pass out of its region"
    assert regions(patch) == {"loop": "", "choice": "loop", "a": "", "b": "choice.else", "c": "", "d": ""}


def test_a_region_block_takes_along_what_lies_in_it(patch: Patch) -> None:
    """The blocks in a region stay in it when it moves."""
    patch.move_into("a", "choice")
    patch.move_into("choice", "")
    assert regions(patch)["a"] == "choice"
    assert patch.scopes.chain("choice") == ("choice",)


def test_removing_a_region_leaves_what_lay_in_it(patch: Patch) -> None:
    """The contents move to the region around the removed one; undo restores everything."""
    patch.move_into("a", "choice")
    patch.move_into("b", "choice.else")
    link(patch, "a.out choice.condition", "b.out c.x")
    before, edges = dump_patch(patch), set(patch.connections)
    patch.remove("choice")
    assert regions(patch) == {"loop": "", "a": "loop", "b": "loop", "c": "", "d": ""}
    assert [str(c) for c in patch.connections] == ["b.out -> c.x"]
    patch.remove("loop")
    assert set(regions(patch).values()) == {""}
    patch.undo()
    patch.undo()
    assert dump_patch(patch) == before
    assert set(patch.connections) == edges


# Order


def test_a_way_out_of_a_region_and_back_is_a_cycle(patch: Patch) -> None:
    """A block that needs a region's result can't feed the region, since the region runs as a whole."""
    patch.move_into(["a", "b"], "choice")
    link(patch, "a.out c.x")
    with pytest.raises(WouldCycle) as refused:
        link(patch, "c.out b.x")
    assert str(refused.value) == "connection c.out -> b.x must not close a cycle, got c -> loop -> c"
    patch.move_into("c", "loop")
    with pytest.raises(WouldCycle, match=r"got c -> choice -> c$"):
        link(patch, "c.out b.x")
    patch.move_into("c", "choice")
    link(patch, "c.out b.x")


def test_a_region_and_its_own_body_order_each_other_in_no_way(patch: Patch) -> None:
    """A body may read its region's count and set its region's condition, which is no cycle."""
    patch.move_into(["a", "b"], "loop")
    link(patch, "loop.index a.i", "a.out b.x", "b.out loop.condition")
    patch.move_into("b", "choice")
    assert len(patch.connections) == 3


def test_a_block_can_not_feed_itself_in_a_region_either(patch: Patch) -> None:
    """Inside a region too, a block can't feed itself, directly or through another block."""
    patch.move_into(["a", "b"], "loop")
    with pytest.raises(WouldCycle, match=r"got a -> a$"):
        link(patch, "a.out a.x")
    link(patch, "a.out b.x")
    with pytest.raises(WouldCycle, match=r"got b -> a -> b$"):
        link(patch, "b.out a.x")


def test_one_branch_does_not_read_the_other(patch: Patch) -> None:
    """One branch can't read the other one, since only one of them runs."""
    patch.move_into("a", "choice")
    patch.add("test_region.loop", node_id="inner", region="choice.else")
    patch.move_into("b", "inner")
    message = "connection a.out -> b.x must not go from one branch of choice to the other: only one of them runs"
    with pytest.raises(CrossesBranches) as refused:
        link(patch, "a.out b.x")
    assert str(refused.value) == message
    link(patch, "a.out c.x")
    with pytest.raises(CrossesBranches, match=r"connection a\.out -> c\.x must not go"):
        patch.move_into("c", "inner")
    assert regions(patch)["c"] == ""


def test_a_delayed_input_closes_no_cycle(patch: Patch) -> None:
    """A connection to a delayed input never closes a cycle, even across the borders of regions."""
    patch.add("test_region.delay", node_id="delay")
    link(patch, "delay.out a.x", "a.out b.x", "b.out delay.x")
    patch.move_into("a", "loop")
    with pytest.raises(WouldCycle, match=r"got b -> loop -> b$"):
        link(patch, "b.out a.y")
    link(patch, "delay.out delay.x")


def test_one_branch_may_read_what_the_other_did_a_frame_ago(patch: Patch) -> None:
    """A delay in one branch may read the other branch's previous frame."""
    patch.add("test_region.delay", node_id="delay", region="choice.else")
    patch.move_into(["a", "a"], "choice")
    link(patch, "a.out delay.x")
    patch.move_into("delay", "")
    patch.move_into("delay", "choice.else")
    assert patch.history.names[-4] == "Move Pass into Choice"


def test_a_move_that_would_close_a_cycle_is_refused(patch: Patch) -> None:
    """Moving one node of a chain out of a region to which the chain returns is refused; moving all is not."""
    link(patch, "a.out b.x", "b.out c.x")
    with pytest.raises(WouldCycle) as refused:
        patch.move_into(["a", "c"], "loop")
    assert str(refused.value) in (
        "a move between regions must not close a cycle, got b -> loop -> b",
        "a move between regions must not close a cycle, got loop -> b -> loop",
    )
    patch.move_into(["a", "b", "c"], "loop")
    with pytest.raises(WouldCycle):
        patch.move_into("b", "")
    patch.move_into("c", "")
    patch.move_into("b", "")


def test_a_cycle_that_a_file_brought_does_not_hold_up_other_moves(region_blocks: None) -> None:
    """A move is refused only for a new cycle, not for one that a file brought."""
    nodes = [{"id": name, "type": "test_region.pass"} for name in "ab"] + [{"id": "loop", "type": "test_region.loop"}]
    connections = [{"source": "a.out", "target": "b.x"}, {"source": "b.out", "target": "a.x"}]
    patch = parse_patch(json.dumps({"schema": 1, "nodes": nodes, "connections": connections}))
    patch.move_into("a", "loop")
    assert regions(patch)["a"] == "loop"


# Copies and files


def test_copies_stay_in_the_regions_that_come_along(patch: Patch) -> None:
    """A copied region keeps its contents under new ids; a copied block whose region is not copied moves out."""
    patch.move_into(["a", "b"], "choice.else")
    patch.move_into("c", "loop")
    ids = patch.insert(patch.excerpt(["choice", "a", "c", "d"]))
    assert ids == {"choice": "choice_2", "a": "a_2", "c": "c_2", "d": "d_2"}
    assert {i: patch.nodes[i].region for i in ids.values()} == {
        "choice_2": "",
        "a_2": "choice_2.else",
        "c_2": "",
        "d_2": "",
    }
    patch.undo()
    part = patch.excerpt(["loop", "b"])
    assert regions(part) == {"loop": "", "b": "loop"}
    inserted = patch.insert(part, region=patch["choice"])
    assert regions(patch)[inserted["loop"]] == "choice"
    assert regions(patch)[inserted["b"]] == inserted["loop"]
    with pytest.raises(RegionRefused):
        patch.insert(part, region="a")


def test_copied_ids_never_meet(region_blocks: None) -> None:
    """A copy's new id differs from the ids of all nodes that are pasted with it."""
    patch, part = Patch(), Patch()
    patch.add("test_region.pass", node_id="a")
    for name in ("a", "a_2"):
        part.add("test_region.pass", node_id=name)
    ids = patch.insert(part)
    assert len({"a", *ids.values()}) == 3
    assert set(patch.nodes) == {"a", *ids.values()}


def test_the_file_names_regions_only_where_there_are_some(patch: Patch) -> None:
    """A patch without regions has no mention of them in its file; one with regions is loaded unchanged."""
    patch.move_into("a", "choice.else")
    written = {node["id"]: node.get("region") for node in json.loads(dump_patch(patch))["nodes"]}
    assert written == {"loop": None, "choice": "loop", "a": "choice.else", "b": None, "c": None, "d": None}
    loaded = parse_patch(dump_patch(patch))
    assert regions(loaded) == regions(patch)
    assert not any(node.extra for node in loaded.nodes.values())


@pytest.mark.parametrize(
    ("region", "message"),
    [
        ("gone", "p: region of n must name a node of the patch, got 'gone'"),
        ("gone.else", "p: region of n must name a node of the patch, got 'gone.else'"),
        ("n", "p: node n: region must not lie inside itself, got n in n"),
        ("m", "p: node n: region must not lie inside itself, got m in n in m"),
        (7, r"p: nodes\[0\] \(n\): region must be text, got 7"),
    ],
)
def test_a_file_with_an_impossible_region_says_where(region_blocks: None, region: object, message: str) -> None:
    """A file with an impossible region is refused with the node and the region."""
    nodes = [
        {"id": "n", "type": "test_region.loop", "region": region},
        {"id": "m", "type": "test_region.loop", "region": "n"},
    ]
    with pytest.raises(PatchError, match=message):
        parse_patch(json.dumps({"schema": 1, "nodes": nodes}), "p")


def test_a_file_may_name_a_region_that_holds_nothing_any_more(region_blocks: None) -> None:
    """A file whose blocks lie in a block that is no region any more is loaded and saved unchanged."""
    nodes = [
        {"id": "n", "type": "test_region.pass", "region": "p"},
        {"id": "p", "type": "test_region.pass"},
        {"id": "m", "type": "test_region.pass", "region": "old"},
        {"id": "old", "type": "gone.loop"},
    ]
    patch = parse_patch(json.dumps({"schema": 1, "nodes": nodes}))
    assert regions(patch) == {"n": "p", "p": "", "m": "old", "old": ""}
    patch.move_into("n", "")
    assert dump_patch(parse_patch(dump_patch(patch))) == dump_patch(patch)


# Scopes


@st.composite
def nested(draw: st.DrawFn) -> dict[str, str]:
    """Draw some blocks, each in a branch of an earlier one or outside all regions."""
    scope_of: dict[str, str] = {}
    for n in range(draw(st.integers(1, 9))):
        around = draw(st.sampled_from(["", *scope_of]))
        scope_of[f"n{n}"] = scope_text(around, draw(st.sampled_from(("", "else")))) if around else ""
    return scope_of


def around(scope_of: dict[str, str], node: str) -> list[str]:
    """Return a block and the regions around it with their branches, the innermost first: an oracle for `chain`."""
    found = [node]
    while scope_of[region_of(found[-1])]:
        found.append(scope_of[region_of(found[-1])])
    return found


@given(nested(), st.data())
def test_lifting_finds_the_ends_in_the_innermost_common_scope(scope_of: dict[str, str], data: st.DataObject) -> None:
    """`lift` returns the ends as blocks or regions that share a scope, which is the innermost with both ends."""
    a, b = (data.draw(st.sampled_from(sorted(scope_of))) for _ in range(2))
    scopes = Scopes({node: scope for node, scope in scope_of.items() if scope})
    up, down = scopes.lift(a, b)
    assert scope_of[up] == scope_of[down]
    ways = [around(scope_of, a)[1:], around(scope_of, b)[1:]]
    common = next((scope for scope in ways[0] if scope in ways[1]), "")
    assert scope_of[up] == common
    assert up == a or up in map(region_of, ways[0])
    assert down == b or down in map(region_of, ways[1])
    assert scopes.lift(b, a) == (down, up)


@given(nested())
def test_a_chain_leads_from_the_outside_in(scope_of: dict[str, str]) -> None:
    """The chain is the path from the block outwards, reversed."""
    scopes = Scopes(scope_of)
    for node in scope_of:
        assert list(scopes.chain(scope_of[node])) == around(scope_of, node)[:0:-1]


def test_a_chain_of_many_regions_is_found() -> None:
    """A chain of 20,000 nested regions is found, which Python's recursion limit would not allow."""
    scopes = Scopes({f"n{n}": f"n{n - 1}" for n in range(1, 20_000)})
    assert len(scopes.chain("n19999")) == 20_000
    assert scopes.lift("n19999", "n5") == ("n5", "n5")


@pytest.mark.parametrize("scope", ["", "loop", "choice.else"])
def test_a_scope_is_a_region_and_a_branch(scope: str) -> None:
    """Splitting a scope into region and branch and joining the parts gives the same scope."""
    assert scope_text(region_of(scope), branch_of(scope)) == scope


@given(st.integers(2, 8), st.integers(0, 16), st.integers(0, 10_000))
def test_a_cycle_is_found_exactly_when_there_is_no_order(nodes: int, edges: int, seed: int) -> None:
    """A reported cycle follows the given pairs; if none is reported, the pairs can be sorted."""
    choose = random.Random(seed)
    pairs = [(f"n{choose.randrange(nodes)}", f"n{choose.randrange(nodes)}") for _ in range(edges)]
    cycle = find_cycle(pairs)
    if cycle is not None:
        assert cycle[0] == cycle[-1]
        assert len(set(cycle)) == len(cycle) - 1
        assert all(pair in pairs for pair in pairwise(cycle))
        return
    left = set(pairs)
    while left:
        free = {a for a, _ in left} - {b for _, b in left}
        assert free
        left = {pair for pair in left if pair[0] not in free}


@pytest.mark.parametrize("depth", [DEEPEST_IN_FILE, DEEPEST_IN_FILE + 1, 20_000])
def test_a_file_may_be_deeper_than_the_compiler_takes(region_blocks: None, depth: int) -> None:
    """A file with deep regions can be opened to be mended, up to a limit, in any order of its nodes."""
    nodes = [
        {"id": f"n{at}", "type": "test_region.loop", **({"region": f"n{at - 1}"} if at else {})}
        for at in reversed(range(depth + 1))
    ]
    text = json.dumps({"schema": 1, "nodes": nodes})
    if depth > DEEPEST_IN_FILE:
        with pytest.raises(PatchError, match=f"regions must be at most {DEEPEST_IN_FILE} deep, got more"):
            parse_patch(text)
    else:
        assert len(parse_patch(text).nodes) == depth + 1
