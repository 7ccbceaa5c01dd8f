"""Play, pause, step and reset, frame pacing, and the time and frame number beside them."""

import time

from PySide6.QtCore import QEvent, QMargins, QObject, Qt
from PySide6.QtGui import QFontMetrics, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolButton, QWidget

from warploom.app.commands.actions import Actions
from warploom.app.documents.bridge import Bridge
from warploom.app.documents.session import Session
from warploom.app.qt.display_rate import DisplayRate
from warploom.app.theme.icons import icon
from warploom.engine.protocol.messages import FrameReport
from warploom.engine.protocol.pacing import Pacing, PacingMode

_REFRESH_S = 0.1  # a person can't read hundredths of a second
_BUTTON_MARGINS = 32
#: A window that is narrower, in pixels, has no room for time and frame.
_NARROW = 760
_WIDEST = "88:88:88.88   frame 88,888,888"


def format_clock(time_s: float) -> str:
    """Return a time as "0:07.25", "12:34.50" or "1:02:03.00", with hours only if there are any."""
    hundredths = round(time_s * 100)
    minutes, rest = divmod(hundredths, 6000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{rest // 100:02}.{rest % 100:02}"
    return f"{hours}:{minutes:02}:{seconds}" if hours else f"{minutes}:{seconds}"


def pacing_text(pacing: Pacing) -> str:
    """Return the chooser's text, such as "Display 60", "30 fps" or "Free"."""
    if pacing.rate is None:
        return "Free"
    return f"Display {pacing.rate:.0f}" if pacing.mode is PacingMode.DISPLAY else f"{pacing.rate:g} fps"


def pacing_tooltip(pacing: Pacing) -> str:
    """Return the tooltip of the chooser."""
    if pacing.rate is None:
        what = "as many frames as the device can run"
    elif pacing.mode is PacingMode.DISPLAY:
        what = f"the rate of this screen, {pacing.rate:g} frames a second"
    else:
        what = f"{pacing.rate:g} frames a second"
    return f"Frame pacing: {what}"


class TransportBar(QWidget):
    """Shows time and frame of the patch, and offers the choices of pacing. The play button shows its present action."""

    def __init__(self, window: QWidget, session: Session, bridge: Bridge, actions: Actions) -> None:
        super().__init__()
        self.setObjectName("transport")
        self.place = QLabel(objectName="figures")
        self.place.setMinimumWidth(QFontMetrics(self.place.font()).horizontalAdvance(_WIDEST))
        self.pacing = QToolButton(objectName="pacing", popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        self.pacing.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        # Wide enough for every choice, so that widgets after it don't move.
        text_width = QFontMetrics(self.pacing.font()).horizontalAdvance("Display 240")
        self.pacing.setMinimumWidth(text_width + _BUTTON_MARGINS)
        layout = QHBoxLayout(self, contentsMargins=QMargins(4, 0, 0, 0), spacing=12)
        layout.addWidget(self.pacing)
        layout.addWidget(self.place)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        window.installEventFilter(self)
        self._shown: tuple[bool, int] = (False, -1)
        self._drawn_s = 0.0
        self._play = actions["play"]
        self.pacing.setMenu(actions.menus["pacing"])
        self.pacing.setEnabled(self._play.isEnabled())
        self._play.enabledChanged.connect(self.pacing.setEnabled)
        self._session = session
        self.show_pacing(session.pacing)
        session.changed.connect(lambda: self.show_pacing(session.pacing))
        self._show_running(session.running)
        session.running_changed.connect(self._show_running)
        session.engine_changed.connect(self.clear)
        bridge.report.connect(self.show_report)
        session.pacing_changed.connect(self.show_pacing)
        self.display_rate = DisplayRate(window)
        self.display_rate.changed.connect(session.set_display_rate)
        session.set_display_rate(self.display_rate.rate)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Hide time and frame in a narrow window, where the toolbar would hide buttons."""
        if isinstance(event, QResizeEvent):
            self.place.setVisible(event.size().width() >= _NARROW)
        return False

    def show_pacing(self, pacing: Pacing) -> None:
        """Show another choice, or the rate of a film, which is its own."""
        patch = self._session.patch
        timeline = patch.timeline if patch is not None else None
        self.pacing.setText(pacing_text(pacing) if timeline is None else f"Film {timeline.rate:g}")
        tooltip = "The patch's timeline plays at its own rate; see the dock Timeline"
        self.pacing.setToolTip(pacing_tooltip(pacing) if timeline is None else tooltip)
        self.pacing.setAccessibleName(self.pacing.toolTip())

    def show_report(self, report: FrameReport) -> None:
        """Take a report. A change of state shows at once; the figures of a playing patch change ten times a second."""
        now_s = time.monotonic()
        state = (report.running, report.frame if not report.running else -1)
        if state == self._shown and (not report.running or now_s - self._drawn_s < _REFRESH_S):
            return
        self._shown, self._drawn_s = state, now_s
        self.place.setText(f"{format_clock(report.time_s)}   frame {report.frame:,}")
        self.place.setToolTip("Time of the patch, and the number of the shown frame")

    def clear(self) -> None:
        """Show that nothing runs."""
        self._shown = (False, -1)
        self.place.setText("")
        self.place.setToolTip("")

    def _show_running(self, running: bool) -> None:
        """Update the button to its present action."""
        play, name = self._play, "Pause" if running else "Play"
        play.setIcon(icon("pause" if running else "play"))
        play.setText(f"&{name}")
        play.setToolTip(f"{name} ({play.shortcut().toString(QKeySequence.SequenceFormat.NativeText)})")
