"""What a node that does not run waits for is true."""

from types import SimpleNamespace
from typing import Any

from engine.diagnostics import Diagnostic, Mend, error
from engine.runtime.report.node_reports import NodeReports

_OPEN = error("x must be connected", node="open", mend=Mend.CONNECT)
_BROKEN = error("x must be f32", node="broken")


def reports(*said: Diagnostic, preparing: bool, fed: dict[str, list[str]] | None = None) -> dict[str, str]:
    """Return the messages of `open`, `broken`, `behind` and `free`, of which none is in the graph."""
    names = ("open", "broken", "behind", "free")
    placed = {name: SimpleNamespace(type_id="test", region="") for name in names}
    context: Any = SimpleNamespace(
        take_changed_blocks=lambda: set(names),
        registry=SimpleNamespace(placed=placed),
        sources_of=lambda node: list((fed or {}).get(node, [])),
        value_graph=SimpleNamespace(nodes=()),
    )
    made = NodeReports(context)
    made.follow({}, said, preparing=preparing)
    return {node: report.message for node, report in made.reports.items()}


def test_a_block_that_depends_on_none_with_an_error_waits_for_the_graph() -> None:
    """While another graph is prepared, an error elsewhere has nothing to do with it."""
    for said in ((), (_OPEN,), (_OPEN, _BROKEN)):
        assert reports(*said, preparing=True)["free"] == "not running: the graph is being prepared"


def test_a_block_that_a_refused_graph_holds_names_the_error() -> None:
    """Nothing is being prepared: the whole graph waits."""
    text = "not running: the graph stays as it is until broken is mended"
    assert reports(_BROKEN, preparing=False)["free"] == text


def test_a_block_behind_says_what_the_other_lacks() -> None:
    """An input, or the mending of an error."""
    assert reports(_OPEN, preparing=True, fed={"behind": ["open"]})["behind"].endswith("open, which is incomplete")
    found = reports(_BROKEN, preparing=False, fed={"behind": ["broken"]})["behind"]
    assert found == "not running: it waits for broken, which has an error"
