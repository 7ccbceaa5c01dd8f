"""`CodeBar`: the row above the code, with the list of files, the state of the text, and buttons."""

from collections.abc import Sequence

from PySide6.QtCore import QMargins, Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QMenu, QPushButton, QToolButton, QWidget

from warploom.app.docks.elided_label import ElidedLabel
from warploom.app.theme.icons import icon
from warploom.app.view_models.code.places import CodePlace
from warploom.engine.patch.document import Patch

#: In a narrower bar, in pixels, two buttons have no texts.
_NARROW = 520


class CodeBar(QWidget):
    """The list of places, Save, Edit a copy, what may stand beside the code, and a menu for the rest."""

    def __init__(self) -> None:
        super().__init__()
        self.places = QComboBox(toolTip="The files and texts of the selected block, then all that are not saved")
        self.places.setAccessibleName("File")
        self.places.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.state = ElidedLabel("message")
        self.state.setTextFormat(Qt.TextFormat.PlainText)
        self.save = QPushButton(
            icon("save"), "Save", toolTip="Save the file (Ctrl+S in the code)", accessibleName="Save"
        )
        self.copy = QPushButton(
            icon("duplicate"), "Edit a copy", toolTip="Edit a copy that you can change", accessibleName="Edit a copy"
        )
        self.compiled = QToolButton(text="Compiled", checkable=True, toolTip="PTX and SASS beside the code")
        self.compare = QToolButton(text="Compare", checkable=True, toolTip="Two versions side by side")
        self.trial = QToolButton(text="A/B", toolTip="Run the code before and the code now on the same input")
        more = QToolButton(text="⋯", toolTip="More", objectName="more")
        more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.search = QAction("Find\tCtrl+F", self)
        self.replace = QAction("Replace\tCtrl+H", self)
        self.next = QAction("Next mistake\tF8", self)
        self.discard = QAction("Discard what is not saved", self)
        self.outside = QAction("Open in the system's editor", self)
        menu = QMenu(self)
        menu.addActions([self.search, self.replace, self.next])
        menu.addSeparator()
        menu.addActions([self.discard, self.outside])
        more.setMenu(menu)
        row = QHBoxLayout(self, contentsMargins=QMargins(8, 4, 8, 4), spacing=8)
        left: list[QWidget] = [self.places, self.save, self.copy, self.state]
        for part in left:
            row.addWidget(part, 1 if part is self.state else 0)
        right: list[QWidget] = [self.trial, self.compiled, self.compare, more]
        for part in right:
            row.addWidget(part)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show only icons where texts have no room."""
        super().resizeEvent(event)
        is_narrow = self.width() < _NARROW
        self.save.setText("" if is_narrow else "Save")
        self.copy.setText("" if is_narrow else "Edit a copy")

    def list_places(
        self, listed: Sequence[CodePlace], unsaved: Sequence[CodePlace], shown: CodePlace | None, patch: Patch | None
    ) -> None:
        """List places, those with a dot that are not saved, and choose the shown one."""
        names = [f"{place.name(patch)}{' •' if place in unsaved else ''}" for place in listed]
        if names != [self.places.itemText(n) for n in range(self.places.count())]:
            self.places.clear()
            for name, place in zip(names, listed, strict=True):
                self.places.addItem(name, place)
                self.places.setItemData(self.places.count() - 1, place.file or name, Qt.ItemDataRole.ToolTipRole)
        if shown in listed:
            self.places.setCurrentIndex(listed.index(shown))

    def show_state(self, text: str, *, is_error: bool, is_typed: bool) -> None:
        """Show the state of the text in words."""
        if text != self.state.text():
            self.state.setText(text)
            self.state.setProperty("state", "error" if is_error else "warning" if is_typed else "")
            self.state.style().polish(self.state)
