"""How many bits a saved picture has for each number: what file formats can hold."""

from pathlib import PurePath

from engine.arguments import checked
from engine.diagnostics import PatchError

#: What a person can choose; the first is what is usual for the format.
PICTURE_DEPTHS = ("usual", "8 bits", "16 bits", "half", "float")

#: The depths of files by how they end, the usual one first: it holds all values where the format can.
_DEPTHS = {
    ".png": ("8 bits", "16 bits"),
    **dict.fromkeys((".tif", ".tiff"), ("float", "16 bits", "8 bits")),
    ".exr": ("float", "half"),
    **dict.fromkeys((".hdr", ".pfm"), ("float",)),
    ".npy": ("float", "8 bits"),
}


@checked()
def picture_depth(path: str, depth: str = "usual") -> str:
    """Return one of PICTURE_DEPTHS but "usual": how a picture is saved to a file of this name.

    Of formats that are not listed here, such as JPEG and WebP, it is 8 bits. PatchError when the format has no such
    depth.
    """
    suffix = PurePath(path).suffix.lower()
    depths = _DEPTHS.get(suffix, ("8 bits",))
    if depth == "usual":
        return depths[0]
    if depth not in depths:
        raise PatchError(
            f"depth of a {suffix or 'nameless'} file must be usual or {' or '.join(depths)}, got {depth}; choose "
            "another depth, or another ending of the file's name"
        )
    return depth
