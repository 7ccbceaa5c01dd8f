"""Pictures of every depth and channel count are read exactly, from files that are written byte by byte."""

import io
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import OpenImageIO
import pytest
from PIL import Image, ImageOps

from tests.blocks.picture_files import chunk, dpx, exr, icc_profile, pfm, png, profile_of, radiance, tiff
from tests.fuzzing import many, seeds
from warploom.blocks.io.decode_image import MAX_PIXELS, decode_picture, load_linear
from warploom.engine.diagnostics import PatchError

Array = np.ndarray[Any, Any]


def linear(encoded: Array) -> Array:
    """Return the inverse sRGB curve by its definition (IEC 61966-2-1), in double precision."""
    return np.where(encoded <= 0.04045, encoded / 12.92, ((np.maximum(encoded, 0) + 0.055) / 1.055) ** 2.4)


def rgba(pixels: Array, of_colours: Any = lambda colours: colours) -> Array:
    """Return a picture of 1 to 4 channels, 0 to 1, as RGBA; `of_colours` converts colours to light."""
    channels = pixels.shape[2]
    result = np.ones((*pixels.shape[:2], 4))
    result[..., :3] = of_colours(pixels[..., : 1 if channels < 3 else 3].astype(np.float64))
    if channels in (2, 4):
        result[..., 3] = pixels[..., -1]
    return result


def size(rng: np.random.Generator) -> tuple[int, int]:
    height, width = rng.choice([1, 2, 3, 7, 8, 17, 33], 2)
    return int(height), int(width)


def floats(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    values = (rng.normal(size=shape) * 10.0 ** rng.integers(-4, 4, shape)).astype(dtype)
    special = rng.random(shape) < 0.1
    values[special] = rng.choice(np.array([np.nan, np.inf, -np.inf, -0.0, 1, 0, 6e-8], dtype), special.sum())
    return values


@pytest.mark.parametrize("seed", seeds(25))
def test_png_of_every_depth(seed: int) -> None:
    """PNGs of 1 to 16 bits, grey or colour, with or without alpha, are decoded by the sRGB curve with all bits."""
    rng = np.random.default_rng(seed)
    channels = int(rng.integers(1, 5))
    depth = int(rng.choice([1, 2, 4, 8, 16] if channels == 1 else [8, 16]))
    pixels = rng.integers(0, 1 << depth, (*size(rng), channels))
    found = decode_picture(png(pixels, depth))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, rgba(pixels / ((1 << depth) - 1), linear), rtol=3e-7)


