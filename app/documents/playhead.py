"""`Playhead`: where the open patch's film is, and going to another frame."""

import time
from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from warploom.app.documents.bridge import Bridge
from warploom.app.documents.session import Session
from warploom.app.edits import keyframes
from warploom.engine.patch.animation.timeline import Timeline
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import FrameReport, Seek

#: How long the report of a frame is waited for that was gone to, and how many frames may be played meanwhile.
_PATIENCE_S, _NEAR = 3.0, 30
#: What counts while a patch has no timeline.
USUAL = Timeline()


class Playhead(QObject):
    """Follows the reports of the engine. A person may go to a frame at once, and its report comes later."""

    #: Another frame is shown, or what is known about it has changed.
    moved = Signal()
    #: Keys are set by setting values, or no more; frames are gone to exactly, or no more.
    modes_changed = Signal()

    def __init__(self, session: Session, bridge: Bridge, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.frame, self.time_s = 0, 0.0
        #: Whether the shown frame is the one that a run from frame 0 has; below, the frame that is gone to.
        self.is_exact, self.left_out = True, 0
        self.replay_to: int | None = None
        #: Setting a parameter that has keys sets a key.
        self.auto_key = True
        #: Frames of a patch with state are gone to by running those before.
        self.exact = True
        # The frame that was gone to last, until a report of it has come, and when that is no longer waited for.
        self._sought: int | None = None
        self._chosen: int | None = None  # the frame that was gone to last
        self._was_running = False
        self._until_s = 0.0
        bridge.report.connect(self._follow)
        session.replaced.connect(lambda _: self._begin())

    def _begin(self) -> None:
        """Follow another patch, of which no frame was gone to."""
        self._sought = self._chosen = None
        self._show(0, 0.0)

    @property
    def timeline(self) -> Timeline:
        """The patch's timeline, or the one that it would get."""
        patch = self._session.patch
        return (patch.timeline if patch is not None else None) or USUAL

    @property
    def key_time_s(self) -> float:
        """The time at which keys are set: that of the present frame."""
        return self.timeline.time_s(self._key_frame)

    @property
    def _key_frame(self) -> int:
        """The present frame. While a patch is no film and has played for long, it is that of a film that loops.

        A frame that a person has gone to stays where it is, and the film becomes that long.
        """
        patch, frame = self._session.patch, self.frame
        is_film = patch is None or patch.timeline is not None or frame == self._chosen
        return frame if is_film else frame % USUAL.length

    def toggle_keys(self, targets: Sequence[PortRef]) -> None:
        """Remove the keys of parameters in the present frame, or add them; see `keyframes.toggle_keys`."""
        patch, frame = self._session.patch, self._key_frame
        assert patch is not None
        keyframes.toggle_keys(patch, targets, self.key_time_s, self.timeline.rate)
        if frame != self.frame and patch.timeline is not None:
            self.seek(frame)

    def seek(self, frame: int) -> None:
        """Go to a frame."""
        frame = self._chosen = max(frame, 0)
        self._session.post(Seek(frame, self.exact))
        self._sought, self._until_s = frame, time.monotonic() + _PATIENCE_S
        self._show(frame, self.timeline.time_s(frame))

    def set_modes(self, *, auto_key: bool | None = None, exact: bool | None = None) -> None:
        """Change what setting a value and going to a frame do."""
        self.auto_key = self.auto_key if auto_key is None else auto_key
        self.exact = self.exact if exact is None else exact
        self.modes_changed.emit()

    def _follow(self, report: FrameReport) -> None:
        if self._sought is not None:  # reports of frames before that were under way
            is_there = report.replay_to == self._sought or 0 <= report.frame - self._sought <= _NEAR
            if not is_there and time.monotonic() < self._until_s:
                return
            self._sought = None
        timeline, session = self.timeline, self._session
        self._was_running = session.running and (self._was_running or report.running)
        if self._was_running and not report.running and not timeline.loop and report.frame >= timeline.end:
            self._was_running = False
            session.follow_pause()
        known = self.frame, self.time_s, self.is_exact, self.replay_to, self.left_out
        found = report.frame, report.time_s, report.exact, report.replay_to, report.left_out
        if found != known:
            _, _, self.is_exact, self.replay_to, self.left_out = found
            self._show(report.frame, report.time_s)

    def _show(self, frame: int, time_s: float) -> None:
        self.frame, self.time_s = frame, time_s
        self.moved.emit()
