"""A port as a picture: channels, range, exposure, colour maps, histogram, and a comparison with another port."""

import math
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QMargins, QMimeData, QRect, QRectF, Signal
from PySide6.QtWidgets import QComboBox, QToolButton, QVBoxLayout, QWidget

from warploom.app.qt.flow_row import FlowRow
from warploom.app.theme.icons import icon
from warploom.app.view_models.looking.numbers import element_text
from warploom.app.view_models.looking.tone import COLOUR_MAPS, Tone, channels_for, components_of, picture_of
from warploom.app.viewers.picture_view import PictureView
from warploom.app.viewers.ports.histogram import Histogram
from warploom.app.viewers.ports.port_view import MAIN, OTHER, RATE, PortView
from warploom.app.widgets.number_box import NumberBox
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.sampling import Reduction, Sample, Sampling
from warploom.engine.types import Array

_BINS = 128
#: Without a size on the screen yet, a picture has at most so many pixels on a side.
_FIRST_SIDE = 512
#: Room around what is seen, so that panning shows no gap at once.
_MARGIN = 0.25
_NUMBER_WIDTH = 58
_COLOUR = "colour"


class ImageView(PortView):
    """Shows a buffer with two or more axes; the last two are those of the picture, a number chooses among the rest."""

    #: The person wants to compare with another port, or with none ("").
    compare_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.picture = PictureView()
        self.histogram = Histogram()
        self.channel, self.colour_map, self.compared = QComboBox(), QComboBox(), QComboBox()
        self.channel.setToolTip("Channel")
        self.channel.addItem(_COLOUR)
        self.colour_map.setToolTip("Colours of single numbers")
        self.colour_map.addItems(COLOUR_MAPS)
        self.compared.setToolTip("Compare with another port: drag the line in the picture")
        self.exposure = NumberBox(-20, 20, whole=False, unit="")
        self.exposure.setPrefix("EV ")
        self.exposure.setSingleStep(0.5)
        self.exposure.setToolTip("Exposure in stops")
        self.low, self.high = (NumberBox(None, None, whole=False, unit="", fits=True) for _ in range(2))
        self.low.setToolTip("The number that is shown as black, or the first colour of the map")
        self.high.setToolTip("The number that is shown as white, or the last colour of the map")
        self.auto = _button("Auto", "Range of the shown numbers, or 0 to 1 for colours", checked=True)
        self.counts = _button("", "Histogram, least, greatest and mean number", drawn="histogram")
        self.plane = NumberBox(0, 0, whole=True, unit="")
        self.plane.setToolTip("Index along the first axis")
        self.controls = self._make_controls()
        column = QVBoxLayout(self, contentsMargins=QMargins(), spacing=0)
        column.addWidget(self.controls)
        column.addWidget(self.picture, 1)
        column.addWidget(self.histogram)
        self.histogram.hide()
        self._samples: dict[str, Sample] = {}
        #: The port to compare with that the person has chosen.
        self._chosen: PortRef | None = None
        self._shape: tuple[int, ...] = ()
        self._asked: object = None
        for box in (self.channel, self.colour_map):
            box.currentTextChanged.connect(self._draw)
        self.compared.currentIndexChanged.connect(self._on_compared)
        for number in (self.exposure, self.low, self.high):
            number.valueChanged.connect(self._draw)
        self.auto.toggled.connect(self._on_auto)
        self.counts.toggled.connect(self._on_counts)
        self.plane.valueChanged.connect(self.wanted)
        self.picture.view_changed.connect(self.wanted)
        self.picture.probed.connect(self._on_probed)
        self._on_auto(True)

    @property
    def tone(self) -> Tone:
        """How numbers are shown now."""
        chosen = None if self.auto.isChecked() else (self.low.value(), self.high.value())
        exposure = self.exposure.value() if self.channel.currentText() == _COLOUR else 0.0
        return Tone(self.channel.currentText(), self.colour_map.currentText(), exposure, chosen)

    @property
    def other_port(self) -> PortRef | None:
        """The port to compare with."""
        port = self.compared.currentData()
        return port if isinstance(port, PortRef) else None

    def offer_ports(self, ports: Sequence[PortRef], title: "dict[PortRef, str]") -> None:
        """Offer ports to compare with."""
        chosen = self._chosen  # also if reports lacked it for a while
        if ports == [self.compared.itemData(index) for index in range(1, self.compared.count())]:
            return
        self.compared.blockSignals(True)
        self.compared.clear()
        self.compared.addItem("Compare", None)
        for port in ports:
            self.compared.addItem(title.get(port, str(port)), port)
        self.compared.setCurrentIndex([None, *ports].index(chosen) if chosen in ports else 0)
        listed = self.compared.view()
        listed.setMinimumWidth(listed.sizeHintForColumn(0) + 2 * listed.frameWidth())  # it may be wider than the box
        self.compared.blockSignals(False)

    def begin(self) -> None:
        """Fit the new picture."""
        self._samples.clear()
        self.picture.clear()
        self.picture.show_other(None)
        self.picture.fit()

    @property
    def body(self) -> QWidget:
        """What shows the contents."""
        return self.picture

    def samplings(self, port: PortRef, dtype: str, shape: tuple[int, ...]) -> dict[str, Sampling]:
        """Return the visible part in the size of the screen, and the pixel under the pointer."""
        self._shape = shape
        wanted = {MAIN: self._sampling(port, shape)}
        if self.other_port is not None:
            wanted[OTHER] = self._sampling(self.other_port, shape)
        return wanted

    def _sampling(self, port: PortRef, shape: tuple[int, ...]) -> Sampling:
        height, width = shape[-2:]
        first = self._plane_indices(shape)
        picture = self.picture
        seen = QRect(0, 0, width, height)
        if picture.picture_size == (width, height):
            seen = picture.seen_part(_MARGIN).intersected(seen)
        scale = min(1.0, picture.scale) if picture.picture_size == (width, height) else self._fitted(width, height)
        size = max(1, math.ceil(seen.height() * scale)), max(1, math.ceil(seen.width() * scale))
        part = (
            *((index, index + 1) for index in first),
            (seen.top(), seen.top() + seen.height()),
            (seen.left(), seen.left() + seen.width()),
        )
        point = picture.probe
        probe = (*first, point[1], point[0]) if point is not None else None
        bins = _BINS if self.counts.isChecked() else 0
        sizes = (*(1 for _ in first), *size)
        return Sampling(port, part, sizes, Reduction.MEAN, probe=probe, bins=bins, rate=RATE)

    def _fitted(self, width: int, height: int) -> float:
        ratio = self.picture.devicePixelRatioF()
        room = max(self.picture.width() * ratio, 64), max(self.picture.height() * ratio, 64)
        return min(1.0, room[0] / width, room[1] / height, max(_FIRST_SIDE, *room) / max(width, height))

    def _plane_indices(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the indices along the axes before the last two."""
        rest = shape[:-2]
        self.plane.setVisible(bool(rest))
        if not rest:
            return ()
        self.plane.setMaximum(max(0, math.prod(rest) - 1))
        return tuple(int(index) for index in np.unravel_index(int(self.plane.value()), rest))

    def copied(self) -> QMimeData:
        """Return the visible part of the picture, in the shown colours."""
        data = QMimeData()
        data.setImageData(self.picture.picture())
        return data

    def show_sample(self, name: str, sample: Sample) -> None:
        """Show a part of the picture, or of that to compare with."""
        self._samples[name] = sample
        if name == MAIN:
            self._list_channels(sample)
            self.histogram.show_statistics(sample.statistics)
            if sample.probed is not None and self.picture.probe is not None:
                self._show_probed(sample)
        self._draw()

    def _list_channels(self, sample: Sample) -> None:
        assert sample.data is not None
        names = channels_for(components_of(sample.data, len(sample.shape)).shape[-1])
        if [self.channel.itemText(index) for index in range(self.channel.count())] != list(names):
            self.channel.blockSignals(True)
            self.channel.clear()
            self.channel.addItems(names)
            self.channel.setVisible(len(names) > 1)
            self.channel.blockSignals(False)

    def _draw(self) -> None:
        main, other = self._samples.get(MAIN), self._samples.get(OTHER)
        is_colour = self.channel.currentText() == _COLOUR
        self.colour_map.setVisible(not is_colour)
        self.exposure.setVisible(is_colour)  # single numbers have a range
        if main is None or main.data is None:
            return
        pixels, shown = self._toned(main)
        if self.auto.isChecked():
            for box, value in zip((self.low, self.high), shown, strict=True):
                box.blockSignals(True)
                box.setValue(value)
                box.blockSignals(False)
        if other is not None and other.data is not None and other.data.ndim >= 2 and self.other_port is not None:
            self.picture.show_other(self._toned(other)[0])
        else:
            self.picture.show_other(None)
        height, width = main.shape[-2:]
        (top, bottom), (left, right) = main.part[-2:]
        part = QRectF(left, top, right - left, bottom - top)
        is_all = (right - left, bottom - top) == (width, height)
        before = self.picture.picture_size
        self.picture.show_pixels(pixels, (height, width), None if is_all else part)
        if before != self.picture.picture_size:
            self.wanted.emit()  # the scale is known now

    def _toned(self, sample: Sample) -> tuple[Array, tuple[float, float]]:
        assert sample.data is not None
        axes = len(sample.shape)
        numbers = components_of(sample.data, axes)
        numbers = numbers.reshape(*numbers.shape[-3:]) if axes >= 2 else numbers.reshape(1, -1, numbers.shape[-1])
        return picture_of(numbers, self.tone)

    def _on_auto(self, auto: bool) -> None:
        for box in (self.low, self.high):
            box.setEnabled(not auto)
        self._draw()

    def _on_counts(self, shown: bool) -> None:
        self.histogram.setVisible(shown)
        self.wanted.emit()

    def _on_compared(self) -> None:
        self._chosen = self.other_port
        self._samples.pop(OTHER, None)
        self.compare_changed.emit()
        self.wanted.emit()
        self._draw()

    def _on_probed(self) -> None:
        if self.picture.probe is None:
            self.probed.emit("")
        self.wanted.emit()

    def _show_probed(self, sample: Sample) -> None:
        assert sample.probed is not None and sample.sampling.probe is not None
        *_, y, x = sample.sampling.probe
        text = f"({x}, {y})  {element_text(sample.probed)}"
        other = self._samples.get(OTHER)
        if other is not None and other.probed is not None:
            text += f"  |  {element_text(other.probed)}"
        self.probed.emit(text)

    def _make_controls(self) -> QWidget:
        controls = QWidget()
        row = FlowRow(controls, margins=QMargins(8, 4, 8, 4))
        for box in (self.exposure, self.low, self.high, self.plane):
            box.setButtonSymbols(NumberBox.ButtonSymbols.NoButtons)
            box.setMinimumWidth(_NUMBER_WIDTH // 2)
            box.setMaximumWidth(_NUMBER_WIDTH)
        for part in (self.channel, self.colour_map, self.plane, self.auto, self.low, self.high, self.exposure):
            row.add(part)
        row.add(self.compared, grows=True)
        row.add(self.counts)
        self.compared.setMinimumContentsLength(4)  # the column of docks must not grow for it
        self.compared.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.compared.addItem("Compare", None)
        self.plane.hide()
        return controls


def _button(text: str, tip: str, *, drawn: str = "", checked: bool = False) -> QToolButton:
    button = QToolButton(text=text, checkable=True, checked=checked, toolTip=tip, autoRaise=True)
    button.setAccessibleName(tip)
    if drawn:
        button.setIcon(icon(drawn))
    return button
