from typing import Any

import numpy as np

from warploom.api import Block, BlockBuilder, Out, float4, param, port
from warploom.blocks.io.pixels import PIXELS, as_pixels, pixels_param
from warploom.engine.diagnostics import PatchError


class ImageArray(Block, id="io.image_array", tags=("numpy", "picture", "input", "data")):
    """Outputs a numpy array as an image.

    Takes an array of shape (height, width) for grey, (height, width, 3) for RGB or (height, width, 4) for RGBA. Values
    of every type are linear light from 0 to 1, without scaling; grey and RGB images become opaque. Use it for images
    that Python makes, and Load Image for files.
    """

    out: Out[float4] = port(dtype="given", shape="data", rank=2, doc="The image, linear RGBA, shape [height, width].")
    data: np.ndarray = param(
        np.zeros((1, 1, 4), np.float32),
        doc="The pixels, linear: shape (height, width), or (height, width, channels) with 3 or 4 channels.",
    )
    pixels: str = pixels_param()

    def describe(self, build: BlockBuilder) -> None:
        """Provide contents, which are uploaded once and need no work in a frame."""
        build.define(self.out, dtype=PIXELS[self.pixels])
        build.provide(self.out, as_pixels(linear_rgba(self.data), self.pixels))


def linear_rgba(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return (height, width, 4) float32 for a grey, RGB or RGBA array; PatchError for any other shape."""
    pixels = array[..., np.newaxis] if array.ndim == 2 else array
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3, 4):
        raise PatchError(
            f"parameter data must be (height, width), (height, width, 3) or (height, width, 4), got {array.shape}"
        )
    result = np.ones((*pixels.shape[:2], 4), np.float32)
    if pixels.shape[2] == 4:
        result[:] = pixels
    else:
        result[..., :3] = pixels  # a single channel is copied to all three
    return result
