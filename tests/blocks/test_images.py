"""Images: filters, glow and adjustments compared with scipy and closed forms, and generated images."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from tests.blocks.blends import BLENDS
from tests.blocks.running import run
from warploom import Engine, Patch, UpdateLevel
from warploom.blocks.filter.gaussian_blur import GROWING, SHRINKING
from warploom.blocks.filter.windows import march
from warploom.engine.device.device import Device
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.kernel_sources.image import KERNELS_FOLDER

LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
SIZES = [(1, 1), (1, 37), (29, 1), (3, 5), (67, 131)]


def _random_image(shape: tuple[int, int]) -> Any:
    return np.random.default_rng(5).random((*shape, 4), np.float32)


def _blurred(image: Any, sigma: float) -> Any:
    wide = image.astype(np.float64)
    return np.stack(
        [ndimage.gaussian_filter(wide[..., c], sigma, mode="nearest", truncate=4.0) for c in range(image.shape[2])], 2
    )


def _edges(channel: Any) -> Any:
    wide = channel.astype(np.float64)
    return np.hypot(ndimage.sobel(wide, 0, mode="nearest"), ndimage.sobel(wide, 1, mode="nearest"))


@pytest.mark.parametrize("sigma", [0.7, 1.6, 3.0])
def test_blur_equals_scipy_on_a_photograph(apply_to_image: Any, photograph: Any, sigma: float) -> None:
    """A blur of the photograph equals scipy's up to a sigma of 3."""
    out = apply_to_image("image.gaussian_blur", photograph, sigma=sigma)
    np.testing.assert_allclose(out[..., :3], _blurred(photograph, sigma), atol=2e-6)
    np.testing.assert_allclose(out[..., 3], 1.0, atol=2e-6)


@pytest.mark.parametrize("shape", SIZES)
def test_blur_equals_scipy_at_any_size(apply_to_image: Any, shape: tuple[int, int]) -> None:
    """A blur equals scipy's in all four channels, even if the filter is far larger than the image."""
    image = _random_image(shape)
    np.testing.assert_allclose(apply_to_image("image.gaussian_blur", image, sigma=2.9), _blurred(image, 2.9), atol=2e-6)


@pytest.mark.parametrize(
    ("shape", "sigma"), [*product([*SIZES, (90, 350)], [3.1, 5.9, 6.0, 12.0, 50.0]), ((67, 131), 500.0)]
)
def test_a_wide_blur_is_close_to_scipys(apply_to_image: Any, shape: tuple[int, int], sigma: float) -> None:
    """Above a sigma of 3, a blur of stripes of any width differs from scipy's by less than 0.03 % of their range."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    stripes = [x % 2, (x + y) // 5 % 2, np.sin(np.pi * x**2 / 700) > 0, (x == 17) * 10]
    image = np.stack(stripes, 2).astype(np.float32)
    error = np.abs(apply_to_image("image.gaussian_blur", image, sigma=sigma) - _blurred(image, sigma))
    assert (error.max((0, 1)) <= 3e-4 * np.maximum(1, image.max((0, 1)))).all()


def test_a_blur_reads_nothing_that_another_left() -> None:
    """Next to a blur of NaN, a blur of an image whose strips are as wide as possible is close to scipy's."""
    patch, image = Patch(), _random_image((40, 235))
    nodes = []
    for data, sigma in ((np.full_like(image, np.nan), 7.0), (image, 4.0)):
        nodes.append(patch.add("image.gaussian_blur", sigma=sigma))
        patch.connect(patch.add("io.image_array", data=data)["out"], nodes[-1]["image"])
    with Engine(patch, device="host") as engine:
        for _ in range(2):
            engine.step()
        np.testing.assert_allclose(engine.read(nodes[1]["out"]), _blurred(image, 4.0), atol=3e-4)


