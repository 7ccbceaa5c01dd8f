"""What the editor says in passing: a line in the status bar for a moment, kept in the log."""

from __future__ import annotations

from PySide6.QtWidgets import QStatusBar

from app.docks.log import Log
from engine.diagnostics import Diagnostic
from engine.protocol.messages import Saved

_SHOWN_MS = 8000


class Messages:
    """Says things in one status bar and one log."""

    def __init__(self, status_bar: QStatusBar, log: Log) -> None:
        self._status_bar, self._log = status_bar, log

    def show(self, text: str) -> None:
        """Say something."""
        self._log.add_message(text)
        self._status_bar.showMessage(text, _SHOWN_MS)

    def show_fault(self, text: str) -> None:
        """Say what went wrong."""
        self._log.add_error(text)
        self._status_bar.showMessage(text, _SHOWN_MS)

    def show_saved(self, saved: Saved) -> None:
        """Say where an output was saved."""
        self._log.add_saved(saved)
        self._status_bar.showMessage(f"Saved {saved.path}", _SHOWN_MS)

    def show_diagnostic(self, diagnostic: Diagnostic) -> None:
        """Say what the engine could not do."""
        self._log.add_diagnostic(diagnostic)
        self._status_bar.showMessage(str(diagnostic), _SHOWN_MS)
