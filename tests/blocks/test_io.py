"""Input and output: image files, arrays, user memory (io.external), and the screen."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.blocks.running import problems, run
from warploom import Engine, Patch, UpdateLevel
from warploom.blocks.io.decode_image import load_linear
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.document import NodeRef
from warploom.engine.patch.files import load_patch, save_patch
from warploom.engine.protocol.sampling import ObservePorts, picture_of


def _encode(linear: Any) -> Any:
    """Return the sRGB curve by its definition (IEC 61966-2-1), in double precision."""
    x = np.clip(linear.astype(np.float64), 0, 1)
    return np.where(x <= 0.0031308, 12.92 * x, 1.055 * x ** (1 / 2.4) - 0.055)


def _ramp() -> Any:
    values = np.arange(256, dtype=np.uint8)
    return np.stack([values, values[::-1], np.roll(values, 77), 255 - values // 2], 1).reshape(8, 32, 4)


def _copy_file(source: Path, target: Path) -> None:
    patch = Patch()
    load = patch.add("io.load_image", file=source)
    save = patch.add("io.save_image", file=target)
    patch.connect(load["out"], save["image"])
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        engine.save_outputs()


def test_a_file_that_is_loaded_and_saved_is_the_same(tmp_path: Path) -> None:
    """Loading and saving a picture keeps every 8-bit value and alpha, through linear light and back."""
    Image.fromarray(_ramp()).save(tmp_path / "in.png")
    _copy_file(tmp_path / "in.png", tmp_path / "out.png")
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "out.png").convert("RGBA")), _ramp())


def test_decoded_values_follow_the_srgb_curve(tmp_path: Path) -> None:
    """Encoding a loaded picture by the sRGB curve returns the file's values; a file without alpha is opaque."""
    Image.fromarray(_ramp()[..., :3]).save(tmp_path / "in.png")
    linear = load_linear(tmp_path / "in.png")
    assert linear.dtype == np.float32
    np.testing.assert_allclose(_encode(linear[..., :3]) * 255, _ramp()[..., :3], atol=1e-3)
    np.testing.assert_array_equal(linear[..., 3], 1)


def test_a_chosen_colour_space_counts(tmp_path: Path) -> None:
    """`raw` keeps numbers and alpha, `linear` only scales them, and `sRGB` counts instead of what the file says."""
    Image.fromarray(_ramp()).save(tmp_path / "in.png")
    ramp = _ramp().astype(np.float32)
    np.testing.assert_array_equal(load_linear(tmp_path / "in.png", "raw"), ramp)
    np.testing.assert_array_equal(load_linear(tmp_path / "in.png", "linear"), ramp / np.float32(255))
    np.testing.assert_array_equal(load_linear(tmp_path / "in.png", "sRGB"), load_linear(tmp_path / "in.png"))
    values = np.array([[0, 1, 300, 65535]], np.uint16)
    Image.fromarray(values).save(tmp_path / "deep.png")
    np.testing.assert_array_equal(load_linear(tmp_path / "deep.png", "raw")[..., 1], values)


def test_pictures_are_turned_as_exif_says(tmp_path: Path) -> None:
    """A picture with EXIF orientation 6 is loaded rotated by a quarter turn."""
    upright = _ramp()[..., :3]
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(np.rot90(upright).copy()).save(tmp_path / "side.png", exif=exif)
    np.testing.assert_allclose(_encode(load_linear(tmp_path / "side.png")[..., :3]) * 255, upright, atol=1e-3)


def test_sixteen_bit_grey_keeps_its_range(tmp_path: Path) -> None:
    """A 16-bit grey PNG is loaded with 16 bits."""
    values = np.array([[0, 1000, 32768, 65535]], np.uint16)
    Image.fromarray(values).save(tmp_path / "deep.png")
    np.testing.assert_allclose(_encode(load_linear(tmp_path / "deep.png")[..., 1]) * 65535, values, atol=0.5)