def test_the_kernels_of_a_gpu_blur_as_scipy_does(device: Device) -> None:
    """Images are reduced and enlarged on a GPU by code for their factor, in strips that several thread blocks share."""
    path, (height, width) = KERNELS_FOLDER / "gaussian_blur.cu", (131, 290)
    module = device.load_module(compile_cuda(path.read_text(), path, "sm_90", [KERNELS_FOLDER]).ptx)
    image, halves, how = _random_image((height, width)), (height // 2 + 8, width // 2 + 8, 4), march(width // 2 + 8, 24)
    weights, small, blurred = (device.upload(np.zeros(shape, np.float32)) for shape in (64, halves, halves))
    source, out, size = device.upload(image), device.upload(np.zeros_like(image)), (np.int32(width), np.int32(height))
    for sigma in (4.0, 7.0, 20.0):
        common = np.float32(sigma), *size
        launches: list[tuple[str, list[Any], int, int, int]] = [
            ("gaussian_weights", [weights, common[0]], 1, 64, 0),
            ("shrink", [source, small, *common], 5, SHRINKING, 0),
            ("blur_small", [small, blurred, weights, *common], 5, how["thread_block"][0], how["shared_bytes"]),
            ("grow", [blurred, out, *common], 7, GROWING, 0),
        ]
        for entry, args, blocks, threads, shared_bytes in launches:
            grid, thread_block = (blocks, 1), (threads, 1)
            device.launch(module.kernel(entry), grid, thread_block, args, shared_bytes=shared_bytes)
        device.synchronize()
        np.testing.assert_allclose(out.download(), _blurred(image, sigma), atol=3e-4)


@pytest.mark.parametrize("sigma", [0.0, 0.1])
def test_a_tiny_sigma_leaves_the_image_as_it_is(apply_to_image: Any, sigma: float) -> None:
    """An image is unchanged by a sigma so small that the filter's radius rounds to 0."""
    image = _random_image((9, 14))
    np.testing.assert_array_equal(apply_to_image("image.gaussian_blur", image, sigma=sigma), image)


def test_sigma_is_live() -> None:
    """A new sigma is a HOT update, and the result is that of a new run."""
    image = _random_image((40, 33))
    patch = Patch()
    source = patch.add("io.image_array", data=image)
    blur = patch.add("image.gaussian_blur", sigma=1.0)
    patch.connect(source["out"], blur["image"])
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(blur, sigma=2.25)
        assert engine.step().update_level is UpdateLevel.HOT
        np.testing.assert_allclose(engine.read(blur["out"]), _blurred(image, 2.25), atol=2e-6)


def test_sobel_per_channel_equals_scipy_on_a_photograph(apply_to_image: Any, photograph: Any) -> None:
    """Sobel per channel equals scipy's gradient of each channel."""
    out = apply_to_image("image.sobel", photograph, strength=1.5, per_channel=True)
    expected = np.stack([1.5 * _edges(photograph[..., c]) for c in range(3)], 2)
    np.testing.assert_allclose(out[..., :3], expected, atol=5e-6)
    np.testing.assert_array_equal(out[..., 3], 1.0)


@pytest.mark.parametrize("shape", SIZES)
def test_sobel_of_luminance_equals_scipy_at_any_size(apply_to_image: Any, shape: tuple[int, int]) -> None:
    """Sobel of the luminance equals scipy's in all three colours; alpha is unchanged."""
    image = _random_image(shape)
    out = apply_to_image("image.sobel", image)
    expected = _edges(image[..., :3] @ LUMINANCE)
    for channel in range(3):
        np.testing.assert_allclose(out[..., channel], expected, atol=5e-6)
    np.testing.assert_array_equal(out[..., 3], image[..., 3])


@pytest.mark.parametrize("shape", [(1, 1), (3, 37), (40, 33)])
def test_light_is_added_around_what_is_bright(apply_to_image: Any, shape: tuple[int, int]) -> None:
    """Glow is the image plus a share of its blurred colours; alpha is unchanged."""
    image = np.random.default_rng(3).random((*shape, 4), np.float32)
    out = apply_to_image("image.glow", image, sigma=2.5, amount=0.25)
    light = [ndimage.gaussian_filter(image[..., c].astype(np.float64), 2.5, mode="nearest") for c in range(3)]
    np.testing.assert_allclose(out[..., :3], image[..., :3] + 0.25 * np.stack(light, 2), atol=3e-6)
    np.testing.assert_array_equal(out[..., 3], image[..., 3])


def test_glow_is_its_two_blocks_and_both_sliders_are_live() -> None:
    """Glow equals a Gaussian Blur and a Mix to the bit, and new values of both sliders are HOT updates."""
    image = np.random.default_rng(4).random((17, 23, 4), np.float32)
    patch = Patch()
    source = patch.add("io.image_array", data=image)
    glow, blur, mix = patch.add("image.glow"), patch.add("image.gaussian_blur"), patch.add("image.mix", mode="add")
    for target in (glow["image"], blur["image"], mix["a"]):
        patch.connect(source["out"], target)
    patch.connect(blur["out"], mix["b"])
    with Engine(patch, device="host") as engine:
        engine.step()
        for sigma, amount in ((3.0, 0.5), (0.0, 1.0), (9.0, 0.0)):
            patch.set(glow, sigma=sigma, amount=amount)
            patch.set(blur, sigma=sigma)
            patch.set(mix, amount=amount)
            assert engine.step().update_level is UpdateLevel.HOT
            np.testing.assert_array_equal(engine.read(glow["out"]), engine.read(mix["out"]))


def _image(shape: tuple[int, int] = (13, 7)) -> Any:
    return np.random.default_rng(11).random((*shape, 4), np.float32) * 1.5


def _tone(image: Any, exposure: float, contrast: float, gamma: float, saturation: float) -> Any:
    color = np.maximum((image[..., :3].astype(np.float64) * 2.0**exposure - 0.18) * contrast + 0.18, 0) ** (1 / gamma)
    grey = (color @ LUMINANCE)[..., None]
    return np.concatenate([np.maximum(grey + (color - grey) * saturation, 0), image[..., 3:]], 2)


@pytest.mark.parametrize(
    ("exposure", "contrast", "gamma", "saturation"),
    [(0, 1, 1, 1), (1.5, 1, 1, 1), (-8, 1, 1, 1), (0, 2.5, 1, 1), (0, 0, 1, 1), (0, 1, 2.2, 1), (0.3, 1.2, 0.7, 1.8)],
)
def test_tone_is_its_formula(
    apply_to_image: Any, exposure: float, contrast: float, gamma: float, saturation: float
) -> None:
    """Exposure, contrast about middle grey, gamma and saturation apply in this order; alpha is unchanged."""
    image = _image()
    out = apply_to_image("image.tone", image, exposure=exposure, contrast=contrast, gamma=gamma, saturation=saturation)
    np.testing.assert_allclose(out, _tone(image, exposure, contrast, gamma, saturation), rtol=2e-5, atol=2e-6)


def test_tone_without_saturation_is_grayscale(apply_to_image: Any) -> None:
    """Tone with a saturation of 0 equals Grayscale."""
    image = _image()
    np.testing.assert_allclose(
        apply_to_image("image.tone", image, saturation=0.0), apply_to_image("image.grayscale", image), rtol=1e-6
    )


def test_inverting_twice_changes_nothing(apply_to_image: Any) -> None:
    """Invert applied twice returns the image, and leaves alpha as it is."""
    image = _image()
    once = apply_to_image("image.invert", image)
    np.testing.assert_allclose(once[..., :3], 1 - image[..., :3], atol=1e-6)
    np.testing.assert_allclose(apply_to_image("image.invert", once), image, atol=1e-6)


@pytest.mark.parametrize("mode", list(BLENDS))
def test_mix_blends_a_smaller_image_with_its_border_extended(mode: str) -> None:
    """`b` is placed at the top left, and its last row and column are repeated beyond it."""
    a, b = _image((6, 9)), _image((4, 11))[:, ::-1].copy()
    patch = Patch()
    below, above = patch.add("io.image_array", data=a), patch.add("io.image_array", data=b)
    mix = patch.add("image.mix", mode=mode, amount=0.75)
    patch.connect(below["out"], mix["a"])
    patch.connect(above["out"], mix["b"])
    with Engine(patch, device="host") as engine:
        engine.step()
        out = engine.read(mix["out"])
    extended = np.pad(b, ((0, 2), (0, 0), (0, 0)), mode="edge")[:, :9]
    blend = BLENDS[mode](a, extended)
    if mode != "normal":
        blend[..., 3] = a[..., 3]
    np.testing.assert_allclose(out, a + (blend - a) * 0.75, atol=1e-6)


def test_mix_lays_one_image_over_another_by_its_alpha() -> None:
    """Porter and Duff's "over", here with colours multiplied by alpha; nothing over nothing is transparent black."""
    a, b = _image((6, 9)), _image((6, 9))[::-1].copy()
    a[..., 3], b[..., 3] = np.linspace(0, 1, 54).reshape(6, 9), np.linspace(0, 1, 54).reshape(9, 6).T
    a[2, 3, 3] = b[2, 3, 3] = 0
    patch = Patch()
    mix = patch.add("image.mix", mode="over", amount=0.75)
    for name, data in (("a", a), ("b", b)):
        patch.connect(patch.add("io.image_array", data=data)["out"], mix[name])
    (out,) = run(patch, mix["out"])
    cover, under = 0.75 * b[..., 3:], a[..., 3:]
    np.testing.assert_allclose(out[..., 3:], cover + under * (1 - cover), atol=1e-6)
    expected = b[..., :3] * cover + a[..., :3] * under * (1 - cover)
    np.testing.assert_allclose(out[..., :3] * out[..., 3:], expected, atol=1e-6)
    assert not out[2, 3].any()


def _generate(block: str, frames: int = 1, **parameters: Any) -> Any:
    patch = Patch()
    node = patch.add(block, **parameters)
    with Engine(patch, device="host") as engine:
        for _ in range(frames):
            engine.step()
        return engine.read(node["out"])


def test_checkerboard_alternates_from_the_top_left() -> None:
    """Squares alternate from the top left and have the given size, even if the image ends within one."""
    out = _generate("image.checkerboard", width=50, height=31, cell=8.0, dark=0.25, light=0.75)
    y, x = np.mgrid[0:31, 0:50]
    np.testing.assert_array_equal(out[..., 0], np.where((x // 8 + y // 8) % 2 == 0, 0.75, 0.25).astype(np.float32))
    assert out.shape == (31, 50, 4) and (out[..., 3] == 1).all()


@pytest.mark.parametrize(("angle", "axis"), [(0.0, 1), (90.0, 0)])
def test_gradient_runs_along_its_angle(angle: float, axis: int) -> None:
    """The gradient's steps are equal along its angle, and each pixel has the value at its centre."""
    out = _generate("image.gradient", width=20, height=10, angle=angle, red_from=0.0, red_to=1.0)
    count = out.shape[axis]
    line = np.take(out[..., 0], 0, axis=1 - axis)
    np.testing.assert_allclose(line, (np.arange(count) + 0.5) / count, atol=1e-6)
    assert np.ptp(out[..., 0], axis=1 - axis).max() < 1e-6


def test_noise_fills_its_range_smoothly() -> None:
    """Noise reaches values near both ends of 0 to 1, and neighbours differ little."""
    out = _generate("image.noise", width=200, height=151, cell=64.0, octaves=1)[..., 0]
    assert 0 <= out.min() < 0.3 and 0.7 < out.max() <= 1
    assert np.abs(np.diff(out, axis=0)).max() < 1.5 / 64 * 1.01  # the steepest slope of a cubic


def test_noise_moves_only_with_speed() -> None:
    """Noise is the same in every frame at speed 0, and changes at another speed."""
    size = {"width": 64, "height": 48}
    still = [_generate("image.noise", frames, speed=0.0, **size) for frames in (1, 5)]
    np.testing.assert_array_equal(*still)
    moving = [_generate("image.noise", frames, speed=5.0, **size) for frames in (1, 5)]
    assert np.abs(moving[0] - moving[1]).max() > 0.01
