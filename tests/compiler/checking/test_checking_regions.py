"""Regions: which blocks they may contain, and which connections may cross their borders."""

from graphlib import CycleError, TopologicalSorter

from hypothesis import given
from hypothesis import strategies as st

from tests.compiler.support.descriptions import array, graph, i, node, o, source
from tests.compiler.support.regions import flag, messages, region, within
from warploom.engine.compiler.checking.check import check_description
from warploom.engine.compiler.description import BlockNode, GraphDescription
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.entries import Control, RegionKind
from warploom.engine.patch.regions import DEEPEST
from warploom.engine.types import u32


def test_a_region_holds_blocks_that_read_outside_and_its_own_outputs() -> None:
    """A block in a region may read the region's outputs and blocks outside, without a cycle."""
    patch = graph(
        flag(),
        array("a", 4),
        region("loop"),
        within("loop", node("body", i(), i("index", u32), o())),
        node("after", i(), o()),
        wires=["flag.out loop.condition", "a.out body.x", "loop.index body.index", "body.out after.x"],
    )
    checked = check_description(patch)
    assert (checked.errors, checked.warnings) == ((), ())
    assert set(checked.nodes) == {"flag", "a", "loop", "body", "after"}
    assert set(checked.nodes["loop"].launches) == {0}


def test_a_way_out_of_a_region_and_back_in_is_a_cycle() -> None:
    """A path from a region through a block outside and back is a cycle."""
    patch = graph(
        flag(),
        region("loop"),
        within("loop", source("first", 4)),
        node("outside", i(), o()),
        within("loop", node("second", i(), o())),
        wires=["flag.out loop.condition", "first.out outside.x", "outside.out second.x"],
    )
    assert [m for _, _, m in messages(patch)] == ["blocks must not depend on themselves, got loop -> outside -> loop"]


def test_a_cycle_inside_a_region_is_named_by_its_blocks() -> None:
    """A cycle inside a region is reported with its blocks."""
    patch = graph(
        flag(),
        region("loop"),
        *(within("loop", node(name, i(), o())) for name in "pq"),
        wires=["flag.out loop.condition", "p.out q.x", "q.out p.x"],
    )
    assert [m for _, _, m in messages(patch)] == ["blocks must not depend on themselves, got p -> q -> p"]


@given(st.integers(1, 3 * DEEPEST))
def test_only_the_first_region_that_lies_too_deep_is_an_error(depth: int) -> None:
    """Regions may be nested up to a limit, and of deeper ones, the outermost has the error."""
    loops = [region(f"r{n}", inside=f"r{n - 1}" if n else "") for n in range(depth)]
    patch = graph(
        flag(), *loops, within(f"r{depth - 1}", source("last", 4)), wires=[f"flag.out {r.id}.condition" for r in loops]
    )
    found = [(block, text) for block, _, text in messages(patch)]
    first = "last" if depth == DEEPEST + 1 else f"r{DEEPEST + 1}"
    text = f"regions must be at most {DEEPEST} deep, got more"
    assert found == ([(first, text)] if depth > DEEPEST else [])


def test_a_blocks_region_must_be_there_and_be_a_region() -> None:
    """A block's region must exist, be a region, and have the named branch."""
    patch = graph(
        array("a", 4),
        flag(),
        region("if", RegionKind.IF),
        region("choice", RegionKind.IF_ELSE),
        within("if", node("fine", i(), o())),
        within("choice.else", node("other", i(), o())),
        within("nowhere", node("lost", i(), o())),
        within("a", node("boxed", i(), o())),
        within("if.else", node("branch", i(), o())),
        wires=[
            "flag.out if.condition",
            "flag.out choice.condition",
            *(f"a.out {name}.x" for name in ("fine", "other", "lost", "boxed", "branch")),
        ],
    )
    assert messages(patch) == [
        ("lost", None, "region of a block must be a region block, got 'nowhere', which does not exist"),
        ("boxed", None, "region of a block must be a region block, got a, which is no region"),
        ("branch", None, "region of a block must be a branch of if (if), got if.else"),
    ]


def test_a_region_does_not_lie_in_itself() -> None:
    """Each region inside itself, directly or through others, is an error, and the blocks in it have none."""
    patch = graph(
        flag(),
        region("self", inside="self"),
        region("p", inside="q"),
        region("q", inside="p"),
        within("q", source("body", 4)),
        wires=[f"flag.out {name}.condition" for name in ("self", "p", "q")],
    )
    assert messages(patch) == [
        ("self", None, "region must not lie inside itself, got self in self"),
        ("p", None, "region must not lie inside itself, got p in q"),
        ("q", None, "region must not lie inside itself, got q in p"),
    ]


