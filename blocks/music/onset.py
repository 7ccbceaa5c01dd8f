from warploom.api import Moment, Value, param, value_port
from warploom.blocks.music.beat_tracker import OnsetFinder, Rises
from warploom.blocks.music.heard import Heard


class Onset(Heard, id="sound.onset", tags=("music", "drum", "hit", "attack", "transient", "trigger", "react")):
    """Finds the frames in which a sound begins, such as a drum stroke or a note.

    x are levels that change from frame to frame, such as those of Bands. An onset is a frame in which they rise clearly
    more than usual. Connect `onset` to the trigger of a Ramp, or to a Counter.
    """

    onset: Value[bool] = value_port(doc="True in the first frame of a sound.")
    strength: Value[float] = value_port(doc="How much the levels have risen since the previous frame.")
    onsets: Value[int] = value_port(doc="Number of onsets so far.")
    threshold: float = param(0.03, min=0, max=1e9, doc="Rise from which on a frame can be an onset.")
    distance: float = param(0.1, min=0, max=60, unit="s", doc="Shortest time from one onset to the next.")

    def start(self) -> None:
        """Forget what was heard."""
        super().start()
        self.rises, self.finder, self.onsets = Rises(), OnsetFinder(), 0
        self.remember(self.rises, self.finder)

    def update(self, now: Moment) -> None:
        """Compare the levels that have come with those before."""
        self.onset = False
        for time_s, levels in self.hear(now):
            self.strength = self.rises.of(levels)
            self.onset |= self.finder.is_onset(time_s, self.strength, self.threshold, self.distance)
        self.onsets += self.onset
