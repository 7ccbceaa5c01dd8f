"""Tooltips of the canvas are updated while they are visible, and cost nothing afterwards."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report, move_pointer
from tests.app.canvas.canvas_support import Hand
from warploom.engine.protocol.messages import NodeReport, NodeState


@pytest.fixture(autouse=True)
def hides(qtbot: QtBot) -> Iterator[None]:
    """Hide the tooltip after each test."""
    yield
    QToolTip.hideText()
    qtbot.waitUntil(lambda: not QToolTip.isVisible())


def rest(hand: Hand, point: QPointF) -> None:
    """Rest the pointer at a point of the scene."""
    viewport, position = hand.view.viewport(), hand.view.mapFromScene(point)
    QApplication.sendEvent(viewport, QHelpEvent(QEvent.Type.ToolTip, position, viewport.mapToGlobal(position)))


def show_time(hand: Hand, time_ns: int) -> None:
    """Report a time for the node Scale."""
    hand.canvas.show_report(make_report(nodes={"scale": NodeReport("t", NodeState.OK, "", time_ns, 1)}))


def test_a_tooltip_shows_the_newest_figures_while_the_pointer_rests(hand: Hand, qtbot: QtBot) -> None:
    """While the pointer rests, its tooltip shows the newest figures, and profiles are requested once."""
    told: list[bool] = []
    hand.view.tooltip.watching.connect(told.append)
    show_time(hand, 420_000)
    assert told == []
    rest(hand, hand.title("scale"))
    assert "420 µs" in QToolTip.text()
    show_time(hand, 510_000)
    qtbot.waitUntil(lambda: "510 µs" in QToolTip.text())
    rest(hand, hand.title("source"))
    assert "Source" in QToolTip.text()
    assert told == [True]


def test_nothing_is_described_any_more_once_it_is_gone(hand: Hand, qtbot: QtBot) -> None:
    """A tooltip is no longer updated after Qt hid it, or the pointer left or moved to another item."""
    told: list[bool] = []
    asked: list[object] = []
    describe = hand.view._describe
    hand.view._describe = lambda hit: (asked.append(hit), describe(hit))[1]
    hand.view.tooltip.watching.connect(told.append)
    viewport = hand.view.viewport()
    for go in (
        QToolTip.hideText,
        lambda: QApplication.sendEvent(viewport, QEvent(QEvent.Type.Leave)),
        lambda: move_pointer(viewport, QPoint(3, 3)),
    ):
        rest(hand, hand.title("scale"))
        go()
        qtbot.waitUntil(lambda: told[-1:] == [False])
        count = len(asked)
        qtbot.wait(300)
        assert len(asked) == count
    assert told == [True, False] * 3


def test_a_node_that_goes_takes_its_tooltip_along(hand: Hand, qtbot: QtBot) -> None:
    """A node's tooltip disappears when the node is removed while the pointer rests on it."""
    rest(hand, hand.title("count"))
    assert hand.canvas.patch is not None
    hand.canvas.patch.remove("count")
    qtbot.waitUntil(lambda: not QToolTip.isVisible())
