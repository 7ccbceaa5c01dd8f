"""The button that offers values for a parameter, such as the devices that are there now."""

from functools import partial

from PySide6.QtCore import QPoint, QTimer, Signal
from PySide6.QtWidgets import QMenu, QToolButton

from warploom.app.theme.icons import icon
from warploom.engine.protocol.messages import Offered

#: How long the engine may look before the button can be pressed again, in milliseconds.
_PATIENCE_MS = 10_000


class OffersButton(QToolButton):
    """Asks for the values when it is pressed, and shows them as a menu once they are known."""

    wanted = Signal()
    chosen = Signal(str)

    def __init__(self, name: str) -> None:
        super().__init__(icon=icon("open_list"), toolTip=f"Choose {name} from what is there now")
        self.setAccessibleName(f"Choose {name}")
        self.menu_of_offers = QMenu(self)
        self._patience = QTimer(self, singleShot=True, interval=_PATIENCE_MS)
        self._patience.timeout.connect(lambda: self.setEnabled(True))
        self.clicked.connect(self._ask)

    def show_offers(self, offered: Offered) -> None:
        """Let the person choose."""
        self._patience.stop()
        self.setEnabled(True)
        menu = self.menu_of_offers
        menu.clear()
        for value, title in offered.values:
            menu.addAction(title.replace("&", "&&"), partial(self.chosen.emit, value))
        if not offered.values:
            menu.addAction((offered.problem or "There is none now").replace("&", "&&")).setEnabled(False)
        menu.popup(self.mapToGlobal(QPoint(0, self.height())))

    def _ask(self) -> None:
        self.setEnabled(False)
        self._patience.start()
        self.wanted.emit()
