"""`Bridge`: takes what the engine has made since the last display frame and hands it to the UI as Qt signals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication

from engine.diagnostics import Diagnostic
from engine.runtime.messages import FrameReport, Observe, Preview, Saved, UpdateRecord

if TYPE_CHECKING:
    from engine import Engine


class Bridge(QObject):
    """One timer per display frame. It never waits: what the engine has not finished comes with a later frame."""

    report = Signal(FrameReport)
    preview = Signal(Preview)
    updated = Signal(UpdateRecord)
    saved = Signal(Saved)
    #: Something that was asked for could not be done.
    failed = Signal(Diagnostic)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine: Engine | None = None
        self._observed: frozenset[str] = frozenset()
        self._active = True
        screen = QGuiApplication.primaryScreen()
        rate = screen.refreshRate() if screen else 60.0
        self._timer = QTimer(self, interval=max(4, round(1000 / max(rate, 1.0))))
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.poll)

    @property
    def is_polling(self) -> bool:
        """True while the timer runs."""
        return self._timer.isActive()

    def set_engine(self, engine: Engine | None) -> None:
        """Listen to another engine, or to none."""
        self._engine = engine
        self._post_observed()
        self._update_timer()

    def observe(self, nodes: frozenset[str]) -> None:
        """Ask for the pictures of these viewers only."""
        if nodes != self._observed:
            self._observed = nodes
            self._post_observed()

    def set_active(self, active: bool) -> None:
        """Pause or resume: nobody looks at a minimised window, so no picture is read back for it."""
        if active != self._active:
            self._active = active
            self._post_observed()
            self._update_timer()

    def poll(self) -> None:
        """Hand over everything new; called once per display frame."""
        engine = self._engine
        if engine is None:
            return
        report = engine.take_report()
        if report is not None:
            self.report.emit(report)
        for node in self._observed:
            preview = engine.take_preview(node)
            if preview is not None:
                self.preview.emit(preview)
        for event in engine.take_events():
            match event:
                case UpdateRecord():
                    self.updated.emit(event)
                case Saved():
                    self.saved.emit(event)
                case Diagnostic():
                    self.failed.emit(event)

    def _post_observed(self) -> None:
        if self._engine is not None:
            self._engine.post(Observe(self._observed if self._active else frozenset()))

    def _update_timer(self) -> None:
        if self._engine is not None and self._active:
            self._timer.start()
        else:
            self._timer.stop()