@pytest.mark.parametrize("depth", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_transparent_colour_of_a_png(depth: int, channels: int) -> None:
    """Pixels of exactly the transparent colour have alpha 0 and keep their colour; others are opaque."""
    if channels == 3 and depth < 8:
        return  # PNG has no such depth
    rng = np.random.default_rng(depth)
    pixels = rng.integers(0, 1 << depth, (5, 9, channels))
    pixels[2, 3] = pixels[4, 8] = clear = rng.integers(0, 1 << depth, channels)
    found = decode_picture(png(pixels, depth, chunk(b"tRNS", struct.pack(f">{channels}H", *clear))))
    np.testing.assert_array_equal(found[..., 3], np.where((pixels == clear).all(axis=2), 0, 1))
    np.testing.assert_allclose(found[..., :3], rgba(pixels / ((1 << depth) - 1), linear)[..., :3], rtol=3e-7)


@pytest.mark.parametrize("depth", [1, 2, 4, 8])
def test_palettes_with_alpha(depth: int) -> None:
    """Entries of a palette have their own alpha, and are opaque beyond the end of the alpha table."""
    rng = np.random.default_rng(depth)
    palette, alphas = rng.integers(0, 256, (1 << depth, 3), np.uint8), rng.integers(0, 256, 1 << depth - 1, np.uint8)
    places = rng.integers(0, 1 << depth, (6, 5, 1))
    more = chunk(b"PLTE", palette.tobytes()), chunk(b"tRNS", alphas.tobytes())
    entries = np.concatenate([palette, np.full((1 << depth, 1), 255, np.uint8)], axis=1)
    entries[: len(alphas), 3] = alphas
    found = decode_picture(png(places, depth, *more, colour_type=3))
    np.testing.assert_allclose(found, rgba(entries[places[..., 0]] / 255, linear), rtol=3e-7)


@pytest.mark.parametrize("seed", seeds(40))
def test_tiff_of_every_type(seed: int) -> None:
    """Integers are read as sRGB and floats as they are, in both byte orders, with straight or associated alpha."""
    rng = np.random.default_rng(seed)
    channels, dtype = int(rng.integers(1, 5)), str(rng.choice(["u1", "u2", "u4", "f2", "f4", "f8"]))
    shape, order = (*size(rng), channels), str(rng.choice(["<", ">"]))
    alpha = int(rng.integers(1, 3)) if channels in (2, 4) else None
    if dtype[0] == "f":
        pixels = floats(rng, shape, dtype)
        if alpha:
            pixels[..., -1] = rng.choice([0, 0.25, 1, 3], shape[:2])
    else:
        pixels = rng.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)
        if alpha == 1:
            pixels[..., :-1] = np.minimum(pixels[..., :-1], pixels[..., -1:])
    if dtype == "f8" and shape[0] == 1:
        with pytest.raises(ValueError, match="64-bit floats in tiles or in a single line"):
            decode_picture(tiff(pixels))
        return
    found = decode_picture(tiff(pixels, order=order, alpha=alpha))
    shares = pixels if dtype[0] == "f" else pixels / np.iinfo(dtype).max
    straight = shares.astype(np.float64)
    if alpha == 1:
        np.divide(straight[..., :-1], straight[..., -1:], out=straight[..., :-1], where=straight[..., -1:] != 0)
    if dtype[0] != "f":
        np.testing.assert_allclose(found, rgba(straight, linear), rtol=2e-6, atol=1e-12)
    elif alpha == 1:
        np.testing.assert_allclose(found, rgba(straight), rtol=2e-7)
    else:
        np.testing.assert_array_equal(found, rgba(straight).astype(np.float32))


def test_counts_are_no_colours() -> None:
    """A TIFF of small numbers of 32 bits would be black: it is refused, and raw keeps the numbers."""
    pixels = np.random.default_rng(6).integers(0, 4096, (3, 5, 1), np.uint32)
    with pytest.raises(ValueError, match=rf"numbers of 32 bits up to {pixels.max()}, .* choose the space raw"):
        decode_picture(tiff(pixels))
    np.testing.assert_array_equal(decode_picture(tiff(pixels), "raw")[..., 0], pixels[..., 0])
    assert not decode_picture(tiff(0 * pixels))[..., :3].any()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_a_tiff_in_which_0_is_white(dtype: Any) -> None:
    """Colours are inverted, alpha is not; raw numbers are those of the file."""
    largest = np.iinfo(dtype).max
    for alpha in (None, 2):
        pixels = np.random.default_rng(5).integers(0, largest, (3, 5, 2 if alpha else 1), dtype, endpoint=True)
        file = tiff(pixels, alpha=alpha, white_is_zero=True)
        shares = pixels / largest
        np.testing.assert_array_equal(decode_picture(file, "raw"), rgba(pixels.astype(np.float32)))
        shares[..., 0] = 1 - shares[..., 0]
        np.testing.assert_allclose(decode_picture(file), rgba(shares, linear), rtol=2e-6, atol=1e-12)


@pytest.mark.parametrize("seed", seeds(10))
def test_float_maps(seed: int) -> None:
    """PFM files of one and three channels are read to the bit, in both byte orders."""
    rng = np.random.default_rng(seed)
    pixels = floats(rng, (*size(rng), int(rng.choice([1, 3]))), "f4")
    found = decode_picture(pfm(pixels, str(rng.choice(["<", ">"]))))
    np.testing.assert_array_equal(found, rgba(pixels))


