"""A port as a plot: its numbers along the index, over time, as a spectrum, or against each other."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from PySide6.QtCore import QEvent, QMargins, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QVBoxLayout, QWidget

from warploom.app.qt.flow_row import FlowRow
from warploom.app.theme import colours
from warploom.app.view_models.looking.numbers import number_text
from warploom.app.view_models.looking.series import (
    MODES,
    ROLLED,
    Series,
    columns_of,
    curves_of,
    drawn_axis,
    drawn_part,
    lane_kind,
    spectrum_of,
)
from warploom.app.viewers.ports.port_view import MAIN, RATE, PortView
from warploom.app.widgets.view_keys import ViewKeys
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.sampling import Reduction, Sample, Sampling

#: The characters of a legend, whose tooltip has the whole names.
_LEGEND = 44
#: A spectrum and a scatter plot are of so many elements.
_MOST = 1 << 16
#: The share of the plot that an arrow key moves it by.
_STEP = 1 / 8


class PlotKeys(ViewKeys):
    """Holds a plot of pyqtgraph, and moves and zooms it by keys."""

    def __init__(self, plot: Any) -> None:
        super().__init__()
        self._box = plot.getViewBox()
        self._fit = plot.enableAutoRange
        plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        QVBoxLayout(self, contentsMargins=QMargins(1, 1, 1, 1)).addWidget(plot)

    def move_by_keys(self, x: int, y: int, *, shift: bool) -> None:
        """Move what is shown."""
        (left, right), (bottom, top) = self._box.viewRange()
        self._box.translateBy(x=x * _STEP * (right - left), y=-y * _STEP * (top - bottom))

    def zoom_by_keys(self, factor: float) -> None:
        """Zoom about the middle."""
        self._box.scaleBy((1 / factor, 1 / factor))

    def fit(self) -> None:
        """Show all numbers, and those that come."""
        self._fit()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the frame that shows the focus."""
        painter = QPainter(self)
        self.paint_focus(painter)
        painter.end()


