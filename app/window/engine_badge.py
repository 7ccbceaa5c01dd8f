"""The engine's badge: device, launched frames per second and frame time; its tooltip has more."""

import time
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QEvent, QMargins, QPointF, Qt, QTimer
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from warploom.app.docks.elided_label import ElidedLabel
from warploom.app.documents.bridge import Bridge
from warploom.app.documents.session import Session
from warploom.app.theme import colours
from warploom.app.view_models.profile.texts import engine_text
from warploom.app.widgets.frame_rate import FrameRate
from warploom.app.widgets.tooltip import LiveTooltip
from warploom.engine.figures import format_rate, format_time
from warploom.engine.profiling.profile import Profile
from warploom.engine.protocol.messages import FrameReport, UpdateRecord

#: Texts that the label has room for; longer ones are cut off. The second is for narrow windows.
_WIDEST, _WIDEST_IN_NARROW = "cuda:0 · compiling … · 8,888 fps · 88.88 ms", "cuda:0 · 8,888 fps · 888 ms"
_SILENCE_S = 2.0  # seconds without a report, after which the badge shows the silence
_REFRESH_S = 0.25  # a person can't read figures that change faster
_STILL_S = 1.0  # seconds without a launch, after which the patch counts as still


def badge_text(report: FrameReport | None, per_second: float | None = None, time_ns: float | None = None) -> str:
    """Return the badge's line, such as "cuda:0 · 60 fps · 0.42 ms", or "... · overlapping" if frames overlap.

    `per_second` is the launch rate: 0 while nothing changes, None while it is unknown. `time_ns` is the time of the
    last launched frame; None when the report is about that frame.
    """
    if report is None:
        return "No engine"
    parts = [report.statistics.device]
    if report.preparing:
        parts.append("compiling …")
    if report.failed:
        return f"{report.statistics.device} · stopped"
    if not report.running:
        parts.append("paused")
    elif per_second == 0 and not report.preparing:
        return " · ".join([*parts, "still" if report.launches else "nothing to run"])
    elif per_second:
        parts.append(format_rate(per_second))
    if report.launches or not report.preparing:  # the first launch is still to come
        parts.append(format_time(report.frame_time_ns if time_ns is None else time_ns))
        if report.running and report.in_flight > 1:
            parts.append("overlapping")
    return " · ".join(parts)


class EngineBadge(QWidget):
    """A dot that is green only while the engine runs, and the badge's line."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("engineBadge")
        self.tooltip = LiveTooltip(self)
        #: The profile of the last measured frame; requested while the tooltip is shown.
        self.profile: Callable[[], Profile | None] = lambda: None
        self._report: FrameReport | None = None
        self._update: UpdateRecord | None = None
        self.label = ElidedLabel("figures")
        self.label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.set_narrow(False)
        layout = QHBoxLayout(self, contentsMargins=QMargins(24, 0, 12, 4))
        layout.addWidget(self.label)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self._rate = FrameRate()
        self._launches, self._launched_s = -1, 0.0
        self._time_ns: int | None = None
        self._drawn_s = 0.0
        self._is_running = False
        self._reported_s = 0.0
        self._silence = QTimer(self, interval=1000)
        self._silence.timeout.connect(self._check_silence)
        self.clear()

    def follow(self, session: Session, bridge: Bridge) -> None:
        """Follow the engine of a session."""
        self.profile = lambda: bridge.profile
        self.tooltip.watching.connect(partial(bridge.watch_profile, self.tooltip))
        session.engine_changed.connect(self.clear)
        bridge.report.connect(self.show_report)
        bridge.updated.connect(self.note_update)
        bridge.waiting.connect(self.show_waiting)

    def set_narrow(self, is_narrow: bool) -> None:
        """Take less room, in a narrow window."""
        text = _WIDEST_IN_NARROW if is_narrow else _WIDEST
        self.label.setFixedWidth(self.fontMetrics().horizontalAdvance(text))

    def clear(self) -> None:
        """Show that no engine runs."""
        self._rate.clear()
        self._launches, self._time_ns = -1, None
        self._is_still, self._is_new = False, False
        self._drawn_s = 0.0
        self._silence.stop()
        self._report = self._update = None
        self._waits_for = ""
        self._show(None, None)

    def show_report(self, report: FrameReport) -> None:
        """Take a report. The figures are drawn four times a second, but a change of state at once."""
        now_s = time.monotonic()
        self._reported_s, self._report = now_s, report
        self._note_launches(report, now_s)
        if report.running and not self._silence.isActive():
            self._silence.start()
        if report.running == self._is_running and now_s - self._drawn_s < _REFRESH_S:
            return
        self._drawn_s = now_s
        self._show(report, 0.0 if self._is_still else self._rate.per_second(now_s))

    def _note_launches(self, report: FrameReport, now_s: float) -> None:
        """Note whether frames are launched; a single launch, such as for an edit, leaves a still patch still."""
        is_new, was_new = report.launches != self._launches, self._is_new
        self._is_new = is_new
        since_s = now_s - self._launched_s
        if report.preparing or not report.running or (is_new and (was_new or since_s <= _STILL_S)):
            self._is_still = False
        elif since_s > _STILL_S and self._launches >= 0:
            self._is_still = True
        if self._is_still:
            self._rate.clear()  # the time until the next launch does not belong to a frame
        self._rate.add(report.launches, now_s)
        if is_new or report.preparing or not report.running:
            self._launched_s = now_s
        if is_new:
            self._launches, self._time_ns = report.launches, report.frame_time_ns

    def show_waiting(self, text: str) -> None:
        """Show what the engine waits for, such as another machine; "" when it no longer does."""
        self._waits_for = text
        self._show(self._report, None)

    def event(self, event: QEvent) -> bool:
        """Show the tooltip, whose text is refreshed as long as the pointer stays."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            self.tooltip.show(event.globalPos(), self._tooltip)
            return True
        return super().event(event)

    def note_update(self, update: UpdateRecord) -> None:
        """Store an update for the tooltip."""
        self._update = update

    def _tooltip(self) -> str:
        return engine_text(self._report, self.profile(), self._update)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the dot."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(0, 0, 0, 0))
        painter.setBrush(QColor(colours.current().running if self._is_running else colours.current().text_faint))
        text = self.label.geometry().right() - min(
            self.label.fontMetrics().horizontalAdvance(self.label.text()), self.label.width()
        )
        painter.drawEllipse(QPointF(text - 12, self.height() / 2), 4, 4)
        painter.end()

    def _check_silence(self) -> None:
        report, silent_s = self._report, time.monotonic() - self._reported_s
        if report is not None and report.running and silent_s > _SILENCE_S:
            self._is_running = False
            for_s = f"for {silent_s:.0f} s"
            silence = f"{badge_text(report)} {for_s}" if report.preparing else f"no frame {for_s}"
            self.label.setText(self._waits_for or silence)
            self.update()

    def _show(self, report: FrameReport | None, per_second: float | None) -> None:
        self._is_running = report is not None and report.running
        self.label.setText(self._waits_for or badge_text(report, per_second, self._time_ns))
        self.setAccessibleName(f"Engine: {self.label.text()}")
        self.update()
