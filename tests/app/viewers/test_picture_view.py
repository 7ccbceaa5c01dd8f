"""A picture keeps its proportions, zooms about the pointer and reports its pixels."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from tests.app.app_support import move_pointer, shown_picture
from warploom.app.viewers.picture_view import PictureView
from warploom.app.viewers.viewer import ViewerPanel


def gradient(width: int, height: int) -> np.ndarray:
    """A picture whose red is x, green y, blue 7 and alpha 0."""
    pixels = np.zeros((height, width, 4), np.uint8)
    pixels[..., 0] = np.arange(width)
    pixels[..., 1] = np.arange(height)[:, None]
    pixels[..., 2] = 7
    return pixels


@pytest.fixture
def view(qtbot: QtBot) -> PictureView:
    """A view of 200 by 100 screen pixels."""
    view = PictureView()
    qtbot.addWidget(view)
    view.resize(200, 100)
    view.show()
    return view


def test_a_picture_is_fitted_with_bars_at_its_sides(view: PictureView) -> None:
    """A square picture in a wide view fills its height and is centred."""
    pixels = np.full((10, 10, 4), 255, np.uint8)
    pixels[..., 3] = 0  # alpha is not shown
    view.show_pixels(pixels)
    assert view.scale == 10.0
    shown = view.grab().toImage()
    assert shown.pixelColor(100, 50) == QColor(255, 255, 255)
    assert shown.pixelColor(52, 2) == QColor(255, 255, 255)
    assert shown.pixelColor(48, 50) != QColor(255, 255, 255)
    assert shown.pixelColor(152, 50) != QColor(255, 255, 255)


def test_the_picture_is_not_copied(view: PictureView) -> None:
    """The view draws from the given array without a copy."""
    pixels = np.zeros((10, 10, 4), np.uint8)
    view.show_pixels(pixels)
    pixels[...] = 200
    assert view.grab().toImage().pixelColor(100, 50) == QColor(200, 200, 200)


def test_the_probe_reports_the_pixel_under_the_pointer(qtbot: QtBot, view: PictureView) -> None:
    """The probe reports the position and value of the pixel under the pointer, or nothing outside the picture."""
    view.show_pixels(gradient(20, 10))
    move_pointer(view, QPoint(135, 25))
    assert view.probe == (13, 2)
    assert view.pixel(13, 2) == (13, 2, 7, 0)
    view.resize(400, 100)
    move_pointer(view, QPoint(10, 50))
    assert view.probe is None


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.7, 20.0])
def test_zooming_keeps_the_pixel_under_the_pointer(qtbot: QtBot, view: PictureView, scale: float) -> None:
    """Zooming keeps the pixel under the pointer in place."""
    view.show_pixels(gradient(100, 50))  # two screen pixels each, so x = 151 is in the middle of a pixel
    anchor = QPoint(151, 31)
    move_pointer(view, anchor)
    before = view.probe
    assert before == (75, 15)
    view.zoom_to(scale, QPointF(anchor))
    assert view.scale == scale
    assert view.probe == before


def test_dragging_pans(qtbot: QtBot, view: PictureView) -> None:
    """Dragging moves the picture with the pointer."""
    view.show_pixels(gradient(200, 100))
    qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=QPoint(100, 50))
    move_pointer(view, QPoint(70, 40), Qt.MouseButton.LeftButton)
    qtbot.mouseRelease(view, Qt.MouseButton.LeftButton, pos=QPoint(70, 40))
    assert view.probe == (100, 50)
    assert not view.is_fitted
    view.fit()
    assert view.is_fitted


def test_zoom_is_kept_when_a_picture_of_the_same_size_comes(view: PictureView) -> None:
    """A new picture of the same size keeps zoom and position."""
    view.show_pixels(gradient(200, 100))
    view.zoom_to(4.0, QPointF(10, 10))
    view.show_pixels(gradient(200, 100))
    assert view.scale == 4.0


def test_double_click_changes_between_fitted_and_actual_pixels(qtbot: QtBot, view: PictureView) -> None:
    """A double-click changes between actual pixels and the whole picture."""
    view.show_pixels(gradient(250, 250))
    qtbot.mouseDClick(view, Qt.MouseButton.LeftButton, pos=QPoint(100, 50))
    assert view.scale == 1.0
    qtbot.mouseDClick(view, Qt.MouseButton.LeftButton, pos=QPoint(100, 50))
    assert view.is_fitted


def test_the_viewer_shows_its_hint_until_a_picture_comes(qtbot: QtBot) -> None:
    """An empty viewer shows a hint; with a picture, its footer shows the pixel."""
    viewer = ViewerPanel("Connect an image")
    qtbot.addWidget(viewer)
    viewer.resize(300, 200)
    viewer.show()
    assert viewer.picture.picture_size is None
    assert not viewer.picture.isVisible()
    viewer.show_sample(shown_picture("v", 3, gradient(30, 20)))
    assert viewer.picture.isVisible()
    move_pointer(viewer.picture, viewer.picture.rect().center())
    x, y = viewer.picture.probe or (-1, -1)
    assert viewer.probe_label.text() == f"({x}, {y})  {x} {y} 7 0"
