"""The form for the checks of the elements in a connection."""

from PySide6.QtCore import QMargins, Qt
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
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import PortRef, Sentinel, SentinelAction
from warploom.engine.patch.document import Patch

_ACTIONS = {
    SentinelAction.MARK: "Mark the block",
    SentinelAction.FREEZE: "Mark the block and freeze the frame",
}
_WIDTH = 300


class SentinelForm(QDialog):
    """Edits the sentinel of an output in one undo step. A refused edit is explained here, and the form stays open."""

    def __init__(self, patch: Patch, port: PortRef, parent: QWidget) -> None:
        super().__init__(parent, windowTitle="Check values")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._patch, self.port = patch, port
        known = patch.sentinels.get(port)
        shown = known or Sentinel()
        self.nan = QCheckBox("NaN", checked=shown.nan)
        self.infinity = QCheckBox("Infinity", checked=shown.infinity)
        self.bounds: dict[str, tuple[QCheckBox, NumberBox]] = {}
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        grid.addWidget(self.nan, 0, 0)
        grid.addWidget(self.infinity, 0, 1)
        for row, (name, title, usual) in enumerate((("minimum", "Less than", 0.0), ("maximum", "More than", 1.0)), 1):
            bound = getattr(shown, name)
            check, box = QCheckBox(title, checked=bound is not None), NumberBox(None, None, whole=False, unit="")
            box.show_value(usual if bound is None else bound)
            box.setEnabled(bound is not None)
            box.setAccessibleName(f"{title}: limit")
            check.toggled.connect(box.setEnabled)
            check.toggled.connect(self._forget_refusal)
            self.bounds[name] = check, box
            grid.addWidget(check, row, 0)
            grid.addWidget(box, row, 1)
        self.action = QComboBox(accessibleName="When an element is wrong")
        for action, title in _ACTIONS.items():
            self.action.addItem(title, action)
        self.action.setCurrentIndex(list(_ACTIONS).index(shown.action))
        grid.addWidget(QLabel("Then"), 3, 0)
        grid.addWidget(self.action, 3, 1)
        self.refusal = QLabel(wordWrap=True, objectName="message", visible=False)
        self.refusal.setProperty("state", "error")
        layout = QVBoxLayout(self, contentsMargins=QMargins(16, 12, 16, 12), spacing=8)
        layout.addWidget(QLabel(f"In every frame, an element of {port} is wrong if it is", wordWrap=True))
        layout.addLayout(grid)
        layout.addWidget(QLabel("The limits leave out the alpha of images.", wordWrap=True, objectName="faint"))
        layout.addWidget(self.refusal)
        layout.addWidget(self._buttons(is_new=known is None))
        self.setMinimumWidth(_WIDTH)

    def _buttons(self, *, is_new: bool) -> QDialogButtonBox:
        buttons = QDialogButtonBox()
        accept = buttons.addButton("Check" if is_new else "Change", QDialogButtonBox.ButtonRole.AcceptRole)
        accept.setDefault(True)
        buttons.addButton(QDialogButtonBox.StandardButton.Cancel).setIcon(QIcon())
        if not is_new:
            remove = buttons.addButton("Remove check", QDialogButtonBox.ButtonRole.DestructiveRole)
            remove.clicked.connect(self._remove)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        return buttons

    def accept(self) -> None:
        """Apply the form, unless it is refused."""
        bounds = {name: box.value() if check.isChecked() else None for name, (check, box) in self.bounds.items()}
        try:
            self._patch.set_sentinel(
                self.port,
                nan=self.nan.isChecked(),
                infinity=self.infinity.isChecked(),
                action=self.action.currentData(),
                **bounds,
            )
        except PatchError as problem:
            self.refusal.setText(str(problem).partition(": ")[2] or str(problem))
            self.refusal.show()
            self.adjustSize()
        else:
            super().accept()

    def _forget_refusal(self) -> None:
        self.refusal.hide()
        self.adjustSize()

    def _remove(self) -> None:
        if self.port in self._patch.sentinels:
            self._patch.remove_sentinel(self.port)
        super().accept()
