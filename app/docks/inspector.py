"""The inspector: the selected block's parameters, made from their declarations."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.docks.parameter_editors import ParameterEditor, make_editor
from app.format import format_bytes, format_shape, format_time, plural
from app.theme.icons import icon
from app.widgets.empty_state import EmptyState
from engine.blocktypes.block import Block
from engine.blocktypes.parameters import ParameterSpec
from engine.diagnostics import PatchError
from engine.patch.changes import Change, NodeRemoved, NodeRenamed, ParameterChanged
from engine.patch.document import Patch
from engine.runtime.messages import FrameReport, NodeState

_HINT = "Select a block to edit its parameters"
_IDLE_MS = 600  # steps of a wheel or a held key that follow each other this closely are one gesture
_REFRESH_S = 0.25  # a person can't read figures that change faster


class Inspector(EmptyState):
    """Edits the parameters of the selected nodes; all of them at once when they are of one type."""

    #: An edit was refused; the text says why.
    refused = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        super().__init__(scroll, _HINT, parent)
        self._scroll = scroll
        self._patch: Patch | None = None
        self._nodes: list[str] = []
        self._unsubscribe: Callable[[], None] | None = None
        self._rows: dict[str, _Row] = {}
        self._header: _Header | None = None
        self._report: FrameReport | None = None
        self._gesture: object | None = None
        self._dragging = False
        self._idle = QTimer(self, singleShot=True, interval=_IDLE_MS)
        self._idle.timeout.connect(self._end_gesture)

    @property
    def nodes(self) -> list[str]:
        """Ids of the nodes that are being edited."""
        return list(self._nodes)

    def editor(self, parameter: str) -> ParameterEditor:
        """Return the editor of a parameter."""
        return self._rows[parameter].editor

    def set_patch(self, patch: Patch | None) -> None:
        """Follow another patch; nothing is selected in it."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        self._patch, self._report = patch, None
        if patch is not None:
            self._unsubscribe = patch.subscribe(self._on_change)
        self.show_nodes([])

    def show_nodes(self, nodes: Sequence[str]) -> None:
        """Show the parameters of these nodes."""
        self._end_gesture()
        self._nodes = [node for node in nodes if self._patch is not None and node in self._patch.nodes]
        self._rows, self._header = {}, None
        self._scroll.takeWidget()
        if self._patch is None or not self._nodes:
            self.set_hint(_HINT)
            self.set_filled(False)
            return
        if len({self._patch.nodes[node].type for node in self._nodes}) > 1:
            self.set_hint(
                f"{len(self._nodes)} blocks of different types.\nSelect blocks of one type to edit them together"
            )
            self.set_filled(False)
            return
        self._scroll.setWidget(self._build(self._patch, self._patch.block_type(self._nodes[0])))
        self.set_filled(True)
        for row in self._rows.values():
            self._refresh(row)
        if self._report is not None:
            self.show_report(self._report)

    def show_report(self, report: FrameReport) -> None:
        """Show the state, time and buffers of the node."""
        self._report = report
        if self._header is not None and len(self._nodes) == 1:
            self._header.show_report(self._nodes[0], report)

    def _build(self, patch: Patch, block_type: type[Block] | None) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(12, 12, 12, 12)
        column.setSpacing(12)
        self._header = _Header(patch, self._nodes, block_type)
        self._header.renamed.connect(self._rename)
        column.addWidget(self._header)
        if block_type is not None and block_type.parameters:
            form = QFormLayout()
            form.setHorizontalSpacing(8)
            form.setVerticalSpacing(8)
            form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
            form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.DontWrapRows)
            for spec in block_type.parameters.values():
                self._rows[spec.name] = row = self._make_row(spec)
                form.addRow(row.label, row)
            column.addLayout(form)
        elif block_type is not None:
            none = QLabel("This block has no parameters")
            none.setObjectName("faint")
            column.addWidget(none)
        column.addStretch(1)
        return page

    def _make_row(self, spec: ParameterSpec) -> _Row:
        assert self._patch is not None
        row = _Row(spec, make_editor(spec, self._patch.path.parent if self._patch.path else None))
        row.editor.edited.connect(lambda value: self._edit(spec.name, value))
        row.editor.drag_began.connect(self._begin_drag)
        row.editor.drag_ended.connect(self._end_gesture)
        row.reset.clicked.connect(lambda: self._reset(spec.name))
        return row

    def _refresh(self, row: _Row) -> None:
        assert self._patch is not None
        name = row.editor.spec.name
        row.editor.show_values([self._patch.value(node, name) for node in self._nodes])
        row.show_is_set(any(name in self._patch.nodes[node].parameters for node in self._nodes))

    # Editing

    def _edit(self, name: str, value: Any) -> None:
        if self._gesture is None:
            self._gesture = object()
        if not self._dragging:
            self._idle.start()
        gesture = (self._gesture, name)
        self._do(
            f"Set {name} of {self._subject()}", lambda patch, node: patch.set(node, **{name: value}), gesture, name
        )

    def _reset(self, name: str) -> None:
        self._do(f"Reset {name} of {self._subject()}", lambda patch, node: patch.reset(node, name), None, name)

    def _rename(self, title: str) -> None:
        assert self._patch is not None
        self._patch.rename(self._nodes[0], title)

    def _do(self, name: str, edit: Callable[[Patch, str], None], gesture: object, parameter: str) -> None:
        assert self._patch is not None
        try:
            with self._patch.edit(name, gesture=gesture):
                for node in self._nodes:
                    edit(self._patch, node)
        except PatchError as problem:
            self.refused.emit(str(problem))
            self._refresh(self._rows[parameter])

    def _subject(self) -> str:
        assert self._patch is not None
        return self._patch.title(self._nodes[0]) if len(self._nodes) == 1 else plural(len(self._nodes), "block")

    def _begin_drag(self) -> None:
        self._idle.stop()
        self._gesture, self._dragging = object(), True

    def _end_gesture(self) -> None:
        self._idle.stop()
        self._gesture, self._dragging = None, False

    # Following the patch

    def _on_change(self, change: Change) -> None:
        match change:
            case ParameterChanged(node, parameter) if node in self._nodes and parameter in self._rows:
                self._refresh(self._rows[parameter])
            case NodeRenamed(node, title) if node in self._nodes and self._header is not None:
                self._header.show_title(title)
            case NodeRemoved(node) if node.id in self._nodes:
                # The canvas selects something else as well, but not always before the next edit.
                self.show_nodes([other for other in self._nodes if other != node.id])


