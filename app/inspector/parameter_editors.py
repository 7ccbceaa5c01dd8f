"""One editor widget for each kind of parameter, chosen by its declaration."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PySide6.QtCore import QEvent, QMargins, QObject, QRect, QRectF, Qt, QUrl, Signal
from PySide6.QtGui import QColor, QDropEvent, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QSlider,
    QStyle,
    QStyleOptionSlider,
    QToolButton,
    QWidget,
)

from warploom.app.edits.files.dropped_files import ENDINGS
from warploom.app.edits.nodes import parameter_label
from warploom.app.edits.remedies import FOLDER
from warploom.app.inspector.offers import OffersButton
from warploom.app.inspector.typed_line import TypedInput, TypedLine, continue_line, input_of
from warploom.app.theme.colours import current
from warploom.app.theme.icons import icon
from warploom.app.widgets.number_box import NumberBox
from warploom.engine.blocktypes.parameters import ParameterSpec, UserArray
from warploom.engine.descriptions.checks import SHOWN
from warploom.engine.figures import format_bytes, format_shape
from warploom.engine.patch.beside.file_paths import relative_to

SLIDER_STEPS = 1000
_WIDEST_SLIDER = 1e8  # with wider bounds, a slider could not select a number
_NARROWEST, _WIDEST = 7, 12  # in sizes of the font
_LEAST_PART = 34  # pixels of a vector's component: four digits


class ParameterEditor(QWidget):
    """The base class: shows a parameter's values, one for each selected node, and reports a person's edits."""

    edited = Signal(object)
    #: A typed value was discarded with Escape; the person may still want it back.
    given_up = Signal(object)
    #: A typed text is not a valid value; the signal's text is the reason.
    refused = Signal(str)
    #: A drag started or ended; the edits in between are one undo step.
    drag_began = Signal()
    drag_ended = Signal()
    #: The person wants to choose from what the parameter offers.
    offers_wanted = Signal()

    def __init__(self, spec: ParameterSpec) -> None:
        super().__init__()
        self.offers: OffersButton | None = None
        self.spec, self.name = spec, parameter_label(spec.name)
        self.row = QHBoxLayout(self, contentsMargins=QMargins(), spacing=8)

    def show_values(self, values: Sequence[Any]) -> None:
        """Show the value of every selected node."""
        raise NotImplementedError

    def enter(self) -> None:
        """Enter the typed text, if any."""

    def add_offers(self) -> None:
        """Add the button that offers values."""
        self.offers = OffersButton(self.name)
        self.offers.wanted.connect(self.offers_wanted)
        convert = int if self.spec.type == "int" else str
        self.offers.chosen.connect(lambda value: self.edited.emit(convert(value)))
        self.row.addWidget(self.offers)

    def typed_input(self) -> TypedInput | None:
        """Return the unfinished input for the editor that replaces this one; None if nothing can be typed here."""
        return None

    def continue_with(self, given: TypedInput) -> None:
        """Let the person go on with this input."""

    def begin(self) -> None:
        """Let the person give a value."""
        fields = (part for part in self.findChildren(QWidget) if part.focusPolicy() != Qt.FocusPolicy.NoFocus)
        next(fields, self).setFocus()


class NumberEditor(ParameterEditor):
    """A number: a box, and a slider if both bounds are declared and close enough. A vector's component has a box only,
    which shows as many digits as fit.
    """

    def __init__(self, spec: ParameterSpec) -> None:
        super().__init__(spec)
        self._whole = spec.type == "int"
        self.slider: QSlider | None = None
        low, high, is_part = spec.minimum, spec.maximum, bool(spec.vector)  # parts stand side by side
        #: The width of the range; None if it is missing or too wide for a slider.
        self.slider_range: float | None = None
        if low is not None and high is not None and 0 < high - low < _WIDEST_SLIDER:
            self.slider_range = float(high - low)
        if low is not None and high is not None and self.slider_range is not None and not is_part:
            self.slider = self._make_slider(low, high)
            self.row.addWidget(self.slider, 1)
        self.box = NumberBox(low, high, whole=self._whole, unit="" if is_part else spec.unit, fits=is_part)
        if is_part:
            self.box.setMinimumWidth(_LEAST_PART)
            self.box.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.box.setAccessibleName(self.name)
        self.box.valueChanged.connect(self._emit)
        self.box.given_up.connect(lambda value: self.given_up.emit(self._number(value)))
        self.box.refused.connect(lambda text: self.refused.emit(f"{self.name} must be a number, got {text[:SHOWN]!r}"))
        self.row.addWidget(self.box, 0 if self.slider else 1)

    def show_values(self, values: Sequence[Any]) -> None:
        if self.slider is not None and not self.slider.isSliderDown():
            self.slider.blockSignals(True)
            self.slider.setValue(self._to_position(float(values[0])))
            self.slider.blockSignals(False)
        self.box.show_value(float(values[0]))  # a drag begins here, also if the values differ
        if not _all_equal(values):
            self.box.show_mixed()

    def _make_slider(self, minimum: float, maximum: float) -> QSlider:
        slider = _Slider(-minimum / (maximum - minimum) if minimum < 0 < maximum else 0.0)
        steps = min(SLIDER_STEPS, int(maximum - minimum)) if self._whole else SLIDER_STEPS
        slider.setRange(0, steps)
        slider.setPageStep(max(1, steps // 10))
        slider.setAccessibleName(self.name)
        slider.sliderPressed.connect(self.drag_began)
        slider.sliderReleased.connect(self.drag_ended)
        slider.valueChanged.connect(self._on_slider)
        return slider

    def _on_slider(self, position: int) -> None:
        value = self._from_position(position)
        self.box.show_value(value)
        self._emit(value)

    def drag_to(self, value: float) -> None:
        """Take a number within the bounds from a drag."""
        number = self._number(value)
        if number != self._number(self.box.value()):
            self.show_values([number])
            self.edited.emit(number)

    def enter(self) -> None:
        self.box.enter()

    def typed_input(self) -> TypedInput:
        return input_of(self.box.lineEdit(), is_typed=self.box.has_typed_text)

    def continue_with(self, given: TypedInput) -> None:
        continue_line(self.box.lineEdit(), given)

    def _emit(self, value: float) -> None:
        self.edited.emit(self._number(value))

    def _number(self, value: float) -> float:
        return round(value) if self._whole else value

    def _bounds(self) -> tuple[float, float, int]:
        assert self.slider is not None and self.spec.minimum is not None and self.spec.maximum is not None
        return self.spec.minimum, self.spec.maximum, self.slider.maximum()

    def _to_position(self, value: float) -> int:
        minimum, maximum, steps = self._bounds()
        return round((value - minimum) / (maximum - minimum) * steps)

    def _from_position(self, position: int) -> float:
        """Return the value at a slider's position, rounded to the digits that one step can show."""
        minimum, maximum, steps = self._bounds()
        step = (maximum - minimum) / steps
        digits = 0 if self._whole else max(0, math.ceil(-math.log10(step)))
        return min(max(round(minimum + position * step, digits), minimum), maximum)


