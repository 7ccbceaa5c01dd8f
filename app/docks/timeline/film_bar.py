"""The row of a film: play, steps, frame and time, rate, length, in, out, loop, and what is known of the frame."""

from collections.abc import Callable

from PySide6.QtCore import QMargins, QSignalBlocker, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QToolButton, QWidget

from warploom.app.documents.playhead import Playhead
from warploom.app.theme.icons import icon
from warploom.app.widgets.number_box import NumberBox
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.document import Patch

REAL_TIME, EVERY_FRAME = "Real time", "Every frame"


def button(name: str, text: str, *, checkable: bool = False, look: str | None = None) -> QToolButton:
    """Return a small button, with an icon or its text."""
    made = QToolButton(autoRaise=True, objectName=name, toolTip=text, checkable=checkable, accessibleName=text)
    if look is not None:
        made.setIcon(icon(look))
    return made


def field(name: str, low: float, high: float, text: str, *, whole: bool = True, unit: str = "") -> NumberBox:
    """Return a field for a number."""
    made = NumberBox(low, high, whole=whole, unit=unit)
    made.setObjectName(name)
    made.setToolTip(text)
    made.setAccessibleName(text)
    made.setFixedWidth(76)
    return made


def label(text: str) -> QLabel:
    """Return the name of the field that follows it."""
    made = QLabel(text, objectName="faint")
    made.setContentsMargins(8, 0, 2, 0)
    return made


