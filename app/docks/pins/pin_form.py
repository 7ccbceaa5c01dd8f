"""The form for a pin: the output and frame whose contents are expected again, the tolerance, and the time limit."""

from collections.abc import Sequence

from PySide6.QtCore import QMargins, Qt, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from warploom.app.widgets.number_box import NumberBox
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.pins import LAST_FRAME, Pin

#: Frame and tolerance of a new pin: a second, and what kernels of two devices may differ by.
_FRAME, _TOLERANCE = 59, 1e-4
_BUDGET_MS = 16.6
_WIDTH = 380
_TEXT = "Another engine runs the patch from frame 0, in steps of 1/60 s. What the output then holds is kept as a test."


class PinForm(QDialog):
    """Asks which of some outputs to pin, and how; if the output has a pin, shows that pin."""

    #: The output, the options of `pin_output`, and whether the contents of the present pin stay.
    chosen = Signal(PortRef, dict, bool)

    def __init__(self, patch: Patch, ports: Sequence[PortRef], parent: QWidget) -> None:
        super().__init__(parent, windowTitle="Pin as test")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._patch = patch
        self.output = QComboBox(accessibleName="Output")
        for port in ports:
            self.output.addItem(f"{patch.title(port.node)} · {port.port}", port)
        self.frame = _number("After frame", "Counted from 0", whole=True, most=float(LAST_FRAME))
        self.tolerance = _number("Tolerance", "How much a number may differ")
        self.relative = _number("Relative tolerance", "How much more it may differ, in parts of itself", unit="%")
        self.timed = QCheckBox("A frame takes at most")
        self.budget = _number("Time of a frame", "Compared with the median of 20 frames or more", unit="ms")
        self.timed.toggled.connect(self.budget.setEnabled)
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        rows: list[tuple[str | QWidget, QWidget]] = [
            ("Output", self.output),
            ("After frame", self.frame),
            ("A number may differ by", self.tolerance),
            ("and by a part of itself of", self.relative),
            (self.timed, self.budget),
        ]
        for row, (title, field) in enumerate(rows):
            grid.addWidget(QLabel(title) if isinstance(title, str) else title, row, 0)
            grid.addWidget(field, row, 1)
        buttons = QDialogButtonBox()
        self.change = buttons.addButton("Change", QDialogButtonBox.ButtonRole.AcceptRole)
        self.change.setToolTip("Keep what the pin expects")
        self.pin = buttons.addButton("Pin", QDialogButtonBox.ButtonRole.AcceptRole)
        self.pin.setToolTip("Run the patch, and expect what the output then holds")
        buttons.addButton(QDialogButtonBox.StandardButton.Cancel).setIcon(QIcon())
        self.change.clicked.connect(lambda: self._choose(keeps=True))
        self.pin.clicked.connect(lambda: self._choose(keeps=False))
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self, contentsMargins=QMargins(16, 12, 16, 12), spacing=8)
        layout.addWidget(QLabel(_TEXT, wordWrap=True, objectName="faint"))
        layout.addLayout(grid)
        layout.addWidget(buttons)
        self.setMinimumWidth(_WIDTH)
        self.output.currentIndexChanged.connect(self._show_pin)
        self._show_pin()

    @property
    def port(self) -> PortRef:
        """The chosen output."""
        port: PortRef = self.output.currentData()
        return port

    def _choose(self, *, keeps: bool) -> None:
        port, options = (
            self.port,
            {
                "frame": round(self.frame.value()),
                "tolerance": self.tolerance.value(),
                "relative": self.relative.value() / 100,
                "budget_ms": self.budget.value() if self.timed.isChecked() else None,
            },
        )
        self.accept()
        self.chosen.emit(port, options, keeps)

    def _show_pin(self) -> None:
        known = self._patch.annotations.get(f"pin {self.port}")
        is_pinned = isinstance(known, Pin)
        pin = known if isinstance(known, Pin) else Pin(node="", port="", dtype="", frame=_FRAME, tolerance=_TOLERANCE)
        self.frame.show_value(pin.frame)
        self.tolerance.show_value(pin.tolerance)
        self.relative.show_value(100 * pin.relative)
        self.timed.setChecked(pin.budget_ms is not None)
        self.budget.show_value(_BUDGET_MS if pin.budget_ms is None else pin.budget_ms)
        self.budget.setEnabled(self.timed.isChecked())
        self.change.setVisible(is_pinned)
        self.pin.setText("Pin again" if is_pinned else "Pin")
        (self.change if is_pinned else self.pin).setDefault(True)


def _number(name: str, help_text: str, *, whole: bool = False, most: float | None = None, unit: str = "") -> NumberBox:
    box = NumberBox(0.0, most, whole=whole, unit=unit)
    box.setAccessibleName(name)
    box.setToolTip(help_text)
    return box
