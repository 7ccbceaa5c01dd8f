"""A spin box for numbers of any size: it shows six digits, and accepts numbers and simple arithmetic."""

import math
import re

from PySide6.QtCore import QEvent, QLocale, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QResizeEvent, QValidator, QWheelEvent
from PySide6.QtWidgets import QDoubleSpinBox

from warploom.blocks.value.arithmetic import Arithmetic
from warploom.engine.diagnostics import PatchError

_UNBOUNDED = 1e15
_MOST_CHARACTERS = 200
_EXPONENT = re.compile(r"e\+?(-?)0*")
#: The margin of a QLineEdit's text on either side, in pixels.
_LINE_MARGIN = 2
#: Without powers, whole quotients and names, which `Arithmetic` knows too.
_ARITHMETIC = re.compile(r"(?!.*(?:\*\*|//|(?<![0-9.])[eE]))[0-9.eE+\-*/() ]+")
_GROUPED = re.compile(r"-?[0-9]{1,3}(,[0-9]{3})+")
_LEADING_ZEROS = re.compile(r"(?<![0-9.])0+(?=[0-9])")  # Python refuses 007


def read_number(text: str) -> float | None:
    """Return the value of a number or of arithmetic with + - * / and parentheses; None if it has no finite value.

    A comma is read as a decimal point.
    """
    text = text.strip().replace(",", ".")
    if len(text) > _MOST_CHARACTERS or not _ARITHMETIC.fullmatch(text):
        return None
    try:
        return Arithmetic(_LEADING_ZEROS.sub("", text), ()).value()
    except PatchError:
        return None


