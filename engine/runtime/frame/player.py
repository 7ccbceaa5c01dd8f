"""The player: whether frames advance, where an engine is in a patch's timeline, and how it goes to any frame of it.

A frame depends on those before it if the patch has state. To go to such a frame *exactly*, the engine takes the
nearest state that it has kept before it, or frame 0, and runs the frames between. Otherwise it goes there with the
state as it is, and reports that the frame is not exact.
"""

from warploom.engine.diagnostics import PatchError
from warploom.engine.patch import changes
from warploom.engine.patch.animation.timeline import Timeline
from warploom.engine.protocol import messages
from warploom.engine.protocol.engine_state import EngineState
from warploom.engine.protocol.messages import Message
from warploom.engine.protocol.pacing import Pacing
from warploom.engine.protocol.sampling import ObservePorts
from warploom.engine.runtime.frame.clock import Clock
from warploom.engine.runtime.frame.launcher import Launcher
from warploom.engine.runtime.frame.state_keeper import StateKeeper
from warploom.engine.runtime.update.updater import Updater

#: A state is kept every so many frames at first, and the bytes of all kept ones: with more, every other one is dropped.
SPACING, MOST_BYTES = 30, 256 << 20
_NEVER = 1 << 60
#: Messages after which frames are as before.
_NEUTRAL = (
    changes.NodeLooksChanged,
    changes.NodeModeChanged,
    changes.AnnotationChanged,
    changes.SentinelChanged,
    ObservePorts,
    messages.ObserveProfile,
    messages.SetRunning,
    messages.SetPacing,
    messages.SetProfiling,
    messages.SetFrameBudget,
    messages.SetKernelTimeLimit,
    messages.SetFusing,
    messages.CancelCompiles,
    messages.Reset,
    messages.SaveOutputs,
    messages.SetInput,
    messages.LookFor,
    messages.SetOsc,
    messages.ReleaseOsc,
    messages.HoldOsc,
    messages.SetTimeline,
    messages.Seek,
    messages.SetTime,
)


