"""What the Help menu shows."""

from collections.abc import Iterable
from importlib.metadata import version

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


def show_about(parent: QWidget, device: str) -> None:
    """Say what this is, and what it runs on."""
    QMessageBox.about(
        parent,
        "About Warploom",
        f"<h3>Warploom {version('warploom')}</h3><p>Patch GPU pipelines live: the whole patch compiles into one CUDA "
        f"graph.</p><p>Running on: {device}</p>",
    )


def make_shortcut_list(parent: QWidget, commands: Iterable[Command]) -> QDialog:
    """Return a dialog that lists every command that has keys."""
    dialog = QDialog(parent, windowTitle="Keyboard shortcuts")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.resize(420, 520)
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
    close = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
    close.button(QDialogButtonBox.StandardButton.Close).setIcon(QIcon())
    close.rejected.connect(dialog.reject)
    column = QVBoxLayout(dialog, contentsMargins=QMargins(16, 16, 16, 16))
    column.addWidget(rows)
    column.addWidget(close)
    return dialog
