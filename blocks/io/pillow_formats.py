"""Decodes what OpenImageIO doesn't read to 8 bits: AVIF, HEIC, QOI, PCX, and inks by their profile."""

import importlib
import io
import re
import struct
import zlib

#: The numbers of a file's primaries, transfer and matrix (ITU-T H.273), and whether the numbers have their full range.
_COLOURS = re.compile(rb"colrnclx(.{4})(.{2})(.)", re.DOTALL)
#: Where the first chunk of a PNG ends.
_AFTER_HEADER = 33
#: The brands of a file in the ISO base media format that is a picture.
_AVIF, _HEIF = {b"avif", b"avis"}, {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"}
_PCX = re.compile(rb"\x0a[\x00\x02-\x05]\x01[\x01\x02\x04\x08]")
_NO_HEIF = "a HEIC picture, for which the package pillow-heif is missing; type: pip install 'warploom[heic]'"


def as_png(data: bytes) -> bytes | None:
    """Return the first picture of a file, upright, as a PNG that names the same colour space.

    Return None for another format. Raise ValueError for damage, and for a picture that is too large for the library.
    """
    kind = _kind(data)
    if kind is None:
        return None
    from PIL import Image, ImageOps, UnidentifiedImageError  # only these formats need it

    if kind == "HEIF":
        try:
            importlib.import_module("pillow_heif").register_heif_opener()
        except ImportError:
            raise ValueError(_NO_HEIF) from None
    png = io.BytesIO()
    try:
        with Image.open(io.BytesIO(data), formats=[kind]) as picture:
            upright, profile = ImageOps.exif_transpose(picture), picture.info.get("icc_profile")
            upright.save(png, "PNG", icc_profile=profile, compress_level=1)
    except Exception as problem:  # a library that reads damaged files may raise anything
        reason = "" if isinstance(problem, UnidentifiedImageError) else str(problem)
        raise ValueError(reason or f"a damaged {kind}") from problem
    held = png.getvalue()
    colours = _COLOURS.search(data) if kind in ("AVIF", "HEIF") else None
    if colours is None or b"iCCP" in held[: _AFTER_HEADER + 8]:
        return held
    primaries, transfer = struct.unpack(">HH", colours[1])
    content = b"cICP" + bytes([primaries, transfer, 0, 1])
    chunk = struct.pack(">I", 4) + content + struct.pack(">I", zlib.crc32(content))
    return held[:_AFTER_HEADER] + chunk + held[_AFTER_HEADER:]


def inks_as_png(data: bytes) -> bytes | None:
    """Return a picture of inks (CMYK) whose file has an ICC profile, upright, as a PNG in sRGB.

    Return None for a picture of other colours with the profile of inks. Raise ValueError if the library can't convert
    it.
    """
    from PIL import Image, ImageCms, ImageOps  # few pictures have inks

    png = io.BytesIO()
    try:
        with Image.open(io.BytesIO(data), formats=["JPEG", "TIFF", "PSD"]) as picture:
            if picture.mode != "CMYK":
                return None
            profile = ImageCms.ImageCmsProfile(io.BytesIO(picture.info["icc_profile"]))
            intent = ImageCms.Intent.RELATIVE_COLORIMETRIC
            upright = ImageOps.exif_transpose(picture)
            srgb = ImageCms.profileToProfile(upright, profile, ImageCms.createProfile("sRGB"), intent, "RGB")
            assert srgb is not None  # as it isn't converted in place
            srgb.save(png, "PNG", compress_level=1)
    except Exception as problem:  # a library that reads damaged files may raise anything
        raise ValueError(f"inks that can't be converted by their profile ({problem}); convert them to RGB") from problem
    return png.getvalue()


def _kind(data: bytes) -> str | None:
    """Return Pillow's name of the format of a file that it is to read."""
    if data[4:8] == b"ftyp":
        end = int.from_bytes(data[:4], "big")
        brands = {data[8:12], *(data[at : at + 4] for at in range(16, min(end, 256), 4))}
        return "AVIF" if brands & _AVIF else "HEIF" if brands & _HEIF else None
    if data[:4] == b"qoif":
        return "QOI"
    return "PCX" if _PCX.match(data) else None
