"""The camera that renderers of points compute on the device."""

from typing import Any

from warploom.api import BlockBuilder, BufferHandle, Kernel, Struct, f32, float3


class Camera(Struct):
    """A camera's position and orientation, with the layout of `kernels/camera.cuh`; the focal length is in pixels."""

    position: float3
    right: float3
    up: float3
    forward: float3
    focal: f32


_PLACE = Kernel("render_points.cu", entry="place_camera")


def place_camera(build: BlockBuilder, block: Any) -> BufferHandle:
    """Return a buffer with the camera of a block's parameters: its orbit, lens, and the height of its picture."""
    camera = build.buffer("camera", Camera, shape="[1]")
    view = (block.orbit, block.spin, block.elevation, block.distance, block.target, block.field_of_view)
    build.launch(_PLACE, num_threads=1, thread_block=1, args=(camera, build.frame, *view, block.height))
    return camera
