"""The drivers of the parameters in the inspector's rows: they are shown, followed, and edited through a menu."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QMenu

from app.edits import drive, groups
from app.edits.drive import NodeSize
from app.edits.nodes import parameter_label
from app.edits.organise import osc
from app.inspector.parameter_row import ParameterRow
from app.qt.throttle import Throttle
from app.theme.icons import icon
from app.view_models.drive_candidates import value_sources
from app.view_models.live_values import LiveValue
from app.view_models.parameter_text import value_text
from app.widgets.marked_text import without_marks
from engine.diagnostics import PatchError
from engine.patch.changes import Connection, PortRef
from engine.patch.document import Patch
from engine.patch.organise.osc_addresses import is_live, osc_address, osc_names
from engine.patch.rules import is_drivable
from engine.protocol.messages import FrameReport

_INTERVAL_MS = 100


class ParameterDrives(QObject):
    """Keeps the rows of the inspector's nodes up to date with their parameters' drivers."""

    refused = Signal(str)  # the reason why a parameter can't be driven
    followed = Signal(str)  # the person wants to see this node, which drives a parameter
    released = Signal(tuple)  # these parameters (`PortRef`) get the patch's values instead of those of OSC messages

    def __init__(self, node_size: NodeSize, parent: QObject) -> None:
        super().__init__(parent)
        self._node_size = node_size
        self._patch = Patch()
        self._nodes: Sequence[str] = ()
        self._rows: Mapping[str, ParameterRow] = {}
        self._values: Mapping[str, float] = {}
        self._throttle = Throttle(self._show_values, _INTERVAL_MS, self)

    def show_rows(self, patch: Patch, nodes: Sequence[str], rows: Mapping[str, ParameterRow]) -> None:
        """Follow these rows, which are for parameters of these nodes."""
        self._patch, self._nodes, self._rows = patch, nodes, rows
        for name, row in rows.items():
            row.menu.aboutToShow.connect(partial(self._fill, row, name))
            row.label.customContextMenuRequested.connect(partial(self._open_menu, row))
            row.followed.connect(partial(self._follow, name))
            if self._group:
                row.drive.show()  # also for a parameter that no value can drive: it can be promoted
            self.refresh(name)
        self._show_addresses()

    def _show_addresses(self) -> None:
        names = osc_names(self._patch) if self._rows else {}
        for name, row in self._rows.items():
            if is_live(row.editor.spec):
                row.show_address(osc_address(self._patch, self._targets(name)[0], names))

    def show_report(self, report: FrameReport) -> None:
        """Show the values of a report, a few times a second."""
        self._values = report.values
        self._throttle.ask()

    def refresh(self, name: str) -> None:
        """Show the driver of a parameter."""
        patch, row = self._patch, self._rows[name]
        sources = [patch.source_of(target) for target in self._targets(name)]
        if all(source is None or patch.leaf(source) is None for source in sources):
            sources = []  # a parameter that is promoted to the group is set here too
        known = {source for source in sources if source is not None}
        if not known and name in self._held:
            address = osc_address(patch, self._targets(name)[0])
            tooltip = f"Messages to {address} set it: click to give it the patch's value again"
            row.show_driven("OSC", tooltip, LiveValue(f"{self._nodes[0]}.{name}", row.editor.spec.type))
            row.driven.show_values(self._values)
            return
        if not known:
            row.show_free()
            return
        source = next(iter(known))
        if len(known) > 1 or None in sources:
            row.show_driven("various", "Different values drive the selected blocks", None)
            return
        stored = value_text(patch.value(self._nodes[0], name))
        tooltip = f"Driven by {source}: click to go to it.\nWithout the connection, the value is {stored}."
        is_value = patch.is_value_connection(Connection(source, self._targets(name)[0]))
        live = LiveValue(f"{self._nodes[0]}.{name}", row.editor.spec.type) if is_value else None
        row.show_driven(drive.source_title(patch, source), tooltip, live)
        row.driven.show_values(self._values)

    def refresh_all(self) -> None:
        """Show the driver of each driven parameter again, and the addresses, which follow from titles."""
        self._show_addresses()
        for name, row in self._rows.items():
            if row.is_driven:
                self.refresh(name)

    @property
    def _held(self) -> set[str]:
        """The parameters of the first node that have a value in the report: messages set those without a driver."""
        live = [name for name, row in self._rows.items() if is_live(row.editor.spec)]  # an op's numbers are not
        return {name for name in live if self._nodes and f"{self._nodes[0]}.{name}" in self._values}

    def _show_values(self) -> None:
        held = self._held
        for name, row in self._rows.items():
            if row.is_driven is not (name in held):
                self.refresh(name)
        for row in self._rows.values():
            if row.is_driven:
                row.driven.show_values(self._values)

    @property
    def _group(self) -> str:
        """The group around the nodes, which may get their parameters; "" if there is none."""
        node = self._nodes[0] if self._nodes else ""
        return self._patch.group_of(node) if node in self._patch.nodes and not self._patch.is_end(node) else ""

    def _targets(self, name: str) -> list[PortRef]:
        return [PortRef(node, name) for node in self._nodes]

    def _fill(self, row: ParameterRow, name: str) -> None:
        """Fill the menu of a parameter: possible drivers, the current one, and how to disconnect it."""
        patch, targets, menu = self._patch, self._targets(name), row.menu
        menu.clear()
        for inner in menu.findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly):
            inner.deleteLater()  # clearing the menu does not delete it
        sources = {source for target in targets if (source := patch.source_of(target)) is not None}
        if self._group and not sources:
            promoted = menu.addAction(f"Promote to {_plain(patch.title(self._group))}")
            promoted.setToolTip("Make it a parameter of the group")
            self._on(promoted, partial(groups.promote, patch, targets))
            menu.addSeparator()
        new = menu.addMenu(icon("add"), "Drive with a new")
        new.setToolTipsVisible(True)
        for block_type in drive.drivers(patch, targets[0]):
            action = new.addAction(_plain(block_type.title))
            action.setToolTip(without_marks(block_type.summary))
            self._on(action, partial(drive.drive_with_new, patch, targets, block_type, self._node_size))
        new.setEnabled(not new.isEmpty())
        new.menuAction().setVisible(is_drivable(row.editor.spec))
        present = menu.addMenu("Drive with")
        for source in value_sources(patch, targets[0]):
            action = present.addAction(f"{_plain(drive.source_title(patch, source))}\t{source.node}")
            action.setCheckable(True)
            action.setChecked(sources == {source})
            self._on(action, partial(drive.drive, patch, targets, source))
        present.setEnabled(not present.isEmpty())
        present.menuAction().setVisible(is_drivable(row.editor.spec))
        if is_live(row.editor.spec):
            menu.addSeparator()
            address = osc_address(patch, targets[0])
            menu.addAction(icon("copy"), "Copy OSC address", partial(QGuiApplication.clipboard().setText, address))
            send = menu.addAction("Send by OSC when it changes")
            send.setCheckable(True)
            send.setChecked(sent := all(osc.is_sent(patch, target) for target in targets))
            self._on(send, partial(self._send, targets, is_sent=not sent))
            if not sources and name in self._held:
                keep = menu.addAction("Keep the value from OSC")
                self._on(keep, partial(self._keep, targets, name))
        else:
            menu.addAction("No OSC address: it rebuilds the patch").setEnabled(False)
        if sources:
            menu.addSeparator()
            if len(sources) == 1:
                title = _plain(drive.source_title(patch, min(sources, key=str)))
                menu.addAction(f"Go to {title}", partial(self._follow, name))
            self._on(menu.addAction(icon("close"), "Disconnect"), partial(drive.release, patch, targets))

    def _on(self, action: QAction, edit: Callable[[], object]) -> None:
        """Make an edit when the action is chosen."""
        action.triggered.connect(lambda: self._do(edit))

    def _follow(self, name: str) -> None:
        source = next(filter(None, map(self._patch.source_of, self._targets(name))), None)
        if source is not None:
            self.followed.emit(source.node)
        elif name in self._held:
            leaves = (leaf for target in self._targets(name) for leaf in self._patch.leaves(target.node, name))
            self.released.emit(tuple(PortRef(*leaf) for leaf in leaves))

    def _open_menu(self, row: ParameterRow, position: QPoint) -> None:
        row.menu.popup(row.label.mapToGlobal(position))

    def _send(self, targets: Sequence[PortRef], *, is_sent: bool) -> None:
        with self._patch.edit(f"{'Send' if is_sent else 'Do not send'} {parameter_label(targets[0].port)} by OSC"):
            for target in targets:
                osc.set_sent(self._patch, target, is_sent=is_sent)

    def _keep(self, targets: Sequence[PortRef], name: str) -> None:
        osc.keep_values(self._patch, dict.fromkeys(targets, self._values[f"{self._nodes[0]}.{name}"]))

    def _do(self, edit: Callable[[], object]) -> None:
        try:
            edit()
        except PatchError as problem:
            self.refused.emit(str(problem))


def _plain(text: str) -> str:
    """Return a text for a menu, in which "&" would mark a key."""
    return text.replace("&", "&&")
