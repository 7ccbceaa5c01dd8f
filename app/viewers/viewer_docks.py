"""The viewer docks, one for each viewer node of the patch, created and removed as the patch changes."""

from collections import Counter
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QScreen
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar

from warploom.app.docks.dock import Editor
from warploom.app.docks.pins.pins import Pins, offer_pin
from warploom.app.edits.camera import turn_camera
from warploom.app.theme.fonts import title_font
from warploom.app.view_models.looking.fitting import ports_of
from warploom.app.view_models.profile.tape import Moment
from warploom.app.view_models.tooltips import message_text
from warploom.app.viewers.screens import Screens
from warploom.app.viewers.snapshots import Snapshots, opaque_picture
from warploom.app.viewers.viewer import ViewerPanel
from warploom.engine.blocktypes.describing import shows_pictures
from warploom.engine.patch.changes import (
    BlockTypesChanged,
    Change,
    Connected,
    Disconnected,
    NodeAdded,
    NodeRemoved,
    NodeRenamed,
)
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import FrameReport, NodeState
from warploom.engine.protocol.sampling import Sample, Sampling, picture_of

#: Of the samples that viewers request.
OWNER = "viewers"
_PICTURES = ("Pictures (*.png *.jpg *.tif *.webp *.bmp)",)
_NO_VIEWER = "Add a Viewer block and connect an image"
_NO_IMAGE = "Connect an image to this viewer"
_WAITING = "Waiting for the first picture …"
_COMPILING = "Compiling the patch …"


