"""`Overlays`: what the person has chosen to see over the blocks, which is kept between runs of the editor."""

from functools import partial

from PySide6.QtCore import QObject

from warploom.app.canvas.canvas import Canvas
from warploom.app.documents.bridge import Bridge
from warploom.app.documents.editor_state import UserState
from warploom.app.documents.session import Session
from warploom.engine.protocol.sampling import Sample

_OWNER = "canvas"


class Overlays(QObject):
    """Shows and hides heat, activity, thumbnails and the critical path. Requests only the data that is shown."""

    def __init__(self, canvas: Canvas, session: Session, bridge: Bridge, state: UserState, parent: QObject) -> None:
        super().__init__(parent)
        self._canvas, self._bridge, self._state = canvas, bridge, state
        canvas.view.tooltip.watching.connect(partial(bridge.watch_profile, canvas))
        bridge.profiled.connect(canvas.path.show_profile)
        canvas.display.show_heat(state.shows_heat)
        canvas.display.show_activity(state.shows_activity)
        canvas.thumbnails.wanted.connect(partial(bridge.observe_ports, _OWNER))
        bridge.looked_back.connect(lambda _: canvas.thumbnails.clear())
        bridge.sampled.connect(self._show_thumbnail)
        canvas.thumbnails.set_shown(state.shows_thumbnails)
        session.engine_changed.connect(lambda _: self._show_path())

    def toggle_heat(self) -> None:
        """Show or hide the heat map."""
        self._state.shows_heat = not self._state.shows_heat
        self._canvas.display.show_heat(self._state.shows_heat)

    def toggle_thumbnails(self) -> None:
        """Show or hide what blocks make, below them."""
        self._state.shows_thumbnails = not self._state.shows_thumbnails
        self._canvas.thumbnails.set_shown(self._state.shows_thumbnails)

    def toggle_activity(self) -> None:
        """Show or hide which connections carry new data."""
        self._state.shows_activity = not self._state.shows_activity
        self._canvas.display.show_activity(self._state.shows_activity)

    def toggle_path(self) -> None:
        """Show or hide the critical path."""
        self._state.shows_path = not self._state.shows_path
        self._show_path()

    def _show_path(self) -> None:
        """Mark the critical path if that is chosen; only then are profiles requested."""
        self._bridge.watch_profile("path", self._state.shows_path)
        self._canvas.path.show_path(self._state.shows_path)

    def _show_thumbnail(self, sample: Sample) -> None:
        owner, _, node = sample.name.partition("/")
        if owner == _OWNER:
            self._canvas.thumbnails.take(node, sample)
