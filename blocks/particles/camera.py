"""The camera that particle renderers compute on the device."""

from engine.api import Struct, f32, float3


class Camera(Struct):
    """A camera's position and orientation, with the layout of `kernels/camera.cuh`; the focal length is in pixels."""

    position: float3
    right: float3
    up: float3
    forward: float3
    focal: f32
