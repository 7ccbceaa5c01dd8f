"""Image blocks: filters, sizes, morphology and conversions of colours."""

import colorsys
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from tests.blocks.running import apply, problems
from warploom import Engine, Patch, UpdateLevel
from warploom.blocks.filter.weighted import HIGH, LANES, WIDE
from warploom.engine.device.device import Device
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.types import Array, f32, float4
from warploom.engine.types.element_numbers import element_number

#: The modes of resizing for which we wrote kernels.
MODES = ("nearest", "linear")


def test_a_filter_takes_its_weights_from_a_port(photograph: Array) -> None:
    """Images, including alpha, and fields of numbers are filtered with the weights at the port."""
    sharpen = np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]], np.float32)
    image = np.dstack([photograph, np.ones(photograph.shape[:2])]).astype(np.float32)
    patch = Patch()
    node = patch.add("filter.weighted")
    patch.connect(patch.add("io.image_array", data=image)["out"], node["image"])
    patch.connect(patch.add("io.array", data=sharpen)["out"], node["weights"])
    with Engine(patch, device="host") as engine:
        engine.step()
        found = engine.read(node["out"])
    expected = ndimage.convolve(image.astype(float), sharpen[..., None], mode="nearest")
    np.testing.assert_allclose(found, expected, atol=2e-6)
    field = apply("filter.weighted", {"image": image[..., 1].copy(), "weights": sharpen})
    np.testing.assert_allclose(field, expected[..., 1], atol=2e-6)


