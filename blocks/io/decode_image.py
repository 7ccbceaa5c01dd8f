"""Image files to linear light."""

from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from engine.diagnostics import PatchError
from engine.readings import read_bytes

#: Decoded images kept, so that editing a patch does not read its files again.
CACHED_IMAGES = 4


def load_linear(path: Path) -> np.ndarray[Any, Any]:
    """Return an image file as linear RGBA, float32 of shape (height, width, 4), read-only.

    The file's values are taken as sRGB (IEC 61966-2-1); alpha is straight and stays as it is, and 1 where the file has
    none. The picture is turned as its EXIF orientation says. PatchError names the file when it can't be read.
    """
    try:
        return _decode(read_bytes(path))
    except FileNotFoundError:
        raise PatchError(f"image file must exist, got {path}; choose another file, or put it there") from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as problem:
        # PIL tells broken files with any of these.
        reason = getattr(problem, "strerror", None) or str(problem).split("\n")[0]
        raise PatchError(
            f"image file {path} must be a readable image, got: {reason}; save it again as PNG or JPEG"
        ) from problem


# By what the file holds: one that was saved again is decoded again, and only then.
@lru_cache(CACHED_IMAGES)
def _decode(held: bytes) -> np.ndarray[Any, Any]:
    with Image.open(BytesIO(held)) as file:
        image = ImageOps.exif_transpose(file)
        if image.mode.startswith("I"):  # 16 bits a pixel, which PIL's conversion to RGB would cut off
            grey = np.asarray(image.convert("I"), np.float32)[..., np.newaxis] / 65535.0
            encoded = np.concatenate([grey, grey, grey, np.ones_like(grey)], axis=2)
        else:
            encoded = np.asarray(image.convert("RGBA"), np.float32) / 255.0
    linear = np.concatenate([srgb_to_linear(encoded[..., :3]), encoded[..., 3:]], axis=2)
    linear.flags.writeable = False
    return linear


def srgb_to_linear(encoded: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return linear light (0..1) for sRGB values (0..1), as IEC 61966-2-1 defines the curve."""
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4).astype(np.float32)
