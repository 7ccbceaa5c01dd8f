"""Means, smallest and largest values of windows, against scipy."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from tests.blocks.running import Array
from tests.fuzzing import FACTOR
from warploom import Engine, Patch
from warploom.blocks.filter.windows import LARGEST, MEAN, SHAPES, Window, march, run, spread
from warploom.blocks.io.colour_spaces import linear_to_srgb, srgb_to_linear
from warploom.engine.device.device import Device
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.types import f32, float4, half4, u8, uchar4
from warploom.engine.types.element_numbers import element_number

#: Odd sizes, images one pixel wide or high, images smaller than a window, and images larger than a tile.
SIZES = [(1, 1), (1, 300), (130, 1), (7, 9), (67, 131), (131, 290)]
RADII = [(0, 0), (1, 1), (2, 5), (20, 9), (24, 24), (25, 24), (0, 40), (36, 26), (45, 41), (320, 0)]


def footprint(shape: str, radius: int) -> np.ndarray[Any, Any]:
    """Return the mask of a window."""
    y, x = abs(np.mgrid[-radius : radius + 1, -radius : radius + 1])
    masks = {"disc": np.hypot(x, y) <= radius + 0.5, "diamond": x + y <= radius, "cross": x * y == 0}
    return np.asarray(masks[shape])


def windows(image: Array, block: str, settings: list[dict[str, Any]]) -> list[Array]:
    """Return the results of one block with several settings, on an image that is a view with gaps between its rows."""
    patch = Patch()
    whole = np.concatenate([image, image[:, :1]], axis=1)
    is_bytes = image.dtype == np.uint8
    source: Any = patch.add("io.image_array" if image.ndim == 3 and not is_bytes else "io.array", data=whole)
    if image.ndim == 3 and is_bytes:
        source, flat = patch.add("buffer.reinterpret", dtype="uchar4"), source
        patch.connect(flat["out"], source["x"])
        flat, source = source, patch.add("buffer.reshape", shape=f"{whole.shape[0]}, {whole.shape[1]}")
        patch.connect(flat["out"], source["x"])
    part = patch.add("buffer.slice", axis=1, start=0, stop=image.shape[1])
    patch.connect(source["out"], part["x"])
    nodes = [patch.add(block, **each) for each in settings]
    for node in nodes:
        patch.connect(part["out"], node["image"])
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        return [engine.read(node["out"]) for node in nodes]


@pytest.mark.parametrize("channels", [(), (4,)])
@pytest.mark.parametrize("shape", SIZES)
def test_a_mean_is_scipys(shape: tuple[int, int], channels: tuple[int, ...]) -> None:
    """The mean equals scipy's for images and fields of any size, and any radius along each axis."""
    image = np.random.default_rng(sum(shape)).standard_normal((*shape, *channels)).astype(np.float32)
    found = windows(image, "filter.mean", [{"radius_x": x, "radius_y": y} for x, y in RADII])
    for (x, y), mean in zip(RADII, found, strict=True):
        size = (2 * y + 1, 2 * x + 1, 1)[: image.ndim]
        expected = ndimage.uniform_filter(image.astype(float), size, mode="nearest")
        np.testing.assert_allclose(mean, expected, atol=1e-5, rtol=1e-5, err_msg=f"radii {x}, {y}")