class _Slider(QSlider):
    """A slider that is filled from `zero`, a share of its length, to its handle."""

    def __init__(self, zero: float) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._zero = zero

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint an empty groove, the part from zero to the handle, and the handle, which shows focus and pointer."""
        style, option, slider = self.style(), QStyleOptionSlider(), QStyle.ComplexControl.CC_Slider
        self.initStyleOption(option)
        handle = style.subControlRect(slider, option, QStyle.SubControl.SC_SliderHandle, self)
        if self._zero:
            self._paint_from_zero(option, handle)
        else:
            super().paintEvent(event)
        if self.isEnabled() and (self.hasFocus() or self.underMouse()):
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QColor(current().accent if self.hasFocus() else current().text_dim))
            painter.drawRoundedRect(QRectF(handle).adjusted(1.5, 1.5, -1.5, -1.5), 2, 2)

    def _paint_from_zero(self, option: QStyleOptionSlider, handle: QRect) -> None:
        painter, style, slider = QPainter(self), self.style(), QStyle.ComplexControl.CC_Slider
        groove = QStyle.SubControl.SC_SliderGroove
        position, option.sliderPosition, option.subControls = option.sliderPosition, self.minimum(), groove
        style.drawComplexControl(slider, option, painter, self)
        zero = handle.width() // 2 + round(self._zero * (self.width() - handle.width()))
        left, right = sorted((zero, handle.center().x()))
        painter.fillRect(left, self.height() // 2 - 1, right - left, 3, self.palette().highlight())
        option.sliderPosition, option.subControls = position, QStyle.SubControl.SC_SliderHandle
        style.drawComplexControl(slider, option, painter, self)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Move the handle to the pointer and drag from there; Qt would only move it by a page."""
        style, option = self.style(), QStyleOptionSlider()
        self.initStyleOption(option)
        handle = style.subControlRect(QStyle.ComplexControl.CC_Slider, option, QStyle.SubControl.SC_SliderHandle, self)
        place = event.position().toPoint()
        if event.button() == Qt.MouseButton.LeftButton and not handle.contains(place):
            left, room = place.x() - handle.width() // 2, self.width() - handle.width()
            self.setSliderDown(True)
            self.setSliderPosition(QStyle.sliderValueFromPosition(self.minimum(), self.maximum(), left, room))
        super().mousePressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class BoolEditor(ParameterEditor):
    """The editor of a boolean."""

    def __init__(self, spec: ParameterSpec) -> None:
        super().__init__(spec)
        self.check = QCheckBox(accessibleName=self.name)
        self.check.clicked.connect(self._on_clicked)
        self.row.addWidget(self.check, 1)

    def show_values(self, values: Sequence[Any]) -> None:
        if _all_equal(values):
            self.check.setTristate(False)
            self.check.setChecked(bool(values[0]))
        else:
            self.check.setCheckState(Qt.CheckState.PartiallyChecked)

    def _on_clicked(self) -> None:
        self.edited.emit(self.check.checkState() is not Qt.CheckState.Unchecked)


