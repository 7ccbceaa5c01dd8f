"""A chain of library calls is edited on the canvas like a kernel, and its errors are shown at its calls."""

from typing import Any
from weakref import WeakKeyDictionary

import pytest
from pytestqt.qtbot import QtBot

from tests.app.canvas.canvas_support import Hand
from tests.app.window.window_support import patch_of
from warploom.app.window.main_window import MainWindow
from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.inner_patches import chain_members as members
from warploom.engine.protocol.messages import NodeState


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


@pytest.fixture
def inside(window: MainWindow, qtbot: QtBot) -> MainWindow:
    """A window whose canvas shows a chain after a double-click on it."""
    window.resize(1200, 800)
    window.files.new()
    patch_of(window).add("kernel.chain", node_id="chain")
    window.canvas.fit()
    hand = Hand(window.canvas)
    hand.double_click(hand.title("chain"))
    qtbot.wait(1)
    return window


def test_the_calls_are_edited_in_the_patch(inside: MainWindow) -> None:
    """An edit inside a chain is an edit of the block, which undo reverts; Escape returns to the patch."""
    assert set(inside.canvas.scene.nodes) == {"a", "b", "first", "second", "result"}
    graph = inside.kernel.graph
    assert graph is not None
    before = patch_of(inside).value("chain", "graph")
    graph.add("chain.number", node_id="gain")
    graph.connect(graph["gain"]["value"], graph["second"]["alpha"])
    block_type = patch_of(inside).block_type("chain")
    assert block_type is not None and "gain" in block_type.parameters
    patch_of(inside).undo()
    patch_of(inside).undo()
    assert patch_of(inside).value("chain", "graph") == before
    assert set(inside.canvas.scene.nodes) == {"a", "b", "first", "second", "result"}
    inside.kernel.leave()
    assert set(inside.canvas.scene.nodes) == {"chain"}


def test_a_mistake_stands_at_its_call(inside: MainWindow) -> None:
    """A call with a missing input is incomplete, and the breadcrumb says so."""
    graph = inside.kernel.graph
    assert graph is not None
    graph.disconnect(graph["first"]["a"])
    report = inside.kernel.report
    assert report is not None
    assert report.nodes["first"].state is NodeState.INCOMPLETE
    assert "input must be connected" in report.nodes["first"].message
    assert "the last good" in inside.kernel.breadcrumb.state.text()


def test_the_search_offers_library_calls_alone(inside: MainWindow) -> None:
    """The search offers only library calls and the ends of chains."""
    graph = inside.kernel.graph
    assert graph is not None
    found = {block.id for block in graph.catalogue.search("multiply")}
    assert "linalg.multiply" in found and "math.multiply" not in found


def test_what_a_chain_may_have_is_known_before_a_person_searches(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    """Entering a chain describes all library blocks on another thread, before a person searches."""
    monkeypatch.setattr(members, "_calls", WeakKeyDictionary())
    window.files.new()
    patch_of(window).add("kernel.chain", node_id="chain")
    window.kernel.enter(patch_of(window), "chain")
    graph = window.kernel.graph
    assert graph is not None
    library = Catalogue.all(graph.catalogue)
    qtbot.waitUntil(lambda: all(kind in members._calls for kind in library))
