"""What the mouse does, by keys alone: connections, dots, frames, the view, pictures; the pointer never moves."""

from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDockWidget, QLineEdit, QMenu, QWidget

from tests.app.features.person import CONTROL, NONE, SHIFT, Person
from warploom.app.docks.organise.map_view import MapView
from warploom.app.viewers.picture_view import PictureView
from warploom.app.viewers.ports.points_view import PointsView
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.organise.annotations import Frame
from warploom.engine.types import NAMED

LEFT, RIGHT, UP, DOWN = Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down


def go_to_block(person: Person, node: str) -> None:
    """Find a block in the patch, and go there."""
    person.press(Qt.Key.Key_F, CONTROL)
    person.type(node)
    assert person.window.canvas.selected() == [node]


def tab_to(person: Person, found: Callable[[QWidget], bool]) -> QWidget:
    """Go from dock to dock by F6, and on by Tab inside the dock in which a control is."""
    reached = list[str]()
    person.press(Qt.Key.Key_F6)
    for _ in range(40):
        focused = QApplication.focusWidget()
        assert focused is not None
        reached.append(f"{type(focused).__name__} {focused.accessibleName() or focused.objectName()}")
        if found(focused):
            return focused
        docks = [dock for dock in person.window.findChildren(QDockWidget) if dock.isAncestorOf(focused)]
        inside = any(found(part) for dock in docks for part in dock.findChildren(QWidget) if part.isVisible())
        QTest.keyClick(focused, Qt.Key.Key_Tab if inside else Qt.Key.Key_F6)
    raise AssertionError(reached)


@pytest.mark.feature("keyboard", "knife")
def test_connections_are_cut(person: Person) -> None:
    """Shift+L selects the connections of a block in turn, and Delete cuts them, one after the other."""
    go_to_block(person, "blur")
    for count in (2, 1):
        person.press(Qt.Key.Key_L, SHIFT)
        assert len(person.window.canvas.scene.selected_connections()) == 1
        person.press(Qt.Key.Key_Delete)
        assert len(person.patch.connections) == count
    person.press(Qt.Key.Key_L, SHIFT)
    assert "no connections" in person.window.statusBar().currentMessage()
    assert [person.patch.history.undo_name] * 2 == person.patch.history.names[-2:]


@pytest.mark.feature("keyboard", "dots")
def test_dots_are_added_chosen_moved_and_deleted(person: Person) -> None:
    """O adds a dot, arrows move it, Shift+O chooses the next one; a held arrow is one step of undo."""
    go_to_block(person, "viewer")
    person.press(Qt.Key.Key_L, SHIFT)
    image = PortRef("viewer", "image")
    person.press(Qt.Key.Key_O)
    ((x, y),) = person.patch.dots(image)
    person.press(DOWN)
    person.press(LEFT)
    assert person.patch.dots(image) == ((x - 8, y + 8),)
    person.press(Qt.Key.Key_O)
    assert len(person.patch.dots(image)) == 2
    assert person.window.canvas.scene.chosen_dot() is not None
    person.press(Qt.Key.Key_O, SHIFT)
    before, chosen = person.patch.dots(image), person.window.canvas.scene.chosen_dot()
    person.press(UP)
    assert chosen is not None
    moved = [one != other for one, other in zip(before, person.patch.dots(image), strict=True)]
    assert moved == [number == chosen[1] for number in range(2)]
    person.command("delete dot")
    assert len(person.patch.dots(image)) == 1
    person.command("straighten")
    assert person.patch.dots(image) == ()


@pytest.mark.feature("keyboard", "frames")
def test_a_frame_is_moved_with_its_blocks(person: Person) -> None:
    """A frame that Ctrl+F finds is moved by the arrow keys, and has its menu at the menu key."""
    go_to_block(person, "blur")
    person.press(Qt.Key.Key_F, CONTROL | SHIFT)
    person.until(lambda: isinstance(QApplication.focusWidget(), QLineEdit))
    person.type("Soft")
    (frame,) = person.patch.annotations_of(Frame)
    before = person.patch.nodes["blur"].position
    person.press(Qt.Key.Key_F, CONTROL)
    person.type("soft")
    assert person.window.canvas.scene.frames.selected() == [frame.id]
    person.press(RIGHT)
    (moved,) = person.patch.annotations_of(Frame)
    assert moved.position == (frame.position[0] + 8, frame.position[1])
    assert person.patch.nodes["blur"].position == (before[0] + 8, before[1])
    view = person.window.canvas.view  # Qt makes this event of the menu key, only for real keyboards
    QApplication.sendEvent(view.viewport(), QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(), QPoint()))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert "Select in frame" in [action.text().replace("&", "") for action in menu.actions()]
    menu.close()