def test_tiles_of_a_gpu_have_scipys_sums(device: Device) -> None:
    """A GPU's code for few weights, which takes tiles into shared memory, has scipy's sums, also of views with gaps."""
    path = KERNELS_FOLDER / "weighted_filter.cu"
    module = device.load_module(compile_cuda(path.read_text(), path, "sm_90", [KERNELS_FOLDER]).ptx)
    sizes = ((1, 1, float4), (37, 70, float4), (70, 133, f32))
    for shape, (height, width, kind) in product([(3, 3), (5, 5), (3, 9), (5, 1)], sizes):
        rng = np.random.default_rng(sum(shape))
        weights = rng.standard_normal(shape).astype(np.float32)
        whole = rng.random((height, width + 3, kind.components)).astype(np.float32)
        out = device.upload(np.zeros((height, width, kind.components), np.float32))
        numbers = (element_number(kind), width, height, width + 3, 1, *shape[::-1])
        device.launch(
            module.kernel("convolve_few"),
            grid=(-(-width // WIDE), -(-height // HIGH)),
            thread_block=(WIDE, LANES),
            args=[device.upload(whole), device.upload(weights), out, *map(np.int32, numbers)],
        )
        device.synchronize()
        expected = ndimage.convolve(whole[:, :width].astype(float), weights[..., None].astype(float), mode="nearest")
        np.testing.assert_allclose(out.download(), expected, atol=1e-5)


def test_weights_of_even_size_are_refused_at_their_port() -> None:
    """Weights with an even number of rows or columns are refused at their port."""
    patch = Patch()
    node = patch.add("filter.weighted")
    patch.connect(patch.add("io.array", data=np.ones((9, 9), np.float32))["out"], node["image"])
    patch.connect(patch.add("io.array", data=np.ones((2, 3), np.float32))["out"], node["weights"])
    ((at, port, text),) = problems(patch)
    assert (at, port) == (node.id, "weights") and "must have an odd number of rows and columns" in text


def test_a_dragged_radius_is_warm() -> None:
    """A radius up to 8 has its own kernel; others are WARM while the kernel is for their length; all equal scipy's."""
    field = np.random.default_rng(1).random((33, 47)).astype(np.float32)
    patch = Patch()
    node = patch.add("filter.mean")
    patch.connect(patch.add("io.array", data=field)["out"], node["image"])
    with Engine(patch, device="host") as engine:
        engine.step()
        for across, down, level in ((2, 5, UpdateLevel.CODE), (9, 1, UpdateLevel.COLD), (12, 0, UpdateLevel.WARM)):
            patch.set(node, radius_x=across, radius_y=down)
            assert engine.step().update_level is level
            expected = ndimage.uniform_filter(field.astype(float), (2 * down + 1, 2 * across + 1), mode="nearest")
            np.testing.assert_allclose(engine.read(node["out"]), expected, atol=2e-6)


@pytest.mark.parametrize("mode", ["nearest", "linear", "area"])
def test_a_part_of_an_image_is_resized(apply_to_image: Any, photograph: Array, mode: str) -> None:
    """At half the size, each pixel is the mean of four pixels, or one of the four if the mode is `nearest`."""
    even = photograph[:200, :200]
    found = apply_to_image("image.resize", even, width=100, height=100, mode=mode)[..., :3]
    four = even.reshape(100, 2, 100, 2, 3)
    if mode == "nearest":
        assert all(np.any(np.isclose(four[y, :, x], found[y, x]).all(-1)) for y, x in ((0, 0), (31, 57), (99, 99)))
    else:
        np.testing.assert_allclose(found, four.mean((1, 3)), atol=2e-6)


@pytest.mark.parametrize("block", ["io.array", "io.image_array"])
@pytest.mark.parametrize(
    ("source", "target"),
    [((3, 5), (1, 7)), ((7, 9), (14, 27)), ((33, 65), (101, 31)), ((5, 1027), (9, 341)), ((1, 1), (3, 2))],
)
def test_new_pixels_lie_where_scipy_has_them(block: str, source: Any, target: Any) -> None:
    """A view that is enlarged along one axis and reduced along the other equals scipy's result in every mode."""
    shape = (source[0], source[1] + 3, *((4,) if block == "io.image_array" else ()))
    whole = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    patch = Patch()
    part = patch.add("buffer.slice", axis=1, start=1, stop=1 + source[1])
    patch.connect(patch.add(block, data=whole)["out"], part["x"])
    nodes = {mode: patch.add("image.resize", width=target[1], height=target[0], mode=mode) for mode in MODES}
    for node in nodes.values():
        patch.connect(part["out"], node["image"])
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        found = {mode: engine.read(node["out"]) for mode, node in nodes.items()}
    image = whole[:, 1 : 1 + source[1]]
    places = [(np.arange(new) + 0.5) * old / new - 0.5 for old, new in zip(source, target, strict=True)]
    rows, columns = (np.floor(place + 0.5).astype(int) for place in places)
    assert np.array_equal(found["nearest"], image[rows][:, columns])
    grid = np.meshgrid(*places, *(np.arange(n) for n in image.shape[2:]), indexing="ij")
    expected = ndimage.map_coordinates(image.astype(float), grid, order=1, mode="nearest")
    np.testing.assert_allclose(found["linear"], expected, atol=2e-6)


def test_an_image_of_one_row_is_not_resized() -> None:
    """An image of one row is refused at the resize block's input."""
    patch = Patch()
    node = patch.add("image.resize", width=3, height=3, mode="area")
    patch.connect(patch.add("io.array", data=np.ones((1, 9), np.float32))["out"], node["image"])
    ((at, port, text),) = problems(patch)
    assert (at, port) == (node.id, "image") and "2 rows and columns or more" in text


SHAPES = {
    "square": lambda x, y, radius: np.maximum(abs(x), abs(y)) <= radius,
    "disc": lambda x, y, radius: np.hypot(x, y) <= radius + 0.5,
    "diamond": lambda x, y, radius: abs(x) + abs(y) <= radius,
    "cross": lambda x, y, radius: (np.maximum(abs(x), abs(y)) <= radius) & ((x == 0) | (y == 0)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("radius", [0, 1, 5])
def test_morphology_is_scipys_for_each_shape(shape: str, radius: int) -> None:
    """Dilation, erosion, opening and closing equal scipy's for each shape, which a single bright point shows."""
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    footprint = SHAPES[shape](x, y, radius)
    field = np.random.default_rng(radius).random((41, 37)).astype(np.float32)
    point = np.zeros((13, 13), np.uint8)
    point[6, 6] = 200
    grown = apply("filter.morphology", {"image": point}, operation="dilate", shape=shape, radius=radius)
    assert np.array_equal(grown[6 - radius : 7 + radius, 6 - radius : 7 + radius], 200 * footprint)
    assert np.count_nonzero(grown) == np.count_nonzero(footprint)
    for operation, expected in (
        ("erode", ndimage.grey_erosion(field, footprint=footprint, mode="nearest")),
        ("dilate", ndimage.grey_dilation(field, footprint=footprint, mode="nearest")),
        ("open", ndimage.grey_opening(field, footprint=footprint, mode="nearest")),
        ("close", ndimage.grey_closing(field, footprint=footprint, mode="nearest")),
    ):
        found = apply("filter.morphology", {"image": field}, operation=operation, shape=shape, radius=radius)
        assert np.array_equal(found, expected), operation


def yuv(red: float, green: float, blue: float) -> tuple[float, float, float]:
    y = 0.299 * red + 0.587 * green + 0.114 * blue
    return y, 0.492 * (blue - y), 0.877 * (red - y)


CONVERSIONS = {
    "rgb to hsv": colorsys.rgb_to_hsv,
    "hsv to rgb": colorsys.hsv_to_rgb,
    "rgb to hls": colorsys.rgb_to_hls,
    "hls to rgb": colorsys.hls_to_rgb,
    "rgb to yuv": yuv,
}


def colours() -> Array:
    """Return random colours, greys, black, white, and pure colours."""
    random = np.random.default_rng(7).random((9, 13, 4)).astype(np.float32)
    random[0, :5, :3] = np.linspace(0, 1, 5)[:, None]
    random[1, :8, :3] = [[i & 1, i >> 1 & 1, i >> 2] for i in range(8)]
    random[2, :7, 0] = np.linspace(0, 1, 7)  # the hues where sectors begin
    return random


@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_a_conversion_is_pythons(apply_to_image: Any, conversion: str) -> None:
    """Conversions equal Python's `colorsys`, also for pure colours and greys; alpha is unchanged."""
    image = colours()
    found = apply_to_image("image.convert_color", image, conversion=conversion)
    expected = [[CONVERSIONS[conversion](*map(float, pixel[:3])) for pixel in row] for row in image]
    np.testing.assert_allclose(found[..., :3], expected, atol=3e-6)
    np.testing.assert_array_equal(found[..., 3], image[..., 3])


@pytest.mark.parametrize("space", ["hsv", "hls", "yuv"])
def test_there_and_back_changes_nothing(apply_to_image: Any, space: str) -> None:
    """Converting to another colour space and back returns the image, even beyond 1 except in HLS."""
    image = colours() * (1 if space == "hls" else 5)
    there = apply_to_image("image.convert_color", image, conversion=f"rgb to {space}")
    back = apply_to_image("image.convert_color", there, conversion=f"{space} to rgb")
    np.testing.assert_allclose(back, image, atol=1e-5)
