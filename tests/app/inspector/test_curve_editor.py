"""Curves are edited by mouse and keyboard, with one undo step for each action."""

import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from tests.app.app_support import move_pointer
from warploom.app.inspector.curve_editor import CurveEditor, CurveSquare
from warploom.app.inspector.inspector import Inspector
from warploom.blocks.color.curve_points import read_points
from warploom.engine.patch.document import Patch

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def patch() -> Patch:
    patch = Patch()
    patch.add("image.curves", node_id="a")
    return patch


@pytest.fixture
def square(qtbot: QtBot, patch: Patch) -> CurveSquare:
    """The editor of the curve of all colours, in an inspector."""
    inspector = Inspector()
    qtbot.addWidget(inspector)
    inspector.resize(400, 900)
    inspector.show()
    inspector.set_patch(patch)
    inspector.show_nodes(["a"])
    editor = inspector.editor("all")
    assert isinstance(editor, CurveEditor)
    editor.inspector = inspector  # type: ignore[attr-defined]  # keeps it alive
    return editor.square


def points(patch: Patch) -> list[tuple[float, float]]:
    return read_points(patch.nodes["a"].parameters.get("all", "0 0, 1 1"), "all")


def at(square: CurveSquare, x: float, y: float) -> QPoint:
    return square.place_of((x, y)).toPoint()


def test_a_click_adds_a_point_and_a_drag_moves_it_in_one_step(qtbot: QtBot, square: CurveSquare, patch: Patch) -> None:
    """A press adds a point, which follows the pointer but doesn't pass its neighbours; all is one undo step."""
    before = len(patch.history.names)
    qtbot.mousePress(square, LEFT, pos=at(square, 0.5, 0.8))
    for place in ((0.5, 0.7), (0.4, 0.6), (1.4, 2.0)):
        move_pointer(square, at(square, *place), LEFT)
    qtbot.mouseRelease(square, LEFT, pos=at(square, 1.4, 2.0))
    (first, moved, last) = points(patch)
    assert first == (0, 0) and last == (1, 1)
    assert moved == pytest.approx((0.999, 1.0))
    assert len(patch.history.names) == before + 1
    patch.undo()
    assert points(patch) == [(0, 0), (1, 1)]
    assert square.points == [(0, 0), (1, 1)]


def test_points_are_removed_by_a_double_click_and_by_delete(qtbot: QtBot, square: CurveSquare, patch: Patch) -> None:
    """A double click, or Delete, removes a point, but never the last one."""
    patch.set("a", all="0 0, 0.25 0.5, 0.75 0.5, 1 1")
    qtbot.mouseDClick(square, LEFT, pos=at(square, 0.25, 0.5))
    assert points(patch) == [(0, 0), (0.75, 0.5), (1, 1)]
    for _ in range(4):
        qtbot.keyClick(square, Qt.Key.Key_Space)
        qtbot.keyClick(square, Qt.Key.Key_Delete)
    assert len(points(patch)) == 1


def test_arrow_keys_move_the_chosen_point(qtbot: QtBot, square: CurveSquare, patch: Patch) -> None:
    """Space chooses a point, and arrow keys move it, within the square."""
    qtbot.keyClick(square, Qt.Key.Key_Space)
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Down, Qt.Key.Key_Down):
        qtbot.keyClick(square, key)
    assert points(patch)[0] == pytest.approx((0.01, 0.0))


def test_a_text_that_is_no_curve_leaves_the_square_as_it_is(square: CurveSquare, patch: Patch) -> None:
    """A wrong text is shown as an error of the block; the square keeps its last curve."""
    patch.set("a", all="0 0, 0.5 0.25, 1 1")
    patch.set("a", all="nonsense")
    assert square.points == [(0, 0), (0.5, 0.25), (1, 1)]
