"""The camera that particle renderers work out on the device."""

from engine.api import Struct, f32, float3


class Camera(Struct):
    """Where a camera is and looks, as `kernels/camera.cuh` lays it out; the focal length is in pixels."""

    position: float3
    right: float3
    up: float3
    forward: float3
    focal: f32