class Row(QWidget):
    """Widgets in a row, of which a narrow one shows only those that matter most."""

    def __init__(self) -> None:
        super().__init__()
        self.row = QHBoxLayout(self, contentsMargins=QMargins(8, 3, 8, 3), spacing=4)
        self.setMinimumWidth(120)
        self._groups: list[tuple[int, list[QWidget]]] = []

    def add(self, *parts: QWidget | str, rank: int = 0) -> None:
        """Add widgets, and names in front of fields; those of a higher rank go first when there is no room."""
        made = [label(part) if isinstance(part, str) else part for part in parts]
        for part in made:
            self.row.addWidget(part)
        self._groups.append((rank, made))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show what there is room for."""
        super().resizeEvent(event)
        room = self.width() - 16
        for _, parts in sorted(self._groups, key=lambda group: group[0]):
            needed = sum(min(part.sizeHint().width(), part.maximumWidth()) + 4 for part in parts)
            for part in parts:
                part.setVisible(needed <= room)
            room -= needed


class FilmBar(Row):
    """Shows and changes the timeline of a patch, and where the film is."""

    refused = Signal(str)

    def __init__(self, playhead: Playhead) -> None:
        super().__init__()
        self._playhead = playhead
        self.patch = Patch()
        self.to_start = button("toStart", "Go to in", look="to_start")
        self.previous = button("previousKey", "Go to the previous key", look="previous_key")
        self.back = button("stepBack", "One frame back", look="step_back")
        self.play = button("filmPlay", "Play or pause", look="play")
        self.next = button("nextKey", "Go to the next key", look="next_key")
        self.forward = button("stepForward", "One frame on", look="step")
        self.frame = field("frame", 0, 1e7, "Frame")
        self.time = QLabel(objectName="figures")
        self.rate = field("rate", 0.01, 1e4, "Rate of the film: frames per second", whole=False, unit="fps")
        self.length = field("length", 1, 1e7, "Length of the film in frames")
        self.first = field("in", 0, 1e7, "In: the frame at which the film begins")
        self.last = field("out", 0, 1e7, "Out: the last frame that plays")
        self.loop = button("loop", "Loop: play from out on to in", checkable=True, look="loop")
        self.pace = QComboBox(objectName="pace", toolTip="Late frames are left out, or every frame is shown")
        self.pace.addItems([REAL_TIME, EVERY_FRAME])
        self.exact = button(
            "exact", "Exact: going to a frame runs those before it, if the patch has state", checkable=True
        )
        self.exact.setText("Exact")
        self.auto = button(
            "autoKey", "Auto key: setting a parameter that has keys sets a key", checkable=True, look="record"
        )
        self.state = QLabel(objectName="faint")
        self.add(self.to_start, self.previous, self.back, self.play, self.forward, self.next, self.frame)
        self.add(self.time, rank=4)
        self.add("Rate", self.rate, rank=3)
        self.add("In", self.first, "Out", self.last, rank=2)
        self.add("Length", self.length, rank=5)
        self.add(self.loop, self.auto, rank=1)
        self.row.addStretch(1)
        self.frame.valueChanged.connect(lambda value: playhead.seek(round(value)))
        for box, name in ((self.rate, "rate"), (self.length, "length"), (self.first, "first"), (self.last, "last")):
            box.valueChanged.connect(self._setting(name, float if name == "rate" else round))
        self.loop.toggled.connect(self._setting("loop", bool))
        self.pace.currentTextChanged.connect(self._setting("every_frame", lambda text: text == EVERY_FRAME))
        self.to_start.clicked.connect(lambda: playhead.seek(playhead.timeline.first))
        self.back.clicked.connect(lambda: playhead.seek(playhead.frame - 1))
        self.forward.clicked.connect(lambda: playhead.seek(playhead.frame + 1))
        self.exact.toggled.connect(lambda on: playhead.set_modes(exact=on))
        self.auto.toggled.connect(lambda on: playhead.set_modes(auto_key=on))
        playhead.moved.connect(self.show_place)
        playhead.modes_changed.connect(self.show_modes)
        self.show_modes()

    def show_timeline(self) -> None:
        """Show the timeline of the patch."""
        timeline = self._playhead.timeline
        shown = ((self.rate, timeline.rate), (self.length, timeline.length))
        for box, value in (*shown, (self.first, timeline.first), (self.last, timeline.end)):
            with QSignalBlocker(box):
                box.setValue(value)
        with QSignalBlocker(self.loop), QSignalBlocker(self.pace):
            self.loop.setChecked(timeline.loop)
            self.pace.setCurrentText(EVERY_FRAME if timeline.every_frame else REAL_TIME)
        self.show_place()

    def show_place(self) -> None:
        """Show the present frame, and whether it is that of a run from 0."""
        playhead = self._playhead
        if not self.frame.hasFocus() or self.frame.value() != playhead.frame:
            with QSignalBlocker(self.frame):
                self.frame.setValue(playhead.frame)
        seconds = playhead.timeline.time_s(playhead.frame)
        self.time.setText(f"{int(seconds // 60)}:{seconds % 60:06.3f}")
        if playhead.replay_to is not None:
            text, help_text = (
                f"going to {playhead.replay_to:,} …",
                "The frames before it are run, since they have state",
            )
        elif not playhead.is_exact:
            text = "state as it is"
            help_text = "State is not that of a run from frame 0: frames were left out, or something was edited"
        else:
            text, help_text = "", ""
        if playhead.left_out and not text:
            text, help_text = f"{playhead.left_out:,} left out", "Frames that were late, and not shown"
        self.state.setText(text)
        self.state.setToolTip(help_text)

    def show_modes(self) -> None:
        """Show what setting a value and going to a frame do."""
        for box, on in ((self.exact, self._playhead.exact), (self.auto, self._playhead.auto_key)):
            with QSignalBlocker(box):
                box.setChecked(on)

    def show_running(self, running: bool) -> None:
        """Show what the play button does."""
        self.play.setIcon(icon("pause" if running else "play"))
        self.play.setToolTip("Pause" if running else "Play")

    def _setting(self, name: str, convert: Callable[..., object]) -> Callable[..., None]:
        def set_field(value: object) -> None:
            try:
                self.patch.set_timeline(**{name: convert(value)}, gesture=None)
            except PatchError as problem:
                self.refused.emit(str(problem))
            self.show_timeline()

        return set_field
