"""The docks that look at ports: one follows the selection, others are pinned to a port."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow

from warploom.app.docks.dock import Editor
from warploom.app.docks.pins.pins import Pins, offer_pin
from warploom.app.edits.camera import turn_camera
from warploom.app.view_models.looking.fitting import ViewKind, kinds_for, ports_of
from warploom.app.view_models.looking.tone import Tone
from warploom.app.view_models.profile.tape import Moment
from warploom.app.view_models.tooltips import message_text
from warploom.app.viewers.ports.image_view import ImageView
from warploom.app.viewers.ports.port_viewer import PortViewer
from warploom.app.viewers.recording.record_form import RecordForm
from warploom.app.viewers.recording.recorder import Order, PortRecorder, Recording
from warploom.app.viewers.snapshots import Snapshots, file_contents
from warploom.app.viewers.viewer_docks import ViewerDocks
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.annotations import PinnedViewer
from warploom.engine.protocol.messages import FrameReport, NodeReport
from warploom.engine.protocol.sampling import Sample, Sampling

_TITLE = "Selection"
_PICTURES, _NUMBERS = "Pictures (*.png *.exr *.tif *.jpg)", "Numbers (*.npy *.csv)"
_LEAST = (160, 64)  # pixels; controls that need more are squeezed, rather than the canvas


class PortDock(QDockWidget):
    """A dock with the viewer of a port."""

    def closeEvent(self, event: QCloseEvent) -> None:
        """End the viewer; a pinned one is deleted then."""
        viewer = self.widget()
        assert isinstance(viewer, PortViewer)
        viewer.end()
        super().closeEvent(event)


class PortDocks(QObject):
    """Keeps the dock of the selection and the pinned ones, and requests what the visible ones show."""

    failed, noted = Signal(str), Signal(str)

    def __init__(self, window: QMainWindow, viewers: ViewerDocks) -> None:
        super().__init__(window)
        self._window, self._viewers = window, viewers
        self._is_open = True  # unless the person has closed the dock of the selection
        self._editor: Editor | None = None
        self._patch: Patch | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
        self._report: FrameReport | None = None
        self._moment: Moment | None = None
        self._snapshots: Snapshots | None = None
        self.recorder: PortRecorder | None = None
        self._ordered: Order | None = None
        self._pins = 0
        self._owners: dict[str, QDockWidget] = {}
        self.follower = self._make_dock("looking", _TITLE)
        window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.follower)
        self.follower.hide()
        self.pinned: list[QDockWidget] = []

    def follow(self, editor: Editor) -> None:
        """Follow the selection, the patch and its running engine."""
        self._editor = editor
        editor.session.replaced.connect(self.set_patch)
        editor.session.changed.connect(self._on_changed)
        editor.bridge.report.connect(self.show_report)
        editor.bridge.looked_back.connect(self.look_back)
        editor.bridge.sampled.connect(self.show_sample)
        editor.canvas.scene.selection_settled.connect(self._on_selection)
        self._snapshots = Snapshots("snapshots", editor.bridge, editor.beside.run, self._window)
        self._snapshots.failed.connect(self.failed)
        self._snapshots.noted.connect(self.noted)
        self.recorder = PortRecorder(editor.session, editor.bridge, self)
        self.recorder.failed.connect(self.failed)
        self.recorder.noted.connect(self.noted)
        self.recorder.changed.connect(self._show_recording)

    def end(self) -> None:
        """End all viewers and a recording, whose files are written, before the window is deleted."""
        if self.recorder is not None:
            self.recorder.close()
        for dock in self._docks():
            self.viewer(dock).end()

    def viewer(self, dock: QDockWidget) -> PortViewer:
        """Return the viewer in a dock."""
        widget = dock.widget()
        assert isinstance(widget, PortViewer)
        return widget

    def set_patch(self, patch: Patch | None) -> None:
        """Look at another patch."""
        if self._patch is not None:
            self._is_open = self.follower.toggleViewAction().isChecked()
        self._unsubscribe()
        self._patch, self._report = patch, None
        if self._snapshots is not None:
            self._snapshots.cancel()
        for dock in list(self.pinned):
            self._close(dock)
        self._unsubscribe = patch.subscribe(lambda _: None, self._follow_pins) if patch is not None else lambda: None
        self.viewer(self.follower).show_ports([])
        self.follower.setVisible(False)
        if patch is not None:
            QTimer.singleShot(0, self, self._show_first)  # when the other docks are shown

    def _show_first(self) -> None:
        """Show the dock of the selection, unless it was closed, and the pinned ones, behind the viewers."""
        if self._is_open:
            self.show_behind()
        self._follow_pins()

    def show_behind(self) -> None:
        """Show the dock of the selection, at first behind the viewers; Qt misplaces the tabs of hidden docks."""
        if self._patch is None:
            return
        front = next(iter(self._viewers.docks.values()), self._viewers.empty)
        if not self._window.tabifiedDockWidgets(self.follower):
            self._window.tabifyDockWidget(front, self.follower)
        self.follower.show()
        front.raise_()

    def look(self) -> None:
        """Bring the dock that follows the selection to the front."""
        self.follower.show()
        self.follower.raise_()
        self._on_selection()

    def pin_shown(self) -> None:
        """Pin the port that the selection's dock shows."""
        port = self.viewer(self.follower).port
        if port is not None:
            self.pin(port)

    def pin(self, port: PortRef) -> None:
        """Keep showing a port in a dock of its own; the patch remembers it."""
        patch = self._patch
        if patch is not None:
            patch.annotate(PinnedViewer(node=port.node, port=port.port), f"Pin a viewer of {self.title(port)}")
            for dock in self.pinned:
                if self.viewer(dock).port == port:
                    dock.raise_()

    def _follow_pins(self) -> None:
        """Open a dock for each viewer that the patch has pinned, and close others; missing blocks have none."""
        patch = self._patch
        wanted = {PortRef(p.node, p.port) for p in patch.annotations_of(PinnedViewer)} if patch is not None else set()
        wanted = {port for port in wanted if patch is not None and port.node.partition("/")[0] in patch.nodes}
        for dock in list(self.pinned):
            port = self.viewer(dock).port
            if port in wanted:
                wanted.remove(port)
            else:
                self._close(dock)
        for port in sorted(wanted, key=str):
            self._open(port)

    def _open(self, port: PortRef) -> None:
        self._pins += 1
        dock = self._make_dock(f"pinned:{self._pins}", self.title(port))
        dock.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dock.destroyed.connect(partial(self._forget, dock, f"pinned:{self._pins}", port))
        self.pinned.append(dock)
        self._window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, dock)
        self._window.tabifyDockWidget(self.follower, dock)
        viewer = self.viewer(dock)
        viewer.pin.hide()
        viewer.look_back(self._moment)
        if self.recorder is not None:
            viewer.show_recording(self.recorder.recording)
        viewer.show_ports([port])
        if self._report is not None:
            viewer.show_report(self._report)
        dock.show()

    def show_report(self, report: FrameReport) -> None:
        """Follow element types and shapes."""
        self._report = report
        for dock in self._docks():
            self.viewer(dock).show_report(report)

    def look_back(self, moment: Moment | None) -> None:
        """Show what was recorded at a moment, or the present again."""
        self._moment = moment
        for dock in self._docks():
            self.viewer(dock).look_back(moment)

    def show_sample(self, sample: Sample) -> None:
        """Pass a sample to its viewer."""
        owner, _, name = sample.name.partition("/")
        dock = self._owners.get(owner)
        if dock is not None:
            self.viewer(dock).show_sample(name, sample)

    def title(self, port: PortRef) -> str:
        """Return a port's name as people read it."""
        patch = self._patch
        node = patch.title(port.node) if patch is not None and port.node in patch.nodes else port.node
        return f"{node} · {port.port}"

    def message(self, report: NodeReport) -> str:
        """Return the message of a node's report as people read it."""
        return message_text(self._patch, report) if self._patch is not None else report.message

    def _docks(self) -> list[QDockWidget]:
        return [self.follower, *self.pinned]

    def _make_dock(self, name: str, title: str) -> QDockWidget:
        dock, viewer = PortDock(title, self._window, objectName=name), PortViewer(self.title, self.message)
        viewer.setMinimumSize(*_LEAST)
        dock.setWidget(viewer)
        self._owners[name] = dock
        viewer.wanted.connect(partial(self._ask, name))
        viewer.pin_requested.connect(self.pin)
        viewer.save_requested.connect(partial(self._save, name))
        offer_pin(viewer, partial(self._pin_as_test, viewer))
        viewer.record_requested.connect(partial(self._record, name))
        viewer.recording.stop_requested.connect(self.stop_recording)
        viewer.port_changed.connect(partial(self._name, name))
        # Qt treats a tab behind another one as not visible, which is right here.
        dock.visibilityChanged.connect(partial(self._on_visible, name))
        dock.setProperty("seen", False)
        return dock

    def _on_visible(self, name: str, seen: bool) -> None:
        dock = self._owners.get(name)
        if dock is not None:
            dock.setProperty("seen", seen)
            if seen and dock is self.follower:
                self._on_selection()
            self._ask(name)

    def _ask(self, name: str) -> None:
        dock, editor = self._owners.get(name), self._editor
        if dock is None or editor is None:
            return
        viewer = self.viewer(dock)
        seen = bool(dock.property("seen"))
        if seen and isinstance(viewer.view, ImageView) and self._report is not None:
            if viewer.port is not None and editor.session.patch is not None:
                known, node = editor.session.patch, viewer.port.node
                viewer.view.picture.turn = partial(turn_camera, known, node, self.noted.emit)
            held = self._report.buffers
            shown = [name for name, each in held.items() if ViewKind.IMAGE in kinds_for(each.dtype, each.shape)]
            own = held.get(str(viewer.port))
            shown.sort(key=lambda name: own is None or held[name].shape != own.shape)  # those of its size come first
            viewer.offer_ports([port for port in map(_port, shown) if port != viewer.port])
        editor.bridge.observe_ports(name, viewer.samplings() if seen else {})

    def _name(self, name: str) -> None:
        dock = self._owners[name]
        port = self.viewer(dock).port
        dock.setWindowTitle(self.title(port) if port is not None else _TITLE)

    def _pin_as_test(self, viewer: PortViewer) -> None:
        if self._editor is not None and viewer.port is not None:
            self._editor.reveal(Pins).ask([viewer.port])

    def record_shown(self) -> None:
        """Ask what to record of the port that the selection's dock shows, or else the viewer; end a recording."""
        port = self.viewer(self.follower).port or self._viewed()
        if self.recorder is not None and self.recorder.recording is not None:
            self.recorder.stop()
        elif port is not None:
            self._record("looking", port)
        else:
            self.noted.emit("Nothing is shown: select a block, or connect a viewer, and record again")

    def _viewed(self) -> PortRef | None:
        """Return the port that the viewer in view shows; None without one."""
        front = self._viewers.front
        found = ports_of(self._patch, [front], []) if self._patch is not None and front is not None else []
        return found[0] if found else None

    def stop_recording(self) -> None:
        """End the recording under way; its files so far stay."""
        if self.recorder is not None:
            self.recorder.stop()

    def _save(self, name: str, port: PortRef) -> None:
        if self._snapshots is not None:
            kinds = (_PICTURES, _NUMBERS) if (is_picture := self._axes(port) >= 2) else (_NUMBERS, _PICTURES)
            file, tone = f"{port.node}.{port.port}{'.png' if is_picture else '.npy'}", self._tone(name)
            buffer = self._report.buffers.get(str(port)) if self._report is not None else None
            contents = partial(file_contents, tone=tone, columns=buffer.columns if buffer is not None else ())
            self._snapshots.save(str(port), Sampling(port), file, kinds, contents)

    def _record(self, name: str, port: PortRef) -> None:
        if self.recorder is not None:
            path = self._patch.path if self._patch is not None else None
            folder = path.parent if path is not None else Path.home()
            timeline = self._patch.timeline if self._patch is not None else None
            rate = timeline.rate if timeline is not None else 60.0
            draft = Order(port, self.title(port), self._tone(name), folder, rate=rate)
            if self._ordered is not None:
                draft = replace(self._ordered, port=port, title=draft.title, tone=draft.tone, rate=rate)
            RecordForm(draft, self._axes(port), self._begin, self._window).open()

    def _begin(self, order: Order) -> None:
        self._ordered = order
        if self.recorder is not None:
            self.recorder.start(order)

    def _show_recording(self, recording: Recording | None) -> None:
        for dock in self._docks():
            self.viewer(dock).show_recording(recording)

    def _axes(self, port: PortRef) -> int:
        if self._report is None:
            return 2  # not known yet, so what pictures allow is offered
        buffer = self._report.buffers.get(str(port))
        return len(buffer.shape) if buffer is not None else 0

    def _tone(self, name: str) -> Tone:
        view = self.viewer(self._owners[name]).view
        return view.tone if isinstance(view, ImageView) else Tone()

    def _on_selection(self) -> None:
        """Show what is selected; an empty selection changes nothing."""
        editor, patch = self._editor, self._patch
        if editor is None or patch is None or editor.canvas.patch is not patch:
            return
        ports = ports_of(patch, editor.canvas.selected(), editor.canvas.scene.selected_connections())
        if ports and not self._viewers.docks and self.follower.isVisible():
            self.follower.raise_()  # nothing else is in its place
        if ports and self.follower.property("seen"):
            self.viewer(self.follower).show_ports(ports)

    def _on_changed(self) -> None:
        """Follow titles, and close viewers of blocks that are gone."""
        patch = self._patch
        if patch is None:
            return
        for dock in self._docks():
            port = self.viewer(dock).port
            if port is None:
                continue
            if port.node not in patch.nodes and "/" not in port.node:
                self.viewer(dock).show_ports([])  # a pinned dock has gone with the block
            elif dock.windowTitle() != self.title(port):
                dock.setWindowTitle(self.title(port))

    def _close(self, dock: QDockWidget) -> None:
        self.pinned.remove(dock)  # first, since the person has not closed it
        self._window.removeDockWidget(dock)
        dock.close()

    def _forget(self, dock: QDockWidget, name: str, port: PortRef) -> None:
        self._owners.pop(name, None)
        if dock in self.pinned:
            self.pinned.remove(dock)
            note = PinnedViewer(node=port.node, port=port.port)
            if self._patch is not None and note.key in self._patch.annotations:
                self._patch.remove_annotation(note.key, f"Close the viewer of {self.title(port)}")
        if self._editor is not None:
            self._editor.bridge.observe_ports(name, {})


def _port(name: str) -> PortRef:
    node, _, port = name.rpartition(".")
    return PortRef(node, port)