class ChoiceEditor(ParameterEditor):
    """The editor of a parameter whose value is one of several texts."""

    def __init__(self, spec: ParameterSpec) -> None:
        super().__init__(spec)
        self.combo = QComboBox()
        self.combo.addItems(list(spec.choices))
        self.combo.setPlaceholderText("various")
        self.combo.setAccessibleName(self.name)
        self.combo.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.combo.textActivated.connect(self.edited.emit)
        self.row.addWidget(self.combo, 1)

    def show_values(self, values: Sequence[Any]) -> None:
        self.combo.setCurrentIndex(self.combo.findText(values[0]) if _all_equal(values) else -1)


class TextEditor(ParameterEditor):
    """The editor of any text."""

    def __init__(self, spec: ParameterSpec) -> None:
        super().__init__(spec)
        self.line = TypedLine(accessibleName=self.name, minimumWidth=40)
        self.line.entered.connect(self._take)
        self.line.given_up.connect(self.given_up.emit)
        self.row.addWidget(self.line, 1)

    def _take(self, text: str) -> None:
        self.edited.emit(text)

    def show_values(self, values: Sequence[Any]) -> None:
        same = _all_equal(values)
        self.line.show_text(str(values[0]) if same else "")
        self.line.setPlaceholderText("" if same else "various")
        self.line.setCursorPosition(0)

    def enter(self) -> None:
        self.line.enter()

    def typed_input(self) -> TypedInput:
        return input_of(self.line, is_typed=self.line.isModified())

    def continue_with(self, given: TypedInput) -> None:
        continue_line(self.line, given)