class PlotView(PortView):
    """Draws with pyqtgraph, which is imported for the first plot."""

    def __init__(self) -> None:
        super().__init__()
        self.mode, self.field = QComboBox(), QComboBox()
        self.mode.setToolTip("What to plot")
        self.mode.addItems(MODES)
        self.field.setToolTip("Field of the struct")
        self.field.hide()
        self.logarithmic = QCheckBox("Log")
        self.logarithmic.setToolTip("Logarithmic vertical axis")
        self._note = QLabel(objectName="figures")
        row = FlowRow(margins=QMargins(8, 4, 8, 4))
        for part in (self.mode, self.field, self.logarithmic):
            row.add(part)
        self._note.setAlignment(Qt.AlignmentFlag.AlignRight)
        row.add(self._note, grows=True)
        self._column = QVBoxLayout(self, contentsMargins=QMargins(), spacing=0)
        self._column.addLayout(row)
        self.plot: Any = None
        self._curves: list[Any] = []
        self._dots: Any = None
        self._rolled: list[tuple[int, np.ndarray[Any, Any]]] = []
        self._sample: Sample | None = None
        self._is_new = True
        self._is_unchosen = True  # the person has not chosen a mode yet
        self.mode.currentTextChanged.connect(self._on_chosen)
        self.field.currentTextChanged.connect(self._on_mode)
        self.logarithmic.toggled.connect(lambda on: self.plot.setLogMode(y=on) if self.plot is not None else None)

    def end(self) -> None:
        """Delete pyqtgraph's items before their widget; in the other order, the process would crash."""
        if self.plot is not None:
            self.plot.scene().clear()
            self._column.removeWidget(self._holder)
            self._holder.deleteLater()
            self.plot, self._curves, self._dots = None, [], None

    def begin(self) -> None:
        """Forget the other port's numbers."""
        self._rolled.clear()
        self._sample, self._is_new = None, True
        for curve in self._curves:
            curve.setData([], [])
        if self._dots is not None:
            self._dots.setData([], [])
        self.field.blockSignals(True)
        self.field.clear()
        self.field.blockSignals(False)
        self.field.hide()

    def name_columns(self, columns: tuple[str, ...]) -> None:
        """Show names of a table's columns as those of the curves."""
        super().name_columns(columns)
        self._draw()

    @property
    def body(self) -> QWidget:
        """What shows the contents."""
        self._make_plot()
        return self._holder

    def samplings(self, port: PortRef, dtype: str, shape: tuple[int, ...]) -> dict[str, Sampling]:
        """Return the least and greatest number of each screen column, or the numbers themselves where they are few."""
        if self._is_unchosen:  # one number is a curve only over time
            self.mode.blockSignals(True)
            self.mode.setCurrentText("Rolling" if math.prod(shape) <= 1 else "Line")
            self.mode.blockSignals(False)
        mode, field = self.mode.currentText(), self.field.currentText()
        if mode == "Rolling":
            part = (*((0, 1) for _ in shape[:-1]), (0, min(shape[-1], ROLLED))) if shape else ()
            return {MAIN: Sampling(port, part, field=field, rate=2 * RATE)}
        if mode in ("Spectrum", "Scatter"):
            return {MAIN: Sampling(port, drawn_part(shape, _MOST), field=field, rate=RATE)}
        part, along = drawn_part(shape, math.prod(shape)), drawn_axis(shape)
        size = tuple(max(64, self.width()) if axis == along else end for axis, (_, end) in enumerate(part))
        return {MAIN: Sampling(port, part, size, Reduction.EXTREMES, field, rate=RATE)}

    def show_sample(self, name: str, sample: Sample) -> None:
        """Draw the numbers of a sample, unless it is that of an earlier mode."""
        is_line = self.mode.currentText() == "Line"
        if (sample.sampling.reduction is Reduction.EXTREMES) is not is_line:
            return
        if sample.sampling.field != self.field.currentText():
            return
        self._sample = sample
        if self.mode.currentText() == "Rolling":
            assert sample.data is not None
            numbers = np.asarray(sample.data, np.float64 if sample.data.dtype.kind != "c" else None).real.reshape(-1)
            while self._rolled and self._rolled[-1][0] >= sample.frame:
                del self._rolled[-1]  # the past is shown, or the engine has begun again
            self._rolled.append((sample.frame, numbers[:ROLLED].copy()))
            del self._rolled[:-2000]
        self._draw()

    def offer_fields(self, fields: list[str]) -> None:
        """Offer the fields of a struct."""
        if fields and [self.field.itemText(i) for i in range(self.field.count())] != fields:
            self.field.clear()
            self.field.addItems(fields)
            self.field.show()

    def _on_chosen(self) -> None:
        self._is_unchosen = False
        self._on_mode()

    def _on_mode(self) -> None:
        self._rolled.clear()
        self._sample, self._is_new = None, True
        self.wanted.emit()

    def _draw(self) -> None:
        sample = self._sample
        if sample is None or sample.data is None:
            return
        self._make_plot()
        mode = self.mode.currentText()
        if mode == "Scatter":
            self._draw_dots(sample)
            return
        self._dots.setData([], [])
        if mode == "Rolling":
            series = curves_of_rolled(self._rolled, self.columns)
            self._label("Frame")
        elif mode == "Spectrum":
            series = spectrum_of(sample, self.columns)
            self._label("Frequency, cycles per element")
        else:
            series = curves_of(sample, self.columns)
            self._label("Index")
        while len(self._curves) < len(series):
            self._curves.append(self.plot.plot([], [], pen=None))
        for number, curve in enumerate(self._curves):
            if number >= len(series):
                curve.setData([], [])
                continue
            curve.setPen(self._pen(number))
            curve.setData(series[number].x, series[number].y, connect="finite")
        named = len(series) > 1 or any(each.name for each in series)
        self._note.setText(_legend([each.name for each in series]) if named else "")
        self._note.setToolTip(", ".join(self.columns))
        self._settle()

    def _draw_dots(self, sample: Sample) -> None:
        assert sample.data is not None
        numbers = columns_of(np.asarray(sample.data), sample.shape)
        for curve in self._curves:
            curve.setData([], [])
        if numbers.shape[1] < 2:
            self._dots.setData([], [])
            self._note.setText("A scatter plot needs two columns or rows, or elements with two components")
            return
        of = lane_kind(sample.shape)
        named = of != "row" and len(self.columns) > 1
        self._label(*(map(escape, self.columns[:2]) if named else (f"First {of}", f"Second {of}")))
        self._note.setText("")
        finite = np.isfinite(numbers[:, :2]).all(1)
        self._dots.setData(numbers[finite, 0], numbers[finite, 1])
        self._settle()

    def _settle(self) -> None:
        if self._is_new:
            self._is_new = False
            self.plot.enableAutoRange()

    def _label(self, below: str, left: str = "") -> None:
        self.plot.setLabel("bottom", below)
        self.plot.setLabel("left", left)

    def _pen(self, number: int) -> Any:
        import pyqtgraph

        return pyqtgraph.mkPen(_ink(number), width=1)

    def _make_plot(self) -> None:
        if self.plot is not None:
            return
        import pyqtgraph

        self.plot = pyqtgraph.PlotWidget()
        self.plot.setMenuEnabled(False)
        self.plot.showGrid(x=True, y=True, alpha=0.15)
        self._dots = self.plot.plot(
            [], [], pen=None, symbol="o", symbolSize=3, symbolPen=None, symbolBrush=colours.CURVES[0]
        )
        self.plot.scene().sigMouseMoved.connect(self._on_moved)
        self.plot.setLogMode(y=self.logarithmic.isChecked())
        self._holder = PlotKeys(self.plot)
        self._column.addWidget(self._holder, 1)
        self._colour()

    def _colour(self) -> None:
        theme = colours.current()
        self.plot.setBackground(theme.canvas)
        for side in ("left", "bottom"):
            axis = self.plot.getAxis(side)
            axis.setPen(theme.border)
            axis.setTextPen(theme.text_dim)

    def _on_moved(self, position: Any) -> None:
        point = self.plot.getViewBox().mapSceneToView(position)
        y = 10 ** point.y() if self.logarithmic.isChecked() and abs(point.y()) < 300 else point.y()
        self.probed.emit(f"{number_text(float(point.x()))}, {number_text(float(y))}")

    def changeEvent(self, event: QEvent) -> None:
        """Use another theme's colours."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self.plot is not None:
            self._colour()

    def leaveEvent(self, event: QEvent) -> None:
        """Note that the pointer has left."""
        self.probed.emit("")
        super().leaveEvent(event)


def _ink(number: int) -> str:
    return colours.CURVES[number % len(colours.CURVES)]


def _legend(names: list[str]) -> str:
    """Return the names of curves as HTML, each in the colour of its curve; long ones are cut to fit a narrow dock."""
    most = max(_LEGEND // max(len(names), 1), 3)
    cut = [name if len(name) <= most else f"{name[: most - 1]}…" for name in names]
    return " ".join(f'<b style="color: {_ink(number)}">{escape(name)}</b>' for number, name in enumerate(cut))


def curves_of_rolled(rolled: "list[tuple[int, np.ndarray[Any, Any]]]", columns: Sequence[str] = ()) -> list[Series]:
    """Return a curve for each of the first numbers of a port, over the frames of its samples."""
    count = min((len(numbers) for _, numbers in rolled), default=0)
    frames = np.array([frame for frame, _ in rolled], np.float64)
    names = columns if len(columns) >= count else [""] if count == 1 else [str(i) for i in range(count)]
    return [Series(names[i], frames, np.array([numbers[i] for _, numbers in rolled])) for i in range(count)]
