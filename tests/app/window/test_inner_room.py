"""The patch inside a block is edited on the canvas, where its nodes are wired like blocks."""

import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.app.canvas.canvas_support import Hand
from tests.app.window.window_support import patch_of
from warploom.app.docks.code import compiled
from warploom.app.docks.code.code import Code
from warploom.app.docks.problems import Problems
from warploom.app.qt.beside import at_once
from warploom.app.theme.port_style import PortKind
from warploom.app.window.main_window import MainWindow
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import NodeState

_GRAPH: dict[str, Any] = {
    "nodes": [
        {"id": "x", "type": "op.input", "position": [0, 0]},
        {"id": "times", "type": "op.multiply", "position": [240, 0], "parameters": {"b": 2.0}},
        {"id": "out", "type": "op.output", "position": [480, 0]},
    ],
    "connections": [{"source": "x.value", "target": "times.a"}, {"source": "times.out", "target": "out.value"}],
}


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


@pytest.fixture
def inside(window: MainWindow, qtbot: QtBot) -> MainWindow:
    """A window whose canvas shows a kernel's op graph after a double-click on it."""
    window.resize(1200, 800)
    window.files.new()
    patch_of(window).add("kernel.graph", node_id="kernel", title="Blur", graph=_GRAPH)
    patch_of(window).add("math.saxpy", node_id="other", position=(300, 0))
    window.canvas.fit()
    hand = Hand(window.canvas)
    hand.double_click(hand.title("kernel"))
    qtbot.wait(1)  # lets the canvas move below the breadcrumb
    return window


def _graph(window: MainWindow) -> Any:
    return patch_of(window).value("kernel", "graph")


def test_the_breadcrumb_names_the_way_and_leads_back(inside: MainWindow) -> None:
    crumb = inside.kernel.breadcrumb
    assert crumb.isVisible()
    assert (crumb.patch.text(), crumb.kernel.text()) == ("Untitled", "Blur")
    assert set(inside.canvas.scene.nodes) == {"x", "times", "out"}
    crumb.patch.click()
    assert not crumb.isVisible()
    assert set(inside.canvas.scene.nodes) == {"kernel", "other"}
    assert inside.canvas.selected() == ["kernel"]


def test_enter_opens_and_escape_leaves_where_the_person_was(inside: MainWindow) -> None:
    view = inside.canvas.view
    QTest.keyClick(view, Qt.Key.Key_Escape)
    seen = view.seen()
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert set(inside.canvas.scene.nodes) == {"x", "times", "out"}
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert (view.seen().center() - seen.center()).manhattanLength() < 4
    inside.canvas.select(["other"])
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert not inside.kernel.is_open


def test_ops_are_wired_by_mouse_and_the_block_follows(inside: MainWindow) -> None:
    hand = Hand(inside.canvas)
    hand.drag(hand.port("x", "value", is_input=False), hand.port("times", "b", is_input=True))
    assert {"source": "x.value", "target": "times.b"} in _graph(inside)["connections"]
    inside.session.undo()
    assert _graph(inside) == _GRAPH
    assert not inside.canvas.scene.nodes["times"].ports["b", True].connections


def test_a_connection_that_can_never_be_right_is_refused_with_a_reason(inside: MainWindow, qtbot: QtBot) -> None:
    hand = Hand(inside.canvas)
    with qtbot.waitSignal(inside.canvas.refused) as refused:
        hand.drag(hand.port("x", "buffer", is_input=False), hand.port("times", "b", is_input=True))
    assert refused.args is not None and "load an element of it" in refused.args[0]
    assert _graph(inside) == _GRAPH


def test_tab_searches_the_ops_and_places_one(inside: MainWindow) -> None:
    QTest.keyClick(inside.canvas.view, Qt.Key.Key_Tab)
    QTest.keyClicks(inside.canvas.search.popup.field, "hyperbolic tangent")
    QTest.keyClick(inside.canvas.search.popup.field, Qt.Key.Key_Return)
    assert _graph(inside)["nodes"][-1]["type"] == "op.tanh"
    assert inside.canvas.search.recent == ["op.tanh"]
    QTest.keyClick(inside.canvas.view, Qt.Key.Key_Escape)
    assert "op.tanh" not in inside.canvas.search.recent


