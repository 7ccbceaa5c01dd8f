"""Converts a picture's numbers to linear light, from the colour space that its file names."""

import struct
from collections.abc import Callable
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from OpenImageIO import ImageBuf, ImageSpec

Array = np.ndarray[Any, Any]

#: The library's built-in configuration of colour spaces; $OCIO is ignored.
_CONFIG = "ocio://default"
_LINEAR = "lin_rec709_scene"
_SRGB = ("srgb_rec709_scene", "srgb_rec709_display")


def srgb_to_linear(encoded: Array) -> Array:
    """Return linear light for sRGB values, by the curve of IEC 61966-2-1; both are mostly from 0 to 1."""
    bright = ((np.maximum(encoded, 0.04045) + 0.055) / 1.055) ** 2.4
    return np.where(encoded <= 0.04045, encoded / 12.92, bright).astype(np.float32)


def linear_to_srgb(light: Array) -> Array:
    """Return sRGB values for linear light, both float64 and from 0 to 1, by the curve of IEC 61966-2-1."""
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * np.maximum(light, 0.0031308) ** (1 / 2.4) - 0.055)


def to_linear(encoded: Array, whole: bool, spec: "ImageSpec", chosen: str = "file") -> Array:
    """Return linear Rec. 709 light, float32, for the colours of a picture, shape (height, width, 3).

    `encoded` holds whole numbers of the file's type, or floats. `whole` is true when the file holds whole numbers. If
    the file names no colour space, whole numbers are sRGB, and floats are linear. If "sRGB" or "linear" is `chosen`, it
    counts instead.
    """
    if chosen != "file":
        return _curved(encoded, srgb_to_linear if chosen == "sRGB" else np.float32)
    space, gamma = spec.get_string_attribute("oiio:ColorSpace"), spec.get_float_attribute("oiio:Gamma")
    profile = spec.getattribute("ICCProfile") if whole else None
    if profile is not None and "srgb" not in spec.get_string_attribute("ICCProfile:profile_description").lower():
        held = bytes(profile)
        if held[16:20] == b"GRAY" and (curve := _grey_curve(held)) is not None:
            return _curved(encoded, curve)
        converted = _by_profile(_curved(encoded, np.float32), held)
        if converted is not None:
            return converted
    if space == _LINEAR:
        return _curved(encoded, np.float32)
    if space in _SRGB:
        return _curved(encoded, srgb_to_linear)
    if gamma > 0 and whole:
        return _curved(encoded, lambda values: np.sign(values) * np.abs(values) ** gamma)
    if space == "KodakLog":
        return _curved(encoded, _film_to_linear)
    if space and (converted := _by_name(_curved(encoded, np.float32), space)) is not None:
        return converted
    return _curved(encoded, srgb_to_linear if whole else np.float32)


def _curved(encoded: Array, curve: Callable[[Array], Any]) -> Array:
    """Return `curve` of each value as float32; whole numbers are first divided by their type's largest value."""
    if encoded.dtype.kind == "f":
        return np.asarray(curve(encoded), np.float32)
    largest = np.iinfo(encoded.dtype).max
    if encoded.dtype.kind == "u" and largest < 1 << 16:  # a table is faster than a power of each pixel
        return np.asarray(curve(np.arange(largest + 1) / largest), np.float32)[encoded]
    return np.asarray(curve(encoded / largest), np.float32)


def _film_to_linear(encoded: Array) -> Array:
    """Return linear light for the printing densities of Kodak's Cineon format: black is 95, white 685."""
    black = 10 ** ((95 - 685) * 0.002 / 0.6)
    light: Array = (10 ** ((encoded * 1023 - 685) * 0.002 / 0.6) - black) / (1 - black)
    return light


def _by_name(colours: Array, space: str) -> Array | None:
    """Return the colours in linear Rec. 709; None when the colour space is unknown."""
    from OpenImageIO import ImageBuf, ImageBufAlgo

    return _pixels(ImageBufAlgo.colorconvert(ImageBuf(colours), space, _LINEAR, colorconfig=_CONFIG))


def _by_profile(colours: Array, profile: bytes) -> Array | None:
    """Return the colours in linear Rec. 709; None unless the ICC profile consists of curves and a matrix."""
    from OpenImageIO import ImageBuf, ImageBufAlgo

    # The library caches files by name, so each profile needs a new name.
    with NamedTemporaryFile(suffix=".icc") as file:
        file.write(profile)
        file.flush()
        xyz = ImageBufAlgo.ociofiletransform(ImageBuf(colours), file.name, inverse=True, colorconfig=_CONFIG)
    if xyz.has_error:
        xyz.geterror()
        return None
    return _pixels(ImageBufAlgo.colorconvert(xyz, "CIE XYZ-D65 - Scene-referred", _LINEAR, colorconfig=_CONFIG))


def _grey_curve(profile: bytes) -> Callable[[Array], Any] | None:
    """Return the function from 0 to 1 that the ICC profile of a grey picture states (ICC.1:2022, 10.6 and 10.18)."""
    entry_count = min(int.from_bytes(profile[128:132], "big"), (len(profile) - 132) // 12)
    entries = struct.iter_unpack(">4sII", profile[132 : 132 + 12 * entry_count])
    tag = next((profile[begin : begin + size] for name, begin, size in entries if name == b"kTRC"), b"")
    kind, count = tag[:4], int.from_bytes(tag[8:12], "big")
    if profile[20:24] != b"XYZ ":
        return None
    if kind == b"curv" and count > 1 and len(tag) >= 12 + 2 * count:
        table = np.frombuffer(tag, ">u2", count, 12) / 65535
        return lambda values: np.interp(values, np.linspace(0, 1, count), table)
    if kind == b"curv" and len(tag) >= 12 + 2 * count:
        gamma = int.from_bytes(tag[12:14], "big") / 256 if count else 1.0
        return lambda values: np.maximum(values, 0) ** gamma
    places = {0: "g", 1: "gab", 2: "gabe", 3: "gabcd", 4: "gabcdef"}.get(count >> 16, "")
    if kind != b"para" or not places or len(tag) < 12 + 4 * len(places):
        return None
    stored = [number / 65536 for number in struct.unpack_from(f">{len(places)}i", tag, 12)]
    p = dict.fromkeys("abcdef", 0.0) | {"a": 1.0} | dict(zip(places, stored, strict=True))
    if "d" not in places:  # below, the curve is flat
        p |= {"d": -p["b"] / (p["a"] or 1.0), "f": p["e"]}
    return lambda values: np.where(
        values >= p["d"],
        np.maximum(p["a"] * values + p["b"], 0) ** p["g"] + p["e"],
        p["c"] * values + p["f"],
    )


def _pixels(converted: "ImageBuf") -> Array | None:
    if converted.has_error:
        converted.geterror()
        return None
    from OpenImageIO import FLOAT

    return np.asarray(converted.get_pixels(FLOAT))
