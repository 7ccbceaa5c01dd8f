"""A viewer: the picture of one viewer node with a footer."""

import time

from PySide6.QtCore import QMargins, Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from warploom.app.qt.copy_key import CopyKey
from warploom.app.theme.icons import icon
from warploom.app.view_models.profile.tape import Moment
from warploom.app.viewers.picture_view import PictureView
from warploom.app.widgets.empty_state import EmptyState
from warploom.app.widgets.frame_rate import FrameRate
from warploom.engine.figures import format_rate
from warploom.engine.protocol.sampling import Sample, Sampling, picture_of

_FREEZE = "Freeze: keep this picture while the patch plays"
_REFRESH_S = 0.25  # a person can't read figures that change faster
_SPACING, _MARGIN = 4, 8
_STAYS_MS = 1000  # milliseconds; a picture older than this counts as unchanging


class ViewerPanel(QWidget):
    """Shows the pictures of one node."""

    #: A person asks for the picture in a file, or on the clipboard.
    save_asked = Signal()
    copy_asked = Signal()
    #: `sampling` changed.
    sampling_changed = Signal()

    def __init__(self, hint: str, node: str = "") -> None:
        super().__init__()
        self._node = node
        self.picture = PictureView()
        self.page = EmptyState(self.picture, hint)
        self.probe_label = QLabel(objectName="figures")
        self.probe_label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.status_label = QLabel(objectName="figures")
        self.status_label.setToolTip("Size of the picture, zoom, and pictures per second while the picture changes")
        self.status_label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.status_label.setMinimumWidth(1)  # so that a narrow dock does not push the canvas aside
        self._footer = self._make_footer()
        column = QVBoxLayout(self, contentsMargins=QMargins(), spacing=0)
        column.addWidget(self.page, 1)
        column.addWidget(self._footer)
        self._rate, self._pictures = FrameRate(), 0
        self._drawn_s = 0.0
        self._moment: Moment | None = None
        self._sample: Sample | None = None  # the shown one
        # A picture that stops changing has no rate, and no report arrives that would show this.
        self._stays = QTimer(self, singleShot=True, interval=_STAYS_MS)
        self._stays.timeout.connect(self._on_stays)
        self._footer.hide()
        self.picture.probed.connect(self._on_probed)
        self.picture.view_changed.connect(self._show_status)
        self.picture.view_changed.connect(self._report_sampling)
        self._reported = self.sampling
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self._copy = self.addAction(icon("copy"), "Copy picture\tCtrl+C", self.copy_asked.emit)
        CopyKey(self.picture, self._copy.trigger)  # nothing while it is disabled
        self._save = self.addAction(icon("snapshot"), "Save picture …", self.save_asked.emit)
        self.addAction(icon("fit"), "Fit", self.picture.fit)
        self.addAction("Actual pixels", self.picture.show_actual_pixels)

    @property
    def sampling(self) -> Sampling:
        """The present requirements for the picture: its size on the screen, and the pixel under the pointer."""
        size = self.picture.wanted_size
        probe = None if self.picture.is_whole else self.picture.probe
        return picture_of(self._node, size[::-1] if size else (), probe=probe[::-1] if probe else None)

    def look_back(self, moment: Moment | None) -> None:
        """Prepare for the recorded picture of a moment, which arrives next, or return to the present."""
        if moment is not self._moment:
            self.freeze.setChecked(False)
            self._moment, self._drawn_s = moment, 0.0
            self.page.set_filled(False)
            self._footer.hide()
            self._rate.clear()
            self.status_label.setProperty("state", "past" if moment is not None else "")
            self.status_label.style().polish(self.status_label)
            self._enable_saving(moment is None)

    def show_sample(self, sample: Sample) -> None:
        """Show a new picture, unless the viewer is frozen."""
        if self.is_frozen or sample.data is None:
            return
        self._sample = sample
        height, width = sample.shape
        self.picture.show_pixels(sample.data, (height, width))
        probe = sample.sampling.probe
        if sample.probed is not None and probe is not None and self.picture.probe is not None:
            red, green, blue, alpha = sample.probed.tolist()
            self._show_pixel(probe[1], probe[0], (red, green, blue, alpha))
        self._report_sampling()
        now_s = time.monotonic()
        self._pictures += 1
        self._rate.add(self._pictures, now_s)
        self._stays.start()
        if now_s - self._drawn_s > _REFRESH_S or self._moment is not None:
            self._drawn_s = now_s
            self._show_status()
        if self._footer.isHidden():
            self.page.set_filled(True)
            self._footer.show()

    @property
    def is_frozen(self) -> bool:
        """True while the viewer keeps its picture, and needs no others."""
        return self.freeze.isChecked()

    def _on_freeze(self, frozen: bool) -> None:
        self.freeze.setToolTip("Go on with the present picture" if frozen else _FREEZE)
        self._enable_saving(not frozen or self.picture.is_whole)
        self._show_status()
        self.sampling_changed.emit()

    @property
    def whole(self) -> Sample | None:
        """The shown picture, if it has every pixel."""
        return self._sample if self.picture.is_whole else None

    def _enable_saving(self, enabled: bool) -> None:
        for part in (self.save_button, self._save, self._copy):
            part.setEnabled(enabled)

    def _make_footer(self) -> QWidget:
        footer = QWidget(objectName="viewerFooter")
        row = QHBoxLayout(footer, contentsMargins=QMargins(_MARGIN, _SPACING, _SPACING, _SPACING))
        row.setSpacing(_SPACING)
        row.addWidget(self.probe_label, 1)
        row.addWidget(self.status_label)
        self.freeze = QToolButton(autoRaise=True, checkable=True, icon=icon("freeze"), toolTip=_FREEZE)
        self.freeze.setAccessibleName(_FREEZE)
        self.freeze.toggled.connect(self._on_freeze)
        row.addWidget(self.freeze)
        for name, text, run in (
            ("fit", "Fit the picture (double-click)", self.picture.fit),
            ("1:1", "Actual pixels (double-click)", self.picture.show_actual_pixels),
            ("snapshot", "Save picture …", self.save_asked.emit),
        ):
            button = QToolButton(autoRaise=True)
            if name == "1:1":
                button.setText(name)
            else:
                button.setIcon(icon(name))
            button.setToolTip(text)
            button.setAccessibleName(text)
            button.clicked.connect(run)
            row.addWidget(button)
        self.save_button = button
        return footer

    def _on_probed(self) -> None:
        point = self.picture.probe
        if point is None:
            self._show_probe("")
        elif (colour := self.picture.pixel(*point)) is not None:
            self._show_pixel(*point, colour)
        # Otherwise the pixel comes with the next picture; until then, the text stays.
        self._report_sampling()

    def _show_pixel(self, x: int, y: int, colour: tuple[int, int, int, int]) -> None:
        red, green, blue, alpha = colour
        self._show_probe(f"{red} {green} {blue} {alpha}", f"({x}, {y})  ")

    def _show_probe(self, text: str, place: str = "") -> None:
        """Show the pixel under the pointer. In a narrow footer, leave out size and zoom, or its place too."""
        width, tools = self.probe_label.fontMetrics().horizontalAdvance, self._footer.findChildren(QToolButton)
        room = self._footer.width() - sum(button.sizeHint().width() + _SPACING for button in tools) - _MARGIN
        room -= 3 * _SPACING
        text = place + text if width(place + text) < room else text
        self.probe_label.setText(text)
        self.status_label.setVisible(not text or width(text) + self.status_label.sizeHint().width() < room)

    def _report_sampling(self) -> None:
        if self.sampling != self._reported:
            self._reported = self.sampling
            self.sampling_changed.emit()

    def _on_stays(self) -> None:
        self._rate.clear()
        self._show_status()

    def _show_status(self) -> None:
        size = self.picture.picture_size
        if size is None or self._sample is None:
            return
        if self._moment is not None:
            self.status_label.setText(self._moment.mark(self._sample.frame))
            return
        if self.is_frozen:
            self.status_label.setText(f"frozen at frame {self._sample.frame:,}")
            return
        rate = self._rate.per_second(time.monotonic())
        parts = [f"{size[0]} × {size[1]}", f"{self.picture.scale:.0%}"]
        if rate is not None:
            parts.append(format_rate(rate))
        tools = sum(button.sizeHint().width() + _SPACING for button in self._footer.findChildren(QToolButton))
        room, metrics = self._footer.width() - tools - _MARGIN - 2 * _SPACING, self.status_label.fontMetrics()
        while len(parts) > 1 and metrics.horizontalAdvance(" · ".join(parts)) > room:
            del parts[0]  # a narrow dock shows the rest; the tooltip of the connection has the size
        self.status_label.setText(" · ".join(parts))