class Player:
    """Plays the frames of one engine. With a timeline, they are a film."""

    def __init__(self, clock: Clock, states: StateKeeper, launcher: Launcher, updates: Updater) -> None:
        self._clock, self._states, self._launcher, self._updates = clock, states, launcher, updates
        #: True while frames advance.
        self.running = True
        #: How many frames are played before a pause; None plays on.
        self.frames_left: int | None = None
        #: A sentinel has paused the engine, which shows that frame on, also of a film.
        self.is_frozen = False
        #: When frames of the engine's thread begin.
        self.pacing = Pacing()
        self._asked = self.pacing  # what a person chose, for patches without a timeline
        #: False for a patch that only plays on: there is nothing to do at its frames.
        self.is_active = False
        self.timeline: Timeline | None = None
        #: The frame to go to exactly once there is a graph.
        self.sought: int | None = None
        #: The frame that is gone to by running those before it.
        self.replay_to: int | None = None
        self._resumes = False  # the engine plays on once this frame is reached
        #: Frames are gone to exactly.
        self.exact = False
        #: The engine has paused, and now shows the frame that comes next: what is shown is where the film is.
        self.shows_next = False
        #: The film has paused before its last frame, which counts when it is shown now.
        self.ends = False
        #: The film begins again in the next frame.
        self.turns = False
        self._has_all = True  # the state is that of a run from frame 0 as the patch is now
        self._left_out = 0
        self._kept: dict[int, EngineState] = {}
        self._spacing = SPACING

    @property
    def is_exact(self) -> bool:
        """True if the next frame is the one that a run from frame 0 would have."""
        if self._left_out != self._clock.left_out:
            self._left_out, self._has_all = self._clock.left_out, False
        return self._has_all or not self._states.has_state

    @property
    def takes_time(self) -> bool:
        """True if every frame is to be shown, and to be the right one, however long it takes."""
        return self.timeline is not None and self.timeline.every_frame

    def pace(self, asked: Pacing) -> None:
        """Pace frames as a person chose, now or as soon as there is no timeline."""
        self._asked = asked
        self._pace()

    def _pace(self) -> None:
        if self.replay_to is not None:
            self.pacing = Pacing.free()
        else:
            self.pacing = self._asked if self.timeline is None else Pacing.fixed(self.timeline.rate)

    def play(self, running: bool, frames: int | None) -> None:
        """Play or pause; with `frames`, play that many and pause."""
        self._end_replay()
        self.running, self.frames_left = running and frames != 0, frames
        timeline, frame = self.timeline, self._clock.moment.frame
        if timeline is None:
            return
        self.shows_next = not self.running
        if self.running and frames is None and frame >= timeline.end:
            self.turns = timeline.loop is False or frame > timeline.end

    @property
    def shows_last(self) -> bool:
        """True if the last frame is shown in a pause, rather than the one that comes next."""
        return self.timeline is None or self.is_frozen

    def freeze(self) -> None:
        """Pause after this frame, and show it on."""
        self.running, self.frames_left, self.is_frozen = False, None, True
        self._end_replay()
        self.turns = False

    def follow(self, timeline: Timeline | None) -> None:
        """Follow another timeline, or none."""
        self._launcher.quiesce()
        self._launcher.peeks = timeline is not None
        if timeline is None or self.timeline is None or timeline.rate != self.timeline.rate:
            self.note_edit()
        self.timeline = timeline
        self.is_active = self.is_active or timeline is not None
        rate = None if timeline is None else timeline.rate
        self._clock.set_film(rate, leaves_out=timeline is not None and not timeline.every_frame)
        self._pace()

    def note(self, message: Message) -> None:
        """Note a message that may be an edit, after which kept states are no longer those of the patch."""
        edits = message.changes if isinstance(message, messages.Edited) else (message,)
        if not all(isinstance(edit, _NEUTRAL) for edit in edits):
            self.note_edit()

    def note_edit(self) -> None:
        """Note that frames may differ from those before."""
        self._kept.clear()
        self._spacing = SPACING
        self._has_all = self._clock.next_frame == 0

    def begin(self) -> None:
        """Begin a frame, and keep the state before it if frames may be run again from there."""
        if self.shows_next:
            self.shows_next = self._launcher.is_current = False
        if self.running:
            self._keep()

    def _keep(self) -> None:
        frame = self._clock.moment.frame
        if not self.exact or not self._keeps(frame) or frame in self._kept or not self.is_exact:
            return
        try:
            self._kept[frame] = self._states.take()
        except PatchError:  # a block's state can't be kept, so all frames are run
            self._spacing = _NEVER
        while sum(state.size_bytes for state in self._kept.values()) > MOST_BYTES:
            self._spacing *= 2
            self._kept = {at: state for at, state in self._kept.items() if at % self._spacing == 0}

    def _keeps(self, frame: int) -> bool:
        """Return whether the state before a frame is to be kept: also that of the frame where the film begins again."""
        is_first = self.timeline is not None and self.timeline.loop and frame == self.timeline.first
        return frame > 0 and (frame % self._spacing == 0 or (is_first and self._spacing < _NEVER))

    def go_to(self, frame: int, *, exact: bool) -> None:
        """Go to a frame, at once or by running the frames before it.

        Before the first graph is built, it isn't known which of these is exact, and the player goes there afterwards.
        """
        is_early = exact and frame > 0 and self._updates.compiled is None and self._updates.pending
        self.sought = frame if is_early else None
        if is_early:
            return
        self._launcher.quiesce()
        resumes = self._end_replay()
        frames = self._way_to(frame, exact=exact)
        self.running, self.frames_left = resumes, None
        if frames:
            self.running, self.frames_left, self._resumes = True, frames, resumes
            self._pace()
        self._launcher.is_current = self.is_frozen = False

    def go_to_sought(self) -> None:
        """Go to the frame for which the first graph was awaited, if there is one or none is to come."""
        if self.sought is not None and (self._updates.compiled is not None or not self._updates.pending):
            self.go_to(self.sought, exact=True)

    def turn(self) -> None:
        """Begin the film again."""
        self.go_to(self.timeline.first if self.timeline is not None else 0, exact=self.exact)

    def _way_to(self, frame: int, *, exact: bool) -> int:
        """Go to a frame, and return how many frames must be run to get there; no launch may be under way."""
        self.exact, self.turns, self.ends, self.replay_to, self.is_active = exact, False, False, None, True
        clock, here = self._clock, self._clock.moment.frame
        if frame == 0:
            self._restart()
            return 0
        if not exact or not self._states.has_state:
            if frame != here:
                self._has_all = False
            clock.seek(frame)
            return 0
        best = max((at for at in self._kept if at <= frame), default=0)
        if not (self.is_exact and best <= here <= frame):
            if best:
                self._states.put(self._kept[best])
                self._has_all = True
            else:
                self._restart()
        if clock.moment.frame < frame:
            self.replay_to = frame
        return frame - clock.moment.frame

    def reset(self) -> None:
        """Begin again at frame 0, and seek no other frame."""
        self._restart()
        self.is_frozen, self.sought = False, None

    def _restart(self) -> None:
        self._states.begin_again()
        self._has_all = True

    def end(self) -> None:
        """End a frame; pause at the end of the film, or of the frames that are run to reach one."""
        frame, timeline = self._clock.moment.frame, self.timeline
        if self.replay_to is not None:
            if not self.running:
                self.running, self.frames_left = self._end_replay(), None
                if not self.running:
                    self._clock.seek(frame)  # which is shown, also without a timeline, rather than the last one
        elif timeline is not None and self.running:
            if timeline.loop:
                self.turns = frame > timeline.end
            else:
                self.ends = frame >= timeline.end
                self.running = not self.ends
        self.shows_next = not self.running

    def _end_replay(self) -> bool:
        """Run no more frames to reach one, if there is one, and return whether the engine is to play."""
        if self.replay_to is None:
            return self.running
        self.replay_to = None
        self._pace()
        return self._resumes
