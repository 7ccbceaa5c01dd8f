"""`GroupPorts`: the function of a group in the inspector, and its ports, which a person renames and removes."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QMargins, QSize, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QToolButton, QWidget

from warploom.app.inspector.typed_line import TypedLine
from warploom.app.theme.icons import icon
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.groups.flat import INPUTS, OUTPUTS
from warploom.engine.patch.groups.functions import function_of
from warploom.engine.patch.groups.types import names_of


class GroupPorts(QWidget):
    """Lists the ports and parameters of a group, or of one of its ends: a name to edit, and a button to remove it."""

    #: An edit that the person wants, as a function of the patch.
    asked = Signal(object)

    def __init__(self, patch: Patch, node: str) -> None:
        super().__init__()
        self._patch = patch
        self.names: dict[str, TypedLine] = {}
        self._grid = QGridLayout(self, contentsMargins=QMargins())
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(1, 1)
        group = node if patch.is_group(node) else patch.group_of(node)
        if node == group:
            self.function = TypedLine(accessibleName="Function", placeholderText="None")
            self.function.show_text(function_of(patch.nodes[node]))
            self.function.setToolTip("Groups with the same function change together; its name, or nothing for none")
            self.function.entered.connect(partial(self._join, node))
            self._grid.addWidget(QLabel("Function"), 0, 0)
            self._grid.addWidget(self.function, 0, 1)
        for kind, title in ((INPUTS, "Inputs"), (OUTPUTS, "Outputs")):
            for end in patch.members(group):
                if patch.nodes[end].type == kind and node in (end, group):
                    self._list(title, end, list(names_of(patch.nodes[end])))

    def _list(self, title: str, end: str, names: Sequence[str]) -> None:
        first = self._grid.rowCount()
        label = QLabel(title)
        label.setMinimumWidth(72)
        self._grid.addWidget(label, first, 0)
        if not names:
            hint = QLabel("None. Connect + inside the group to add one", objectName="faint", wordWrap=True)
            self._grid.addWidget(hint, first, 1, 1, 2)
        for row, name in enumerate(names, first):
            port = PortRef(end, name)
            spec = self._patch.find_end(port)
            line = self.names[name] = TypedLine(accessibleName=f"Name of {name}")
            line.show_text(name)
            line.setToolTip(spec.doc if spec is not None else "")
            line.entered.connect(partial(self._rename, port))
            remove = QToolButton(autoRaise=True, objectName="rowReset", accessibleName=f"Remove {name}")
            remove.setToolTip(f"Remove {name} from the group, with its connections")
            remove.setIcon(icon("close", "text_faint"))
            remove.setIconSize(QSize(14, 14))
            remove.clicked.connect(partial(self._remove, port))
            self._grid.addWidget(line, row, 1)
            self._grid.addWidget(remove, row, 2)

    def _join(self, group: str, text: str) -> None:
        self.asked.emit(lambda patch: patch.set(group, function=text.strip()))

    def _remove(self, port: PortRef) -> None:
        self.asked.emit(lambda patch: patch.remove_port(port))

    def _rename(self, port: PortRef, text: str) -> None:
        self.names[port.port].show_text(port.port)  # if the name is accepted, the list is made again
        self.asked.emit(lambda patch: patch.rename_port(port, "_".join(text.split())))