@pytest.mark.parametrize("channels", [(), (4,)])
def test_a_mean_of_bytes_is_rounded(channels: tuple[int, ...]) -> None:
    """The mean of bytes is the nearest whole number; that of a picture is the code of the mean light."""
    image = np.random.default_rng(3).integers(0, 256, (67, 131, *channels)).astype(np.uint8)
    light = image.astype(float)
    if channels:
        light[..., :3] = 255 * srgb_to_linear(light[..., :3] / 255)
    radii = [(2, 3), (20, 0), (26, 5), (3, 40)]  # each large radius with a small one
    results = windows(image, "filter.mean", [{"radius_x": x, "radius_y": y} for x, y in radii])
    for (x, y), found in zip(radii, results, strict=True):
        size = (2 * y + 1, 2 * x + 1, 1)[: image.ndim]
        expected = ndimage.uniform_filter(light, size, mode="nearest")
        if channels:
            expected[..., :3] = 255 * linear_to_srgb(expected[..., :3] / 255)
        assert found.dtype == np.uint8 and abs(found - expected).max() <= 0.51, f"radii {x}, {y}"


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
@pytest.mark.parametrize("channels", [(), (4,)])
@pytest.mark.parametrize("shape", SIZES)
def test_squares_have_scipys_extremes(shape: tuple[int, int], channels: tuple[int, ...], dtype: Any) -> None:
    """Erosion and dilation by a square equal scipy's exactly, for numbers and bytes.

    Each radius and each kind of pixels has kernels of its own. Only `make fuzz` tries each radius with each kind.
    """
    image = np.random.default_rng(sum(shape)).integers(0, 256, (*shape, *channels)).astype(dtype)
    radii = (1, 3, 12, 45) if FACTOR > 1 else (1, 12) if (dtype == np.uint8) == bool(channels) else (3, 45)
    settings = [(operation, radius) for operation in ("erode", "dilate", "open", "close") for radius in radii]
    made = [{"operation": operation, "shape": "square", "radius": radius} for operation, radius in settings]
    filters = {"erode": ndimage.minimum_filter, "dilate": ndimage.maximum_filter}
    steps = {"open": ("erode", "dilate"), "close": ("dilate", "erode")}
    for (operation, radius), result in zip(settings, windows(image, "filter.morphology", made), strict=True):
        size, expected = (2 * radius + 1, 2 * radius + 1, 1)[: image.ndim], image
        for step in steps.get(operation, (operation,)):
            expected = filters[step](expected, size, mode="nearest")
        assert np.array_equal(result, expected), f"{operation} {radius}"


@pytest.mark.parametrize("radius", [0, 1, 5, 16, 17])
@pytest.mark.parametrize(
    ("dtype", "channels"), [(np.float32, ()), (np.float32, (4,)), (np.uint8, ()), (np.uint8, (4,))]
)
def test_shapes_have_scipys_extremes(dtype: Any, channels: tuple[int, ...], radius: int) -> None:
    """Dilation by a disc, a diamond and a cross equals scipy's exactly, even if the window is larger than the image."""
    image = np.random.default_rng(radius).integers(0, 256, (37, 53, *channels)).astype(dtype)
    shapes = ("disc", "diamond", "cross")
    made = [{"operation": "dilate", "shape": shape, "radius": radius} for shape in shapes]
    for shape, result in zip(shapes, windows(image, "filter.morphology", made), strict=True):
        mask = footprint(shape, radius)
        mask = mask.reshape(*mask.shape, *(1,) * len(channels))
        assert np.array_equal(result, ndimage.maximum_filter(image, footprint=mask, mode="nearest"))


@pytest.mark.parametrize(("x", "y"), [(3, 3), (8, 3), (0, 5)])
def test_strips_have_scipys_means(device: Device, x: int, y: int) -> None:
    """The kernel for float4 on a GPU has scipy's means, in strips that several thread blocks share."""
    path, flags = KERNELS_FOLDER / "small_windows.cu", (f"-DRADIUS_X={x}", f"-DRADIUS_Y={y}")
    kernel = compile_cuda(path.read_text(), path, "sm_90", [KERNELS_FOLDER], flags)
    module, launch = device.load_module(kernel.ptx), march(290, max(x, y))
    for height, width in ((1, 1), (67, 131), (220, 290)):
        whole = np.random.default_rng(width).random((height, width + 3, 4)).astype(np.float32)
        source, out = device.upload(whole), device.upload(np.zeros((height, width, 4), np.float32))
        numbers = (element_number(float4), width, height, width + 3, 1)
        device.launch(
            module.kernel("combine_strips"),
            grid=(3, 4),
            thread_block=launch["thread_block"],
            args=[source, out, *map(np.int32, numbers)],
            shared_bytes=launch["shared_bytes"],
        )
        device.synchronize()
        expected = ndimage.uniform_filter(whole[:, :width].astype(float), (2 * y + 1, 2 * x + 1, 1), mode="nearest")
        np.testing.assert_allclose(out.download(), expected, atol=1e-6)