def test_a_file_saved_again_is_read_again(tmp_path: Path) -> None:
    """A file with a new time stamp is read again, and an unchanged one comes from the cache."""
    path = tmp_path / "image.png"
    for second, value in ((1, 10), (2, 200)):
        Image.new("RGB", (4, 4), (value, 0, 0)).save(path)
        os.utime(path, (second, second))
        assert round(float(_encode(load_linear(path)[0, 0, 0])) * 255) == value
    assert load_linear(path) is load_linear(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The diagnostic of Load Image names the missing file and a remedy."""
    patch = Patch()
    load = patch.add("io.load_image", file=tmp_path / "gone.png")
    with Engine(patch, device="host") as engine:
        (problem,) = engine.step().diagnostics
    assert problem.node == load.id
    assert str(tmp_path / "gone.png") in problem.message and "choose another file" in problem.message


@pytest.mark.parametrize("content", [b"", b"not an image", b"\x89PNG\r\n\x1a\n" + b"\0" * 40])
def test_a_broken_file_is_named(tmp_path: Path, content: bytes) -> None:
    """The error for a file that is empty, is not an image or ends early names the file."""
    path = tmp_path / "broken.png"
    path.write_bytes(content)
    with pytest.raises(PatchError, match=r"image file .*broken\.png must be a readable image"):
        load_linear(path)


def test_a_truncated_photograph_is_refused(tmp_path: Path) -> None:
    """Half a JPEG is refused, so half a picture is never shown."""
    path = tmp_path / "half.jpg"
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(PatchError, match=r"half\.jpg must be a readable image"):
        load_linear(path)


@pytest.mark.parametrize("channels", [None, 1, 3, 4])
def test_image_array_takes_grey_rgb_and_rgba(channels: int | None) -> None:
    """Grey is copied to all three colours, and an array without alpha is opaque."""
    shape = (5, 3) if channels is None else (5, 3, channels)
    data = np.random.default_rng(2).random(shape)
    patch = Patch()
    node = patch.add("io.image_array", data=data)
    with Engine(patch, device="host") as engine:
        engine.step()
        out = engine.read(node["out"])
    expected = np.ones((5, 3, 4), np.float32)
    expected[..., : 4 if channels == 4 else 3] = data if channels in (3, 4) else data.reshape(5, 3, 1)
    np.testing.assert_array_equal(out, expected)


def test_image_array_refuses_other_shapes() -> None:
    """An array of two channels is refused, and the message states the accepted shape."""
    patch = Patch()
    node = patch.add("io.image_array", data=np.zeros((4, 4, 2)))
    with Engine(patch, device="host") as engine:
        (problem,) = engine.step().diagnostics
    assert problem.node == node.id and "(height, width, 3)" in problem.message


def _shown(image: Any, **parameters: Any) -> Any:
    patch = Patch()
    viewer = patch.add("io.viewer", **parameters)
    patch.connect(patch.add("io.image_array", data=image)["out"], viewer["image"])
    with Engine(patch, device="host") as engine:
        engine.post(ObservePorts({viewer.id: picture_of(viewer.id)}))
        engine.step()
        preview = engine.take_sample(viewer.id)
    assert preview is not None
    return preview.data


@pytest.mark.parametrize("exposure", [-8.0, -1.5, 0.0, 0.25, 3.0])
def test_viewer_shows_srgb_at_any_exposure(exposure: float) -> None:
    """The viewer's picture is within one 8-bit step of the sRGB curve at any exposure, and is clipped above 1."""
    image = np.random.default_rng(3).random((33, 17, 4), np.float32) * 2
    pixels = _shown(image, exposure=exposure)
    expected = _encode(image[..., :3] * 2.0**exposure) * 255
    assert pixels.dtype == np.uint8
    np.testing.assert_allclose(pixels[..., :3], expected, atol=0.52)


def test_roll_off_keeps_highlights_apart() -> None:
    """Without roll-off, 1 and 4 are both white; with it they differ, and dark values stay as they are."""
    image = np.array([[0.2, 1.0, 4.0]], np.float32)
    hard, soft = _shown(image)[0, :, 0], _shown(image, roll_off=0.5)[0, :, 0]
    assert hard[1] == hard[2] == 255
    assert soft[0] == hard[0]
    assert soft[1] < soft[2] < 255
    np.testing.assert_allclose(soft[1:], _encode(np.array([0.75, 0.5 + 0.5 * 7 / 8])) * 255, atol=0.52)


def _scaled(array: Any) -> tuple[Patch, NodeRef, NodeRef]:
    patch = Patch()
    source, scale = patch.add("io.external", array=array), patch.add("math.scale_offset", scale=2.0)
    patch.connect(source["out"], scale["x"])
    return patch, source, scale


class OnlyDlpack:
    """An array that lends its memory only by DLPack, like a PyTorch tensor on the CPU."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("wrap", [lambda array: array, OnlyDlpack])
def test_the_patch_reads_what_the_array_holds_now(wrap: Any) -> None:
    """A value that the user writes into the array is read in the next frame, without an edit or with a rebuild."""
    array = np.arange(301, dtype=np.float32)
    patch, _, scale = _scaled(wrap(array))
    with Engine(patch, device="host") as engine:
        for value in (3.0, 4.0, 5.0):
            array[7] = value
            assert not engine.step().diagnostics
            np.testing.assert_array_equal(engine.read(scale["out"]), 2 * array)
            patch.add("buffer.constant")


def test_blocks_in_place_change_the_array() -> None:
    """Assign writes its value into the user's array."""
    array = np.zeros((3, 5), np.float32)
    patch = Patch()
    source, assign = patch.add("io.external", array=array), patch.add("buffer.assign")
    value = np.arange(15, dtype=np.float32).reshape(3, 5)
    patch.connect(source["out"], assign["target"])
    patch.connect(patch.add("io.array", data=value)["out"], assign["value"])
    run(patch, assign["out"])
    np.testing.assert_array_equal(array, value)


def test_gaps_are_seen_as_strides() -> None:
    """A Copy of a view with gaps of the user's array equals the view."""
    array = np.arange(42, dtype=np.int16).reshape(6, 7)
    patch = Patch()
    source, copy = patch.add("io.external", array=array[::2, 1:6:2]), patch.add("buffer.copy")
    patch.connect(source["out"], copy["x"])
    np.testing.assert_array_equal(run(patch, copy["out"])[0], array[::2, 1:6:2])


def test_another_array_takes_its_place() -> None:
    """Replacing the array is a WARM update, whether or not the shape changes, and undo restores the first one."""
    patch, source, scale = _scaled(np.ones(10, np.float32))
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(source, array=np.full(10, 3, np.float32))
        assert engine.step().update_level is UpdateLevel.WARM
        np.testing.assert_array_equal(engine.read(scale["out"]), np.full(10, 6))
        patch.set(source, array=np.full(11, 4, np.float32))
        assert engine.step().update_level is UpdateLevel.WARM
        np.testing.assert_array_equal(engine.read(scale["out"]), np.full(11, 8))
        patch.undo()
        engine.step()
        np.testing.assert_array_equal(engine.read(scale["out"]), np.full(10, 6))


def test_an_external_array_is_not_saved(tmp_path: Path) -> None:
    """The saved file lacks the array, and after loading, the block's error says how to set it."""
    patch, source, _ = _scaled(np.ones(10, np.float32))
    save_patch(patch, tmp_path / "mine.loom")
    loaded = load_patch(tmp_path / "mine.loom")
    assert "base64" not in (tmp_path / "mine.loom").read_text()
    assert any(at == source.id and "array must be set from Python" in text for at, _, text in problems(loaded))


@pytest.mark.parametrize("value", [3, "text", [1, 2], object()])
def test_objects_without_memory_are_refused(value: Any) -> None:
    """Setting the parameter to an object without memory raises an error."""
    with pytest.raises(PatchError, match="parameter array must be an array that has one of"):
        Patch().add("io.external", array=value)


def test_memory_that_can_t_be_used_is_reported() -> None:
    """Read-only memory is reported as memory that must be writable."""
    array = np.ones(10, np.float32)
    array.flags.writeable = False
    patch, _, _ = _scaled(array)
    assert any("must be writable" in text for _, _, text in problems(patch))