def undefined(where: str, *, in_place: bool = False) -> GraphDescription:
    """Return a patch in which an output without default is read in scope `where`."""
    out = o(default=None, inplace="x") if in_place else o(default=None)
    return graph(
        source("a", 4),
        flag(),
        region("r", RegionKind.IF),
        region("inner", RegionKind.IF, "r"),
        within("r", node("body", i(), out)),
        within(where, node("reader", i(), o())),
        wires=["flag.out r.condition", "flag.out inner.condition", "a.out body.x", "body.out reader.x"],
    )


def test_an_output_without_a_default_stays_in_its_region() -> None:
    """An output without a default may be read outside its region only if its memory is a buffer from outside."""
    ((where, port, message),) = messages(undefined(""))
    assert (where, port) == ("body", "out")
    assert message == (
        "output body.out must be read inside its region only, got reader outside: "
        "the output is left undefined when r is skipped"
    )
    assert messages(undefined("r")) == []
    assert messages(undefined("inner")) == []
    assert messages(undefined("", in_place=True)) == []


def test_a_regions_condition_comes_from_outside_its_body() -> None:
    """A region's condition must not be computed by its own body."""
    patch = graph(region("loop"), within("loop", flag("inside")), wires=["inside.out loop.condition"])
    assert messages(patch) == [
        ("loop", "condition", "input of region loop must come from outside its body, got inside.out")
    ]


def test_an_empty_region_is_worth_a_warning() -> None:
    """An empty region is a warning."""
    (found,) = check_description(graph(flag(), region("r"), wires=["flag.out r.condition"])).warnings
    assert (found.node, found.message) == ("r", "region must have blocks inside to do anything, got none")


@st.composite
def nested(draw: st.DrawFn) -> tuple[GraphDescription, dict[str, list[str]], set[tuple[str, str]]]:
    """Draw a patch with nested regions, the regions around each block, and the connections."""
    around: dict[str, list[str]] = {}
    blocks = []
    for k in range(draw(st.integers(1, 4))):
        outer = draw(st.sampled_from(["", *around]))
        around[f"r{k}"] = [*around.get(outer, []), outer] if outer else []
        ports = (i("condition", u32, optional=True), o("index", shape="[1]"))
        control = Control(RegionKind.WHILE, (), "chosen")
        blocks.append(BlockNode(f"r{k}", BlockDescription(ports, (), control=control), outer))
    regions = list(around)
    for k in range(draw(st.integers(2, 6))):
        outer = draw(st.sampled_from(["", *regions]))
        around[f"n{k}"] = [*around[outer], outer] if outer else []
        block = node(f"n{k}", *(i(name, optional=True) for name in ALL), o(shape="[1]"))
        blocks.append(within(outer, block))
    targets = st.sampled_from([name for name in around if name not in regions])
    pairs = draw(st.sets(st.tuples(st.sampled_from(list(around)), targets), max_size=10))
    wires = [f"{a}.{'index' if a in regions else 'out'} {b}.{a}" for a, b in pairs]
    return graph(*draw(st.permutations(blocks)), wires=wires), around, pairs


ALL = [*(f"r{k}" for k in range(4)), *(f"n{k}" for k in range(6))]


@given(nested())
def test_regions_are_circular_exactly_when_their_scopes_have_no_order(
    case: tuple[GraphDescription, dict[str, list[str]], set[tuple[str, str]]],
) -> None:
    """A check finds a cycle exactly when some scope can't order its blocks and regions."""
    patch, around, pairs = case
    needs: dict[str, set[str]] = {}
    circular = any(a == b for a, b in pairs)
    for a, b in pairs:
        # The innermost scope around both blocks, where their paths diverge.
        for x, y in zip([*around[a], a], [*around[b], b], strict=False):
            if x != y:
                needs.setdefault(y, set()).add(x)
                break
    try:
        TopologicalSorter(needs).prepare()
    except CycleError:
        circular = True
    found = check_description(patch)
    assert bool(found.errors) == circular
    assert all("must not depend on themselves" in problem.message for problem in found.errors)
    if not circular:
        assert set(found.nodes) == set(around)
