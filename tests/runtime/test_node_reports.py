"""The reason that is reported for a node that does not run is the true one."""

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.diagnostics import Diagnostic, Mend, error
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.regions import region_of
from warploom.engine.runtime.model.describe_patch import PlacedNode
from warploom.engine.runtime.report.node_reports import NodeReports, awaited

_OPEN = error("x must be connected", node="open", mend=Mend.CONNECT)
_BROKEN = error("x must be f32", node="broken")


def wire(source: str, target: str) -> Connection:
    """Return a connection between two nodes, at any ports."""
    return Connection(PortRef(source, "out"), PortRef(target, "x"))


def reports(*said: Diagnostic, preparing: bool, fed: dict[str, list[str]] | None = None) -> dict[str, str]:
    """Return the messages of `open`, `broken`, `behind` and `free`, none of which is in the graph."""
    names = ("open", "broken", "behind", "free")
    placed = {name: PlacedNode(name, "test") for name in names}
    connections = [wire(source, target) for target, sources in (fed or {}).items() for source in sources]
    context: Any = SimpleNamespace(
        take_changed_blocks=lambda: set(names),
        registry=SimpleNamespace(placed=placed),
        connections=connections,
        value_graph=SimpleNamespace(nodes=()),
    )
    made = NodeReports(context)
    made.follow({}, said, preparing=preparing)
    return {node: report.message for node, report in made.reports.items()}


def test_a_block_that_depends_on_none_with_an_error_waits_for_the_graph() -> None:
    """While another graph is prepared, an error elsewhere is not reported as the reason."""
    for said in ((), (_OPEN,), (_OPEN, _BROKEN)):
        assert reports(*said, preparing=True)["free"] == "not running: the graph is being prepared"


def test_a_block_that_a_refused_graph_holds_names_the_error() -> None:
    """If no graph is being prepared, a waiting block names the error that stops the whole graph."""
    text = "not running: the graph stays as it is until broken is corrected"
    assert reports(_BROKEN, preparing=False)["free"] == text


def test_a_block_behind_says_what_the_other_lacks() -> None:
    """A block that waits for another one names that block's missing input or its error."""
    assert reports(_OPEN, preparing=True, fed={"behind": ["open"]})["behind"].endswith("open, which is incomplete")
    found = reports(_BROKEN, preparing=False, fed={"behind": ["broken"]})["behind"]
    assert found == "not running: it waits for broken, which has an error"


def search(node: str, wrong: set[str], scopes: dict[str, str], wires: list[Connection]) -> str | None:
    """Return the first wrong node that a backward search from one node meets, the nearest nodes first."""
    seen, waiting = {node}, [node]
    while waiting:
        target = waiting.pop(0)
        before = [wire.source.node for wire in wires if wire.target.node == target]
        if scopes[target]:
            before.append(region_of(scopes[target]))
        for source in before:
            if source in wrong:
                return source
            if source not in seen:
                seen.add(source)
                waiting.append(source)
    return None


@given(st.data())
def test_a_node_waits_for_the_nearest_that_is_wrong(data: st.DataObject) -> None:
    """A node waits for the nearest wrong node along connections and regions, as a search for each node finds."""
    names = [f"n{number}" for number in range(data.draw(st.integers(1, 9)))]
    name = st.sampled_from(names)
    wires = [wire(*ends) for ends in data.draw(st.lists(st.tuples(name, name), max_size=20))]
    scopes = {node: data.draw(st.sampled_from(["", "", *names, f"{names[0]}.else"])) for node in names}
    wrong = data.draw(st.sets(name))
    found = awaited(wrong, scopes, wires)
    assert {node: found.get(node) for node in names if node not in wrong} == {
        node: search(node, wrong, scopes, wires) for node in names if node not in wrong
    }
