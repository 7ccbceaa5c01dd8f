import math

from warploom.api import Moment, Value, param, value_port
from warploom.blocks.music.beat_tracker import BeatTracker, Rises
from warploom.blocks.music.heard import Heard
from warploom.engine.diagnostics import PatchError

#: How much later than a sound its rise is found, in frames and in seconds: Bands weigh its first samples less.
_LATE_FRAMES, _LATE_S = 0.5, 0.006


class Beat(Heard, id="sound.beat", tags=("music", "tempo", "bpm", "rhythm", "pulse", "metronome", "tap", "react")):
    """Follows the beat of music.

    x are levels that change from frame to frame, such as those of Bands. The tempo is found after some seconds, and
    beats then come in time, though levels are a frame late. `phase` rises from 0 to 1 from each beat to the next; use
    it to move a picture evenly.
    """

    beat: Value[bool] = value_port(doc="True in the first frame of a beat.")
    phase: Value[float] = value_port(doc="Part of the present beat that is over, from 0 to 1; 0 without a beat.")
    tempo: Value[float] = value_port(unit="1/min", doc="Beats per minute; 0 while no beat is found.")
    clarity: Value[float] = value_port(doc="How clear the beat is, from 0 to 1.")
    beats: Value[int] = value_port(doc="Number of beats so far.")
    slowest: float = param(60.0, min=20, max=400, unit="1/min", doc="Slowest tempo to expect, in beats per minute.")
    fastest: float = param(
        180.0, min=20, max=400, unit="1/min", doc="Fastest tempo to expect; twice the slowest or more."
    )

    saved = ("memory", "began_s")

    def start(self) -> None:
        """Forget what was heard."""
        super().start()
        self.rises, self.tracker, self.beats = Rises(), BeatTracker(), 0
        self.remember(self.rises, self.tracker)
        self.began_s = -math.inf

    def update(self, now: Moment) -> None:
        """Listen, and go on with the beat."""
        if self.fastest <= self.slowest:
            raise PatchError(f"fastest must be above slowest, {self.slowest:g}, got {self.fastest:g}")
        tracker = self.tracker
        for time_s, levels in self.hear(now):
            late_s = _LATE_FRAMES * now.time_step_s + _LATE_S
            tracker.add(time_s - late_s, self.rises.of(levels), self.slowest / 60, self.fastest / 60)
        self.tempo = 60 / tracker.period_s if tracker.period_s else 0.0
        self.clarity = tracker.clarity
        self.phase = tracker.beats_until(now.time_s) % 1.0
        # A correction of the phase must not repeat a beat.
        is_new = self.phase * tracker.period_s < now.time_step_s
        self.beat = bool(tracker.period_s) and is_new and now.time_s - self.began_s > tracker.period_s / 2
        if self.beat:
            self.began_s = now.time_s
            self.beats += 1
