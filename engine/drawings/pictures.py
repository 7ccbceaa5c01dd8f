"""Pictures as the bytes of image files, and the depths that their formats support."""

from pathlib import PurePath
from typing import Any

import numpy as np

from warploom.engine.arguments import checked
from warploom.engine.diagnostics import PatchError, cut
from warploom.engine.platforms.files import named_contents

Array = np.ndarray[Any, Any]


#: The depths that a person can choose from; the first one is the format's usual depth.
PICTURE_DEPTHS = ("usual", "8 bits", "16 bits", "half", "float")

#: The depths of files by suffix, the usual one first: it holds all values if the format can.
_DEPTHS = {
    ".png": ("8 bits", "16 bits"),
    **dict.fromkeys((".tif", ".tiff"), ("float", "16 bits", "8 bits")),
    ".exr": ("float", "half"),
    **dict.fromkeys((".hdr", ".pfm"), ("float",)),
    ".npy": ("float", "8 bits"),
}


@checked()
def picture_depth(path: str, depth: str = "usual") -> str:
    """Return the depth with which a picture is saved to a file of this name: one of PICTURE_DEPTHS except "usual".

    Formats that are not in the table, such as JPEG and WebP, have 8 bits. Raise PatchError when the format does not
    have the requested depth.
    """
    suffix = PurePath(path).suffix.lower()
    depths = _DEPTHS.get(suffix, ("8 bits",))
    if depth == "usual":
        return depths[0]
    if depth not in depths:
        raise PatchError(
            f"depth of a {suffix or 'nameless'} file must be usual or {' or '.join(depths)}, got {cut(depth, 100)}; "
            "choose another depth, or another ending of the file's name"
        )
    return depth


def encode_picture(pixels: Array, suffix: str, depth: str = "usual", *, quality: int | None = None) -> bytes:
    """Return the contents of an image file with a picture of shape (height, width, 4), whose name ends in `suffix`.

    - float32 is linear Rec. 709 light with straight alpha. With 8 or 16 bits it is encoded as sRGB (IEC 61966-2-1), cut
      off at 0 and 1, NaN becomes 0; as half or float each value is stored as it is.
    - uint8 is sRGB already, and saved with 8 bits.
    - Alpha is dropped where the format has none. OpenEXR stores colours multiplied by alpha.

    `depth` is one of PICTURE_DEPTHS, and `quality`, 1 to 100, that of a JPEG file. Raise PatchError if the format has
    no such depth, and ValueError if the picture can't be written.
    """
    import OpenImageIO  # only patches with pictures need it

    if pixels.ndim != 3 or pixels.shape[2] != 4 or pixels.dtype not in (np.uint8, np.float32):
        raise ValueError(f"{pixels.dtype} of shape {list(pixels.shape)}, which is no picture of uchar4 or float4")
    depth = picture_depth(f"picture{suffix}", "8 bits" if pixels.dtype == np.uint8 else depth)
    output = OpenImageIO.ImageOutput.create(f"picture{suffix}")
    if output is None:
        OpenImageIO.geterror()  # otherwise the next caller would get this error
        raise ValueError(f"no image format whose files end in {suffix!r}")
    if depth in ("half", "float"):
        stored = _associated(pixels) if output.format_name() == "openexr" else pixels
    else:
        stored = pixels if pixels.dtype == np.uint8 else _encoded(pixels, np.uint16 if depth == "16 bits" else np.uint8)
    channels = 4 if output.supports("alpha") else 3
    kind = {"8 bits": "uint8", "16 bits": "uint16"}.get(depth, depth)
    spec = OpenImageIO.ImageSpec(pixels.shape[1], pixels.shape[0], channels, kind)
    spec.attribute("oiio:UnassociatedAlpha", 1)
    spec.attribute("oiio:ColorSpace", "lin_rec709_scene" if depth in ("half", "float") else "srgb_rec709_scene")
    if quality is not None:
        spec.attribute("CompressionQuality", quality)
    with named_contents() as file:  # the library writes only to named files
        stored = np.ascontiguousarray(stored)[..., :channels]
        # The error text is read only after a failure, since a text alone need not mean one.
        if not (output.open(file.name, spec) and output.write_image(stored) and output.close()):
            raise ValueError(output.geterror().split("\n")[0] or "an image that its format refuses")
        return file.read()


def _encoded(linear: Array, kind: type[np.unsignedinteger[Any]]) -> Array:
    """Return sRGB in whole numbers."""
    shares = np.clip(np.nan_to_num(linear.astype(np.float64), nan=0.0), 0, 1)
    colours = shares[..., :3]
    shares[..., :3] = np.where(colours <= 0.0031308, 12.92 * colours, 1.055 * colours ** (1 / 2.4) - 0.055)
    return (shares * np.iinfo(kind).max + 0.5).astype(kind)


def _associated(straight: Array) -> Array:
    """Return the colours multiplied by alpha, 0 where that is 0."""
    alpha, result = straight[..., 3:], np.zeros_like(straight)
    result[..., 3:] = alpha
    np.multiply(straight[..., :3], alpha, out=result[..., :3], where=alpha != 0)
    return result
