"""The dialogs of the Help menu: shortcuts and gestures, and About."""

from collections.abc import Iterable

from PySide6.QtCore import QMargins, Qt
from PySide6.QtGui import QIcon, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QMessageBox,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.commands.actions import Command
from engine.version import version

#: The gestures of `canvas/graph_view.py` and the keys of the canvas.
GESTURES = (
    ("Connect", "Drag from a port to a port, or onto a block"),
    ("Add a block to a port", "Drag from the port to empty canvas"),
    ("Drive a parameter", "Drag from a value onto a block"),
    ("Move or delete a connection", "Drag its end; drop the end on empty canvas to delete"),
    ("Insert a block in a connection", "Double-click the connection"),
    ("Cut connections", "Alt and drag across them"),
    ("Add a block", "Double-click empty canvas"),
    ("Show a viewer", "Double-click its block"),
    ("Open the patch inside a block", "Double-click the block, or Enter"),
    ("Leave the patch inside a block", "Escape"),
    ("Select several blocks", "Drag on empty canvas"),
    ("Add to the selection", "Shift or Ctrl and click"),
    ("Move the selection", "Drag, or the arrow keys"),
    ("Move into or out of a region", "Drag into its box, or out of it"),
    ("Pan", "Drag with the middle or right button, or two fingers"),
    ("Pan sideways", "Shift and wheel"),
    ("Zoom", "Wheel, pinch, or Ctrl and two fingers"),
    ("Open the menu of the item under the pointer", "Right click"),
    ("Cancel a drag", "Escape"),
)


def show_about(parent: QWidget, device: str) -> None:
    """Show the version and the device."""
    box = QMessageBox(parent, windowTitle="About Warploom")
    box.setText(
        f"<h3>Warploom {version()}</h3><p>Patch GPU pipelines live: the whole patch compiles into one CUDA "
        f"graph.</p><p>Running on: {device}</p>"
    )
    box.exec()


def make_shortcut_list(parent: QWidget, commands: Iterable[Command]) -> QDialog:
    """Return a dialog that lists every command with keys, and every gesture."""
    dialog = QDialog(parent, windowTitle="Shortcuts and gestures")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.resize(560, 640)
    rows = QTreeWidget()
    rows.setHeaderLabels(["Command", "Keys"])
    rows.setRootIsDecorated(False)
    rows.header().setStretchLastSection(False)
    rows.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    rows.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
    native = QKeySequence.SequenceFormat.NativeText
    for command in commands:
        if command.keys:
            keys = ", ".join(QKeySequence(key).toString(native) for key in command.keys)
            rows.addTopLevelItem(QTreeWidgetItem([command.name, keys]))
    heading = QTreeWidgetItem(["On the canvas"])
    font = heading.font(0)
    font.setBold(True)
    heading.setFont(0, font)
    rows.addTopLevelItem(heading)
    rows.addTopLevelItems([QTreeWidgetItem(list(gesture)) for gesture in GESTURES])
    close = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
    close.button(QDialogButtonBox.StandardButton.Close).setIcon(QIcon())
    close.rejected.connect(dialog.reject)
    column = QVBoxLayout(dialog, contentsMargins=QMargins(16, 16, 16, 16))
    column.addWidget(rows)
    column.addWidget(close)
    return dialog