def test_a_new_op_shows_its_state_at_once(inside: MainWindow) -> None:
    """A new op that lacks an input is shown as incomplete."""
    assert inside.kernel.graph is not None
    new = inside.kernel.graph.add("op.tanh")
    assert inside.canvas.scene.nodes[new.id].appearance.state is NodeState.INCOMPLETE


def test_ops_are_copied_and_pasted(inside: MainWindow) -> None:
    inside.canvas.select(["times"])
    inside.canvas.edits.copy()
    inside.canvas.edits.paste()
    assert [node["id"] for node in _graph(inside)["nodes"]] == ["x", "times", "out", "times_2"]
    assert _graph(inside)["nodes"][-1]["parameters"] == {"b": 2.0}


def test_ops_are_not_pasted_among_blocks_nor_blocks_among_ops(inside: MainWindow, qtbot: QtBot) -> None:
    for leave, wanted in ((True, "blocks"), (False, "ops of a kernel")):
        inside.canvas.select_all()
        inside.canvas.edits.copy()
        if leave:
            inside.kernel.leave()
        else:
            inside.kernel.go_to("kernel/times")
        before = len(patch_of(inside).history.names)
        with qtbot.waitSignal(inside.canvas.refused) as refused:
            inside.canvas.edits.paste()
        assert refused.args == [f"clipboard must hold {wanted}, got {'blocks' if not leave else 'ops of a kernel'}"]
        assert len(patch_of(inside).history.names) == before


def test_the_inspector_sets_what_an_input_is_while_nothing_is_connected(inside: MainWindow) -> None:
    inside.canvas.select(["times"])
    editor: Any = inside.inspector.editor("b")
    editor.box.setValue(5.0)
    assert _graph(inside)["nodes"][1]["parameters"] == {"b": 5.0}
    inside.canvas.patch.connect(PortRef("x", "value"), PortRef("times", "b"))  # type: ignore[union-attr]
    assert inside.inspector.rows["b"].is_driven


def test_ports_take_the_colour_of_what_is_inferred(inside: MainWindow) -> None:
    ports = inside.canvas.scene.nodes["out"].ports
    assert ports["value", True].model.kind is PortKind.FLOAT
    assert inside.canvas.scene.nodes["x"].ports["buffer", False].model.kind is PortKind.IMAGE
    inside.canvas.patch.set("x", type="float4")  # type: ignore[union-attr]
    assert ports["value", True].model.kind is PortKind.VECTOR


def test_an_error_stands_at_its_op_and_the_breadcrumb_says_what_runs(inside: MainWindow) -> None:
    patch = inside.canvas.patch
    assert patch is not None
    patch.add("op.bit_and", node_id="bits", position=(240, 200))
    patch.connect(PortRef("x", "value"), PortRef("bits", "a"))
    patch.connect(PortRef("bits", "out"), PortRef("out", "value"))
    nodes = inside.canvas.scene.nodes
    assert nodes["bits"].appearance.state is NodeState.ERROR
    assert nodes["times"].appearance.state is NodeState.IDLE
    assert inside.kernel.breadcrumb.state.text() == "1 problem: the last good version keeps running"
    inside.canvas.select(["bits"])
    assert inside.inspector.status is not None
    assert "must be a whole number" in inside.inspector.status.message
    inside.session.undo()
    assert inside.kernel.breadcrumb.state.text() == ""


def test_going_to_a_block_or_an_op_shows_it(inside: MainWindow) -> None:
    inside.kernel.go_to("other")
    assert inside.canvas.selected() == ["other"]
    inside.kernel.go_to("kernel/times")
    assert inside.kernel.is_open and inside.canvas.selected() == ["times"]