@pytest.mark.parametrize("seed", seeds(15))
def test_open_exr(seed: int) -> None:
    """Halves and floats are read to the bit; colours are divided by alpha, unless it is 0."""
    rng = np.random.default_rng(seed)
    names = str(rng.choice(["Y", "YA", "RGB", "RGBA", "ABGR", "RGBAZ", "BZRG"]))
    pixels = floats(rng, (*size(rng), len(names)), str(rng.choice(["f2", "f4"])))
    if "A" in names:
        pixels[..., names.index("A")] = rng.choice([0, 0.5, 1], pixels.shape[:2])
    order = [names.index(name) for name in ("Y" if "Y" in names else "RGB") + "A" * ("A" in names)]
    expected = rgba(pixels[..., order])
    np.divide(expected[..., :3], expected[..., 3:], out=expected[..., :3], where=expected[..., 3:] != 0)
    np.testing.assert_array_equal(decode_picture(exr(pixels, names)), expected.astype(np.float32))


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (("a.B", "a.G", "a.R", "b.A", "b.B", "b.G", "b.R", "b.Z"), "6543"),  # the first layer with alpha
        (("depth.Z", "light.B", "light.G", "light.R"), "321"),
        (("a.A", "a.B", "a.G", "a.R", "R", "G", "B"), "456"),
        (("X", "Y", "Z"), "012"),
        (("n.X", "n.Y", "n.Z"), "012"),
    ],
)
def test_the_layer_of_an_exr_that_is_shown(names: tuple[str, ...], shown: str) -> None:
    """A picture without a layer comes first; a layer has its own alpha; coordinates are no luminance."""
    pixels = np.random.default_rng(2).random((3, 5, len(names)), np.float32) + np.float32(0.5)
    expected = rgba(pixels[..., [int(place) for place in shown]])
    expected[..., :3] /= expected[..., 3:]
    np.testing.assert_array_equal(decode_picture(exr(pixels, names)), expected.astype(np.float32))


@pytest.mark.parametrize("corner", [(2, 1), (-2, -1), (5, 4), (0, 0), (40, 40), (-9, 3)])
def test_an_exr_has_the_size_of_its_display_window(corner: tuple[int, int]) -> None:
    """A picture has the display window's size: pixels outside are dropped, and missing pixels are 0."""
    pixels = np.random.default_rng(1).random((3, 5, 3)).astype(np.float32)
    x, y = corner
    whole = np.zeros((100, 100, 4), np.float32)
    whole[40 + y : 43 + y, 40 + x : 45 + x] = rgba(pixels)
    found = decode_picture(exr(pixels, "RGB", corner, (8, 6)))
    np.testing.assert_array_equal(found, whole[40:46, 40:48])


def test_radiance_pictures() -> None:
    """A Radiance number is a mantissa times a power of two, in linear light and possibly above 1."""
    rng = np.random.default_rng(0)
    stored = np.concatenate([rng.integers(3, 256, (4, 5, 3)), rng.integers(100, 140, (4, 5, 1))], axis=2)
    found = decode_picture(radiance(stored))
    values = (stored[..., :3]) * 2.0 ** (stored[..., 3:] - 136)
    np.testing.assert_allclose(found[..., :3], values, atol=2.0**-8 * values.max(), rtol=0.005)
    np.testing.assert_array_equal(found[..., 3], 1)


