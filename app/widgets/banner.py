"""`Banner`: a notice above the canvas that waits for an answer without blocking the person."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QMargins, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QPushButton, QSizePolicy, QWidget

from warploom.engine.diagnostics import cut
from warploom.engine.figures import plural

#: The most lines of details that are shown; the tooltip has all.
LINES_SHOWN = 5
_MOST_CHARACTERS = 1000
#: Below this width in pixels, the buttons are below the text.
_NARROW = 400


@dataclass(frozen=True)
class Notice:
    """The contents of a banner: one sentence, lines of details, and the answers, each with its button.

    `state` is "error" or "warning".
    """

    text: str
    lines: tuple[str, ...] = ()
    answers: tuple[tuple[str, Callable[[], object]], ...] = ()
    state: str = "warning"


#: A notice that hides a banner.
NO_NOTICE = Notice("")


class Banner(QFrame):
    """Shows the newest notice; hidden before the first one, and after `NO_NOTICE`."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("banner")
        self.notice, self._is_narrow = NO_NOTICE, False
        #: What the person answers for; it gets the keyboard after an answer.
        self.rest: QWidget | None = None
        self._label, self._details = (QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText) for _ in range(2))
        self._details.setObjectName("faint")
        for label in (self._label, self._details):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.buttons: list[QPushButton] = []
        self._grid = QGridLayout(self, contentsMargins=QMargins(12, 8, 8, 8), spacing=8)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(0, 1)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.hide()

    @property
    def text(self) -> str:
        """The sentence that is shown; empty while there is none."""
        return self.notice.text

    def show_notice(self, notice: Notice) -> None:
        """Show a notice instead of the previous one."""
        self.notice = notice
        if self.rest is not None and any(button.hasFocus() for button in self.buttons):
            self.rest.setFocus()  # Qt would give it to the next control, wherever that is
        for button in self.buttons:
            button.hide()
            button.deleteLater()
        self.buttons = []
        self.setVisible(notice is not NO_NOTICE)
        self._label.setText(cut(notice.text, _MOST_CHARACTERS))
        self._details.setText("\n".join(shorten(notice.lines, LINES_SHOWN)))
        self._details.setToolTip(
            "\n".join(shorten(notice.lines, 10 * LINES_SHOWN)) if len(notice.lines) > LINES_SHOWN else ""
        )
        self._details.setVisible(bool(notice.lines))
        for text, answer in notice.answers:
            button = QPushButton(text)
            button.clicked.connect(lambda _=False, answer=answer: answer())
            self.buttons.append(button)
        self._place()
        self.setProperty("state", notice.state)
        self.style().polish(self)

    def _place(self) -> None:
        """Put the buttons beside the details, or else beside the sentence; below both if there is little room."""
        self._is_narrow = self.width() < _NARROW
        row = 2 if self._is_narrow else 1 if self.notice.lines else 0
        for part in (self._label, self._details, *self.buttons):
            self._grid.removeWidget(part)
        self._grid.addWidget(self._label, 0, 0, 1, 1 + len(self.buttons) * (row > 0))
        self._grid.addWidget(self._details, 1, 0, 1, 1 + len(self.buttons) * (row > 1))
        for column, button in enumerate(self.buttons, start=1):
            self._grid.addWidget(button, row, column, Qt.AlignmentFlag.AlignBottom)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place the buttons for the new width."""
        super().resizeEvent(event)
        if (self.width() < _NARROW) is not self._is_narrow:
            self._place()


def shorten(lines: Sequence[str], most: int) -> list[str]:
    """Return at most `most` lines; if there are more, the last one counts those left out."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], f"and {plural(len(lines) - most + 1, 'more line')}"]
