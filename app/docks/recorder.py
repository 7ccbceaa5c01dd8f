"""The flight recorder: the times of the last 600 frames, what happened in each, and why slow ones were slow."""

import time
from contextlib import suppress
from typing import Any

import numpy as np
from PySide6.QtCore import (
    QAbstractTableModel,
    QMargins,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPointF,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QColor, QHideEvent, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QScrollArea, QTableView, QToolButton, QVBoxLayout, QWidget

from app.qt.beside import Run, at_once
from app.qt.safe_overrides import safe_overrides
from app.theme import colours
from app.theme.fonts import SMALL, ui_font
from app.theme.icons import icon
from app.view_models.flight import PHASES, Flight
from app.widgets.empty_state import EmptyState
from app.widgets.list_table import make_table
from engine.diagnostics import WarploomError
from engine.figures import format_time
from engine.protocol.client import Client
from engine.protocol.flight_record import BUDGET_NS, FlightRecord, SlowFrame
from engine.protocol.messages import UpdateLevel

_PERIOD_MS = 100
_HINT = "No frames yet.\nThe last 600 frames are recorded here while the patch plays, and slow ones longer"
#: Frames a second that a budget may be for.
_RATES = (30, 60, 90, 120, 144)
#: The height of the marks of updates and slow frames below the bars, in pixels.
_MARKS = 4
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_Index = QModelIndex | QPersistentModelIndex


def phase_colours() -> dict[str, str]:
    """Return the colour of each phase of a frame in the present theme."""
    theme = colours.current()
    return {
        "late": theme.text_faint,
        "before": theme.accent,
        "launch": colours.category_ink("image", theme),
        "wait": colours.mix(colours.category_ink("math", theme), theme.dock, 0.35),
    }


@safe_overrides
class FrameBars(QWidget):
    """A bar a frame, the newest at the right, in the colours of its phases. A click or an arrow key chooses a frame."""

    #: The place of a frame among those of the record.
    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._flight: Flight | None = None
        self._place: int | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Times of the last frames")
        self.setCursor(Qt.CursorShape.CrossCursor)
        self.setMinimumSize(120, 60)

    def show_flight(self, flight: Flight, place: int | None) -> None:
        """Show a record, with the frame at `place` marked."""
        self._flight, self._place = flight, place
        self.update()

    def place_at(self, x: float) -> int | None:
        """Return the place of the frame at a position, or of the nearest one."""
        if self._flight is None or not len(self._flight.frames):
            return None
        columns = self._flight.columns(max(self.width(), 1))
        return max(int(columns[min(max(int(x), 0), len(columns) - 1)]), 0)

    # Qt

    def sizeHint(self) -> QSize:
        return QSize(600, 120)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the bars as one image, and what stands over them."""
        painter, flight, theme = QPainter(self), self._flight, colours.current()
        painter.fillRect(self.rect(), QColor(theme.canvas))
        if flight is None or not len(flight.frames):
            return
        scale = self.devicePixelRatioF()
        width, height = round(self.width() * scale), round((self.height() - 2 * _MARKS) * scale)
        columns = flight.columns(width)
        image = _bars(flight, columns, max(height, 1))
        painter.drawImage(QRectF(0, 0, self.width(), self.height() - 2 * _MARKS), image)
        self._paint_marks(painter, flight, columns, scale)
        painter.setFont(ui_font(SMALL))
        self._paint_scale(painter, flight)
        if self._place is not None and len(places := np.flatnonzero(columns == self._place)):
            painter.setOpacity(1)
            painter.setPen(QColor(theme.text))
            middle = min((int(places[0]) + int(places[-1]) + 1) / 2 / scale, self.width() - 1)
            painter.drawLine(QPointF(middle, 0), QPointF(middle, self.height()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the frame under the pointer."""
        self._choose(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Scrub: choose each frame that the pointer passes."""
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._choose(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go on by a frame, or by ten with Shift."""
        step = 10 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
        count = len(self._flight.frames) if self._flight is not None else 0
        here = count if self._place is None else self._place
        places = {
            Qt.Key.Key_Left: here - step,
            Qt.Key.Key_Right: here + step,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: count - 1,
        }
        place = places.get(Qt.Key(event.key()))
        if place is None or not count:
            super().keyPressEvent(event)
            return
        self.chosen.emit(min(max(place, 0), count - 1))

    def _choose(self, event: QMouseEvent) -> None:
        place = self.place_at(event.position().x())
        if place is not None:
            self.chosen.emit(place)

    def _paint_marks(self, painter: QPainter, flight: Flight, columns: np.ndarray[Any, Any], scale: float) -> None:
        """Mark updates above HOT and slow frames below their bars."""
        theme = colours.current()
        there = columns >= 0
        slow = there & (flight.totals[columns] > flight.record.budget_ns)
        updated = there & (flight.frames["level"][columns] > UpdateLevel.HOT)
        for row, (marked, colour) in enumerate(((updated, theme.accent), (slow, theme.warning))):
            y = self.height() - (2 - row) * _MARKS
            for column in np.flatnonzero(marked).tolist():
                painter.fillRect(QRectF(column / scale - 1, y + 1, 3, _MARKS - 1), QColor(colour))

    def _paint_scale(self, painter: QPainter, flight: Flight) -> None:
        """Draw the budget's line, and say what the top is; a budget beyond it is told beside it."""
        theme, room = colours.current(), self.height() - 2 * _MARKS
        budget_ns, top_ns = flight.record.budget_ns, flight.top_ns
        told = format_time(top_ns)
        if budget_ns <= top_ns:
            y = room * (1 - budget_ns / top_ns)
            painter.setPen(QColor(theme.warning))
            painter.drawLine(QPointF(0, y), QPointF(self.width(), y))
            painter.drawText(QPointF(4, y - 3 if y > 30 else y + 12), format_time(budget_ns))
        else:
            told += f"   (budget {format_time(budget_ns)})"
        painter.setPen(QColor(theme.text_dim))
        painter.drawText(QPointF(4, 12), told)


def _bars(flight: Flight, columns: np.ndarray[Any, Any], height: int) -> QImage:
    """Return the bars of `columns` as an image with a pixel a column; without a frame it is transparent."""
    there = columns >= 0
    pixels = np.zeros((height, len(columns)), np.uint32)
    levels = np.arange(height, 0, -1)[:, None]  # how high each row lies above the ground
    bottom = np.zeros(len(columns), np.int64)
    for phase, colour in phase_colours().items():
        upper = bottom + np.where(there, flight.frames[phase][columns], 0)
        low, high = (np.ceil(edge * (height / flight.top_ns)) for edge in (bottom, upper))
        pixels[(levels > low) & (levels <= high)] = QColor(colour).rgba()
        bottom = upper
    return QImage(pixels.tobytes(), len(columns), height, 4 * len(columns), QImage.Format.Format_ARGB32).copy()


@safe_overrides
class SlowRows(QAbstractTableModel):
    """The slow frames, the newest first; texts are made of those that are seen."""

    HEADERS = ("Time", "Took", "Spent on")
    TOOK, SPENT = 1, 2

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._flight: Flight | None = None
        self.slow: tuple[SlowFrame, ...] = ()

    def show_flight(self, flight: Flight) -> None:
        """List the slow frames of a record; nothing changes while they are the same."""
        newest = self.slow[:1]
        self._flight = flight
        if flight.record.slow[-1:] == newest:
            return
        self.beginResetModel()
        self.slow = flight.record.slow[::-1]
        self.endResetModel()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own signature
        return 0 if parent.isValid() else len(self.slow)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own signature
        return len(self.HEADERS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self.HEADERS[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if section == self.TOOK else _LEFT
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        column = index.column()
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole) and self._flight is not None:
            text = self._flight.slow_texts(self.slow[index.row()])[column]
            return text if role == Qt.ItemDataRole.DisplayRole else text.replace("; ", "\n")
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if column == self.TOOK else _LEFT
        if role == Qt.ItemDataRole.ForegroundRole:
            theme = colours.current()
            return QColor((theme.text_dim, theme.warning, theme.text)[column])
        return None


@safe_overrides
class Recorder(EmptyState):
    """Bars of the last frames, what is known of the chosen one, and the list of slow frames.

    While it is seen it asks the engine ten times a second, beside the window. Whoever chooses a frame freezes it.
    """

    #: Go to a node.
    node_activated = Signal(str)
    #: Frames are slow from now on when they take longer than so many nanoseconds.
    budget_changed = Signal(int)

    def __init__(self) -> None:
        page = QWidget()
        super().__init__(page, _HINT)
        self.beside: Run = at_once
        self._engine: Client | None = None
        self._is_asking = False
        self.flight: Flight | None = None
        self._place: int | None = None
        self.freeze = QToolButton(checkable=True, text="Freeze")
        self.freeze.setToolTip("Stand still; the engine goes on recording. Arrow keys go through the frames")
        self.freeze.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.freeze.toggled.connect(self._on_frozen)
        self.budget = QComboBox(toolTip="Frames that take longer since they were due are slow, and kept longer")
        self.budget.setAccessibleName("Budget of a frame")
        for rate in _RATES:
            budget_ns = BUDGET_NS if rate == 60 else round(1e9 / rate)
            self.budget.addItem(f"{format_time(budget_ns)} ({rate} fps)", budget_ns)
        self.budget.setCurrentIndex(_RATES.index(60))
        self.budget.currentIndexChanged.connect(lambda: self.budget_changed.emit(self.budget_ns))
        self.summary, self.legend = QLabel(objectName="faint"), QLabel(objectName="faint")
        self.bars = FrameBars()
        self.bars.chosen.connect(self.choose)
        self.details = QLabel(wordWrap=True, textFormat=Qt.TextFormat.RichText, alignment=Qt.AlignmentFlag.AlignTop)
        self.details.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)
        self.details.linkActivated.connect(self.node_activated)
        self.details.setMargin(8)
        self._rows = SlowRows(self)
        self.table = make_table(self._rows, "Slow frames", {0: 96, SlowRows.TOOK: 72}, SlowRows.SPENT)
        self.table.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.table.clicked.connect(self._choose_slow)
        self.table.activated.connect(self._choose_slow)
        column = QVBoxLayout(page, contentsMargins=QMargins(0, 4, 0, 0), spacing=4)
        column.addLayout(self._make_bar())
        column.addLayout(self._make_columns(), 1)
        self._timer = QTimer(self, interval=_PERIOD_MS)
        self._timer.timeout.connect(self._ask)
        self.refresh_icons()

    @property
    def budget_ns(self) -> int:
        """How long a frame may take."""
        budget_ns: int = self.budget.currentData()
        return budget_ns

    def set_engine(self, engine: Client | None) -> None:
        """Follow another engine; a frozen record stays."""
        self._engine, self._is_asking = engine, False
        if self.budget_ns != BUDGET_NS:  # which it begins with
            self.budget_changed.emit(self.budget_ns)
        if not self.freeze.isChecked():
            self.flight = None
            self.set_filled(False)
        self._ask()

    def choose(self, place: int) -> None:
        """Show the frame at a place, and stand still."""
        self._place = place
        self.freeze.setChecked(True)
        self._refresh()

    def refresh_icons(self) -> None:
        """Draw icon and legend again, in the colours of the present theme."""
        self.freeze.setIcon(icon("freeze"))
        parts = (f'<span style="color: {colour}">■</span> {PHASES[phase]}' for phase, colour in phase_colours().items())
        self.legend.setText("&nbsp;&nbsp; ".join(parts))

    def _make_bar(self) -> QHBoxLayout:
        bar = QHBoxLayout(contentsMargins=QMargins(8, 0, 8, 0), spacing=8)
        bar.addWidget(self.freeze)
        bar.addWidget(self.summary)
        bar.addStretch(1)
        bar.addWidget(self.legend)
        bar.addSpacing(8)
        bar.addWidget(QLabel("Budget", objectName="faint"))
        bar.addWidget(self.budget)
        return bar

    def _make_columns(self) -> QHBoxLayout:
        scrolled = QScrollArea(widgetResizable=True, horizontalScrollBarPolicy=Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scrolled.setWidget(self.details)
        columns = QHBoxLayout(spacing=4)
        columns.addWidget(self.bars, 5)
        columns.addWidget(scrolled, 3)
        columns.addWidget(self.table, 4)
        return columns

    # Following

    def _ask(self) -> None:
        """Ask for the record, unless an answer is under way."""
        engine = self._engine
        if engine is None or self._is_asking or self.freeze.isChecked() or not self.isVisible():
            return
        self._is_asking = True
        answers: list[FlightRecord] = []

        def work() -> None:
            with suppress(WarploomError):  # closed, or ended: its last report says so
                answers.append(engine.flight_record())

        def then() -> None:
            if engine is self._engine:
                self._is_asking = False
                if answers and not self.freeze.isChecked():
                    self._show(Flight(answers[0], time.time()))

        self.beside("Reading the flight recorder …", work, then)

    def _show(self, flight: Flight) -> None:
        if self.flight is not None and flight.mark == self.flight.mark:
            return
        self.flight, self._place = flight, None
        self.set_filled(bool(len(flight.frames)))
        self._refresh()

    def _refresh(self) -> None:
        flight = self.flight
        if flight is None:
            return
        self.summary.setText(flight.summary)
        self.bars.show_flight(flight, self._place)
        self._rows.show_flight(flight)
        if not len(flight.frames):
            return
        if self._place is None:
            self.details.setText("Choose a frame by a click on its bar, or a slow one in the list")
        else:
            self.details.setText(flight.describe(self._place))

    def _choose_slow(self, index: QModelIndex) -> None:
        if self.flight is None:
            return
        slow = self._rows.slow[index.row()]
        place = self.flight.place_of(slow)
        if place is not None:
            self.choose(place)
        else:
            self._place = None
            self.freeze.setChecked(True)
            self._refresh()
            self.details.setText(self.flight.describe_slow(slow))

    def _on_frozen(self, frozen: bool) -> None:
        self.freeze.setText("Frozen" if frozen else "Freeze")
        if not frozen:
            self._place = None
            self._refresh()
            self._ask()

    # Qt

    def showEvent(self, event: QShowEvent) -> None:
        """Follow the engine."""
        super().showEvent(event)
        self._ask()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Ask no more."""
        super().hideEvent(event)
        self._timer.stop()
