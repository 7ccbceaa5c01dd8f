"""The head of the inspector: a node's title and what its type does."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from app.docks.node_status import text_label
from app.format import plural
from engine.blocktypes.block import Block
from engine.patch.document import Patch


class NodeHeader(QWidget):
    """The node's title, which can be edited, and its type's summary."""

    renamed = Signal(str)
    finished = Signal()  # Enter was pressed

    def __init__(self, patch: Patch, nodes: Sequence[str], block_type: type[Block] | None) -> None:
        super().__init__()
        node = patch.nodes[nodes[0]]
        self._type_title = block_type.title if block_type else node.type
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        self.title = QLineEdit()
        self.title.setObjectName("blockTitle")
        self.title.setPlaceholderText(self._type_title)
        self.title.setToolTip("Rename this block")
        self.title.setAccessibleName("Title")
        self.title.editingFinished.connect(self._on_title)
        self.title.returnPressed.connect(self.finished)
        if len(nodes) == 1:
            self.show_title(node.title)
        else:
            self.title.setText(plural(len(nodes), f"{self._type_title} block"))
            self.title.setReadOnly(True)
        column.addWidget(self.title)
        summary = block_type.summary if block_type else f"Block type {node.type} is not installed; its data is kept."
        self._summary = text_label("summary", summary)
        if block_type is not None:
            self._summary.setToolTip(inspect.cleandoc(block_type.__doc__ or ""))
        column.addWidget(self._summary)

    def show_title(self, title: str) -> None:
        """Show the node's own title; without one, its type's stands there."""
        self.title.setText(title or self._type_title)
        self.title.setModified(False)

    def _on_title(self) -> None:
        if self.title.isModified():
            self.title.setModified(False)
            title = self.title.text().strip()
            self.renamed.emit("" if title == self._type_title else title)
