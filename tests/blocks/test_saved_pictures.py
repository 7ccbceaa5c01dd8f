"""Saved pictures contain what the patch computed, as precisely as their format allows."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.fuzzing import seeds
from warploom import Engine, Patch
from warploom.blocks.io.decode_image import decode_picture, load_linear
from warploom.engine.diagnostics import PatchError
from warploom.engine.drawings.pictures import encode_picture
from warploom.engine.types import Array


def encoded(linear: Array) -> Array:
    """Return the sRGB curve by its definition (IEC 61966-2-1), in double precision."""
    x = np.clip(np.nan_to_num(linear.astype(np.float64), nan=0), 0, 1)
    return np.where(x <= 0.0031308, 12.92 * x, 1.055 * x ** (1 / 2.4) - 0.055)


def picture(seed: int) -> Array:
    """Return a picture of a random size, possibly 1 x 1, with unusual values; alpha is 0, 1 or in between."""
    rng = np.random.default_rng(seed)
    height, width = rng.choice([1, 2, 5, 16, 31], 2)
    values: Array = (rng.normal(size=(height, width, 4)) * 10.0 ** rng.integers(-3, 4)).astype(np.float32)
    special = rng.random(values.shape) < 0.1
    values[special] = rng.choice(np.array([np.nan, np.inf, -np.inf, -0.0, 1, 65504], np.float32), special.sum())
    values[..., 3] = rng.choice([0, 0.25, 1], (height, width))
    return values


@pytest.mark.parametrize("seed", seeds(10))
def test_floats_come_back_to_the_bit(seed: int) -> None:
    """TIFF and PFM keep all bits of floats; EXR keeps those of the product with alpha, within half's range."""
    pixels = picture(seed)
    np.testing.assert_array_equal(decode_picture(encode_picture(pixels, ".tif")), pixels)
    np.testing.assert_array_equal(decode_picture(encode_picture(pixels, ".pfm"))[..., :3], pixels[..., :3])
    seen = np.where(pixels[..., 3:] == 0, np.float32(0), pixels)
    seen[..., 3] = pixels[..., 3]
    np.testing.assert_array_equal(decode_picture(encode_picture(seen, ".exr")), seen)
    with np.errstate(over="ignore"):
        halves = (seen[..., :3] * seen[..., 3:]).astype(np.float16).astype(np.float32)
    np.divide(halves, seen[..., 3:], out=halves, where=seen[..., 3:] != 0)
    np.testing.assert_array_equal(decode_picture(encode_picture(pixels, ".exr", "half"))[..., :3], halves)


@pytest.mark.parametrize("suffix", [".png", ".tif", ".jpg"])
def test_a_view_is_saved_as_a_copy_of_it_is(suffix: str) -> None:
    """This holds for steps, turned and transposed axes, every second channel, and repeated rows."""
    held = np.random.default_rng(3).integers(0, 256, (9, 14, 8)).astype(np.uint8)
    turned, repeated = held.transpose(1, 0, 2)[:, ::-1, 3::-1], np.broadcast_to(held[:1, :, :4], (5, 14, 4))
    for view in (held[::3, ::2, :4], held[::-1, ::-1, :4], turned, held[..., ::2], repeated):
        for pixels in (view, view.astype(np.float32) / 255):
            assert encode_picture(pixels, suffix) == encode_picture(np.ascontiguousarray(pixels), suffix)


@pytest.mark.parametrize("seed", seeds(10))
@pytest.mark.parametrize(
    ("suffix", "depth"),
    [(".png", "8 bits"), (".png", "16 bits"), (".tif", "16 bits"), (".tif", "8 bits"), (".webp", "8 bits")],
)
def test_whole_numbers_are_the_nearest_ones(suffix: str, depth: str, seed: int) -> None:
    """Integers are the nearest to the sRGB curve with straight alpha; values are clipped to 0 to 1, and NaN is 0."""
    pixels, largest = picture(seed), 65535 if depth == "16 bits" else 255
    found = decode_picture(encode_picture(pixels, suffix, depth))
    if suffix == ".webp":  # a lossy format
        assert found.shape == pixels.shape
        return
    codes = encoded(pixels[..., :3]) * largest
    np.testing.assert_allclose(encoded(found[..., :3]) * largest, codes, atol=0.51)
    np.testing.assert_allclose(found[..., 3], pixels[..., 3], atol=0.51 / largest)