def test_an_op_graph_closes_when_its_block_goes(inside: MainWindow, qtbot: QtBot) -> None:
    patch_of(inside).remove("kernel")
    qtbot.waitUntil(lambda: not inside.kernel.is_open)
    assert set(inside.canvas.scene.nodes) == {"other"}
    patch_of(inside).undo()
    assert _graph(inside) == _GRAPH


def test_another_patch_closes_the_op_graph(inside: MainWindow) -> None:
    inside.files.new()
    assert not inside.kernel.is_open and not inside.canvas.scene.nodes


def test_selected_ops_are_wrapped_in_a_loop(inside: MainWindow) -> None:
    inside.canvas.select(["times"])
    actions = inside.actions_by_id
    actions.menus["edit"].aboutToShow.emit()
    assert actions["wrap_for"].isEnabled() and not actions["wrap_while"].isEnabled()
    actions["wrap_for"].trigger()
    assert {node["id"]: node.get("region", "") for node in _graph(inside)["nodes"]}["times"] == "for"
    hand = Hand(inside.canvas)
    hand.drag(hand.port("times", "out", is_input=False), hand.port("for", "next_a", is_input=True))
    assert {"source": "times.out", "target": "for.next_a"} in _graph(inside)["connections"]


def test_a_new_kernel_scales_its_input(window: MainWindow) -> None:
    window.files.new()
    node = patch_of(window).add("kernel.graph")
    block_type = patch_of(window).block_type(node.id)
    assert block_type is not None and list(block_type.ports) == ["x", "result"]
    window.canvas.node_activated.emit(node.id)
    assert [inner.type for inner in window.canvas.patch.nodes.values()] == [  # type: ignore[union-attr]
        *("op.input", "op.parameter", "op.multiply", "op.output")
    ]
    assert patch_of(window).nodes[node.id].parameters == {}


def test_the_problem_list_leads_to_the_op(inside: MainWindow) -> None:
    patch = patch_of(inside)
    patch.set("kernel", graph={**_GRAPH, "connections": [{"source": "x.buffer", "target": "out.value"}]})
    values = patch.nodes["kernel"].parameters
    told = patch.catalogue.resolve("kernel.graph", values, lambda: patch.folder, trusted=True)[1]
    assert told is not None
    inside.kernel.leave()
    inside.docks.widget(Problems).show_diagnostics((msgspec.structs.replace(told, node="kernel"),))
    row = inside.docks.widget(Problems).list.topLevelItem(0)
    assert row is not None and row.text(1) == "Blur › Output out, value"
    assert "got buffer of f32; load an element of it" in row.text(0)
    inside.docks.widget(Problems).list.itemActivated.emit(row, 0)
    assert inside.kernel.is_open and inside.canvas.selected() == ["out"]


def test_the_lines_of_the_selected_op_stand_out_and_a_click_on_a_line_selects_its_op(
    inside: MainWindow, qtbot: QtBot
) -> None:
    inside.docks.reveal("code")
    view = inside.docks.widget(Code).compiled.ptx
    qtbot.waitUntil(lambda: bool(view.listing.lines))
    inside.canvas.select(["times"])
    (marked,) = view.marked()
    assert ".rn.f32" in view.document().findBlockByNumber(marked).text()
    store = next(number for number, op in enumerate(view.listing.ops) if op == "out")
    view.show_selection({"out"})
    place = view.cursorRect(QTextCursor(view.document().findBlockByNumber(store))).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert inside.canvas.selected() == ["out"]


def test_the_code_follows_the_wiring_and_stays_that_of_the_last_good_kernel(inside: MainWindow, qtbot: QtBot) -> None:
    inside.docks.reveal("code")
    QApplication.processEvents()
    patch, view = inside.canvas.patch, inside.docks.widget(Code).compiled.ptx
    assert patch is not None
    patch.add("op.sqrt", node_id="root")
    patch.connect(PortRef("times", "out"), PortRef("root", "x"))
    patch.connect(PortRef("root", "out"), PortRef("out", "value"))
    qtbot.waitUntil(lambda: "sqrt.rn.f32" in view.toPlainText())
    assert inside.docks.widget(Code).compiled.note.isHidden()
    patch.disconnect(PortRef("root", "x"))
    assert "sqrt.rn.f32" in view.toPlainText() and not inside.docks.widget(Code).compiled.note.isHidden()
    QTest.keyClick(inside.canvas.view, Qt.Key.Key_Escape)
    assert "sqrt.rn.f32" in view.toPlainText()
    inside.canvas.select(["other"])
    assert view.toPlainText() == ""


