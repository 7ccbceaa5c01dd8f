"""Decodes image files to linear light."""

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warploom.api import read_bytes
from warploom.blocks.io.colour_spaces import to_linear
from warploom.blocks.io.pillow_formats import as_png, inks_as_png
from warploom.engine.diagnostics import PatchError
from warploom.engine.platforms.files import named_contents

if TYPE_CHECKING:
    from OpenImageIO import ImageInput, ImageSpec

Array = np.ndarray[Any, Any]

#: Suffixes of the files that count as pictures, in a folder and when they are dropped.
PICTURES = (
    ".png",
    ".jpg",
    ".jpeg",
    ".jpe",
    ".jfif",
    ".jxl",
    ".heic",
    ".heif",
    ".tif",
    ".tiff",
    ".exr",
    ".hdr",
    ".pfm",
    ".dpx",
    ".webp",
    ".avif",
    ".bmp",
    ".tga",
    ".jp2",
    ".j2k",
    ".psd",
    ".psb",
    ".qoi",
    ".pcx",
    ".ppm",
    ".pgm",
    ".pbm",
    ".pnm",
    ".dds",
    ".sgi",
)
#: The number of decoded images that are kept, so that editing a patch does not read its files again.
CACHED_IMAGES = 4
#: The largest picture, in pixels: 4 GiB of linear RGBA. A small file may claim a size beyond the machine's memory.
MAX_PIXELS = 1 << 28

#: Whole numbers of 32 bits that stay below are counts or labels: as shares of the largest number, they are black.
_DARK = 1 << 16

#: A marker of a JPEG file; all but the last one are followed by the length of their part.
_MARKER = re.compile(rb"\xff[^\x00\x01\xd0-\xd8\xff]", re.DOTALL)
#: The colour spaces that a person may choose for a file's numbers.
SPACES = ("file", "sRGB", "linear", "raw")
#: The function that turns a picture upright, for each EXIF orientation.
_UPRIGHT: dict[int, Callable[[Array], Array]] = {
    2: lambda picture: picture[:, ::-1],
    3: lambda picture: picture[::-1, ::-1],
    4: lambda picture: picture[::-1],
    5: lambda picture: picture.swapaxes(0, 1),
    6: lambda picture: picture.swapaxes(0, 1)[:, ::-1],
    7: lambda picture: picture[::-1, ::-1].swapaxes(0, 1),
    8: lambda picture: picture.swapaxes(0, 1)[::-1],
}


def load_linear(path: Path, space: str = "file") -> Array:
    """Return an image file as linear RGBA, float32 of shape (height, width, 4), read-only; see `decode_picture`.

    A PatchError names the file when it can't be read.
    """
    try:
        return _decode(read_bytes(path), space)
    except FileNotFoundError:
        raise PatchError(f"image file must exist, got {path}; choose another file, or put it there") from None
    except (OSError, ValueError, MemoryError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem) or "more than memory holds"
        raise PatchError(
            f"image file {path} must be a readable image, got: {reason}; save it again as PNG, TIFF or EXR"
        ) from problem


# Cached by contents, so that a file is decoded again only if these have changed.
@lru_cache(CACHED_IMAGES)
def _decode(held: bytes, space: str) -> Array:
    picture = decode_picture(held, space)
    picture.flags.writeable = False
    return picture


