"""The timeline: the film's controls, the animated parameters, and their curves."""

from functools import partial

from PySide6.QtCore import QMargins, QSignalBlocker, Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QListWidget,
    QListWidgetItem,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from warploom.app.docks.dock import Dock, Editor
from warploom.app.docks.timeline.curve_painting import colour_name
from warploom.app.docks.timeline.curve_view import CurveView
from warploom.app.docks.timeline.film_bar import FilmBar, Row, button, field
from warploom.app.documents.playhead import Playhead
from warploom.app.documents.session import Session
from warploom.app.edits import keyframes
from warploom.app.edits.nodes import parameter_label
from warploom.app.theme.icons import icon
from warploom.engine.patch.animation.keys import Ease
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch

_HINT = (
    "No keys yet. Go to a frame and press the diamond beside a parameter, or right-click its name and choose Animate.\n"
    "Then go to another frame and set another value: the parameter moves between both."
)
_TARGET = Qt.ItemDataRole.UserRole


class TimelineDock(QWidget, Dock):
    """Plays the patch as a film, and shows and edits the keys of its parameters."""

    name, title = "timeline", "Timeline"
    is_made_late = True
    least_share = 0.34

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("timelineDock")
        self._is_seen = False

    def follow(self, editor: Editor) -> None:
        """Follow the patch and the playhead."""
        self.playhead: Playhead = editor.playhead
        self._session: Session = editor.session
        self._known: tuple[PortRef, ...] | None = None
        self.bar, self.view = FilmBar(self.playhead), CurveView(self.playhead, _HINT)
        self.list = QListWidget(objectName="animated", accessibleName="Animated parameters")
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.list.itemSelectionChanged.connect(self._choose_curves)
        self.list.itemDoubleClicked.connect(lambda item: editor.kernel.go_to(item.data(_TARGET).node))
        self.time = field("keyFrame", 0, 1e9, "Frame of the chosen key", whole=False)
        self.value = field("keyValue", -1e38, 1e38, "Value of the chosen keys", whole=False)
        self.ease = QComboBox(
            objectName="ease", toolTip="The way from the chosen keys to the next", accessibleName="Way"
        )
        self.ease.addItems([str(ease).capitalize() for ease in Ease])
        self.usual = button("usualSlopes", "Automatic tangents for the chosen keys")
        self.usual.setText("Auto")
        self.remove = button("deleteKeys", "Delete the chosen keys (Delete)", look="delete")
        self.fit = button("fitCurves", "Show all keys (F)", look="fit")
        self.fields = Row()
        self.fields.add("Frame", self.time, "Value", self.value, self.ease)
        self.fields.add(self.usual, self.remove, self.fit, rank=1)
        self.fields.row.addStretch(1)
        self.fields.add(self.bar.pace, self.bar.exact, rank=2)
        self.fields.row.insertWidget(self.fields.row.count() - 2, self.bar.state)
        split = QSplitter(Qt.Orientation.Horizontal, childrenCollapsible=False)
        split.addWidget(self.list)
        split.addWidget(self.view)
        split.setSizes([190, 700])
        split.setStretchFactor(1, 1)
        layout = QVBoxLayout(self, contentsMargins=QMargins(), spacing=0)
        layout.addWidget(self.bar)
        layout.addWidget(split, 1)
        layout.addWidget(self.fields)
        session = editor.session
        session.replaced.connect(self._set_patch)
        session.changed.connect(self.refresh)
        session.running_changed.connect(self.bar.show_running)
        self.bar.show_running(session.running)
        self.bar.play.clicked.connect(lambda: session.set_running(not session.running))
        self.bar.previous.clicked.connect(partial(self.go_to_key, -1))
        self.bar.next.clicked.connect(partial(self.go_to_key, 1))
        for part in (self.bar, self.view):
            part.refused.connect(editor.note)
        self.view.chosen_changed.connect(self._show_chosen)
        self.time.valueChanged.connect(self._set_time)
        self.value.valueChanged.connect(lambda value: self._change("Set value of keys", value=value))
        self.ease.currentTextChanged.connect(lambda text: self._change("Set way of keys", ease=Ease(text.lower())))
        self.usual.clicked.connect(lambda: self._change("Automatic tangents", before=None, after=None))
        self.remove.clicked.connect(lambda: self.view.do(lambda: keyframes.remove_keys(self.patch, self.view.chosen)))
        self.fit.clicked.connect(self.view.fit)
        self._set_patch(session.patch)

    def set_seen(self, seen: bool) -> None:
        """Follow edits while the dock is visible."""
        self._is_seen = seen
        if seen:
            self.refresh()

    @property
    def patch(self) -> Patch:
        """The open patch."""
        return self.view.patch

    def go_to_key(self, step: int) -> None:
        """Go to the next key of the shown parameters, or to the previous one with -1."""
        timeline, curves = self.playhead.timeline, self.view.curves or keyframes.animated(self.patch)
        time_s = keyframes.neighbour(curves.values(), self.playhead.key_time_s, timeline.rate, step)
        if time_s is not None:
            self.playhead.seek(timeline.frame_at(time_s))

    def set_edge(self, name: str) -> None:
        """Make the present frame the film's "first" or "last"."""
        timeline, frame = self.playhead.timeline, self.playhead.frame
        fields = {name: frame, "length": max(timeline.length, frame + 1)}
        if name == "first" and frame > timeline.end:
            fields["last"] = fields["length"] - 1
        elif name == "last" and frame < timeline.first:
            fields["first"] = 0
        self.view.do(lambda: self.patch.set_timeline(**fields))

    def refresh(self) -> None:
        """Follow an edit."""
        if not self._is_seen:
            return
        curves = keyframes.animated(self.patch)
        order = tuple(curves)
        if order != self._known:
            is_first = not self._known
            self._known, self.view.order = order, list(order)
            self._fill(order)
            self.list.setVisible(bool(order))
            if is_first:
                self.view.fit()
        for row, target in enumerate(order):
            self.list.item(row).setText(f"{self.patch.title(target.node)} · {parameter_label(target.port)}")
        self.bar.show_timeline()
        self.view.keep_chosen()
        self._show_chosen()

    def _set_patch(self, patch: Patch | None) -> None:
        self.bar.patch = self.view.patch = patch if patch is not None else Patch()
        self._known = None
        self.view.choose(frozenset())
        self.refresh()

    def _fill(self, order: tuple[PortRef, ...]) -> None:
        before = {item.data(_TARGET) for item in self.list.selectedItems()}
        with QSignalBlocker(self.list):
            self.list.clear()
            for index, target in enumerate(order):
                item = QListWidgetItem("")
                item.setIcon(icon(colour_name(index)))
                item.setData(_TARGET, target)
                item.setToolTip(f"{target}\nDouble-click: go to the block")
                self.list.addItem(item)
                item.setSelected(target in before)
        self._show_curves()

    def _choose_curves(self) -> None:
        self._show_curves()
        self.view.fit_values()  # a number from 0 to 1 is a flat line beside one from -20 to 20

    def _show_curves(self) -> None:
        """Show the curves of the selected parameters, or all of them."""
        chosen = [item.data(_TARGET) for item in self.list.selectedItems()]
        self.view.shown = chosen or self.view.order
        self.view.keep_chosen()

    def _show_chosen(self) -> None:
        chosen, curves = self.view.chosen, self.view.curves
        keys = [key for target, curve in curves.items() for key in curve if (target, key.time) in chosen]
        for part in (self.time, self.value, self.ease, self.usual, self.remove):
            part.setEnabled(bool(keys))
        self.time.setEnabled(len(keys) == 1)
        if not keys:
            return
        with QSignalBlocker(self.time), QSignalBlocker(self.value), QSignalBlocker(self.ease):
            self.time.setValue(round(keys[0].time * self.playhead.timeline.rate, 3))
            self.value.setValue(keys[0].value)
            self.ease.setCurrentText(str(keys[0].ease).capitalize())

    def _set_time(self, frame: float) -> None:
        if len(self.view.chosen) == 1:
            ((_, time_s),) = self.view.chosen
            by = frame / self.playhead.timeline.rate - time_s
            self.view.move_chosen(by, 0.0, snaps=False, gesture=None)

    def _change(self, name: str, **fields: object) -> None:
        if self.view.chosen:
            self.view.do(lambda: keyframes.change_keys(self.patch, self.view.chosen, name, **fields))
