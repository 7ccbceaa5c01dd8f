"""Decodes AVIF to 8 bits, as a PNG file."""

import io
import re
import struct
import zlib

#: The numbers of a file's primaries, transfer and matrix (ITU-T H.273), and whether the numbers have their full range.
_COLOURS = re.compile(rb"colrnclx(.{4})(.{2})(.)", re.DOTALL)
#: Where the first chunk of a PNG ends.
_AFTER_HEADER = 33


def avif_as_png(data: bytes) -> bytes:
    """Return the first picture of an AVIF file, upright, as a PNG that names the same colour space.

    Raise ValueError for damage, and for a picture that is too large for the library.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError  # only AVIF needs it

    png = io.BytesIO()
    try:
        with Image.open(io.BytesIO(data), formats=["AVIF"]) as picture:
            upright, profile = ImageOps.exif_transpose(picture), picture.info.get("icc_profile")
            upright.save(png, "PNG", icc_profile=profile, compress_level=1)
    except Exception as problem:  # a library that reads damaged files may raise anything
        reason = "" if isinstance(problem, UnidentifiedImageError) else str(problem)
        raise ValueError(reason or "a damaged AVIF") from problem
    held = png.getvalue()
    colours = _COLOURS.search(data)
    if colours is None or b"iCCP" in held[: _AFTER_HEADER + 8]:
        return held
    primaries, transfer = struct.unpack(">HH", colours[1])
    content = b"cICP" + bytes([primaries, transfer, 0, 1])
    chunk = struct.pack(">I", 4) + content + struct.pack(">I", zlib.crc32(content))
    return held[:_AFTER_HEADER] + chunk + held[_AFTER_HEADER:]
