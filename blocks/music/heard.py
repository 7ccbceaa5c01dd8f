"""Blocks that listen to levels, frame by frame."""

from typing import Any, ClassVar

import numpy as np

from warploom.api import BlockBuilder, In, LiveBlock, Moment, f32, port
from warploom.engine.types import Array


class Heard(LiveBlock, abstract=True):
    """A block that compares the levels of successive frames."""

    x: In[f32] = port(doc="Levels, such as those of Bands; any shape.")

    saved: ClassVar[tuple[str, ...]] = ("memory",)
    memory: list[dict[Any, Any]]

    def describe(self, build: BlockBuilder) -> None:
        """Get the levels of each frame."""
        build.watch(self.x)

    def start(self) -> None:
        """Listen from now on."""
        self._times: dict[int, float] = {}
        self._parts: tuple[object, ...] = ()

    def remember(self, *parts: object) -> None:
        """Let frames that go on from a saved state have the attributes of some objects, which are plain data."""
        self._parts = parts
        self.memory = [self._times, *map(vars, parts)]

    def hear(self, now: Moment) -> list[tuple[float, np.ndarray]]:
        """Return the levels that have come since the last update, with the times of their frames.

        A frame in which the patch's time stands still has none.
        """
        if self.memory[0] is not self._times:  # of a saved state
            self._times = self.memory[0]
            for part, state in zip(self._parts, self.memory[1:], strict=True):
                vars(part).update(state)
            self.remember(*self._parts)
        if now.time_step_s > 0:
            self._times[now.frame] = now.time_s
        found: list[tuple[float, Array]] = []
        for frame, levels in self.taken("x"):
            time_s = self._times.pop(frame, None)
            if time_s is not None:
                found.append((time_s, levels))
            for late in [each for each in self._times if each < frame]:
                del self._times[late]
        return found
