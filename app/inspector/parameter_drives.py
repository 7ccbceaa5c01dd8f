"""The drivers of the parameters in the inspector's rows: they are shown, followed, and edited through a menu."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu

from warploom.app.documents.playhead import Playhead
from warploom.app.edits import drive, groups, keyframes
from warploom.app.edits import nodes as node_edits
from warploom.app.edits.drive import NodeSize
from warploom.app.edits.nodes import parameter_label
from warploom.app.edits.organise import osc
from warploom.app.inspector.parameter_row import ParameterRow
from warploom.app.qt.throttle import Throttle
from warploom.app.theme.icons import icon
from warploom.app.view_models.drive_candidates import value_sources
from warploom.app.view_models.live_values import LiveValue, frame_text
from warploom.app.view_models.parameter_text import value_text
from warploom.app.widgets.marked_text import without_marks
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.animation.curves import Course
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.osc_addresses import is_live, osc_address, osc_names
from warploom.engine.patch.rules import is_drivable
from warploom.engine.protocol.messages import FrameReport

_INTERVAL_MS = 100
#: The significant digits of a number that follows keys: more would not be read, and cover the unit.
_DIGITS = 4


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
        self._report: FrameReport | None = None
        self._values: Mapping[str, float] = {}
        self._playhead: Playhead | None = None
        self._shown_s = -1.0  # the time of the shown values of animated parameters
        self._throttle = Throttle(self._show_values, _INTERVAL_MS, self)

    def set_playhead(self, playhead: Playhead) -> None:
        """Set keys at the playhead, and show the values of animated parameters there."""
        self._playhead = playhead
        playhead.moved.connect(self._throttle.ask)

    def has_keys(self, name: str) -> bool:
        """True if keys of a parameter count, since no connection drives it."""
        targets = self._targets(name)
        is_free = all(self._patch.source_of(target) is None for target in targets)
        return is_free and any(self._patch.curve(target.node, name) for target in targets)

    def set_keys(self, name: str, value: float, gesture: object) -> None:
        """Give a parameter a value in the present frame."""
        assert self._playhead is not None
        time_s, rate = self._playhead.key_time_s, self._playhead.timeline.rate
        with self._patch.edit(f"Set key of {parameter_label(name)}", gesture=gesture):
            for target in self._targets(name):
                keyframes.set_key(self._patch, target, time_s, value, rate, gesture)

    def _show_key(self, name: str, *, is_set: bool = False) -> None:
        """Show the keys of a parameter, and its value in the present frame; if it wasn't just set, not over a text."""
        row = self._rows[name]
        if self._playhead is None or not is_drivable(row.editor.spec) or not self._nodes:
            return
        curves = [self._patch.curve(node, name) for node in self._nodes]
        time_s, rate = self._playhead.key_time_s, self._playhead.timeline.rate
        has_keys = any(curves)
        is_at_key = has_keys and all(keyframes.key_index(curve, time_s, rate) is not None for curve in curves)
        row.show_key(has_keys=has_keys, is_at_key=is_at_key)
        is_typed = row.editor.isAncestorOf(QApplication.focusWidget() or row) and time_s == self._shown_s and not is_set
        if has_keys and not row.is_driven and not is_typed:
            row.editor.show_values([self._value_at(node, name, time_s) for node in self._nodes])

    def _value_at(self, node: str, name: str, time_s: float) -> Any:
        curve, spec = self._patch.curve(node, name), self._rows[name].editor.spec
        if not curve:
            return self._patch.value(node, name)
        value = float(f"{Course(curve).at(time_s):.{_DIGITS}g}")
        return spec.coerce(_as_type(keyframes.fitting(spec, value), spec.type))

    def _toggle_key(self, name: str) -> None:
        assert self._playhead is not None
        targets, playhead = self._targets(name), self._playhead
        self._do(lambda: playhead.toggle_keys(targets))

    def _go_to_key(self, name: str, step: int) -> None:
        assert self._playhead is not None
        timeline = self._playhead.timeline
        curves = [self._patch.curve(node, name) for node in self._nodes]
        time_s = keyframes.neighbour(curves, self._playhead.key_time_s, timeline.rate, step)
        if time_s is not None:
            self._playhead.seek(timeline.frame_at(time_s))

    def _fill_keys(self, menu: QMenu, row: ParameterRow, name: str) -> None:
        """Add what can be done with keys to the menu of a parameter."""
        if not is_drivable(row.editor.spec) or row.is_driven:
            return
        curves = [self._patch.curve(node, name) for node in self._nodes]
        menu.addAction(icon("key"), "Add or remove key" if any(curves) else "Animate", partial(self._toggle_key, name))
        if any(curves):
            menu.addAction("Next key", partial(self._go_to_key, name, 1))
            menu.addAction("Previous key", partial(self._go_to_key, name, -1))
            self._on(menu.addAction("Remove all keys"), partial(keyframes.remove_all, self._patch, self._targets(name)))
        menu.addSeparator()

    def show_rows(self, patch: Patch, nodes: Sequence[str], rows: Mapping[str, ParameterRow]) -> None:
        """Follow these rows, which are for parameters of these nodes."""
        self._patch, self._nodes, self._rows = patch, nodes, rows
        for name, row in rows.items():
            row.menu.aboutToShow.connect(partial(self._fill, row, name))
            row.label.customContextMenuRequested.connect(partial(self._open_menu, row))
            row.followed.connect(partial(self._follow, name))
            row.key.clicked.connect(partial(self._toggle_key, name))
            if self._playhead is not None:
                row.offer_key()
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
        self._report, self._values = report, report.values
        self._throttle.ask()

    def refresh(self, name: str) -> None:
        """Show the driver and the keys of a parameter."""
        self._refresh(name)
        self._show_key(name, is_set=True)

    def _refresh(self, name: str) -> None:
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
        row.driven.show_values(self._values, self._frame(name))

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
        held = {name for name in live if self._nodes and f"{self._nodes[0]}.{name}" in self._values}
        return {name for name in held if not self._patch.curve(self._nodes[0], name)}

    def _show_values(self) -> None:
        held = self._held
        for name, row in self._rows.items():
            if row.is_driven is not (name in held):
                self.refresh(name)
            else:
                self._show_key(name)
        if self._playhead is not None:
            self._shown_s = self._playhead.key_time_s
        for name, row in self._rows.items():
            if row.is_driven:
                row.driven.show_values(self._values, self._frame(name))

    def _frame(self, name: str) -> str:
        """Return the frame whose number drives a parameter of the first node; "" if it is no buffer's."""
        target = PortRef(self._nodes[0], name)
        source = self._patch.source_of(target)
        return frame_text(self._report, source, target) if self._report is not None and source is not None else ""

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
        self._fill_keys(menu, row, name)
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
        self._fill_clipboard(menu, row.editor.spec)
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

    def _fill_clipboard(self, menu: QMenu, spec: ParameterSpec) -> None:
        """Offer to copy the value, and to paste one, as text."""
        if spec.type in ("array", "external", "object"):
            return
        menu.addSeparator()
        patch, nodes, name, clipboard = self._patch, self._nodes, spec.name, QGuiApplication.clipboard()
        text = str(patch.value(nodes[0], name))
        menu.addAction(icon("copy"), "Copy value", partial(clipboard.setText, text))
        paste = menu.addAction(icon("paste"), "Paste value")
        paste.setEnabled(bool(clipboard.text()))
        self._on(paste, lambda: node_edits.paste_parameter(patch, nodes, spec, clipboard.text()))

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
        self.released.emit(tuple(targets))  # a value that is the patch's already is no edit, which would do so

    def _do(self, edit: Callable[[], object]) -> None:
        try:
            edit()
        except PatchError as problem:
            self.refused.emit(str(problem))


def _as_type(value: float, kind: str) -> Any:
    return bool(value) if kind == "bool" else int(value) if kind == "int" else value


def _plain(text: str) -> str:
    """Return a text for a menu, in which "&" would mark a key."""
    return text.replace("&", "&&")
