"""The top and bottom of the inspector: title and summary above; problems, values and times below."""

import inspect
import re
import time
from collections.abc import Sequence

from PySide6.QtCore import QMargins, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from warploom.app.inspector.typed_line import TypedLine
from warploom.app.theme.fonts import code_font
from warploom.app.view_models.live_values import LiveValue
from warploom.app.view_models.profile.texts import share_text
from warploom.app.view_models.tooltips import message_text, titles_of
from warploom.app.widgets.button_row import ButtonRow
from warploom.app.widgets.marked_text import without_marks
from warploom.engine.blocktypes.block import Block
from warploom.engine.figures import format_bytes, format_shape, format_time, plural
from warploom.engine.patch.document import Patch
from warploom.engine.patch.rules import LONGEST_TITLE
from warploom.engine.protocol.messages import FrameReport, NodeState

_NOT_RUNNING = (NodeState.IDLE, NodeState.INCOMPLETE)
#: A compiler's mark of a place in the line above.
_CARET = re.compile(r"^ *\^", re.MULTILINE)
_REFRESH_S = 0.25  # a person can't read figures that change faster


class NodeStatus(QWidget):
    """The figures of the node from reports, below the editors, which must not move when text appears.

    `problem` shows what is wrong with it, and what helps. It belongs outside of what is scrolled, so that it is seen.
    """

    def __init__(self, block_type: type[Block] | None) -> None:
        super().__init__()
        self._outputs = [spec.name for spec in block_type.outputs()] if block_type else []
        self._numbers = {spec.name: spec for spec in block_type.value_outputs()} if block_type else {}
        self._values: list[str] = []
        self._time, self._timed_s = "", 0.0
        self._message, self._figures = text_label("message"), text_label("faint")
        self.remedies = ButtonRow()
        self.problem = QWidget(self, objectName="problem")  # without a parent it would be a window
        above = QVBoxLayout(self.problem, contentsMargins=QMargins(12, 8, 12, 8), spacing=8)
        for part in (self._message, self.remedies):
            above.addWidget(part)
            part.hide()
        self.problem.hide()
        column = QVBoxLayout(self, contentsMargins=QMargins())
        column.addWidget(self._figures)
        self._figures.hide()

    @property
    def message(self) -> str:
        """The problem of the node, if any."""
        return self._message.text() if not self._message.isHidden() else ""

    @property
    def figures(self) -> list[str]:
        """A line for each output, and the time."""
        return self._figures.text().splitlines()

    def show_report(self, patch: Patch, node: str, report: FrameReport) -> None:
        """Show the node's part of a report."""
        found = report.nodes.get(node)
        if found is None:
            return
        text = message_text(patch, found)
        if text != self._message.text():
            self._message.setFont(code_font() if _CARET.search(text) else QFont())
            _set_text(self._message, text)
        self.problem.setVisible(not self._message.isHidden())
        if self._message.property("state") != found.state.value:
            self._message.setProperty("state", found.state.value)
            self._message.style().polish(self._message)
        now_s = time.monotonic()
        is_due = now_s - self._timed_s > _REFRESH_S
        if is_due:
            self._timed_s = now_s
            self._values = [
                f"{name}: {LiveValue(f'{node}.{name}', spec.type).text(report.values)} {spec.unit}".rstrip()
                for name, spec in self._numbers.items()
            ]
        lines = [*self._values] if found.state not in _NOT_RUNNING else []
        lines += [
            f"{port}: {buffer.dtype}, {format_shape(buffer.shape)}, {format_bytes(buffer.size_bytes)}"
            for port in self._outputs
            if (buffer := report.buffers.get(f"{node}.{port}")) is not None
        ]
        if found.fused_into and not found.kernels:
            self._time = f"fused into {titles_of(patch, found.fused_into)}"
        elif found.state in _NOT_RUNNING or found.time_ns is None:
            self._time = ""
        elif is_due:
            share = share_text(found, report.statistics)
            self._time = f"{format_time(found.time_ns)} in {plural(found.kernels, 'kernel')}{share}"
        if self._figures.isVisible():  # what is scrolled must not move while a block is built and has fewer figures
            self._figures.setMinimumHeight(self._figures.height())
        self._figures.setText("\n".join([*lines, *filter(None, [self._time])]))
        self._figures.setHidden(self._figures.isHidden() and not self._figures.text())


def text_label(name: str, text: str = "") -> QLabel:
    """Return a label whose text wraps and can be copied; `name` selects its style."""
    label = QLabel(text, wordWrap=True, objectName=name, textFormat=Qt.TextFormat.PlainText)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def _set_text(label: QLabel, text: str) -> None:
    if label.text() != text:
        label.setText(text)
    label.setVisible(bool(text))


class NodeHeader(QWidget):
    """The node's title, which can be edited, its type's summary, and its comment."""

    renamed = Signal(str)
    #: A typed title was discarded with Escape.
    given_up = Signal(str)
    finished = Signal()  # Enter was pressed

    def __init__(self, patch: Patch, nodes: Sequence[str], block_type: type[Block] | None) -> None:
        super().__init__()
        node = patch.nodes[nodes[0]]
        self._type_title = block_type.title if block_type else node.type
        column = QVBoxLayout(self, contentsMargins=QMargins(), spacing=4)
        self.title = TypedLine(objectName="blockTitle", placeholderText=self._type_title, maxLength=LONGEST_TITLE)
        self.title.entered.connect(lambda text: self.renamed.emit(self._meant(text)))
        self.title.given_up.connect(lambda text: self.given_up.emit(self._meant(text)))
        self.title.setToolTip("Rename this block")
        self.title.setAccessibleName("Title")
        self.title.returnPressed.connect(self.finished)
        if len(nodes) == 1:
            self.show_title(node.title)
        else:
            self.title.setText(plural(len(nodes), f"{self._type_title} block"))
            self.title.setReadOnly(True)
        column.addWidget(self.title)
        summary = block_type.summary if block_type else f"Block type {node.type} is not installed; its data is kept."
        self.summary = text_label("summary", without_marks(summary))
        if block_type is not None:
            self.summary.setToolTip(without_marks(inspect.cleandoc(block_type.__doc__ or "")))
        column.addWidget(self.summary)
        self._comment = text_label("comment", node.comment)
        self._comment.setVisible(len(nodes) == 1 and bool(node.comment))
        column.addWidget(self._comment)

    def show_title(self, title: str) -> None:
        """Show the node's own title, or else its type's."""
        self.title.show_text(title or self._type_title)

    def show_comment(self, comment: str) -> None:
        """Show the node's comment, if it is the only one."""
        if not self.title.isReadOnly():
            _set_text(self._comment, comment)

    def show_mixed(self, count: int) -> None:
        """Show that the nodes have different types."""
        self.title.setText(plural(count, "block"))
        self.summary.setText("Of different types: these are the parameters that they have in common.")

    def _meant(self, text: str) -> str:
        title = text.strip()
        return "" if title == self._type_title else title
