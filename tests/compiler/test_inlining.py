"""Inlining: a graph with composites becomes the graph that a person would draw without them."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.compiler.description import BlockNode, GraphDescription
from warploom.engine.compiler.inlining.inline import Inlined, changed_values, inline, owner
from warploom.engine.descriptions.description import BlockDescription, Child, ChildPort, Composition
from warploom.engine.diagnostics import Mend, error
from warploom.engine.patch.changes import Connection, PortRef

LEAF = BlockDescription((), ())


def composite(
    *children: Child | str,
    connections: str = "",
    inputs: str = "",
    outputs: str = "",
    parameters: str = "",
    as_child_graph: bool = False,
) -> BlockDescription:
    """Return the description of a composite; "a.out>b.x" is a connection, and "name=a.x" exposes a port."""

    def place(text: str) -> ChildPort:
        return ChildPort(*text.split("."))

    def exposed(text: str) -> tuple[tuple[str, ChildPort], ...]:
        return tuple((name, place(end)) for name, end in (pair.split("=") for pair in text.split()))

    ends = (pair.split(">") for pair in connections.split())
    made = Composition(
        tuple(child if isinstance(child, Child) else Child(child, LEAF, values={"p": 0}) for child in children),
        tuple((place(source), place(target)) for source, target in ends),
        exposed(inputs),
        exposed(outputs),
        exposed(parameters),
        as_child_graph,
    )
    return BlockDescription((), (), composition=made)


def graph(*nodes: BlockNode, connections: str = "") -> GraphDescription:
    made = []
    for pair in connections.split():
        source, target = (PortRef(*end.split(".")) for end in pair.split(">"))
        made.append(Connection(source, target))
    return GraphDescription(nodes, tuple(made))


def texts(description: GraphDescription) -> set[str]:
    return {str(c) for c in description.connections}


def test_a_graph_without_composites_is_left_as_it_is() -> None:
    """A graph without composites is returned as the same object, and its names stay."""
    description = graph(BlockNode("a", LEAF), BlockNode("b", LEAF), connections="a.out>b.x")
    inlined = inline(description)
    assert inlined.description is description
    assert inlined.set_places({("a", "p"): 1}) == {("a", "p"): 1}
    assert inlined.output(PortRef("a", "out")) == PortRef("a", "out")


def test_children_take_the_place_of_their_composite() -> None:
    """The children replace their composite, with its name in their ids and its connections at their ports."""
    glow = composite(
        "gain", "total", connections="gain.out>total.b", inputs="x=gain.x x=total.a", outputs="y=total.out"
    )
    description = graph(
        BlockNode("in", LEAF), BlockNode("glow", glow), BlockNode("show", LEAF), connections="in.o>glow.x glow.y>show.i"
    )
    inlined = inline(description)
    assert [node.id for node in inlined.description.nodes] == ["in", "glow/gain", "glow/total", "show"]
    assert texts(inlined.description) == {
        "in.o -> glow/gain.x",
        "in.o -> glow/total.a",
        "glow/gain.out -> glow/total.b",
        "glow/total.out -> show.i",
    }
    assert inlined.output(PortRef("glow", "y")) == PortRef("glow/total", "out")
    assert inlined.description.by_id["glow/gain"].description is LEAF


def test_children_lie_in_the_region_of_their_composite_or_in_one_of_their_own() -> None:
    """Children are in the region of their composite, or in a region inside it, with its branch."""
    inner = composite("a", Child("b", LEAF, "loop"), "loop")
    outer = composite("choice", Child("c", inner, "choice.else"), Child("d", LEAF, "choice"))
    nodes = inline(graph(BlockNode("box", LEAF), BlockNode("n", outer, "box.else"))).description.nodes
    assert {node.id: node.region for node in nodes} == {
        "box": "",
        "n/choice": "box.else",
        "n/c/a": "n/choice.else",
        "n/c/loop": "n/choice.else",
        "n/c/b": "n/c/loop",
        "n/d": "n/choice",
    }


def test_the_outermost_composite_that_asks_becomes_one_child_graph() -> None:
    """The outermost composite that asks for a child graph gives its name to the group of all its children."""
    asks = composite("a", Child("in", composite("b", as_child_graph=True)), as_child_graph=True)
    holds = composite("c", Child("in", composite("d", as_child_graph=True)))
    nodes = inline(graph(BlockNode("x", asks), BlockNode("y", holds), BlockNode("z", LEAF))).description.nodes
    groups = {node.id: node.group for node in nodes}
    assert groups == {"x/a": "x", "x/in/b": "x", "y/c": "", "y/in/d": "y/in", "z": ""}


def test_values_reach_the_children_that_take_them() -> None:
    """An exposed parameter sets all the children's parameters that it stands for; other values stay."""
    inner = composite("a", "b", parameters="q=a.p q=b.p")
    outer = composite(Child("i", inner, values={"q": 3}), "c", parameters="s=i.q s=c.p")
    inlined = inline(graph(BlockNode("n", outer), BlockNode("m", LEAF)))
    assert inlined.set_places({("n", "s"): 5, ("m", "p"): 1}) == {
        ("n/i/a", "p"): 5,
        ("n/i/b", "p"): 5,
        ("n/c", "p"): 5,
        ("m", "p"): 1,
    }
    values = inlined.all_values({"n": {"s": 7}, "m": {"p": 2}})
    assert {node: values[node]["p"] for node in ("n/i/a", "n/i/b", "n/c", "m")} == {
        "n/i/a": 7,
        "n/i/b": 7,
        "n/c": 7,
        "m": 2,
    }
    assert inlined.values["n/c"] == {"p": 0}


