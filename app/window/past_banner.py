"""The banner over the canvas while a recorded frame is shown in place of the present."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QShortcut

from warploom.app.documents.bridge import Bridge
from warploom.app.view_models.profile.tape import Moment
from warploom.app.widgets.banner import NO_NOTICE, Banner, Notice


class PastBanner(Banner):
    """Says which frame is shown, with the way back."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__()
        self._bridge = bridge
        # No key of a command, since Esc has other meanings while the present is shown.
        self._escape = QShortcut(Qt.Key.Key_Escape, self, self._go_back, enabled=False)
        bridge.looked_back.connect(self._show_past)

    def _go_back(self) -> None:
        self._bridge.look_back(None)

    def _show_past(self, moment: Moment | None) -> None:
        answers = (("Back to live (Esc)", self._go_back),)
        self._escape.setEnabled(moment is not None)
        self.show_notice(Notice(moment.title, (), answers, "past") if moment is not None else NO_NOTICE)
