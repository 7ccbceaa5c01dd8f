"""`Playing`: ties play, pause, step and reset, the pacing and the transport's figures to the session."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QWidget

from app.actions import Actions
from app.commands import NEEDS_ENGINE, PACINGS
from app.display_rate import DisplayRate
from app.session import Session
from app.theme.icons import icon
from app.widgets.transport import Transport
from engine.protocol.messages import FrameReport


class Playing(QObject):
    """Keeps the window's transport true: what plays, where it is, at which rate, and whether an engine is there."""

    def __init__(self, window: QWidget, session: Session, actions: Actions) -> None:
        super().__init__(window)
        self._session, self._actions = session, actions
        self.transport = Transport()
        self.transport.fill_pacings([actions[command] for command in PACINGS])
        self.transport.show_pacing(session.pacing)
        session.running_changed.connect(self.refresh)
        session.pacing_changed.connect(self.transport.show_pacing)
        self.display_rate = DisplayRate(window)
        self.display_rate.changed.connect(session.set_display_rate)
        session.set_display_rate(self.display_rate.rate)

    def begin(self) -> None:
        """The session has another engine, or none."""
        self.transport.clear()
        self._allow(self._session.engine is not None)
        self.refresh()

    def show_report(self, report: FrameReport) -> None:
        """Show where the patch is; an engine that has failed can't be played."""
        self.transport.show_report(report)
        if report.failed:
            self._allow(False)

    def refresh(self) -> None:
        """Show what the button does now, in the colours of the present theme."""
        running = self._session.running
        play, name = self._actions["play"], "Pause" if running else "Play"
        play.setIcon(icon("pause" if running else "play"))
        play.setText(f"&{name}")
        play.setToolTip(f"{name} ({play.shortcut().toString(QKeySequence.SequenceFormat.NativeText)})")

    def _allow(self, allowed: bool) -> None:
        self._actions.set_enabled(NEEDS_ENGINE, allowed)
        self.transport.set_available(allowed)