def decode_picture(data: bytes, space: str = "file") -> Array:
    """Return the picture in a file's bytes as linear RGBA, float32 of shape (height, width, 4).

    - Whole numbers of any size are scaled to 0 to 1. Colours become linear light with Rec. 709 primaries, by the colour
    space that the file names. If it names none, or an unknown one, sRGB (IEC 61966-2-1) is assumed.
    Inks (CMYK) with a profile are converted by it, with 8 bits.
    - Floats stay as they are, including NaN and values below 0 or above 1, unless the file names a colour space other
      than linear Rec. 709.
    - Alpha is straight: colours stored multiplied by alpha are divided by it, except where alpha is 0. Without alpha in
    the file, it is 1.
    - Grey becomes all three colours; a missing colour is 0. Channels are found by their names R, G, B, A and Y, or else
      by their order. If only layers have such names, as in "beauty.R", the first one is taken, if possible one with
      alpha. A TIFF whose 0 is white is inverted.
    - The picture is turned by its EXIF orientation. An OpenEXR picture has the size of its display window, with 0 where
    the file has no pixels. If a file has several pictures, the first is decoded; of OpenEXR, the first with R, G and B.

    `space` is one of SPACES. With "sRGB" or "linear", what the file says of its colours is ignored. "raw" keeps all
    numbers, alpha too, as they are stored.

    A ValueError states what is wrong with the file.
    """
    import OpenImageIO  # only patches with pictures need it

    if data[:2] == b"\xff\xd8" and _is_cut_off(data):
        raise ValueError("a JPEG that ends before its last scan")
    data = as_png(data) or data
    with named_contents() as file:  # the library opens files only by name, and the file may change between two reads
        file.write(data)
        wanted = OpenImageIO.ImageSpec()
        wanted.attribute("oiio:UnassociatedAlpha", 1)
        source = OpenImageIO.ImageInput.open(file.name, wanted)
        if source is None:
            OpenImageIO.geterror()  # clears the error, which the library would otherwise report to the next caller
            raise ValueError("no picture of a known format, or a damaged one")
        try:
            has_inks = source.spec().get_string_attribute("ICCProfile:color_space") == "CMYK"
            if space == "file" and has_inks and (png := inks_as_png(data)) is not None:
                return decode_picture(png)
            with np.errstate(all="ignore"):  # floats may be of any magnitude
                _go_to_colours(source)
                return _read(source, OpenImageIO.UNKNOWN, space)
        finally:
            source.close()


def _is_cut_off(jpeg: bytes) -> bool:
    """Return whether a progressive JPEG has no end. The library shows what it has of one, and notices other ones."""
    at, is_progressive = 2, False
    while (found := _MARKER.search(jpeg, at)) is not None and found[0] != b"\xff\xd9":
        is_progressive |= found[0] == b"\xff\xc2"
        at = found.end() + int.from_bytes(jpeg[found.end() : found.end() + 2], "big")
    return found is None and is_progressive


def _go_to_colours(source: "ImageInput") -> None:
    """Go to the first part of an OpenEXR file that has red, green and blue; stay at the first one if none has."""
    part = 0
    while source.format_name() == "openexr" and source.seek_subimage(part, 0):
        if {"R", "G", "B"} <= set(_of_one_layer([name.upper() for name in source.spec().channelnames])):
            return
        part += 1
    source.geterror()
    source.seek_subimage(0, 0)


def _read(source: "ImageInput", own_type: Any, space: str) -> Array:
    spec = source.spec()
    if spec.deep or spec.depth > 1:
        raise ValueError("deep pixels" if spec.deep else "a volume")
    if max(spec.width * spec.height, spec.full_width * spec.full_height) > MAX_PIXELS:
        raise ValueError(f"{spec.width} x {spec.height} pixels, more than {MAX_PIXELS}")
    if str(spec.format) == "double" and source.format_name() == "tiff" and (spec.height == 1 or spec.tile_width):
        raise ValueError("64-bit floats in tiles or in a single line")  # OpenImageIO 3.2 returns other memory for these
    if "LAB" in spec.get_string_attribute("tiff:ColorSpace").upper():  # the library's white would be yellow
        raise ValueError("colours in CIELAB; convert them to RGB")
    colours, alpha = _channels(spec)
    stored = source.read_image(source.current_subimage(), 0, 0, spec.nchannels, own_type)
    if stored is None or source.has_error:
        reason = source.geterror().split("\n")[0].split(' ("')[0]
        raise ValueError(reason or "a damaged picture")
    if source.format_name() == "tiff" and spec.get_int_attribute("tiff:PhotometricInterpretation", 1) == 0:
        stored = _black_is_zero(stored, alpha, space)
    if space == "file" and stored.dtype.kind in "iu" and stored.dtype.itemsize == 4:
        largest = stored[..., [place for place in range(spec.nchannels) if place != alpha]].max(initial=0)
        if 0 < largest < _DARK:
            raise ValueError(f"numbers of 32 bits up to {largest}, which are black as colours; choose the space raw")
    picture = np.ones((spec.height, spec.width, 4), np.float32)
    if alpha is not None:
        picture[..., 3] = stored[..., alpha] if space == "raw" else _unit(stored[..., alpha])
    encoded = np.stack([stored[..., place] if place is not None else 0 * stored[..., 0] for place in colours], axis=-1)
    if space != "raw" and alpha is not None and _is_associated(source.format_name(), spec):
        encoded = _unit(encoded)
        np.divide(encoded, picture[..., 3:], out=encoded, where=picture[..., 3:] != 0)
    picture[..., :3] = encoded if space == "raw" else to_linear(encoded, stored.dtype.kind != "f", spec, space)
    if source.format_name() == "openexr":
        picture = _displayed(picture, spec)
    turn = _UPRIGHT.get(spec.get_int_attribute("Orientation", 1))
    return np.ascontiguousarray(turn(picture)) if turn else picture


