"""Blocks whose sound goes on from frame to frame."""

import numpy as np

from warploom.api import BlockBuilder, BufferHandle, Kernel, LiveBlock, Moment, f32, param, s32, u8
from warploom.blocks.sound.windows import RATE, samples_in

_MOVE, _GLIDE = Kernel("live.cu", entry="move_window"), Kernel("live.cu", entry="glide")
#: Bytes of `Glide`, and how many numbers it has, in `kernels/live.cuh`.
_GLIDE_BYTES, _GLIDES = 28, 3


class Live(LiveBlock, abstract=True):
    """A block that computes the samples which a frame adds to a window of sound.

    Older samples of the window, and what the block keeps, come from the frames before.
    """

    rate: int = param(RATE, min=1000, max=384000, unit="Hz", structural=True, doc="Samples a second.")

    @property
    def goes_on_live(self) -> bool:
        """True if the output is a window that moves on, not a whole sound."""
        return True

    def added(self, build: BlockBuilder) -> BufferHandle:
        """Return the number of new samples."""
        added = build.buffer("added", s32, "[1]")
        build.feed(added)
        return added

    def glide(self, build: BlockBuilder, added: BufferHandle, *numbers: object) -> BufferHandle:
        """Return numbers that move over the new samples from the last frame's values to those of this frame."""
        state = build.buffer("glide", u8, f"[{_GLIDE_BYTES}]", state=True)
        padded = (*numbers, *(0.0,) * (_GLIDES - len(numbers)))
        build.launch(_GLIDE, num_threads=1, thread_block=1, args=(state, added, self.goes_on_live, *padded))
        return state

    def keep(self, build: BlockBuilder, out: BufferHandle, added: BufferHandle) -> None:
        """Take the older samples of a window from the frame before. Call this once the new ones are computed."""
        if not self.goes_on_live:
            return
        before = build.buffer("before", f32, f"[{out.name}.size]", state=True)
        build.launch(_MOVE, num_threads=out.size, args=(before, out, added, out.last(0), out.size))
        build.copy(before, out)

    def update(self, now: Moment) -> None:
        """Count the samples of this frame."""
        self.give("added", np.array([samples_in(now, self.rate)], np.int32))
