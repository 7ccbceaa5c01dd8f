"""One vector in the inspector: a label, an editor for each component, and buttons for all of them."""

from collections.abc import Sequence

from PySide6.QtCore import QMargins
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QWidget

from warploom.app.docks.elided_label import ElidedLabel
from warploom.app.edits.nodes import parameter_label
from warploom.app.inspector.parameter_row import LEAST_NAME, ParameterRow, row_button
from warploom.app.theme.icons import icon
from warploom.app.widgets.marked_text import without_marks
from warploom.engine.blocktypes.vector_parameters import component_letter


class VectorRow(QWidget):
    """The rows of a vector's components side by side; `label` is in front of them.

    The menu of each component, with its drivers and keys, is that of its letter, and in the menu of the whole row.
    """

    def __init__(self, rows: Sequence[ParameterRow]) -> None:
        super().__init__()
        self.rows = rows
        first = rows[0].editor.spec
        #: The vector's name as people read it.
        self.name = parameter_label(first.vector)
        self.label = ElidedLabel("")
        self.label.setText(self.name)
        self.label.setToolTip(without_marks(f"{first.doc.removesuffix(f': {component_letter(first)}.')}."))
        self.label.setMinimumWidth(LEAST_NAME)
        self.label.setBuddy(rows[0].editor)
        self._drive = row_button("rowDrive", f"Drive {self.name}")
        self._drive.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._drive.setToolTip("Drive a component with a value: an LFO, a slider, an expression …")
        menu = QMenu(self._drive)
        self._drive.setMenu(menu)
        #: Resets all components.
        self.reset = row_button("rowReset", f"Reset {self.name}")
        self.reset.setIcon(icon("reset"))
        self.reset.setToolTip("Reset all components")
        layout = QHBoxLayout(self, contentsMargins=QMargins(), spacing=1)
        for row in rows:
            row.menu.setTitle(component_letter(row.editor.spec))
            menu.addMenu(row.menu)
            layout.addWidget(row.label)
            layout.addSpacing(1)
            layout.addWidget(row, 1)
            layout.addSpacing(2)
            row.state_changed.connect(self._show)
        for button in (self._drive, self.reset):
            layout.addWidget(button)
        self._show()

    def _show(self) -> None:
        is_driven = any(row.is_driven for row in self.rows)
        self._drive.setIcon(icon("drive", "text" if is_driven else "text_faint"))
        self.reset.setVisible(any(row.is_set and not row.is_driven for row in self.rows))