@pytest.mark.feature("keyboard")
def test_the_view_is_moved_and_zoomed(person: Person) -> None:
    """With nothing selected, arrows pan; Ctrl++ and Ctrl+- zoom about the middle; on the map, arrows do the same."""
    view = person.window.canvas.view
    before = view.seen()
    person.press(RIGHT)
    assert view.seen().left() > before.left() and view.seen().size() == before.size()
    person.press(Qt.Key.Key_Plus, CONTROL)
    assert view.zoom > before.width() / before.width() and view.seen().width() < before.width()
    person.press(Qt.Key.Key_Minus, CONTROL)
    assert abs(view.seen().width() - before.width()) < 2
    person.command("overview")
    left = view.seen().left()
    QTest.keyClick(tab_to(person, lambda part: isinstance(part, MapView)), LEFT)
    assert view.seen().left() < left
    person.command("overview")
    assert not person.patch.history.names


@pytest.mark.feature("keyboard", "probe")
def test_a_picture_is_moved_zoomed_and_read(person: Person) -> None:
    """F6 and Tab lead to the picture; + zooms, arrows move it, Shift and arrows point at pixels, 0 fits it."""
    array = np.random.default_rng(5).random((40, 60, 4)).astype(np.float32)
    person.play("blur", NAMED["float4"], array)
    go_to_block(person, "blur")
    person.press(Qt.Key.Key_V)
    viewer = person.window.looking.viewer(person.window.looking.follower)
    person.until(lambda: viewer.isVisible() and viewer.view is not None)
    person.play("blur", NAMED["float4"], array)
    picture = tab_to(person, lambda part: isinstance(part, PictureView) and viewer.isAncestorOf(part))
    assert isinstance(picture, PictureView) and picture.is_fitted
    accent = picture.grab().toImage().pixelColor(0, picture.height() // 2)
    assert accent.saturation() > 80, "the focus must be seen"
    for key in (Qt.Key.Key_Plus, Qt.Key.Key_Plus):
        QTest.keyClick(picture, key)
    zoomed, seen = picture.scale, picture.seen_part(0)
    QTest.keyClick(picture, RIGHT)
    assert picture.seen_part(0).left() > seen.left() and picture.scale == zoomed
    for key, way in ((RIGHT, (1, 0)), (DOWN, (0, 1)), (DOWN, (0, 1))):
        at = picture.probe
        QTest.keyClick(picture, key, SHIFT)
        now = picture.probe
        assert now is not None and (at is None or now == (at[0] + way[0], at[1] + way[1]))
    person.play("blur", NAMED["float4"], array)
    x, y = picture.probe or (0, 0)
    assert (
        viewer.probe_label.text().startswith(f"({x}, {y})") and f"{array[y, x, 0]:.3g}"[:4] in viewer.probe_label.text()
    )
    QTest.keyClick(picture, Qt.Key.Key_0)
    assert picture.is_fitted
    QTest.keyClick(picture, Qt.Key.Key_Return)
    assert picture.scale == 1.0 and person.patch.history.names == []


@pytest.mark.feature("keyboard")
def test_points_are_turned(person: Person) -> None:
    """Arrows orbit, + zooms and 0 fits."""
    view = PointsView()
    person.qtbot.addWidget(view)
    view.show()
    view.cloud.show_points(np.random.default_rng(2).random((50, 3)).astype(np.float32), fit=True)
    first = view.cloud.camera
    QTest.keyClick(view.cloud, RIGHT, NONE)
    assert view.cloud.camera.yaw != first.yaw
    QTest.keyClick(view.cloud, Qt.Key.Key_Plus)
    QTest.keyClick(view.cloud, Qt.Key.Key_0)
    assert view.cloud.camera == first