def _channels(spec: "ImageSpec") -> tuple[list[int | None], int | None]:
    """Return the channel indices of red, green, blue and alpha; None for a missing one."""
    names = [name.upper() for name in spec.channelnames]
    if {"RY", "BY"} & set(names):
        raise ValueError(f"luminance and chroma (channels {', '.join(spec.channelnames)})")
    if not {"R", "Y"} & set(names):
        names = _of_one_layer(names)
    alpha = names.index("A") if "A" in names else None
    others = [place for place in range(len(names)) if place != alpha]
    if spec.get_int_attribute("bmp:version") == 3:
        alpha = None  # a BMP of this version has a reserved byte instead of alpha
    if not others:
        return [None, None, None], alpha
    is_grey = "Y" in names and not {"X", "Z"} <= set(names)
    if is_grey or len(others) == 1:
        return [names.index("Y") if is_grey else others[0]] * 3, alpha
    if {"R", "G", "B"} <= set(names):
        return [names.index(name) for name in "RGB"], alpha
    return [*others[:3], *[None] * (3 - len(others))], alpha


def _of_one_layer(names: list[str]) -> list[str]:
    """Return the names of channels without that of their layer, for the layer that is shown."""
    for wanted in ({"R", "G", "B", "A"}, {"R", "G", "B"}):
        for layer in dict.fromkeys(name.rpartition(".")[0] for name in names):
            if wanted <= {name.removeprefix(f"{layer}.") for name in names}:
                return [name.removeprefix(f"{layer}.") for name in names]
    return names


def _black_is_zero(stored: Array, alpha: int | None, space: str) -> Array:
    """Return the numbers of a TIFF in which 0 is white, inverted unless they are wanted raw.

    The library inverts bytes, alpha too, and no other numbers.
    """
    stored = ~stored if stored.dtype == np.uint8 else stored
    if space != "raw" and stored.dtype.kind == "u":
        colours = [place for place in range(stored.shape[-1]) if place != alpha]
        stored[..., colours] = ~stored[..., colours]
    return stored


def _unit(stored: Array) -> Array:
    """Return floats unchanged, and whole numbers divided by their largest value, as float32."""
    if stored.dtype.kind == "f":
        return stored.astype(np.float32)
    return (stored / np.iinfo(stored.dtype).max).astype(np.float32)


def _is_associated(format_name: str, spec: "ImageSpec") -> bool:
    """True if colours are stored multiplied by alpha: always in OpenEXR, and in TIFF if the file says so."""
    return format_name in ("openexr", "tiff") and not spec.get_int_attribute("oiio:UnassociatedAlpha")


def _displayed(picture: Array, spec: "ImageSpec") -> Array:
    """Return the pixels of the display window; 0 where the file has none."""
    left, top = spec.x - spec.full_x, spec.y - spec.full_y
    if (left, top, spec.width, spec.height) == (0, 0, spec.full_width, spec.full_height):
        return picture
    shown = np.zeros((spec.full_height, spec.full_width, 4), np.float32)
    rows, columns = (
        slice(max(0, start), max(0, min(size, start + count)))
        for start, count, size in ((top, spec.height, spec.full_height), (left, spec.width, spec.full_width))
    )
    shown[rows, columns] = picture[rows.start - top : rows.stop - top, columns.start - left : columns.stop - left]
    return shown
