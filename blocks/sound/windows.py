"""Sound in a patch: windows of the newest samples, which move on by the time of each frame.

A buffer of sound ends with the newest samples, at the time of the frame. So each frame adds as many samples as its
time has, and a block that plays or records takes just these. Devices and files adapt to this pace.
"""

import math
from itertools import takewhile

import numpy as np

from warploom.api import BlockBuilder, In, LiveBlock, Moment, Out, Taken, Value, f32, param, port, value_port
from warploom.blocks.sound.ring import Samples
from warploom.engine.diagnostics import PatchError

#: The rate that most devices have, and the samples of a tenth of a second: no frame's time is longer.
RATE, SIZE = 48000, 4800
#: The most channels of a sound.
MOST_CHANNELS = 8
#: The most frames whose windows are waited for.
_MOST_WAITING = 256


def samples_in(now: Moment, rate: int) -> int:
    """Return how many samples the frame adds; over many frames, none is lost by rounding."""

    def until(time_s: float) -> int:
        return math.floor(time_s * rate + 0.5 + 1e-6)

    return until(now.time_s) - until(now.time_s - now.time_step_s)


class SoundSource(LiveBlock, abstract=True):
    """A block that outputs a window of sound."""

    out: Out[f32] = port(
        shape="[size]", doc="The newest samples, mostly from -1 to 1: shape [size], or [channels, size] if not mono."
    )
    level: Value[float] = value_port(doc="Root mean square of the samples of all channels.")
    channels: int = param(
        1, min=1, max=MOST_CHANNELS, structural=True, doc="Number of channels; 1 is the mean of all that there are."
    )
    size: int = param(
        SIZE, min=16, max=1 << 20, structural=True, doc="Samples in the buffer; at least those of the longest frame."
    )
    rate: int = param(RATE, min=1000, max=384000, unit="Hz", structural=True, doc="Samples a second.")

    def describe(self, build: BlockBuilder) -> None:
        """Let `update` fill the window."""
        if self.channels > 1:
            build.define(self.out, shape=f"[{self.channels}, {self.size}]")
        build.feed(self.out)

    def show(self, window: Samples) -> None:
        """Output a window, shape [size, channels]."""
        square = float(np.mean(np.square(window, dtype=np.float64)))
        self.level = math.sqrt(square) if math.isfinite(square) else 0.0
        self.give("out", window.T if self.channels > 1 else window[:, 0])


class SoundSink(LiveBlock, abstract=True):
    """A block that takes each sample of a sound once."""

    x: In[f32] = port(
        doc="The sound: windows that end with the newest samples, shape [samples] or [channels, samples]."
    )
    rate: int = param(RATE, min=1000, max=384000, unit="Hz", structural=True, doc="Samples a second.")

    def describe(self, build: BlockBuilder) -> None:
        """Get the window after each frame."""
        build.watch(self.x)

    def start(self) -> None:
        """Take the frames that follow."""
        #: How many samples the frames added whose windows have not come yet, in the order of the frames, and how many
        #: were not in their windows.
        self._added: dict[int, int] = {}
        self.left_out = 0

    def goes_on(self) -> bool:
        """Go on, so that a film that begins again sounds, or is recorded, without a gap."""
        return True

    def note(self, now: Moment, *, takes: bool) -> None:
        """Take the samples that this frame adds, once its window comes, or leave them.

        Call this in each update, after `new_samples`.
        """
        self._added.pop(now.frame, None)  # of a frame whose window never came, before the film began again
        self._added[now.frame] = samples_in(now, self.rate) if takes and self.counts and not self.is_replay else 0
        for never in list(self._added)[:-_MOST_WAITING]:
            self.left_out += self._added.pop(never)

    @property
    def is_due(self) -> bool:
        """True while windows are missing."""
        return any(self._added.values())

    def new_samples(self) -> list[Samples]:
        """Return what the windows that came have added, shape [samples, channels]."""
        found = []
        for each in self.taken("x"):
            if each.frame not in self._added:
                continue
            for late in list(takewhile(lambda frame: frame != each.frame, self._added)):  # noqa: B023 - used at once
                self.left_out += self._added.pop(late)
            if (added := self._added.pop(each.frame)) > 0:
                samples = newest(each, added, "x")
                self.left_out += added - len(samples)
                found.append(samples)
        return found


def newest(window: Taken, count: int, port: str) -> Samples:
    """Return a copy of the last `count` samples of a window, shape [samples, channels]: all if it has not so many.

    Raise PatchError, which names the port, if this is no sound.
    """
    channels = channels_of(window.array.shape, port)
    array = window.array.reshape(channels, -1)
    return array[:, array.shape[1] - min(count, array.shape[1]) :].T.copy()  # the window's memory is used again


def channels_of(shape: tuple[int, ...], port: str) -> int:
    """Return the channels of a window. Raise PatchError, which names the port, if this is no sound."""
    channels = 1 if len(shape) == 1 else shape[0] if len(shape) == 2 else 0
    if not 1 <= channels <= MOST_CHANNELS:
        raise PatchError(
            f"{port} must have shape [samples], or [channels, samples] with 1 to {MOST_CHANNELS} channels, "
            f"got {list(shape)}"
        )
    return channels