@pytest.mark.parametrize("transfer", [2, 3])
def test_dpx_is_linear_or_film(transfer: int) -> None:
    """Linear numbers of ten bits are light; printing densities become light by Cineon's formula."""
    codes = np.random.default_rng(2).integers(0, 1024, (3, 4, 3))
    codes[0, 0], codes[0, 1] = 95, 685
    light = codes / 1023
    if transfer == 3:
        black = 10 ** ((95 - 685) / 300)
        light = (10 ** ((codes - 685) / 300) - black) / (1 - black)
    np.testing.assert_allclose(decode_picture(dpx(codes, transfer))[..., :3], light, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["TIFF by hand", "PNG", "JPEG", "WEBP"])
def test_pictures_stand_upright(orientation: int, kind: str) -> None:
    """Each EXIF orientation turns the picture as the specification says."""
    stored = np.random.default_rng(3).integers(0, 256, (16, 32, 3), np.uint8)
    if kind == "TIFF by hand":
        data = tiff(stored, orientation=orientation)
    else:
        exif = Image.Exif()
        exif[0x0112] = orientation
        file = io.BytesIO()
        Image.fromarray(stored).save(file, kind, exif=exif, **({"lossless": True} if kind == "WEBP" else {}))
        data = file.getvalue()
        stored = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    top_first, left_first = orientation in (1, 2, 5, 6), orientation in (1, 4, 5, 8)
    if orientation > 4:  # rows are stored as columns
        seen = stored.transpose(1, 0, 2)
        seen = seen[:, ::-1] if orientation in (6, 7) else seen
        seen = seen[::-1] if orientation in (7, 8) else seen
    else:
        seen = stored if top_first else stored[::-1]
        seen = seen if left_first else seen[:, ::-1]
    found = decode_picture(data)[..., :3]
    np.testing.assert_allclose(found, linear(seen / 255), atol=0.02 if kind == "JPEG" else 1e-6)


#: XYZ (D50) of Display P3's primaries, and the matrix from its linear light to that of Rec. 709.
P3 = (0.51512, 0.2412, -0.00105), (0.29198, 0.69225, 0.04189), (0.1571, 0.06657, 0.78407)
P3_TO_709 = np.array([[1.22494, -0.22494, 0], [-0.04206, 1.04206, 0], [-0.01964, -0.07864, 1.09827]])


@pytest.mark.parametrize("depth", [8, 16])
def test_numbers_become_light_by_the_space_that_the_file_names(depth: int) -> None:
    """PNG's gamma, code points (CICP) and ICC profile convert to linear light; without them, numbers are sRGB."""
    top = (1 << depth) - 1
    pixels = np.random.default_rng(depth).integers(0, top, (9, 7, 3), endpoint=True)
    shares = pixels / top

    def profile(gamma: float) -> bytes:
        return chunk(b"iCCP", b"name\0\0" + zlib.compress(icc_profile(P3, gamma)))

    for declared, expected in (
        (chunk(b"sRGB", b"\0"), linear(shares)),
        (chunk(b"gAMA", struct.pack(">I", 100000)), shares),
        (chunk(b"gAMA", struct.pack(">I", 45455)), shares**2.2),
        (chunk(b"gAMA", struct.pack(">I", 62500)), shares**1.6),
        (chunk(b"gAMA", struct.pack(">I", 45455)) + chunk(b"sRGB", b"\0"), linear(shares)),
        (chunk(b"cICP", bytes([1, 8, 0, 1])), shares),
        (chunk(b"cICP", bytes([12, 13, 0, 1])), linear(shares) @ P3_TO_709.T),
        (profile(1.8), shares**1.8 @ P3_TO_709.T),
        (profile(2.2), shares**2.2 @ P3_TO_709.T),
    ):
        found = decode_picture(png(pixels, depth, declared))
        np.testing.assert_allclose(found[..., :3], expected, rtol=3e-4, atol=3e-4)


