"""The number of bits for each number in a saved picture, and the depths that file formats support."""

from pathlib import PurePath

from warploom.engine.arguments import checked
from warploom.engine.diagnostics import PatchError, cut

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
