"""`TrialView`: the code before and the code now, run on the same input; the person keeps one."""

from collections.abc import Sequence

from PySide6.QtCore import QMargins, Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from warploom.app.view_models.code.trial import Outcome, compared, difference_of
from warploom.app.widgets.array_view import ArrayView
from warploom.engine.figures import format_time

#: A compiler's problem says that it is one, then the place and the mistake.
_PROBLEM_LINES = 2


class TrialView(QWidget):
    """Times, the difference in words, and the outputs side by side with their difference."""

    #: The person keeps the code now, or goes back to the code before.
    kept = Signal()
    rolled_back = Signal()
    closed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.times = QLabel(textFormat=Qt.TextFormat.PlainText)
        self.text = QLabel(objectName="message", textFormat=Qt.TextFormat.PlainText, wordWrap=True)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.port = QComboBox(toolTip="The output that is shown")
        self.port.setAccessibleName("Output")
        self.port.currentTextChanged.connect(lambda _: self._show_port())
        self.keep = QPushButton("Keep the new code", toolTip="Save the code as it is now")
        self.back = QPushButton("Roll back", toolTip="Go back to the code before")
        self.close_button = QPushButton("Close", toolTip="Decide later: the text stays as it is")
        self.keep.clicked.connect(self.kept)
        self.back.clicked.connect(self.rolled_back)
        self.close_button.clicked.connect(self.closed)
        self.pictures = [ArrayView(title) for title in ("Before", "Now", "Difference")]
        row = QHBoxLayout(contentsMargins=QMargins(8, 4, 8, 0), spacing=8)
        row.addWidget(self.times)
        row.addWidget(self.port)
        row.addStretch(1)
        for button in (self.keep, self.back, self.close_button):
            row.addWidget(button)
        words = QHBoxLayout(contentsMargins=QMargins(8, 0, 8, 0))
        words.addWidget(self.text)
        sides = QHBoxLayout(contentsMargins=QMargins(8, 4, 8, 8), spacing=8)
        for picture in self.pictures:
            sides.addWidget(picture, 1)
        column = QVBoxLayout(self, contentsMargins=QMargins(), spacing=4)
        column.addLayout(row)
        column.addLayout(words)
        column.addLayout(sides, 1)
        self._outcomes: tuple[Outcome, Outcome] | None = None

    def show_wait(self) -> None:
        """Show that both versions are being run."""
        self._outcomes = None
        self.times.setText("Running both versions on the same input …")
        self.text.setText("")
        self.port.clear()
        for picture in self.pictures:
            picture.show_array(None)
        for part in (self.keep, self.back, self.port):
            part.setEnabled(False)

    def show_outcomes(self, before: Outcome, now: Outcome) -> None:
        """Show the outcomes of both versions."""
        self._outcomes = before, now
        self.times.setText(f"Before {_time(before)} · now {_time(now)}{_change(before, now)}")
        problems = [
            f"{name}: {' '.join(outcome.problem.splitlines()[:_PROBLEM_LINES])}"
            for name, outcome in (("Before", before), ("Now", now))
            if outcome.problem
        ]
        lines: Sequence[object] = problems or compared(before.outputs, now.outputs)
        self.text.setText("\n".join(map(str, lines)))
        self.port.clear()
        self.port.addItems(list(dict.fromkeys([*before.outputs, *now.outputs])))
        self.port.setVisible(self.port.count() > 1)
        self.port.setEnabled(True)
        self.keep.setEnabled(not now.problem)
        self.back.setEnabled(True)
        self._show_port()

    def _show_port(self) -> None:
        if self._outcomes is None:
            return
        port = self.port.currentText()
        a, b = (outcome.outputs.get(port) for outcome in self._outcomes)
        apart = difference_of(a, b) if a is not None and b is not None and a.shape == b.shape else None
        for picture, array in zip(self.pictures, (a, b, apart), strict=True):
            picture.show_array(array, is_difference=picture is self.pictures[2])


def _time(outcome: Outcome) -> str:
    return format_time(outcome.time_ns) if outcome.time_ns is not None else "no time"


def _change(before: Outcome, now: Outcome) -> str:
    if not before.time_ns or not now.time_ns:
        return ""
    share = now.time_ns / before.time_ns
    return f" ({share - 1:+.0%})"
