"""What the Help menu shows."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
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


def show_about(parent: QWidget, device: str) -> None:
    """Say what this is, and what it runs on."""
    QMessageBox.about(
        parent,
        "About Warploom",
        f"<h3>Warploom {version('warploom')}</h3><p>Patch GPU pipelines live: the whole patch compiles into one CUDA "
        f"graph.</p><p>Running on: {device}</p>",
    )


def make_shortcut_list(parent: QWidget, actions: Iterable[QAction]) -> QDialog:
    """Return a dialog that lists every command that has keys."""
    dialog = QDialog(parent)
    dialog.setWindowTitle("Keyboard shortcuts")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.resize(420, 520)
    rows = QTreeWidget()
    rows.setHeaderLabels(["Command", "Keys"])
    rows.setRootIsDecorated(False)
    rows.header().setStretchLastSection(False)
    rows.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    rows.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
    native = QKeySequence.SequenceFormat.NativeText
    for action in actions:
        keys = ", ".join(sequence.toString(native) for sequence in action.shortcuts())
        if keys:
            rows.addTopLevelItem(QTreeWidgetItem([action.text().replace("&", "").removesuffix(" …"), keys]))
    close = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
    close.rejected.connect(dialog.reject)
    column = QVBoxLayout(dialog)
    column.setContentsMargins(16, 16, 16, 16)
    column.addWidget(rows)
    column.addWidget(close)
    return dialog