def test_wiring_compiles_nothing_in_the_window(
    inside: MainWindow, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    """Wiring compiles nothing in the UI thread: ports follow from types, and the dock's code is generated beside it."""
    compiled: list[str] = []
    lower = op_graphs.lower

    def noted(*given: Any, **options: Any) -> Any:
        compiled.append(threading.current_thread().name)
        return lower(*given, **options)

    monkeypatch.setattr(op_graphs, "lower", noted)
    patch = inside.canvas.patch
    assert patch is not None
    patch.add("op.sqrt", node_id="root")
    patch.connect(PortRef("times", "out"), PortRef("root", "x"))
    patch.connect(PortRef("root", "out"), PortRef("out", "value"))
    QApplication.processEvents()
    assert not compiled
    inside.docks.reveal("code")
    patch.set("times", b=77.5)
    qtbot.waitUntil(lambda: "0f429B0000" in inside.docks.widget(Code).compiled.ptx.toPlainText())
    assert threading.current_thread().name not in compiled


def test_sass_is_made_when_its_tab_is_opened_and_then_follows_the_wiring(
    inside: MainWindow, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    """SASS is made while its tab is open and follows the newest kernel, one at a time; a hidden dock requests none."""
    asked: list[tuple[str, str]] = []
    waiting: list[Callable[[], None]] = []

    def made(function: object, source: OpGraphSource, architecture: str) -> str:
        asked.append((source.graph, architecture))
        return f"// {architecture}\n\t.loc 1 2 \n\t/*0000*/ FMUL R{len(asked)}, R1, 2 ;"

    def beside(what: str, work: Callable[[], object], then: Callable[[Any], None], _cancelled: Any = None) -> None:
        result = work()
        if what.startswith("Disassembling"):
            waiting.append(lambda: then(result))
        else:
            then(result)

    monkeypatch.setattr(compiled, "run", made)
    inside.docks.widget(Code).compiled.beside = beside
    inside.docks.widget(Code).compiled.architecture = lambda: "sm_90"
    inside.docks.reveal("code")
    QApplication.processEvents()
    patch, view = inside.canvas.patch, inside.docks.widget(Code).compiled.sass
    assert patch is not None and not asked
    inside.docks.widget(Code).compiled.tabs.setCurrentWidget(view)
    assert len(asked) == 1 and view.toPlainText() == ""
    for value in (3.0, 4.0, 5.0):
        patch.set("times", b=value)
        QApplication.processEvents()
    assert len(asked) == 1
    waiting.pop()()
    assert view.toPlainText().splitlines() == ["// sm_90", "    /*0000*/ FMUL R1, R1, 2 ;"]
    assert len(asked) == 2 and "5.0" in asked[-1][0]
    waiting.pop()()
    assert "FMUL R2" in view.toPlainText() and not waiting
    inside.canvas.select(["times"])
    assert view.marked() == [1]
    inside.docks.widget(Code).compiled.tabs.setCurrentIndex(0)
    patch.set("times", b=6.0)
    QApplication.processEvents()
    assert len(asked) == 2


def test_why_there_is_no_sass_stands_in_its_tab(inside: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there is no SASS, its tab shows the reason, which can be copied."""

    def missing(*_: object) -> str:
        raise KernelError("ptxas must be installed")

    monkeypatch.setattr(compiled, "run", missing)
    inside.docks.widget(Code).compiled.beside = at_once
    inside.docks.reveal("code")
    QApplication.processEvents()
    inside.docks.widget(Code).compiled.tabs.setCurrentWidget(inside.docks.widget(Code).compiled.sass)
    assert inside.docks.widget(Code).compiled.sass.toPlainText() == "// ptxas must be installed"
