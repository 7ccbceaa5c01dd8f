"""The frame uniforms: facts of the current frame for every kernel, as `kernels/frame.cuh` declares them."""

import struct
from collections import deque

import numpy as np

from warploom.engine.device.device import Device
from warploom.engine.device.protocol import PinnedArray
from warploom.engine.device.releasing import release_all
from warploom.engine.types import Struct, f32, u32

#: The most bursts of frames in flight: launched, and not known to have ended.
MOST_BURSTS = 3
#: The most frames in a burst.
LONGEST_BURST = 4

_pack = struct.Struct("<IffI").pack_into


class Frame(Struct):
    """16 bytes: the frame's index, its start time and time step (both in seconds), and a seed."""

    index: u32
    time: f32
    time_step: f32
    seed: u32


class FrameUniforms:
    """The uniforms of the frames in flight. Each frame has its own pinned array, which its launch reads."""

    def __init__(self, device: Device) -> None:
        self._ring = deque[tuple[PinnedArray, memoryview]]()
        try:
            for _ in range(MOST_BURSTS * LONGEST_BURST):
                pinned = device.pinned(np.zeros(1, Frame.numpy))
                self._ring.append((pinned, pinned.array.view(np.uint8).data))
        except BaseException:
            self.free()
            raise

    @property
    def current(self) -> PinnedArray:
        """The uniforms of the newest frame."""
        return self._ring[0][0]

    def turn(self) -> None:
        """Leave the current array to frames in flight, and take the least recently used one."""
        self._ring.rotate(1)

    def pack(self, index: int, time_s: float, time_step_s: float) -> None:
        """Write one frame's uniforms to the current array; the index wraps at 2^32."""
        _pack(self._ring[0][1], 0, index & 0xFFFFFFFF, time_s, time_step_s, 0)

    def free(self) -> None:
        """Free the arrays."""
        release_all(*(pinned.free for pinned, _ in self._ring))