class ViewerDocks(QObject):
    """Keeps a dock for each viewer node, tabbed together; without a viewer node, a dock shows how to add one."""

    failed = Signal(str)
    #: A picture was saved, or its saving was cancelled; the text says which.
    noted = Signal(str)

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._patch = Patch()
        self._unsubscribe: Callable[[], None] = lambda: None
        self._editor: Editor | None = None
        self.snapshots: Snapshots | None = None
        self._seen: set[str] = set()
        self._is_preparing = False
        self._moment: Moment | None = None
        self._idle: dict[str, str] = {}  # the last reported reasons why viewers don't run
        self.empty = self._make_dock("viewer", "Viewer", ViewerPanel(_NO_VIEWER))
        window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.empty)
        self.docks: dict[str, QDockWidget] = {}
        #: The viewers that fill a display.
        self.screens = Screens(window)
        self.screens.sampling_changed.connect(self._report_visible)

    def follow(self, editor: Editor) -> None:
        """Follow the patch's viewers and their pictures, and request the pictures of visible viewers."""
        self._editor = editor
        editor.session.replaced.connect(self.set_patch)
        editor.bridge.report.connect(self.show_report)
        editor.bridge.looked_back.connect(self.look_back)
        editor.bridge.sampled.connect(self.show_sample)
        editor.canvas.node_activated.connect(self.reveal)
        self.snapshots = Snapshots("pictures", editor.bridge, editor.beside.run, self._window)
        self.snapshots.failed.connect(self.failed)
        self.snapshots.noted.connect(self.noted)

    def viewer(self, node: str) -> ViewerPanel:
        """Return the viewer of a node."""
        widget = self.docks[node].widget()
        assert isinstance(widget, ViewerPanel)
        return widget

    def set_patch(self, patch: Patch | None) -> None:
        """Show the viewers of another patch."""
        self._unsubscribe()
        for node in list(self.docks):
            self._remove(node)
        self._patch = patch or Patch()
        self._unsubscribe = self._patch.subscribe(self._on_change)
        for node in self._patch.nodes:
            self._add(node)
        if self.docks:
            next(iter(self.docks.values())).raise_()

    def show_sample(self, sample: Sample) -> None:
        """Pass a picture to its viewer, if that still exists, and to the display that the viewer fills."""
        owner, _, node = sample.name.partition("/")
        if owner == OWNER and node in self.docks:
            self.viewer(node).show_sample(sample)
            if node in self.screens.views and sample.data is not None:
                self.screens.views[node].show_pixels(sample.data)

    def look_back(self, moment: Moment | None) -> None:
        """Prepare for the recorded pictures of a moment, which arrive next, or return to the present."""
        self._moment = moment
        for node in self.docks:
            self.viewer(node).look_back(moment)
            self.viewer(node).page.hint.setText(self._hint(node))

    def show_report(self, report: FrameReport) -> None:
        """Show what a viewer is waiting for, if it has no picture yet."""
        idle = {
            node: message_text(self._patch, found)
            for node in self.docks
            if (found := report.nodes.get(node)) is not None and found.state is NodeState.IDLE
        }
        if (report.preparing, idle) != (self._is_preparing, self._idle):
            self._is_preparing, self._idle = report.preparing, idle
            for node in self.docks:
                self.viewer(node).page.hint.setText(self._hint(node))

    def gather(self) -> None:
        """Bring all viewers to the place of the first one, after another arrangement of the docks was restored."""
        self.empty.show()
        for dock in self.docks.values():
            self._window.tabifyDockWidget(self.empty, dock)
            dock.show()
        self.empty.setVisible(not self.docks)

    def reveal(self, node: str) -> None:
        """Bring a viewer to the front, even if it was closed."""
        if node in self.docks:
            self.docks[node].show()
            self.docks[node].raise_()

    def fill_screen(self, node: str | None = None, display: QScreen | None = None) -> None:
        """Fill a display with a viewer, or end that. Without a node it is the one in front; see `Screens.usual`."""
        chosen = node or self.front
        if node is None and self.screens.views:
            self.screens.close_all()
        elif chosen is not None:
            title, pixels = self.docks[chosen].windowTitle(), self.viewer(chosen).picture.pixels
            self.screens.show(chosen, title, display or self.screens.usual(), pixels)

    @property
    def front(self) -> str | None:
        """The viewer in view, or else the first one; None without any."""
        return next((node for node in self.docks if node in self._seen), next(iter(self.docks), None))

    def _save(self, node: str) -> None:
        if self.snapshots is not None:
            title, wanted = self.docks[node].windowTitle(), self.viewer(node).whole or picture_of(node)
            self.snapshots.save(f"picture of {title}", wanted, f"{title}.png", _PICTURES, opaque_picture)

    def _copy(self, node: str) -> None:
        if self.snapshots is not None:
            title, wanted = self.docks[node].windowTitle(), self.viewer(node).whole or picture_of(node)
            self.snapshots.copy(f"picture of {title}", wanted)

    def _pin(self, node: str) -> None:
        if self._editor is not None:
            self._editor.reveal(Pins).ask(ports_of(self._patch, [node], []))

    def _add(self, node: str) -> None:
        block_type = self._patch.block_type(node)
        if block_type is None or not shows_pictures(block_type):
            return
        viewer = ViewerPanel(self._hint(node), node)
        viewer.picture.turn = partial(turn_camera, self._patch, node, self.noted.emit)
        viewer.look_back(self._moment)
        viewer.sampling_changed.connect(partial(self._on_sampling, node))
        viewer.save_asked.connect(partial(self._save, node))
        viewer.copy_asked.connect(partial(self._copy, node))
        offer_pin(viewer, partial(self._pin, node))
        viewer.addAction("Fill a display").triggered.connect(lambda _checked=False: self.fill_screen(node))
        dock = self._make_dock(f"viewer:{node}", "", viewer)
        # Qt treats a tab behind another one as not visible, which is right here.
        dock.visibilityChanged.connect(partial(self._set_seen, node))
        neighbour = next(iter(self.docks.values()), self.empty)
        self.docks[node] = dock
        self._window.tabifyDockWidget(neighbour, dock)
        self._name_docks()
        dock.setVisible(True)
        self.empty.hide()
        dock.raise_()

    def _remove(self, node: str) -> None:
        dock = self.docks.pop(node)
        self.screens.close(node)
        if self.snapshots is not None:
            self.snapshots.cancel(node)
        if not self.docks:
            # The empty dock replaces it.
            self._window.tabifyDockWidget(dock, self.empty)
            self.empty.show()
        self._window.removeDockWidget(dock)
        dock.deleteLater()
        self._set_seen(node, False)
        self._name_docks()

    def _name_docks(self) -> None:
        """Give each dock its node's title. Of nodes without their own, several get those of the blocks that feed them.

        Titles that are still equal are followed by the node's id.
        """
        titles = {node: self._patch.title(node) for node in self.docks if node in self._patch.nodes}
        counts = Counter(titles.values())
        titles |= {node: self._fed_title(node) for node, title in titles.items() if counts[title] > 1}
        counts = Counter(titles.values())
        for node, title in titles.items():
            self.docks[node].setWindowTitle(f"{title} · {node}" if counts[title] > 1 else title)
        for bar in self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            bar.setElideMode(Qt.TextElideMode.ElideMiddle)  # the ends of titles differ; Qt's tooltips have all of them

    def _fed_title(self, node: str) -> str:
        patch = self._patch
        lines = patch.connections_of(node) if not patch.nodes[node].title else ()
        pictures = (line for line in lines if line.target.node == node and not patch.is_value_connection(line))
        return patch.title(next((line.source.node for line in pictures), node))

    def _make_dock(self, name: str, title: str, viewer: ViewerPanel) -> QDockWidget:
        dock = QDockWidget(title, self._window, objectName=name)
        dock.setFont(title_font())
        dock.setWidget(viewer)
        return dock

    def _hint(self, node: str) -> str:
        if not any(connection.target.node == node for connection in self._patch.connections):
            return _NO_IMAGE
        if self._moment is not None:
            return f"No picture was recorded at {self._moment.mark(self._moment.frame)}"
        if self._is_preparing:
            return _COMPILING
        why = self._idle.get(node, "")
        return why[:1].upper() + why[1:] or _WAITING

    def _set_seen(self, node: str, seen: bool) -> None:
        seen = seen and node in self.docks  # Qt also reports a dock that is being removed
        if seen != (node in self._seen):
            self._seen ^= {node}
            self._report_visible()

    def _on_sampling(self, node: str) -> None:
        if node in self._seen and node in self.docks:
            self._report_visible()

    def _report_visible(self) -> None:
        shown = {node: self.viewer(node) for node in self.docks if node in self._seen}
        wanted = {node: viewer.sampling for node, viewer in shown.items() if not viewer.is_frozen}
        for node, sampling in self.screens.samplings.items():
            wanted[node] = _larger(sampling, wanted.get(node, sampling))
        if self._editor is not None:
            self._editor.bridge.observe_ports(OWNER, wanted)

    def _on_change(self, change: Change) -> None:
        match change:
            case NodeAdded(node):
                self._add(node.id)
            case NodeRemoved(node) if node.id in self.docks:
                self._remove(node.id)
            case NodeRenamed():
                self._name_docks()
            case Connected(connection) | Disconnected(connection) if connection.target.node in self.docks:
                self.viewer(connection.target.node).page.hint.setText(self._hint(connection.target.node))
                self._name_docks()
            case BlockTypesChanged(types):
                self._follow_types(types)

    def _follow_types(self, types: frozenset[str]) -> None:
        """Add and remove viewers for block types that started or stopped showing pictures."""
        for node in self._patch.nodes.values():
            if node.type in types:
                block_type = self._patch.block_type(node.id)
                shows = block_type is not None and shows_pictures(block_type)
                if shows and node.id not in self.docks:
                    self._add(node.id)
                elif block_type is not None and not shows and node.id in self.docks:
                    self._remove(node.id)


def _larger(screen: Sampling, dock: Sampling) -> Sampling:
    """Return the pictures that are large enough for a display and a dock, at the display's rate."""
    # Without a size, all pixels are wanted.
    return replace(screen, size=tuple(map(max, zip(screen.size, dock.size, strict=False))), probe=dock.probe)
