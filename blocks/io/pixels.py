"""The pixels of images: their types, and how linear light becomes sRGB for the screen and for files."""

from typing import Any

import numpy as np

from warploom.api import float4, half4, param, uchar4
from warploom.blocks.io.colour_spaces import linear_to_srgb

#: The types of pixels, by the names of a parameter's choices.
PIXELS = {str(dtype): dtype for dtype in (float4, half4, uchar4)}

#: Lines of an expression that convert `c`, linear RGBA, to a pixel. The sRGB curve (IEC 61966-2-1) is computed without
#: a power, which would cost more than the rest of a kernel. Above the linear toe, the curve is a minimax fit of square
#: and fourth roots, with an error of at most 0.01 of an 8-bit step.
PIXEL = """
color = saturate(c.xyz)
root = sqrt(color)
fourth = sqrt(root)
curve = -0.064611562 + 0.081329678 * color + 1.1226810 * root + 0.19613609 * fourth - 0.33550082 * root * fourth
encoded = saturate(12.92 * color if color <= 0.0031308 else curve)
uint(vec(encoded.x, encoded.y, encoded.z, saturate(c.w)) * 255 + 0.5)"""


def pixels_param() -> Any:
    """Declare the parameter that chooses the type of an image's pixels."""
    doc = "Type of the pixels: float4, half4 for half the memory, or uchar4, sRGB's codes, for a quarter."
    return param("float4", choices=tuple(PIXELS), doc=doc)


def as_pixels(image: np.ndarray[Any, Any], pixels: str) -> np.ndarray[Any, Any]:
    """Return linear RGBA, f32[height, width, 4], as these pixels; see `engine.ops.pixels` for the rules."""
    if pixels == "half4":
        with np.errstate(over="ignore"):
            return image.astype(np.float16)
    if pixels == "uchar4":
        shares = np.clip(np.nan_to_num(image.astype(np.float64), nan=0.0), 0, 1)
        shares[..., :3] = linear_to_srgb(shares[..., :3])
        codes: np.ndarray[Any, Any] = np.rint(shares * 255).astype(np.uint8)
        return codes
    return image