class PathEditor(TextEditor):
    """A file's path, typed, dropped or chosen in a dialog; files beside the patch are stored relative to it."""

    _TITLES: ClassVar[dict[str, str]] = {
        "image": "Images",
        "kernel": "Kernels",
        "video": "Films",
        "sound": "Sounds",
        "table": "Tables",
        "rows": "Tables and arrays",
        "array": "Arrays",
        "mesh": "Meshes",
        "points": "Points",
        "lut": "Tables of colours",
        "font": "Fonts",
    }

    def __init__(self, spec: ParameterSpec, folder: Callable[[], Path | None]) -> None:
        super().__init__(spec)
        self._folder = folder
        self.browse = QToolButton(
            icon=icon("folder"), toolTip=f"Choose a {'folder' if spec.files == FOLDER else 'file'}"
        )
        self.browse.setAccessibleName(f"Choose {self.name}")
        self.browse.clicked.connect(self.begin)
        self.row.addWidget(self.browse)
        self.line.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take a dropped file, of which Qt would type the address."""
        if not isinstance(event, QDropEvent):  # enter and move are also of this kind
            return False
        url = next((url for url in event.mimeData().urls() if url.isLocalFile()), None)
        if url is None:
            return False
        event.acceptProposedAction()
        if event.type() is QEvent.Type.Drop:
            self._take(url.toString())
        return True

    def _take(self, text: str) -> None:
        """Report a path. Other programs copy the address of a file, such as file:///home/me/a.png."""
        url = QUrl(text.strip())
        self.edited.emit(relative_to(Path(url.toLocalFile()), self._folder()) if url.isLocalFile() else text)

    def show_values(self, values: Sequence[Any]) -> None:
        super().show_values(values)
        self.line.setToolTip(self.line.text())
        if not self.line.hasFocus():
            self.line.end(False)  # a narrow field shows the name rather than the folders
        if _all_equal(values):
            self.line.setPlaceholderText("no file")

    def begin(self) -> None:
        """Ask for a file."""
        self.enter()
        start = str((self._folder() or Path.home()) / self.line.text())
        way, _, kind = self.spec.files.partition(" ")
        if self.spec.files == FOLDER:
            name = QFileDialog.getExistingDirectory(self.window(), f"Choose {self.name}", start)
            if name:
                self.edited.emit(relative_to(Path(name), self._folder()))
            return
        ask = QFileDialog.getSaveFileName if way == "save" else QFileDialog.getOpenFileName
        endings = " ".join(f"*{ending}" for ending in ENDINGS.get(kind, ()))
        filters = f"{self._TITLES[kind]} ({endings});;All files (*)" if endings else "All files (*)"
        name, _ = ask(self.window(), f"Choose {self.name}", start, filters)
        if name:
            self.edited.emit(relative_to(Path(name), self._folder()))


class ArrayEditor(ParameterEditor):
    """An array of the patch, or the user's own memory; it can only be read."""

    def __init__(self, spec: ParameterSpec) -> None:
        super().__init__(spec)
        self.label = QLabel(objectName="faint")
        self.label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.row.addWidget(self.label, 1)

    def show_values(self, values: Sequence[Any]) -> None:
        value = values[0]
        if not _all_equal(values):
            text = "various"
        elif isinstance(value, UserArray):
            text = "none" if value.array is None else f"memory of a {type(value.array).__name__}"
        else:
            text = array_summary(value)
        self.label.setText(text)
        self.label.setToolTip(f"{text}\nArrays are set from Python")


def make_editor(spec: ParameterSpec, folder: Callable[[], Path | None]) -> ParameterEditor:
    """Return the editor for a parameter; relative paths start at `folder`."""
    if spec.choices:
        return ChoiceEditor(spec)
    match spec.type:
        case "float" | "int":
            return NumberEditor(spec)
        case "bool":
            return BoolEditor(spec)
        case "path":
            return PathEditor(spec, folder)
        case "array" | "external":
            return ArrayEditor(spec)
    return TextEditor(spec)


def array_summary(array: np.ndarray[Any, Any]) -> str:
    """Return an array's type, shape, size and range in a line."""
    span = f"{array.min():g} to {array.max():g}"
    return f"{array.dtype}, {format_shape(array.shape)}, {format_bytes(array.nbytes)}, {span}"


def _all_equal(values: Sequence[Any]) -> bool:
    first = values[0]
    if isinstance(first, np.ndarray):
        return all(np.array_equal(first, other) for other in values[1:])
    return all(first == other for other in values[1:])


def align_numbers(editors: Iterable[ParameterEditor]) -> None:
    """Give all boxes beside sliders the same width, so that the sliders have the same length."""
    boxes = [editor.box for editor in editors if isinstance(editor, NumberEditor) and editor.slider is not None]
    for box in boxes:
        box.ensurePolished()  # the style adds to the box's width
    needed = max((box.sizeHint().width() for box in boxes), default=0)
    for box in boxes:
        size = box.fontInfo().pixelSize()
        box.setFixedWidth(min(max(needed, _NARROWEST * size), _WIDEST * size))