def test_profiles_of_jpeg_and_tiff_count_too() -> None:
    """The ICC profile of a JPEG, TIFF or WebP file converts its numbers to linear light."""
    stored = np.full((16, 16, 3), (200, 100, 50), np.uint8)
    for kind in ("JPEG", "TIFF", "WEBP"):
        file = io.BytesIO()
        Image.fromarray(stored).save(file, kind, icc_profile=icc_profile(P3, 2.2), quality=100)
        expected = (stored / 255) ** 2.2 @ P3_TO_709.T
        np.testing.assert_allclose(decode_picture(file.getvalue())[..., :3], expected, atol=0.02)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L"])
@pytest.mark.parametrize("kind", ["JPEG", "WEBP", "BMP", "TGA", "PPM", "PNG", "TIFF", "GIF"])
def test_other_files_of_eight_bits_are_what_pillow_reads(kind: str, mode: str) -> None:
    """Other 8-bit formats are read as Pillow reads them, as sRGB with straight alpha."""
    if mode == "RGBA" and kind in ("JPEG", "PPM", "GIF"):
        return  # the format has no alpha, or one bit of it
    stored = np.random.default_rng(4).integers(0, 256, (13, 21, 4), np.uint8)
    picture = Image.fromarray(stored if mode == "RGBA" else stored[..., :3]).convert(mode)
    file = io.BytesIO()
    picture.save(file, kind, **({"lossless": True, "exact": True} if kind == "WEBP" else {}))
    expected = np.asarray(Image.open(io.BytesIO(file.getvalue())).convert("RGBA")) / 255
    atol = 0.012 if kind == "JPEG" else 1e-6
    np.testing.assert_allclose(decode_picture(file.getvalue()), rgba(expected, linear), atol=atol)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L"])
