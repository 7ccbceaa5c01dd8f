"""`NodePage`: what the inspector shows of the selected nodes, from the title down to problems and figures."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QMargins, Qt, QTimer, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from warploom.app.inspector.group_ports import GroupPorts
from warploom.app.inspector.node_info import NodeHeader, NodeStatus
from warploom.app.inspector.parameter_form import ParameterForm
from warploom.app.inspector.parameter_row import ParameterRow
from warploom.app.inspector.typed_line import TypedInput, continue_line, input_of
from warploom.app.inspector.vector_row import VectorRow
from warploom.app.qt.turn import left_s
from warploom.app.theme.icons import icon
from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.patch.document import Patch
from warploom.engine.patch.groups.types import FUNCTION

#: The height below which the summary is hidden, in sizes of the font.
_LOW = 14
#: The time after which the rest of a page is made at once. On a busy machine, turns come rarely, and the page before
#: stays in sight meanwhile.
_LATEST_S = 0.06
#: Makes the row of a parameter; the second argument is whether other rows have the switch for constants.
MakeRow = Callable[[ParameterSpec, bool], ParameterRow]


_TITLE = ""  # in place of a parameter's name


@dataclass(frozen=True)
class Unfinished:
    """What a person is doing in a page: the input by parameter, and the focused control's kind and accessible name."""

    inputs: Mapping[str, TypedInput]
    control: tuple[type[QWidget], str] | None


class NodePage(QWidget):
    """The widgets for some nodes; `block_type` is None for nodes of different types.

    They are made in several turns of the event loop, since a row takes a millisecond. Its parent is there from the
    beginning, since Qt would style each widget again for another one.
    """

    #: All widgets are made.
    made = Signal()
    #: The person asked for an edit of a group's ports: a function of the patch.
    asked = Signal(object)
    #: The person wants the files of save blocks to be written.
    save_requested = Signal()

    def __init__(
        self,
        patch: Patch,
        nodes: Sequence[str],
        block_type: type[Block] | None,
        specs: Sequence[ParameterSpec],
        folded: set[str],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._patch, self._nodes, self._type = patch, nodes, block_type
        self._specs, self._folded = specs, folded
        self._column = QVBoxLayout(self, contentsMargins=QMargins(12, 8, 4, 8), spacing=8)
        self._made: list[ParameterRow] = []
        self._steps: Iterator[None] = iter(())
        self._begun_s = 0.0
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self._go_on)
        self._form: ParameterForm | None = None
        self.header = NodeHeader(patch, nodes, block_type)
        self.status = NodeStatus(block_type)
        #: The rows by their parameter, in their order on the page.
        self.rows: dict[str, ParameterRow] = {}

    def make(self, make_row: MakeRow, *, at_once: bool) -> None:
        """Begin to make the widgets, or make all of them at once."""
        self._steps, self._begun_s = self._make(make_row), time.perf_counter()
        self._go_on(at_once=at_once)

    def finish(self) -> None:
        """Make the rest at once."""
        self._go_on(at_once=True)

    def _go_on(self, *, at_once: bool = False) -> None:
        is_due = at_once or time.perf_counter() - self._begun_s >= _LATEST_S
        for _ in self._steps:
            if not is_due and not left_s():
                self._later.start()
                return
        self._later.stop()
        self.made.emit()

    def _make(self, make_row: MakeRow) -> Iterator[None]:
        patch, node, block_type, column = self._patch, self._nodes[0], self._type, self._column
        column.addWidget(self.header)
        is_group, is_end = patch.is_group(node), patch.is_end(node)
        if block_type is None and self._specs:
            self.header.show_mixed(len(self._nodes))
        yield
        has_constants = any(spec.can_be_constant for spec in self._specs)
        for spec in self._specs:
            if not (is_group and spec.name == FUNCTION):  # it is shown with the ports
                self._made.append(make_row(spec, has_constants))
                yield
        if self._made or (block_type is not None and block_type.parameters):
            self._form = ParameterForm(self._made, self._folded)
            self.rows = {row.editor.spec.name: row for row in self._form.rows}
            column.addLayout(self._form)
        elif block_type is not None:
            column.addWidget(QLabel("This block has no parameters", objectName="faint"))
        if len(self._nodes) == 1 and (is_group or is_end):
            ports = GroupPorts(patch, node)
            ports.asked.connect(self.asked)
            column.addWidget(ports)
        specs = block_type.parameters.values() if block_type is not None else ()
        records = block_type is not None and block_type.is_live  # such a block writes while the patch runs
        if not records and any(spec.files.startswith("save") for spec in specs):
            save = QPushButton(
                icon("snapshot"), "Save now", toolTip="Write the files of all save blocks (Save outputs)"
            )
            save.clicked.connect(self.save_requested)
            column.addWidget(save, alignment=Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self.status)
        column.addStretch(1)
        yield

    @property
    def vectors(self) -> Sequence[VectorRow]:
        """The rows of vectors, which hold rows of their components."""
        return self._form.vectors if self._form is not None else ()

    def wrap(self, width: int, height: int, size: int) -> None:
        """Use the size of the dock, with a font of a size: parameters need a low dock more than the summary does."""
        self.header.summary.setVisible(height >= _LOW * size)
        if self._form is not None:
            margins = self._column.contentsMargins()
            self._form.wrap(width - margins.left() - margins.right(), size)

    def unfinished(self) -> Unfinished:
        """Return what the person is doing here, for a page that replaces this one."""
        inputs = {name: given for name, row in self.rows.items() if (given := row.editor.typed_input()) is not None}
        inputs[_TITLE] = input_of(self.header.title, is_typed=self.header.title.isModified())
        focused = self.window().focusWidget()
        if focused is None or not self.isAncestorOf(focused):
            return Unfinished(inputs, None)
        return Unfinished(inputs, (type(focused), focused.accessibleName()))

    def continue_with(self, unfinished: Unfinished) -> None:
        """Let the person go on: with typed text, its selection and the focus."""
        for name, given in unfinished.inputs.items():
            if name in self.rows:
                self.rows[name].editor.continue_with(given)
        continue_line(self.header.title, unfinished.inputs[_TITLE])
        if unfinished.control is not None:
            kind, name = unfinished.control
            controls = (control for control in self.findChildren(kind) if control.accessibleName() == name)
            if (control := next(controls, None)) is not None:
                control.setFocus()

    def end(self) -> None:
        """Take no input any more: the page stays in sight for a moment, until another one is made."""
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        for sender in (self.header, *(row.editor for row in self.rows.values())):
            sender.blockSignals(True)

    def drop(self) -> None:
        """Delete the widgets of a page that was not completed."""
        self._later.stop()
        for widget in (
            *(row.label for row in self._made),
            *self._made,
            self.header,
            self.status.problem,
            self.status,
            self,
        ):
            widget.deleteLater()