class NumberBox(QDoubleSpinBox):
    """A spin box; `show_mixed` shows that the values of several nodes differ.

    The first click selects the number, so that typing replaces it; the next one places the cursor. Typed text is
    entered with Enter or by leaving the box. It is rounded if the box is for whole numbers, and clamped
    to the range. Escape discards it, and entering a text that is not a number refuses it. With `fits`, a narrow box
    shows fewer digits, since a number without its end, such as that of 3.5532e-05, would be another one.
    """

    #: The typed number that Escape discarded.
    given_up = Signal(float)
    #: A typed text that is not a number; the box no longer shows it.
    refused = Signal(str)

    def __init__(
        self, minimum: float | None, maximum: float | None, *, whole: bool, unit: str, fits: bool = False
    ) -> None:
        super().__init__()
        self._whole, self._fits = whole, fits
        self._is_mixed = False
        # True once a click or a key has reached the number, until Enter or until the box loses the focus.
        self._is_entered = self._selects = False
        self._unit = f" {unit}" if unit else ""
        self.setLocale(QLocale.c())
        self.setDecimals(0 if whole else 12)
        self.setRange(-_UNBOUNDED if minimum is None else minimum, _UNBOUNDED if maximum is None else maximum)
        self.setKeyboardTracking(False)
        self.valueChanged.connect(self._end_mixed)
        self.setButtonSymbols(QDoubleSpinBox.ButtonSymbols.NoButtons)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.lineEdit().installEventFilter(self)
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setSuffix(self._unit)
        if minimum is not None and maximum is not None and not whole:
            self.setSingleStep(10.0 ** math.floor(math.log10((maximum - minimum) / 50)) if maximum > minimum else 0.1)
        elif not whole:
            self.setStepType(QDoubleSpinBox.StepType.AdaptiveDecimalStepType)

    @property
    def has_typed_text(self) -> bool:
        """True while typed text is not entered."""
        return self._bare(self.lineEdit().text()) != (
            "" if self._is_mixed else self._bare(self.textFromValue(self.value()))
        )

    def show_value(self, value: float) -> None:
        """Show a value without reporting an edit."""
        self._end_mixed()
        with QSignalBlocker(self):
            self.setValue(value)

    def show_mixed(self) -> None:
        """Show that the values differ."""
        self.show_value(self.value())  # this makes Qt forget typed text
        self._is_mixed = True
        with QSignalBlocker(self), QSignalBlocker(self.lineEdit()):  # otherwise Qt would treat the empty text as typed
            self.setSuffix("")  # it would hide the text in place of the number
            self.clear()
        self.lineEdit().setPlaceholderText("various")

    def textFromValue(self, value: float) -> str:
        """Return the number with its significant digits, those of a whole number in groups of three."""
        if self._whole:
            return f"{value:,.0f}"
        if not self._fits:
            return f"{value:.6g}"
        texts = [_EXPONENT.sub(r"e\1", f"{value:.{digits}g}") for digits in range(6, 0, -1)]
        room = self.lineEdit().width() - 2 * _LINE_MARGIN
        fitting = (text for text in texts if self.fontMetrics().horizontalAdvance(text) <= room)
        return next(fitting, texts[-1])

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show as many digits as fit now."""
        is_typed = self.has_typed_text
        super().resizeEvent(event)
        if self._fits and not is_typed and not self._is_mixed:
            self.show_value(self.value())

    def valueFromText(self, text: str) -> float:
        """Return the number of a text in this box; the current value if the text is not a number."""
        bare = self._bare(text)
        number = read_number(bare)
        if number is None or bare == self._bare(
            self.textFromValue(self.value())
        ):  # the text shows only six digits of the value
            return self.value()
        if self._whole:
            number = float(math.floor(number + 0.5))
        return min(max(number, self.minimum()), self.maximum())

    def validate(self, text: str, position: int) -> object:
        """Refuse no key, since the rest of the text would be another number without it."""
        is_number = read_number(self._bare(text)) is not None
        return (QValidator.State.Acceptable if is_number else QValidator.State.Intermediate), text, position

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter the typed text, or discard it and leave the box."""
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        self._is_entered = not is_enter
        if event.key() == Qt.Key.Key_Escape and self.has_typed_text:
            text = self._bare(self.lineEdit().text())
            number = self.valueFromText(text) if read_number(text) is not None else None
            self._forget_typed()
            self.clearFocus()
            if number is not None:
                self.given_up.emit(number)
        elif is_enter and (self.has_typed_text or self._is_mixed) and not self._enter_typed():
            self.selectAll()
        else:
            super().keyPressEvent(event)
        if is_enter:
            self.lineEdit().setModified(False)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Select the number at the end of the first click, unless that was a drag over a part of it.

        The focus does not matter: a new page or a window manager may have moved it here before the click, or move it
        later.
        """
        if watched is self.lineEdit():
            if event.type() is QEvent.Type.MouseButtonPress:
                self._selects, self._is_entered = not self._is_entered, True
            elif event.type() is QEvent.Type.MouseButtonRelease and self._selects:
                self._selects = False
                if not self.lineEdit().hasSelectedText():
                    self.selectAll()
        return super().eventFilter(watched, event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Enter the typed text."""
        self._is_entered = event.reason() is Qt.FocusReason.PopupFocusReason  # its own menu
        self.enter()
        super().focusOutEvent(event)

    def enter(self) -> None:
        """Enter the typed text, if any."""
        if self.has_typed_text:
            self._enter_typed()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Change the value only if the box has the focus, so that scrolling a panel edits nothing."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def _enter_typed(self) -> bool:
        """Take the typed text. If it is not a number, restore the previous text and return False."""
        text = self._bare(self.lineEdit().text())
        if read_number(text) is None:
            self._forget_typed()
            if text:
                self.refused.emit(text)
            return False
        was_mixed, before = self._is_mixed, self.value()
        self.interpretText()
        if was_mixed and self.value() == before:  # Qt sees no change, but some nodes' values do change
            self.valueChanged.emit(before)
        return True

    def _forget_typed(self) -> None:
        if self._is_mixed:
            self.show_mixed()
        else:
            self.show_value(self.value())

    def _end_mixed(self) -> None:
        self._is_mixed = False
        if self.suffix() != self._unit:
            with QSignalBlocker(self):
                self.setSuffix(self._unit)

    def _bare(self, text: str) -> str:
        """Return a text without the unit, and a whole number without commas between its groups."""
        bare = text.removesuffix(self._unit).strip()
        return bare.replace(",", "") if self._whole and _GROUPED.fullmatch(bare) else bare