class _Row(QWidget):
    """A parameter's editor with its reset button; `label` stands before it."""

    def __init__(self, spec: ParameterSpec, editor: ParameterEditor) -> None:
        super().__init__()
        self.editor = editor
        self.label = QLabel(spec.name.replace("_", " "))
        self.label.setToolTip(_help(spec))
        self.label.setMinimumWidth(72)
        self.label.setBuddy(editor)
        self.reset = QToolButton(autoRaise=True)
        self.reset.setObjectName("rowReset")
        self.reset.setIcon(icon("reset"))
        self.reset.setToolTip(f"Reset to {_short(spec.default)}")
        self.reset.setAccessibleName(f"Reset {spec.name}")
        policy = self.reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(policy)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(editor, 1)
        layout.addWidget(self.reset)

    def show_is_set(self, is_set: bool) -> None:
        """Offer to reset a value that was set."""
        self.reset.setVisible(is_set)


class _Header(QWidget):
    """The node's title, its type's help, its state, and what its outputs hold."""

    renamed = Signal(str)

    def __init__(self, patch: Patch, nodes: Sequence[str], block_type: type[Block] | None) -> None:
        super().__init__()
        node = patch.nodes[nodes[0]]
        self._type_title = block_type.title if block_type else node.type
        self._time, self._timed_s = "", 0.0
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        self.title = QLineEdit()
        self.title.setObjectName("blockTitle")
        self.title.setPlaceholderText(self._type_title)
        self.title.setToolTip("Rename this block")
        self.title.setAccessibleName("Title")
        self.title.editingFinished.connect(self._on_title)
        if len(nodes) == 1:
            self.show_title(node.title)
        else:
            self.title.setText(plural(len(nodes), f"{self._type_title} block"))
            self.title.setReadOnly(True)
        column.addWidget(self.title)
        summary = block_type.summary if block_type else f"Block type {node.type} is not installed; its data is kept."
        self._summary = _text(summary, "summary")
        if block_type is not None:
            self._summary.setToolTip(inspect.cleandoc(block_type.__doc__ or ""))
        self._message = _text("", "message")
        self._figures = _text("", "faint")
        for label in (self._summary, self._message, self._figures):
            column.addWidget(label)
        self._message.hide()
        self._figures.hide()

    @property
    def message(self) -> str:
        """What is wrong with the node, or nothing."""
        return self._message.text() if not self._message.isHidden() else ""

    def show_title(self, title: str) -> None:
        """Show the node's own title; without one, its type's stands there."""
        self.title.setText(title or self._type_title)
        self.title.setModified(False)

    def show_report(self, node: str, report: FrameReport) -> None:
        """Show what a report says of the node."""
        found = report.nodes.get(node)
        if found is None:
            return
        _set_text(self._message, found.message)
        if self._message.property("state") != found.state.value:
            self._message.setProperty("state", found.state.value)
            self._message.style().polish(self._message)
        lines = [
            f"{name.partition('.')[2]}: {buffer.dtype}, {format_shape(buffer.shape)}, {format_bytes(buffer.size_bytes)}"
            for name, buffer in report.buffers.items()
            if name.partition(".")[0] == node
        ]
        now_s = time.monotonic()
        if found.state is NodeState.IDLE or found.time_ns is None:
            self._time = ""
        elif now_s - self._timed_s > _REFRESH_S:
            self._timed_s = now_s
            self._time = f"{format_time(found.time_ns)} in {plural(found.kernels, 'kernel')}"
        _set_text(self._figures, "\n".join([*lines, *filter(None, [self._time])]))

    def _on_title(self) -> None:
        if self.title.isModified():
            self.title.setModified(False)
            title = self.title.text().strip()
            self.renamed.emit("" if title == self._type_title else title)


def _text(text: str, name: str) -> QLabel:
    label = QLabel(text, wordWrap=True)
    label.setObjectName(name)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def _set_text(label: QLabel, text: str) -> None:
    if label.text() != text:
        label.setText(text)
    label.setVisible(bool(text))


def _help(spec: ParameterSpec) -> str:
    unit = f" {spec.unit}" if spec.unit else ""
    lines = [spec.doc]
    if spec.minimum is not None and spec.maximum is not None:
        lines.append(f"{spec.minimum:g} to {spec.maximum:g}{unit}")
    elif spec.minimum is not None:
        lines.append(f"At least {spec.minimum:g}{unit}")
    elif spec.maximum is not None:
        lines.append(f"At most {spec.maximum:g}{unit}")
    if spec.type != "array":
        lines.append(f"Default: {_short(spec.default)}{unit}")
    if spec.structural:
        lines.append("Changing it may rebuild the patch")
    return "\n".join(lines)


def _short(value: Any) -> str:
    match value:
        case bool():
            return "on" if value else "off"
        case float():
            return f"{value:g}"
        case str():
            return value or "none"
        case int():
            return str(value)
    return "the default"