def test_avif_has_the_colour_space_that_it_names(mode: str) -> None:
    """An AVIF is read as Pillow decodes it, in its own primaries and transfer."""
    stored = np.random.default_rng(4).integers(0, 256, (5, 7, 4), np.uint8)
    picture = Image.fromarray(stored if mode == "RGBA" else stored[..., :3]).convert(mode)
    file = io.BytesIO()
    picture.save(file, "AVIF", quality=100)
    held = file.getvalue()
    shares = np.asarray(Image.open(file).convert("RGBA")) / 255
    np.testing.assert_allclose(decode_picture(held), rgba(shares, linear), atol=1e-6)
    assert b"colrnclx\0\x01\0\x0d" in held
    other = decode_picture(held.replace(b"colrnclx\0\x01\0\x0d", b"colrnclx\0\x0c\0\x0d"))
    np.testing.assert_allclose(other[..., :3], linear(shares[..., :3]) @ P3_TO_709.T, atol=3e-4)
    with pytest.raises(ValueError, match="a damaged AVIF"):
        decode_picture(held[: len(held) // 2])


@pytest.mark.parametrize("orientation", range(1, 9))
def test_an_avif_is_turned_upright(orientation: int) -> None:
    """An AVIF is turned as a viewer shows it, by the orientation that a camera has written."""
    picture, exif, file = Image.new("RGB", (24, 16)), Image.Exif(), io.BytesIO()
    picture.paste((255, 255, 255), (0, 0, 12, 8))
    exif[0x0112] = orientation
    picture.save(file, "AVIF", quality=100, exif=exif.tobytes())
    upright = np.asarray(ImageOps.exif_transpose(Image.open(file)).convert("RGB")) / 255
    np.testing.assert_allclose(decode_picture(file.getvalue())[..., :3], linear(upright), atol=1e-6)


@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("kind", ["PCX", "QOI", "ICO"])
def test_formats_of_other_programs_are_read_as_pillow_does(kind: str, mode: str) -> None:
    """Formats that one library lacks are read by the other one."""
    stored = np.random.default_rng(5).integers(0, 256, (9, 7, 3), np.uint8)
    picture, file = Image.fromarray(stored).convert("RGB" if kind == "QOI" else mode), io.BytesIO()
    picture.save(file, kind)
    expected = np.asarray(Image.open(file).convert("RGBA")) / 255
    np.testing.assert_allclose(decode_picture(file.getvalue()), rgba(expected, linear), atol=1e-6)


@pytest.mark.parametrize("dtype", [">u1", ">u2"])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_psd_shows_the_picture_of_all_its_layers(dtype: str, channels: int) -> None:
    """A file of Photoshop has the whole picture behind its layers, one channel after the other."""
    kind = np.dtype(dtype)
    stored = np.random.default_rng(6).integers(0, np.iinfo(kind).max + 1, (channels, 5, 8)).astype(kind)
    head = struct.pack(">H6xHIIHH", 1, channels, 5, 8, 8 * kind.itemsize, 3 if channels == 3 else 1)
    held = b"8BPS" + head + bytes(12) + bytes(2) + stored.tobytes()
    expected = rgba(stored.transpose(1, 2, 0) / np.iinfo(kind).max, linear)
    np.testing.assert_allclose(decode_picture(held), expected, atol=1e-6)


def test_a_heic_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The picture of a phone is named; a file of the same family that is an AVIF is read."""
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    for brand in (b"heic", b"mif1"):
        with pytest.raises(ValueError, match=r"pillow-heif is missing; type: pip install 'warploom\[heic\]'"):
            decode_picture(struct.pack(">I4s4sI4s", 20, b"ftyp", brand, 0, b"heic") + bytes(40))
    file = io.BytesIO()
    Image.new("RGB", (8, 8), (255, 0, 0)).save(file, "AVIF", quality=100)
    held = file.getvalue().replace(b"ftypavif", b"ftypmif1")
    np.testing.assert_allclose(decode_picture(held)[0, 0], (1, 0, 0, 1), atol=0.02)


def test_colours_in_cielab_are_refused() -> None:
    """The library would turn white into yellow."""
    file = io.BytesIO()
    Image.new("LAB", (4, 4), (255, 128, 128)).save(file, "TIFF")
    with pytest.raises(ValueError, match="colours in CIELAB; convert them to RGB"):
        decode_picture(file.getvalue())


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 0, 1)])
def test_an_exr_of_several_parts_shows_its_colours(tmp_path: Path, order: tuple[int, ...]) -> None:
    """A part of depths or normals, which may come first, is not taken for the picture; alone, it is grey."""
    pixels = np.random.default_rng(7).normal(size=(5, 7, 4)).astype(np.float32)
    parts = ("depth", ["Z"], 1), ("beauty", ["beauty.R", "beauty.G", "beauty.B"], 3), ("mask", ["id"], 1)
    specs = []
    for place in order:
        name, channels, count = parts[place]
        spec = OpenImageIO.ImageSpec(7, 5, count, "float")
        spec.channelnames = channels
        spec.attribute("oiio:subimagename", name)
        specs.append(spec)
    for kept in (specs, specs[:1]):
        path, file = str(tmp_path / "a.exr"), OpenImageIO.ImageOutput.create("a.exr")
        assert file is not None and file.open(path, kept)
        for place, spec in enumerate(kept):
            assert not place or file.open(path, spec, "AppendSubimage")
            assert file.write_image(pixels[..., : spec.nchannels])
        file.close()
        is_grey = len(kept) == 1 and kept[0].nchannels == 1
        expected = pixels[..., [0, 0, 0] if is_grey else [0, 1, 2]]
        np.testing.assert_array_equal(load_linear(tmp_path / "a.exr")[..., :3], expected)


WHITE = b"XYZ \0\0\0\0" + struct.pack(">3i", 63190, 65536, 54061)


def _fixed(*values: float) -> bytes:
    return struct.pack(f">{len(values)}i", *(round(value * 65536) for value in values))


@pytest.mark.parametrize(
    ("curve", "light"),
    [
        (b"curv\0\0\0\0" + struct.pack(">I", 0), lambda x: x),
        (b"curv\0\0\0\0" + struct.pack(">IH", 1, 461), lambda x: x ** (461 / 256)),
        (
            b"curv\0\0\0\0" + struct.pack(">I3H", 3, 0, 9000, 65535),
            lambda x: np.interp(x, [0, 0.5, 1], [0, 9000 / 65535, 1]),
        ),
        (b"para\0\0\0\0\0\0\0\0" + _fixed(1.8), lambda x: x**1.8),
        (b"para\0\0\0\0\0\1\0\0" + _fixed(2, 1.25, -0.25), lambda x: np.maximum(1.25 * x - 0.25, 0) ** 2),
        (
            b"para\0\0\0\0\0\3\0\0" + _fixed(2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045),
            lambda x: np.where(x < 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4),
        ),
    ],
)
@pytest.mark.parametrize("kind", ["u1", "u2"])
def test_grey_pictures_have_the_curve_of_their_profile(curve: bytes, light: Any, kind: str) -> None:
    """A grey picture is converted by the curve that its profile states, of each kind that a profile may have."""
    full = np.iinfo(kind).max
    stored = np.linspace(0, full, 60).round().astype(kind).reshape(5, 12)
    file = io.BytesIO()
    profile = profile_of(b"mntrGRAYXYZ ", [(b"wtpt", WHITE), (b"kTRC", curve)])
    Image.fromarray(stored).save(file, "PNG", icc_profile=profile)
    found = decode_picture(file.getvalue())
    np.testing.assert_allclose(found[..., 0], light(stored / full), atol=1e-4)
    np.testing.assert_array_equal(found[..., 1], found[..., 0])
    for end in range(128, len(profile)):  # in a TIFF, where no library looks at the profile first
        file = io.BytesIO()
        Image.fromarray(stored).save(file, "TIFF", icc_profile=profile[:end])
        assert decode_picture(file.getvalue()).shape == (5, 12, 4)


@pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
def test_inks_have_the_colours_of_their_profile(kind: str) -> None:
    """A picture of inks (CMYK) is not converted as if they were ideal; raw and sRGB leave its profile out."""
    rng = np.random.default_rng(10)
    lab = np.stack([rng.integers(80, 200, 16), *rng.integers(108, 149, (2, 16))], axis=1)  # for each choice of inks
    lab[0] = (255, 128, 128)  # paper is white
    even = bytes(range(256))
    table = b"mft1\0\0\0\0\4\3\2\0" + _fixed(1, 0, 0, 0, 1, 0, 0, 0, 1) + 4 * even
    table += lab.astype(np.uint8).tobytes() + 3 * even
    profile = profile_of(b"prtrCMYKLab ", [(b"wtpt", WHITE), (b"A2B0", table)])
    shares = lab / (2.55, 1, 1) - (0, 128, 128)
    f_y = (shares[:, 0] + 16) / 116
    ratios = np.stack([f_y + shares[:, 1] / 500, f_y, f_y - shares[:, 2] / 200], axis=1)
    xyz = np.where(ratios > 6 / 29, ratios**3, (ratios - 4 / 29) * 3 * (6 / 29) ** 2) * (0.9642, 1, 0.8249)
    to_709 = [[3.1339, -1.6169, -0.4906], [-0.9788, 1.9161, 0.0335], [0.0719, -0.2290, 1.4052]]  # from D50
    expected = np.clip(xyz @ np.array(to_709).T, 0, 1)
    for choice in (0, 3, 8, 13):
        inks = tuple(255 * (choice >> place & 1) for place in (3, 2, 1, 0))
        file = io.BytesIO()
        Image.new("CMYK", (16, 16), inks).save(file, kind, icc_profile=profile, quality=100)
        np.testing.assert_allclose(decode_picture(file.getvalue())[8, 8, :3], expected[choice], atol=0.015)
        ideal = [(1 - ink / 255) * (1 - inks[3] / 255) for ink in inks[:3]]
        np.testing.assert_allclose(decode_picture(file.getvalue(), "sRGB")[8, 8, :3], ideal, atol=0.015)
    file = io.BytesIO()  # a picture without inks keeps its colours, whatever profile it has
    Image.new("RGB", (16, 16), (255, 0, 0)).save(file, kind, icc_profile=profile, quality=100)
    np.testing.assert_allclose(decode_picture(file.getvalue())[8, 8], (1, 0, 0, 1), atol=0.015)


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("size", [16, 131])
def test_a_jpeg_that_is_cut_off_is_refused(progressive: bool, size: int) -> None:
    """Without its last scans, a picture would be shown blurred; bytes behind its end, as of phones, don't matter."""
    stored = np.random.default_rng(8).integers(0, 256, (size, size, 3), np.uint8)
    thumbnail, file, exif = io.BytesIO(), io.BytesIO(), Image.Exif()
    Image.new("RGB", (8, 8)).save(thumbnail, "JPEG")
    exif[0x9286] = thumbnail.getvalue()  # has an end of its own
    Image.fromarray(stored).save(file, "JPEG", quality=95, progressive=progressive, exif=exif)
    held = file.getvalue()
    whole = decode_picture(held)
    np.testing.assert_array_equal(decode_picture(held + b"\xff\xda\xff\xc2" + stored.tobytes()), whole)
    for share in (0.3, 0.5, 0.8, 0.95):
        with pytest.raises(ValueError, match=r"\w"):
            decode_picture(held[: int(len(held) * share)])


def test_luminance_with_chroma_is_refused(tmp_path: Path) -> None:
    """An EXR of luminance and chroma is refused, instead of being read as grey."""
    (tmp_path / "a.exr").write_bytes(exr(np.ones((2, 2, 3), np.float32), ("Y", "RY", "BY")))
    with pytest.raises(PatchError, match="luminance and chroma"):
        load_linear(tmp_path / "a.exr")


def test_a_small_file_of_a_huge_picture_is_refused(tmp_path: Path) -> None:
    """A file that declares a picture of too many pixels is refused, with its size in the message."""
    header = struct.pack(">IIBBBBB", 20000, 20000, 8, 0, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
    (tmp_path / "huge.png").write_bytes(data)
    with pytest.raises(PatchError, match=f"a readable image, got: 20000 x 20000 pixels, more than {MAX_PIXELS}"):
        load_linear(tmp_path / "huge.png")


_DAMAGE = """
import sys
import numpy as np
from warploom.blocks.io.decode_image import decode_picture
from tests.blocks.picture_files import dpx, exr, pfm, png, radiance, tiff
rng = np.random.default_rng(int(sys.argv[1]))
small, floats = rng.integers(0, 255, (5, 7, 4), np.uint8), rng.random((5, 7, 3)).astype(np.float32)
files = [
    png(small, 8), png(small, 16), tiff(small, alpha=1), tiff(floats), pfm(floats), exr(floats, "RGB"), radiance(small),
    dpx(small[..., :3].astype(int), 3),
]
refused = 0
for turn in range(int(sys.argv[2])):
    data = bytearray(files[turn % len(files)])
    if rng.random() < 0.3:
        data = data[: rng.integers(len(data))]
    for place in rng.integers(0, max(1, len(data)), rng.integers(0, 4)):
        if place < len(data):
            data[place] = rng.integers(256)
    try:
        picture = decode_picture(bytes(data))
        assert picture.dtype == np.float32 and picture.ndim == 3 and picture.shape[2] == 4
    except ValueError as problem:
        refused += bool(str(problem)) and "/proc" not in str(problem)
    except MemoryError:
        pass
print("refused", refused)
"""


@pytest.mark.parametrize("seed", seeds(1))
def test_damaged_files_are_refused_or_read(seed: int) -> None:
    """Random damage to a file leads to a picture or one message, and never ends the process."""
    words = [sys.executable, "-c", _DAMAGE, str(seed), str(many(300))]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout.split()[-1]) > 20