def test_radiance_pictures_hold_highlights() -> None:
    """Radiance pictures keep values above 1, with one exponent for the three colours."""
    light = np.abs(picture(3)[..., :3])
    light[~np.isfinite(light)] = 7
    found = decode_picture(encode_picture(np.concatenate([light, light[..., :1]], axis=2), ".hdr"))[..., :3]
    np.testing.assert_allclose(found, light, atol=float(light.max()) / 100)


def save(pixels: Array, file: Path, depth: str = "usual") -> list[str]:
    patch = Patch()
    block = patch.add("io.save_image", file=file, depth=depth)
    patch.connect(patch.add("io.image_array", data=pixels)["out"], block["image"])
    with Engine(patch, device="host") as engine:
        problems = [f"{item.node}: {item.message}" for item in engine.step().diagnostics]
        if not problems:
            engine.save_outputs()
    return problems


@pytest.mark.parametrize(
    "ending", ["png", "jpg", "jpeg", "webp", "bmp", "tga", "tif", "TIFF", "exr", "hdr", "pfm", "npy"]
)
def test_the_ending_gives_the_format(ending: str, tmp_path: Path) -> None:
    """A picture from 0 to 1 is read back from each format, within the format's precision."""
    pixels = np.full((24, 40, 4), (0.2, 0.5, 0.8, 1), np.float32)
    assert save(pixels, tmp_path / f"out.{ending}") == []
    if ending == "npy":
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), pixels)
        return
    tolerance = {"tif": 0, "TIFF": 0, "exr": 0, "pfm": 0}.get(ending, 0.02)
    np.testing.assert_allclose(load_linear(tmp_path / f"out.{ending}"), pixels, atol=tolerance)


def test_a_blurred_picture_keeps_its_highlights(tmp_path: Path) -> None:
    """Values of 5 and -0.25 from the engine are kept in a float TIFF and an EXR, but not in a 16-bit PNG."""
    pixels = np.full((3, 5, 4), (5.0, -0.25, 0.5, 1), np.float32)
    for name, depth in (("a.tif", "usual"), ("a.exr", "half"), ("a.exr", "float")):
        assert save(pixels, tmp_path / name, depth) == []
        np.testing.assert_array_equal(load_linear(tmp_path / name), pixels)
        (tmp_path / name).unlink()
    assert save(pixels, tmp_path / "a.png", "16 bits") == []
    np.testing.assert_allclose(load_linear(tmp_path / "a.png")[0, 0], [1, 0, 0.5, 1], atol=2e-5)


@pytest.mark.parametrize(("name", "depth"), [("a.png", "half"), ("a.jpg", "16 bits"), ("a.exr", "8 bits")])
def test_a_depth_that_the_format_lacks_is_refused(name: str, depth: str, tmp_path: Path) -> None:
    """A depth that the format lacks is reported before anything is computed."""
    (problem,) = save(np.ones((2, 2)), tmp_path / name, depth)
    assert problem.startswith(f"save_image: depth of a {name[1:]} file must be usual or ") and depth in problem


def test_an_unknown_ending_is_refused(tmp_path: Path) -> None:
    """A file name with an unknown extension is refused, and no file is written."""
    with pytest.raises(PatchError, match=r"writable as .*a\.xyz, got no image format whose files end in '\.xyz'"):
        save(np.ones((2, 2)), tmp_path / "a.xyz")
    assert not list(tmp_path.iterdir())


def test_pictures_of_bytes_are_saved_as_they_are() -> None:
    """A picture of uchar4 is saved byte for byte, since it is sRGB already."""
    pixels = np.random.default_rng(5).integers(0, 256, (7, 9, 4), np.uint8)
    for suffix in (".png", ".tif", ".tga"):
        found = decode_picture(encode_picture(pixels, suffix))
        np.testing.assert_allclose(encoded(found[..., :3]) * 255, pixels[..., :3], atol=1e-3)
    with pytest.raises(PatchError, match=r"depth of a \.exr file must be usual or float or half, got 8 bits"):
        encode_picture(pixels, ".exr")


def test_pillow_reads_what_was_written(tmp_path: Path) -> None:
    """Pillow reads the saved size and numbers."""
    pixels = np.random.default_rng(6).random((5, 9, 4)).astype(np.float32)
    assert save(pixels, tmp_path / "a.png") == []
    with Image.open(tmp_path / "a.png") as found:
        codes = np.asarray(found)
    np.testing.assert_allclose(codes[..., :3], encoded(pixels[..., :3]) * 255, atol=0.52)
    np.testing.assert_allclose(codes[..., 3], pixels[..., 3] * 255, atol=0.51)
