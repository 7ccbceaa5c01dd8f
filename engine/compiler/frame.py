"""The frame uniforms: what every kernel may know of the present frame, as `kernels/frame.cuh` declares it."""

from engine.types import Struct, f32, u32


class Frame(Struct):
    """16 bytes: the frame's index, the time at its start and the time step (both in seconds), and a seed."""

    index: u32
    time: f32
    time_step: f32
    seed: u32