def test_small_squares_of_bytes_have_scipys_extremes(device: Device) -> None:
    """The kernel for small squares on a GPU, which compares pairs of bytes, has scipy's extremes."""
    path, flags = KERNELS_FOLDER / "small_windows.cu", ("-DTAKE=2", "-DRADIUS_X=5", "-DRADIUS_Y=3")
    module = device.load_module(compile_cuda(path.read_text(), path, "sm_90", [KERNELS_FOLDER], flags).ptx)
    for height, width in ((1, 1), (67, 131), (20, 290)):
        whole = np.random.default_rng(width).integers(0, 256, (height, width + 3, 4)).astype(np.uint8)
        source, out = device.upload(whole), device.upload(np.zeros_like(whole[:, :width]))
        (small, *_) = Window(LARGEST, 5, 3).launches(width, height, (False, False))
        sizes, (threads, rows) = (element_number(uchar4), width, height, width + 3, 1), small.how["num_threads"]
        grid, thread_block = (threads // small.how["thread_block"][0], rows), small.how["thread_block"]
        device.launch(module.kernel(small.entry), grid, thread_block, [source, out, *map(np.int32, sizes)])
        device.synchronize()
        expected = ndimage.maximum_filter(whole[:, :width], (7, 11, 1), mode="nearest")
        np.testing.assert_array_equal(out.download(), expected)


@pytest.mark.parametrize(("shape", "radius"), [("disc", 2), ("diamond", 3), ("cross", 1)])
def test_spread_shapes_have_scipys_extremes(device: Device, shape: str, radius: int) -> None:
    """The kernel for discs, diamonds and crosses on a GPU has scipy's extremes, and leaves NaN out."""
    path, flags = KERNELS_FOLDER / "spread.cu", ("-DTAKE=2", f"-DSHAPE={SHAPES.index(shape)}", f"-DRADIUS={radius}")
    kernel = device.load_module(compile_cuda(path.read_text(), path, "sm_90", [KERNELS_FOLDER], flags).ptx)
    elements = (float4, np.float32), (half4, np.float16), (uchar4, np.uint8), (f32, np.float32), (u8, np.uint8)
    for (height, width), (element, dtype) in product(((1, 1), (7, 9), (131, 290)), elements):
        random = np.random.default_rng(width)
        whole = (100 * random.standard_normal((height, width + 3, element.components))).astype(dtype)
        if dtype != np.uint8:
            whole[height // 2, width // 2] = np.nan
        image, launch = whole[:, :width], spread(width, radius)
        source, out = device.upload(whole), device.upload(np.zeros_like(image))
        sizes = element_number(element), width, height, width + 3, 1
        device.launch(
            kernel.kernel("spread_shapes"),
            grid=(launch["num_threads"][0] // launch["thread_block"][0], 2),
            thread_block=launch["thread_block"],
            args=[source, out, *map(np.int32, sizes)],
            shared_bytes=launch["shared_bytes"],
        )
        device.synchronize()
        numbers = np.nan_to_num(image.astype(float), nan=-np.inf)
        expected = ndimage.maximum_filter(numbers, footprint=footprint(shape, radius)[..., None], mode="nearest")
        np.testing.assert_array_equal(out.download(), np.where(np.isinf(expected), np.nan, expected))


@pytest.mark.parametrize(("x", "y", "take", "pixel"), [(20, 23, MEAN, float4), (12, 3, LARGEST, half4)])
def test_squares_on_a_gpu_have_scipys_means_and_extremes(device: Device, x: int, y: int, take: int, pixel: Any) -> None:
    """The kernel for squares of pixels on a GPU, whose radii are known at launch, has scipy's means and extremes."""
    path = KERNELS_FOLDER / "squares.cu"
    flags = f"-DTAKE={take}", f"-DACROSS={run(x)}", f"-DDOWN={run(y)}", f"-DPIXEL={pixel.__name__}"
    module = device.load_module(compile_cuda(path.read_text(), path, "sm_90", [KERNELS_FOLDER], flags).ptx)
    elements = (pixel, np.float32 if pixel is float4 else np.float16), (uchar4, np.uint8)
    for (height, width), (element, dtype) in product(((1, 1), (7, 9), (131, 290)), elements):
        whole = np.random.default_rng(width).integers(0, 256, (height, width + 3, element.components)).astype(dtype)
        _, launch = Window(take, x, y).launches(width, height, (False, False))
        source, out = device.upload(whole), device.upload(np.zeros_like(whole[:, :width]))
        sizes = element_number(element), width, height, width + 3, 1, x, y
        device.launch(
            module.kernel(launch.entry),
            grid=(launch.how["num_threads"][0] // launch.how["thread_block"][0], 2),
            thread_block=launch.how["thread_block"],
            args=[source, out, *map(np.int32, sizes)],
            shared_bytes=launch.how["shared_bytes"],
        )
        device.synchronize()
        window, image = (2 * y + 1, 2 * x + 1, 1), whole[:, :width].astype(float)
        if take == MEAN:
            expected = ndimage.uniform_filter(image, window, mode="nearest")
            np.testing.assert_allclose(out.download(), expected, atol=0.51 if dtype == np.uint8 else 1e-3)
        else:
            np.testing.assert_array_equal(out.download(), ndimage.maximum_filter(image, window, mode="nearest"))


def test_any_window_has_room_in_the_shared_memory_of_any_gpu() -> None:
    """No kernel takes more than 99 KB of shared memory, which is all that compute capability 8.6, 8.9 and 12.0 have."""
    sides = [*range(60), 100, 1000]
    squares = [Window(MEAN, *radii) for radii in product(sides, sides)]
    shapes = [Window(LARGEST, radius, radius, shape) for radius in range(51) for shape in SHAPES[1:]]
    for whole in squares + shapes:
        passes = whole.passes()
        is_wide = len(passes) > 1
        for window in passes:
            for launch in window.launches(3840, 2160, (is_wide, is_wide)):
                assert launch.how.get("shared_bytes", 0) <= 99 << 10, window


def test_a_nan_and_a_large_number_stay_in_their_windows() -> None:
    """A NaN and a number of 1e30 change only the windows that contain them."""
    image = np.ones((80, 200), np.float32)
    image[40, 50], image[40, 150] = np.nan, 1e30
    (mean,) = windows(image, "filter.mean", [{"radius_x": 20, "radius_y": 9}])
    assert np.isnan(mean[31:50, 30:71]).all() and (mean[31:50, 130:171] > 1e27).all()
    np.testing.assert_allclose(mean[~np.isnan(mean) & (mean < 1e27)], 1, atol=1e-6)
    assert (mean > 1e27).sum() + np.isnan(mean).sum() == 2 * 19 * 41


def test_a_nan_is_left_out_of_extremes() -> None:
    """Dilation takes the largest number of a window, even if there is a NaN beside it."""
    image = np.random.default_rng(4).random((40, 70), np.float32)
    image[20, 30] = np.nan
    settings = [("square", 3), ("disc", 4), ("disc", 26)]
    made = [{"operation": "dilate", "shape": shape, "radius": radius} for shape, radius in settings]
    for (shape, radius), found in zip(settings, windows(image, "filter.morphology", made), strict=True):
        y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
        mask = np.hypot(x, y) <= radius + (0.5 if shape == "disc" else radius)
        assert np.array_equal(found, ndimage.maximum_filter(np.nan_to_num(image), footprint=mask, mode="nearest"))
