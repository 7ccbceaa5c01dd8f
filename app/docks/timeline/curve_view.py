"""`CurveView`: the curves of parameters with their keys, which a person moves, adds and removes; the ruler scrubs."""

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget

from warploom.app.docks.timeline import curve_painting as painting
from warploom.app.docks.timeline.curve_painting import RULER
from warploom.app.docks.timeline.scale import Scale
from warploom.app.documents.playhead import Playhead
from warploom.app.edits import keyframes
from warploom.app.edits.keyframes import Chosen, Curves
from warploom.app.theme import colours
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.animation.curves import Course, slope_after, slope_before
from warploom.engine.patch.animation.keys import Ease
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch

#: How near the pointer must be to a key or a handle, in pixels, and the turn of a wheel that doubles what is shown.
_NEAR, _WHEEL = 8.0, 480.0
_NONE: Chosen = frozenset()
_SHIFT, _ALT, _CONTROL = (
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.ControlModifier,
)


class CurveView(QWidget):
    """Shows the curves of `shown`. Drags of keys, tangents, boxes, the ruler and (middle button) the view.

    With Shift, keys are added to the chosen ones, and a drag moves along one axis; with Alt, nothing snaps to frames.
    """

    chosen_changed = Signal()
    refused = Signal(str)

    def __init__(self, playhead: Playhead, hint: str) -> None:
        """`hint` is shown while no parameter has keys."""
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Curves")
        self.setMinimumSize(160, 90)
        self.setMouseTracking(True)
        self.patch = Patch()
        self.scale = Scale()
        #: All animated parameters in the order of their colours, and those whose curves are shown.
        self.order: list[PortRef] = []
        self.shown: Sequence[PortRef] = ()
        self.chosen: Chosen = _NONE
        self._playhead, self._hint = playhead, hint
        self._drag: Callable[[QMouseEvent], None] | None = None
        self._box: QRectF | None = None
        self._grabbed: Chosen = _NONE  # the keys of a drag, where they were at its start
        playhead.moved.connect(self.update)

    @property
    def curves(self) -> Curves:
        """The shown curves."""
        held = keyframes.animated(self.patch)
        return {target: held[target] for target in self.shown if target in held}

    def choose(self, chosen: Chosen) -> None:
        """Choose keys."""
        if chosen != self.chosen:
            self.chosen = chosen
            self.chosen_changed.emit()
            self.update()

    def keep_chosen(self) -> None:
        """Forget chosen keys that are gone, after an edit."""
        there = {(target, key.time) for target, curve in self.curves.items() for key in curve}
        self.choose(self.chosen & there)
        self.update()

    def fit_values(self) -> None:
        """Show all values of the shown curves."""
        self.scale.fit_values(list(self.curves.values()))
        self.update()

    def fit(self) -> None:
        """Show all keys."""
        timeline = self._playhead.timeline
        self.scale.fit(list(self.curves.values()), timeline.time_s(timeline.length))
        self.update()

    # Places

    def key_place(self, target: PortRef, time_s: float) -> QPointF:
        """Return where a key is drawn."""
        value = next(key.value for key in self.patch.curve(target.node, target.port) if key.time == time_s)
        return QPointF(self.scale.x(time_s), RULER + self.scale.y(value))

    def key_at(self, point: QPointF) -> tuple[PortRef, float] | None:
        """Return the key under the pointer."""
        near = [
            (_distance(point, QPointF(self.scale.x(key.time), RULER + self.scale.y(key.value))), str(target), key.time)
            for target, curve in self.curves.items()
            for key in curve
        ]
        distance, name, time = min(near, default=(_NEAR, "", 0.0))
        return (PortRef(*name.split(".", 1)), time) if distance < _NEAR else None

    def handles(self) -> list[tuple[PortRef, float, str, QPointF]]:
        """Return the ends of the tangents of chosen keys: the key, "before" or "after" it, and the place."""
        found = []
        for target, curve in self.curves.items():
            for index, key in enumerate(curve):
                if (target, key.time) not in self.chosen:
                    continue
                place = self.scale.x(key.time), RULER + self.scale.y(key.value)
                if index and curve[index - 1].ease is Ease.SMOOTH:
                    end, _ = painting.tangent_ends(self.scale, *place, slope_before(curve, index))
                    found.append((target, key.time, "before", end))
                if index + 1 < len(curve) and key.ease is Ease.SMOOTH:
                    _, end = painting.tangent_ends(self.scale, *place, slope_after(curve, index))
                    found.append((target, key.time, "after", end))
        return found

    def snapped(self, time_s: float, modifiers: Qt.KeyboardModifier) -> float:
        """Return a time at a frame, or as it is with Alt."""
        timeline = self._playhead.timeline
        return max(time_s if modifiers & _ALT else timeline.time_s(timeline.frame_at(time_s)), 0.0)

    # Edits

    def do(self, edit: Callable[[], Any]) -> Any:
        """Make an edit; a refusal is shown."""
        try:
            return edit()
        except PatchError as problem:
            self.refused.emit(str(problem))
            return None

    def add_key(self, target: PortRef, time_s: float, value: float) -> None:
        """Add a key and choose it."""
        rate = self._playhead.timeline.rate
        self.do(lambda: keyframes.set_key(self.patch, target, time_s, value, rate))
        curve = self.patch.curve(target.node, target.port)
        if (at := keyframes.key_index(curve, time_s, rate)) is not None:
            self.choose(frozenset({(target, curve[at].time)}))

    def move_chosen(self, by_s: float, by: float, *, snaps: bool, start: Curves | None = None, gesture: object) -> None:
        """Move the chosen keys from where they were at the start of a drag."""
        rate, chosen = self._playhead.timeline.rate if snaps else None, self._grabbed if start else self.chosen
        start = start or self.curves
        moved = self.do(lambda: keyframes.move_keys(self.patch, start, chosen, by_s, by, rate, gesture))
        if moved is not None:
            self.choose(moved)

    # Qt

    def sizeHint(self) -> QSize:
        return QSize(600, 200)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Use the room."""
        self.scale.width, self.scale.height = max(self.width(), 1), max(self.height() - RULER, 1)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint everything."""
        painter, scale, curves = QPainter(self), self.scale, self.curves
        painting.paint_ground(painter, scale, self._playhead.timeline, self.patch.timeline is not None)
        waiting = {target for target in curves if self.patch.source_of(target) is not None}
        order = [target if target in curves else PortRef("", "") for target in self.order]
        painting.paint_curves(painter, scale, curves, order, self.chosen, waiting)
        for target, time_s, _, end in self.handles():
            painting.paint_tangent(painter, self.key_place(target, time_s), end)
        if self.order:
            painting.paint_values(painter, scale)
        painting.paint_playhead(painter, scale, self._playhead.key_time_s)
        if not self.order:
            painter.setFont(self.font())
            painting.paint_hint(painter, scale, self._hint)
        if self._box is not None:
            accent = QColor(colours.current().accent)
            painter.setPen(QPen(accent, 1))
            accent.setAlpha(40)
            painter.fillRect(self._box, accent)
            painter.drawRect(self._box)
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.current().accent), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin a drag."""
        point, buttons = event.position(), event.button()
        if buttons is Qt.MouseButton.MiddleButton:
            self._drag = self._panning(point)
        elif buttons is Qt.MouseButton.LeftButton:
            self._drag = self._began(event)
            self._drag(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Go on with a drag."""
        if self._drag is not None:
            self._drag(event)
        elif event.position().y() < RULER:
            self.setCursor(Qt.CursorShape.SizeHorCursor)
        else:
            is_over = self.key_at(event.position()) is not None
            self.setCursor(Qt.CursorShape.PointingHandCursor if is_over else Qt.CursorShape.ArrowCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End a drag."""
        self._drag, self._box = None, None
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Add a key to the curve that is nearest to the pointer."""
        point, curves = event.position(), self.curves
        if event.button() is not Qt.MouseButton.LeftButton or point.y() < RULER or self.key_at(point) is not None:
            return
        time_s = self.snapped(self.scale.time_s(point.x()), event.modifiers())
        if curves:
            away = {t: abs(RULER + self.scale.y(Course(curve).at(time_s)) - point.y()) for t, curve in curves.items()}
            target = min(away, key=lambda target: away[target])
            self.add_key(target, time_s, self.scale.value(point.y() - RULER))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom at the pointer: times, values with Ctrl, both with Shift."""
        turn = event.angleDelta().y() or event.angleDelta().x()
        factor, modifiers, point = 2 ** (-turn / _WHEEL), event.modifiers(), event.position()
        across = 1.0 if modifiers & _CONTROL else factor
        up = factor if modifiers & (_CONTROL | _SHIFT) else 1.0
        self.scale.zoom(point.x(), point.y() - RULER, across, up)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move chosen keys by a frame or a hundredth of what is shown; delete, copy, paste, choose all, fit."""
        timeline, far = self._playhead.timeline, 10 if event.modifiers() & _SHIFT else 1
        key, control = Qt.Key(event.key()), bool(event.modifiers() & _CONTROL)
        steps = {Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0), Qt.Key.Key_Up: (0, 1), Qt.Key.Key_Down: (0, -1)}
        if key in steps and self.chosen:
            across, up = steps[key]
            by = up * far * self.scale.range / 100
            self.move_chosen(across * far / timeline.rate, by, snaps=bool(across), gesture=None)
        elif key in steps and steps[key][0]:
            self._playhead.seek(self._playhead.frame + steps[key][0] * far)
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.do(lambda: keyframes.remove_keys(self.patch, self.chosen))
        elif key is Qt.Key.Key_Home:
            self._playhead.seek(timeline.first)
        elif key is Qt.Key.Key_End:
            self._playhead.seek(timeline.end)
        elif key is Qt.Key.Key_F:
            self.fit()
        elif key is Qt.Key.Key_K and self.shown:
            self.do(lambda: self._playhead.toggle_keys(self.shown))
        elif key is Qt.Key.Key_A and control:
            self.choose(frozenset((target, key.time) for target, curve in self.curves.items() for key in curve))
        elif key is Qt.Key.Key_C and control:
            self.copy()
        elif key is Qt.Key.Key_X and control:
            self.copy()
            self.do(lambda: keyframes.remove_keys(self.patch, self.chosen))
        elif key is Qt.Key.Key_V and control:
            self.paste()
        elif key is Qt.Key.Key_Escape and self.chosen:
            self.choose(_NONE)
        else:
            super().keyPressEvent(event)

    def copy(self) -> None:
        """Copy the chosen keys as text."""
        if self.chosen:
            QApplication.clipboard().setText(keyframes.copied_keys(self.patch, self.chosen))

    def paste(self) -> None:
        """Paste keys at the playhead; those of one parameter go into the shown one."""
        into = self.shown if len(self.shown) == 1 else ()
        text, time_s = QApplication.clipboard().text(), self._playhead.key_time_s
        pasted = self.do(lambda: keyframes.pasted_keys(self.patch, text, time_s, into))
        if pasted is not None:
            self.choose(pasted)

    # Drags

    def _began(self, event: QMouseEvent) -> Callable[[QMouseEvent], None]:
        point = event.position()
        if point.y() < RULER:
            return self._scrub
        for target, time_s, side, end in self.handles():
            if _distance(point, end) < _NEAR:
                return self._turning(target, time_s, side)
        key = self.key_at(point)
        if key is None:
            return self._boxing(point, self.chosen if event.modifiers() & _SHIFT else _NONE)
        if event.modifiers() & _SHIFT:
            self.choose(self.chosen ^ {key})
        elif key not in self.chosen:
            self.choose(frozenset({key}))
        return self._moving(point, key)

    def _scrub(self, event: QMouseEvent) -> None:
        timeline = self._playhead.timeline
        frame = max(timeline.frame_at(self.scale.time_s(event.position().x())), 0)
        frame = min(frame, timeline.length - 1)
        if frame != self._playhead.frame:
            self._playhead.seek(frame)

    def _panning(self, at: QPointF) -> Callable[[QMouseEvent], None]:
        last = [at]

        def pan(event: QMouseEvent) -> None:
            by, last[0] = event.position() - last[0], event.position()
            self.scale.pan(by.x(), by.y())
            self.update()

        return pan

    def _moving(self, at: QPointF, key: tuple[PortRef, float]) -> Callable[[QMouseEvent], None]:
        start, gesture, grabbed = self.curves, object(), self.chosen
        has_moved = [False]

        def move(event: QMouseEvent) -> None:
            by = event.position() - at
            has_moved[0] = has_moved[0] or by.manhattanLength() >= QApplication.startDragDistance() / 2
            if not has_moved[0]:
                return
            if event.modifiers() & _SHIFT:  # along the axis on which the pointer is farther away
                by = QPointF(by.x(), 0) if abs(by.x()) > abs(by.y()) else QPointF(0, by.y())
            self._grabbed = grabbed
            time_s = self.snapped(key[1] + by.x() / self.scale.width * self.scale.span_s, event.modifiers())
            value = -by.y() / self.scale.height * self.scale.range
            self.move_chosen(time_s - key[1], value, snaps=False, start=start, gesture=gesture)

        return move

    def _turning(self, target: PortRef, time_s: float, side: str) -> Callable[[QMouseEvent], None]:
        """Turn a tangent: both sides, or with Alt only one."""
        gesture = object()

        def turn(event: QMouseEvent) -> None:
            key = next(key for key in self.patch.curve(target.node, target.port) if key.time == time_s)
            across = self.scale.time_s(event.position().x()) - key.time
            across = max(across, 1e-4) if side == "after" else min(across, -1e-4)
            slope = (self.scale.value(event.position().y() - RULER) - key.value) / across
            fields = {side: slope} if event.modifiers() & _ALT else {"before": slope, "after": slope}
            one = frozenset({(target, time_s)})
            self.do(lambda: keyframes.change_keys(self.patch, one, "Turn tangent", gesture, **fields))

        return turn

    def _boxing(self, at: QPointF, before: Chosen) -> Callable[[QMouseEvent], None]:
        def box(event: QMouseEvent) -> None:
            self._box = QRectF(at, event.position()).normalized()
            inside = {
                (target, key.time)
                for target, curve in self.curves.items()
                for key in curve
                if self._box.contains(QPointF(self.scale.x(key.time), RULER + self.scale.y(key.value)))
            }
            self.choose(before | inside)
            self.update()

        return box


def _distance(one: QPointF, two: QPointF) -> float:
    return max(abs(one.x() - two.x()), abs(one.y() - two.y()))
