"""Rows of widgets continue below where the width ends."""

import pytest
from PySide6.QtCore import QMargins, QRect
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from warploom.app.qt.flow_row import FlowRow

SIZES = ((60, 20), (80, 24), (50, 20), (70, 20))


@pytest.mark.parametrize("width", [90, 140, 210, 400])
@pytest.mark.parametrize("hidden", [None, 1])
def test_widgets_have_their_size_and_order_in_any_width(qtbot: QtBot, width: int, hidden: int | None) -> None:
    """No widget is cut off or covers another; the growing one takes the rest of its row; the height fits."""
    page = QWidget()
    qtbot.addWidget(page)
    row = FlowRow(page, margins=QMargins(4, 2, 4, 2))
    parts = [QPushButton() for _ in SIZES]
    for number, (part, size) in enumerate(zip(parts, SIZES, strict=True)):
        part.setFixedHeight(size[1])
        part.setMinimumWidth(size[0])
        row.add(part, grows=number == 2)
    if hidden is not None:
        parts[hidden].hide()
    page.setGeometry(QRect(0, 0, width, row.heightForWidth(width)))
    page.show()
    shown = [part for part in parts if part.isVisible()]
    inner = page.rect().marginsRemoved(row.contentsMargins())
    for part in shown:
        assert inner.contains(part.geometry())
        assert not any(part.geometry().intersects(other.geometry()) for other in shown if other is not part)
    assert [(part.y() // 24, part.x()) for part in shown] == sorted((part.y() // 24, part.x()) for part in shown)
    grown = parts[2].geometry()
    if not any(part.x() > grown.x() and abs(part.y() - grown.y()) < 10 for part in shown):
        assert grown.right() == inner.right()
