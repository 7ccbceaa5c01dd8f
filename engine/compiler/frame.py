"""The frame uniforms: what every kernel may know of the present frame, as `kernels/frame.cuh` declares it."""

import struct

from engine.types import Struct, f32, u32

_pack = struct.Struct("<IffI").pack_into


class Frame(Struct):
    """16 bytes: the frame's index, the time at its start and the time step (both in seconds), and a seed."""

    index: u32
    time: f32
    time_step: f32
    seed: u32


def pack_frame(target: memoryview, index: int, time_s: float, time_step_s: float) -> None:
    """Write the uniforms of one frame to the start of `target`; the index wraps at 2^32."""
    _pack(target, 0, index & 0xFFFFFFFF, time_s, time_step_s, 0)
