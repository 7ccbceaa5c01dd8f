"""The element type of particle buffers."""

from warploom.api import Struct, f32, float3


class Particle(Struct):
    """One particle, 32 bytes, with the layout of `kernels/particle.cuh`.

    Position in metres (y is up), age in seconds, velocity in metres per second, life in seconds. A particle is alive
    while its age is below its life; in an unused place, all fields are zero.
    """

    position: float3
    age: f32
    velocity: float3
    life: f32