def test_only_numbers_that_changed_are_passed_to_a_running_graph() -> None:
    """Only numbers that differ are passed to a running graph, without texts."""
    empty = GraphDescription((), ())
    before = Inlined(empty, values={"a": {"gain": 1.0, "mode": "x", "on": True}, "b": {"gain": 2.0}})
    values = {"a": {"gain": 1.0, "mode": "y", "on": False}, "b": {"gain": 3.0}, "c": {"n": 4}}
    after = Inlined(empty, values=values)
    assert changed_values(before, after, {}) == {("a", "on"): False, ("b", "gain"): 3.0, ("c", "n"): 4}
    assert changed_values(after, after, {}) == {}


def test_exposed_numbers_are_passed_on_as_they_are_now() -> None:
    """Exposed parameters are passed with their current values instead of the description's.

    If a node exposes other parameters than before, all its numbers are passed.
    """
    empty, first, second = GraphDescription((), ()), {"gain": 1.0, "bias": 0.0}, {"gain": 2.0, "bias": 0.0}
    gain, bias = {("n", "p"): (("n/a", "gain"),)}, {("n", "p"): (("n/a", "bias"),)}
    before, after = (Inlined(empty, parameters=gain, values={"n/a": given}) for given in (first, second))
    assert changed_values(before, after, {"n": {"p": 9.0}}) == {("n/a", "gain"): 9.0}
    after = Inlined(empty, parameters=bias, values={"n/a": first})
    assert changed_values(before, after, {"n": {"p": 9.0}}) == {("n/a", "gain"): 1.0, ("n/a", "bias"): 9.0}


def test_what_is_wrong_with_a_child_is_shown_at_its_composite() -> None:
    """An error of a child is shown at its composite, with the child's name, and at the port that exposes the input."""
    inner = composite("a", inputs="i=a.x")
    inlined = inline(graph(BlockNode("n", composite(Child("in", inner), inputs="x=in.i")), BlockNode("m", LEAF)))
    shown = inlined.shown(error("input must be connected", node="n/in/a", port="x", remedy="connect it"))
    assert (shown.node, shown.port, shown.message, shown.remedy) == (
        "n",
        "x",
        "in/a: input must be connected",
        "connect it",
    )
    assert inlined.shown(error("wrong", node="n/in/a", port="y")).port is None
    for plain in (error("wrong", node="m", port="x"), error("wrong")):
        assert inlined.shown(plain) is plain
    assert [owner(name) for name in ("n/in/a", "m")] == ["n", "m"]


def test_a_missing_connection_is_told_once_and_by_the_port_of_the_composite() -> None:
    """A person who adds a composite whose input reaches two children reads one message, which names its own input."""
    inlined = inline(graph(BlockNode("n", composite("a", "b", inputs="image=a.x image=b.x"))))
    told = {
        inlined.shown(error("required input 'x' must be connected", node=f"n/{child}", port="x", mend=Mend.CONNECT))
        for child in "ab"
    }
    assert [(each.node, each.port, each.message) for each in told] == [
        ("n", "image", "required input 'image' must be connected")
    ]


