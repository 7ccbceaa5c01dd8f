"""A spin box for numbers of any size: it shows six digits and takes whatever is typed."""

import math

from PySide6.QtCore import QLocale, Qt
from PySide6.QtGui import QValidator, QWheelEvent
from PySide6.QtWidgets import QDoubleSpinBox

from app.qt.safe_overrides import safe_overrides

_UNBOUNDED = 1e15


@safe_overrides
class NumberBox(QDoubleSpinBox):
    """A spin box; `show_mixed` shows that it stands for several different values."""

    def __init__(self, minimum: float | None, maximum: float | None, *, whole: bool, unit: str) -> None:
        super().__init__()
        self._whole = whole
        self.setLocale(QLocale.c())
        self.setDecimals(0 if whole else 12)
        self.setRange(-_UNBOUNDED if minimum is None else minimum, _UNBOUNDED if maximum is None else maximum)
        self.setKeyboardTracking(False)
        self.setButtonSymbols(QDoubleSpinBox.ButtonSymbols.NoButtons)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        if unit:
            self.setSuffix(f" {unit}")
        if minimum is not None and maximum is not None and not whole:
            self.setSingleStep(10.0 ** math.floor(math.log10((maximum - minimum) / 50)) if maximum > minimum else 0.1)
        elif not whole:
            self.setStepType(QDoubleSpinBox.StepType.AdaptiveDecimalStepType)

    @property
    def has_typed_text(self) -> bool:
        """True while something typed was not entered yet."""
        return self.lineEdit().text() not in ("", self.textFromValue(self.value()) + self.suffix())

    def show_value(self, value: float) -> None:
        """Show a value without emitting that it was edited."""
        self.blockSignals(True)
        self.setValue(value)
        self.blockSignals(False)

    def show_mixed(self) -> None:
        """Show that the values differ."""
        self.blockSignals(True)
        self.clear()
        self.lineEdit().setPlaceholderText("various")
        self.blockSignals(False)

    def textFromValue(self, value: float) -> str:
        """Return the number with the digits that matter."""
        return f"{value:.0f}" if self._whole else f"{value:.6g}"

    def valueFromText(self, text: str) -> float:
        """Return the typed number."""
        return float(self._bare(text))

    def validate(self, text: str, position: int) -> object:
        """Accept any number within the range, also with an exponent, and text that may still become one."""
        bare = self._bare(text)
        try:
            value = float(bare)
        except ValueError:
            started = all(c in "+-.eE0123456789" for c in bare)
            return (QValidator.State.Intermediate if started else QValidator.State.Invalid), text, position
        if not math.isfinite(value) or (self._whole and not value.is_integer()):
            return QValidator.State.Invalid, text, position
        fits = self.minimum() <= value <= self.maximum()
        return (QValidator.State.Acceptable if fits else QValidator.State.Intermediate), text, position

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Change the value only when it has the focus, so that scrolling a panel edits nothing."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def _bare(self, text: str) -> str:
        return text.removesuffix(self.suffix()).strip()
