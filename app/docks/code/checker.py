"""`Checker`: checks the shown text beside the person, a moment after typing, and only the newest text."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from warploom.app.qt.beside import Run, at_once
from warploom.app.view_models.code.checks import Check, Checked
from warploom.engine.processes.scope import Cancelled, CancelScope

_PAUSE_MS = 250  # milliseconds without a key before the text is checked


class Checker(QObject):
    """Runs one check at a time; a newer text stops the check of an older one."""

    #: The result of the check of a text.
    checked = Signal(str, Checked)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.beside: Run = at_once
        self._timer = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._timer.timeout.connect(self._run)
        self._wanted: tuple[str, Callable[[], Check]] | None = None
        self._scope = CancelScope()

    def ask(self, text: str, check: Callable[[], Check], *, now: bool = False) -> None:
        """Have a text checked; `check` returns the check, and is called just before it is made."""
        self._wanted = text, check
        self._timer.start(0 if now else _PAUSE_MS)

    def stop(self) -> None:
        """Stop the check that runs, and forget the one that waits."""
        self._timer.stop()
        self._wanted = None
        self._scope.cancel()

    def _run(self) -> None:
        if self._wanted is None:
            return
        (text, make), self._wanted = self._wanted, None
        self._scope.cancel()
        self._scope = scope = CancelScope()
        check = make()

        def work() -> Checked | None:
            try:
                with scope.entered():
                    return check(text)
            except Cancelled:
                return None

        def then(checked: Checked | None) -> None:
            if checked is not None:
                self.checked.emit(text, checked)

        self.beside("Checking the code …", work, then, lambda: None)