def test_connections_of_what_could_not_be_described_stay() -> None:
    """Connections of a block that is missing from the description stay."""
    description = graph(
        BlockNode("n", composite("a", inputs="x=a.x", outputs="y=a.o")), connections="gone.o>n.x n.y>off.x"
    )
    assert texts(inline(description).description) == {"gone.o -> n/a.x", "n/a.o -> off.x"}


@dataclass
class Group:
    """A composite that is being built."""

    leaves: list[str] = field(default_factory=list)
    groups: dict[str, Group] = field(default_factory=dict)


Paths = dict[str, tuple[str, ...]]
Edges = list[tuple[str, str]]


@st.composite
def grouped_graphs(draw: st.DrawFn) -> tuple[Paths, Edges]:
    """Draw leaves, the nested groups of each, and edges between leaves, at most one from one leaf to another."""
    path = st.lists(st.sampled_from("GHK"), max_size=3).map(tuple)
    paths = {f"n{n}": draw(path) for n in range(draw(st.integers(1, 7)))}
    pairs = [(a, b) for a in paths for b in paths if a < b]
    return paths, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []


def draw_with_composites(paths: Paths, edges: Edges, prefix: tuple[str, ...] = ()) -> tuple[list[Child], list[str]]:
    """Return a group's direct members and connections; each group exposes the ports that connections cross."""
    depth = len(prefix)
    inside = {leaf: path for leaf, path in paths.items() if path[:depth] == prefix}

    def member(leaf: str) -> str:
        return paths[leaf][depth] if len(paths[leaf]) > depth else leaf

    children = []
    for name in dict.fromkeys(map(member, inside)):
        if name in paths:
            children.append(Child(name, LEAF, values={"p": 0}))
            continue
        way = (*prefix, name)
        within = {leaf for leaf in inside if member(leaf) == name}
        below, connections = draw_with_composites(paths, edges, way)
        deeper = len(way)
        ends = {leaf: (paths[leaf][deeper] if len(paths[leaf]) > deeper else leaf) for leaf in within}
        entering = dict.fromkeys(
            (f"from_{a}", f"{ends[b]}.from_{a}") for a, b in edges if b in within and a not in within
        )
        leaving = dict.fromkeys((f"of_{a}", f"{ends[a]}.of_{a}") for a, b in edges if a in within and b not in within)
        made = composite(
            *below,
            connections=" ".join(connections),
            inputs=" ".join(f"{port}={end}" for port, end in entering),
            outputs=" ".join(f"{port}={end}" for port, end in leaving),
            parameters=" ".join(f"p_{leaf}={end}.{'p' if end == leaf else 'p_' + leaf}" for leaf, end in ends.items()),
        )
        children.append(Child(name, made))
    here = (
        f"{member(a)}.of_{a}>{member(b)}.from_{a}"
        for a, b in edges
        if a in inside and b in inside and member(a) != member(b)
    )
    return children, list(dict.fromkeys(here))


@given(grouped_graphs())
def test_grouping_changes_nothing_but_names(drawn: tuple[Paths, Edges]) -> None:
    """However blocks are grouped into nested composites, inlining restores the same connections and values."""
    paths, edges = drawn
    children, connections = draw_with_composites(paths, edges)
    nodes = [BlockNode(child.name, child.description) for child in children]
    inlined = inline(graph(*nodes, connections=" ".join(connections)))
    full = {leaf: "/".join((*path, leaf)) for leaf, path in paths.items()}
    assert sorted(node.id for node in inlined.description.nodes) == sorted(full.values())
    assert sorted(map(str, inlined.description.connections)) == sorted(
        f"{full[a]}.of_{a} -> {full[b]}.from_{a}" for a, b in edges
    )
    for leaf, path in paths.items():
        if path:
            assert inlined.set_places({(path[0], f"p_{leaf}"): 1.5}) == {(full[leaf], "p"): 1.5}
            assert inlined.all_values({path[0]: {f"p_{leaf}": 2.5}})[full[leaf]]["p"] == 2.5
