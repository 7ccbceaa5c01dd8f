"""The time of blocks that move memory, beside a copy of the same bytes and other libraries.

    python -m tests.benchmarks.bench_blocks --device host|cuda:0 [--blocks NAME ...] [--all] [--size WIDTH HEIGHT]
        [--pixels half4]

Each row has the time of a frame with one block, the bytes that it must read and write as a share of a copy's bandwidth,
and the times of CuPy on a GPU, or of numpy, scipy and OpenCV on the CPU, where they are installed. Before that, results
are compared. Times are medians of one run. With `--all`, rows follow for all other blocks on pictures and lists, with
their usual parameters. `--pixels` measures pictures of smaller pixels; other libraries have none.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from tests.benchmarks.bench_fusion import milliseconds, run_copy
from warploom import Engine, Patch, ProfilingLevel, open_device
from warploom.blocks.io.pixels import PIXELS
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.device.device import Device
from warploom.engine.types import Array, any_type, f32, float4

#: Width and height of pictures; a list has eight numbers for each pixel.
SIZES = {"host": (1920, 1080), "gpu": (3840, 2160)}


@dataclass(frozen=True)
class Row:
    """A block with its inputs and parameters, and the same in numpy and scipy, and in OpenCV.

    The functions take their libraries as keywords, then arrays in the order of the inputs. `at` is the tolerance of
    results.
    """

    name: str
    block: str
    inputs: Mapping[str, str]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    peer: Callable[..., Any] | None = None
    opencv: Callable[..., Any] | None = None
    at: float = 1e-5
    out: str = "out"


#: Sobel's weights for each direction, and one channel.
EDGES = [(np.outer(*pair).astype(np.float32))[..., None] for pair in (((1, 2, 1), (1, 0, -1)), ((1, 0, -1), (1, 2, 1)))]
IMAGE, FIELD, LIST, SPECTRUM = {"image": "image"}, {"image": "field"}, {"x": "list"}, {"x": "spectrum"}


def disc(radius: int) -> Array:
    """Return the mask of a disc."""
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    return np.asarray(np.hypot(x, y) <= radius + 0.5)


def means(name: str, radius: int, inputs: Mapping[str, str] = IMAGE) -> Row:
    """Return a row for a mean filter."""
    size, parameters = 2 * radius + 1, {"radius_x": radius, "radius_y": radius}
    return Row(
        f"{name}, radius {radius}", "filter.mean", inputs, parameters,
        lambda x, *, nd, **_: nd.uniform_filter(x, (size, size, 1)[: x.ndim], mode="nearest"),
        lambda x, *, cv: cv.blur(x, (size, size), borderType=cv.BORDER_REPLICATE),
    )  # fmt: skip


def morphology(name: str, operation: str, shape: str, radius: int, inputs: Mapping[str, str] = IMAGE) -> Row:
    """Return a row for an erosion or a dilation."""
    size, filters = 2 * radius + 1, {"erode": "minimum_filter", "dilate": "maximum_filter"}
    mask = disc(radius) if shape == "disc" else np.ones((size, size), bool)

    def peer(x: Any, *, np: Any, nd: Any) -> Any:
        call = partial(getattr(nd, filters[operation]), x, mode="nearest")
        if shape == "square":
            return call(size=(size, size, 1)[: x.ndim])
        return call(footprint=np.asarray(mask.reshape(mask.shape + (1,) * (x.ndim - 2))))

    parameters = {"operation": operation, "shape": shape, "radius": radius}
    return Row(
        f"{name}, {shape} {radius}", "filter.morphology", inputs, parameters, peer,
        lambda x, *, cv: getattr(cv, operation)(x, mask.astype(np.uint8), borderType=cv.BORDER_REPLICATE),
    )  # fmt: skip


def gaussian(sigma: float) -> Row:
    """Return a row for a Gaussian blur."""
    return Row(
        f"Gaussian, sigma {sigma:g}", "image.gaussian_blur", IMAGE, {"sigma": sigma},
        lambda x, *, nd, **_: nd.gaussian_filter(x, (sigma, sigma, 0), mode="nearest"),
        lambda x, *, cv: cv.GaussianBlur(x, (0, 0), sigma, borderType=cv.BORDER_REPLICATE), at=2e-3,
    )  # fmt: skip


def grey(x: Any, **_: Any) -> Any:
    """Return an image whose channels are its luminance."""
    luminance = 0.2126 * x[..., 0] + 0.7152 * x[..., 1] + 0.0722 * x[..., 2]
    return luminance[..., None].repeat(4, axis=2)


ROWS = (
    Row("Sum", "reduce.sum", LIST, {}, lambda x, *, np, **_: np.sum(x), at=1e-4),
    Row("Largest", "reduce.largest", LIST, {}, lambda x, *, np, **_: np.max(x)),
    Row("Smallest", "reduce.smallest", LIST, {}, lambda x, *, np, **_: np.min(x)),
    Row("Count", "reduce.count", LIST, {}, lambda x, *, np, **_: np.count_nonzero(x)),
    Row("Sum of bytes", "reduce.sum", {"x": "bytes"}, {}, lambda x, *, np, **_: np.sum(x)),
    Row("Copy", "buffer.copy", LIST, {}, lambda x, **_: x.copy()),
    Row("Copy of an image", "buffer.copy", {"x": "image"}, {}, lambda x, **_: x.copy()),
    Row("Convert to f16", "buffer.convert", LIST, {"dtype": "f16"}, lambda x, **_: x.astype("float16")),
    Row("Compare", "math.compare", LIST, {"value": 0.5}, lambda x, *, np, **_: np.less(x, 0.5)),
    Row("Add", "math.add", {"x": "list", "y": "list"}, {}, lambda x, y, *, np, **_: np.add(x, y)),
    Row("FFT Shift", "signal.fft_shift", SPECTRUM, {"axes": 2}, lambda x, *, np, **_: np.fft.fftshift(x)),
    Row("Magnitude", "signal.magnitude", SPECTRUM, {}, lambda x, *, np, **_: np.abs(x)),
    means("Mean", 2), means("Mean", 20), means("Mean", 100), means("Mean of a field", 20, FIELD),
    morphology("Dilate", "dilate", "square", 10), morphology("Erode", "erode", "square", 2),
    morphology("Erode", "erode", "disc", 2), morphology("Dilate", "dilate", "disc", 10),
    morphology("Dilate bytes", "dilate", "square", 10, {"image": "mask"}),
    gaussian(1), gaussian(3), gaussian(12), gaussian(20),
    Row(
        "Weighted, 5 x 5", "filter.weighted", {**IMAGE, "weights": "weights"}, {},
        lambda x, w, *, nd, **_: nd.convolve(x, w[..., None], mode="nearest"),
        lambda x, w, *, cv: cv.filter2D(x, -1, w[::-1, ::-1], borderType=cv.BORDER_REPLICATE),
    ),
    Row(
        "Sobel", "image.sobel", IMAGE, {"per_channel": True},
        lambda x, *, np, nd: np.hypot(*(nd.convolve(x, np.asarray(w), mode="nearest") for w in EDGES)),
        lambda x, *, cv: cv.magnitude(
            *(cv.Sobel(x, -1, way, 1 - way, borderType=cv.BORDER_REPLICATE) for way in (1, 0))
        ),
    ),
    Row(
        "Median, 3 x 3", "filter.median", IMAGE, {"radius": 1},
        lambda x, *, nd, **_: nd.median_filter(x, (3, 3, 1), mode="nearest"),
        lambda x, *, cv: cv.medianBlur(x, 3),
    ),
    Row("Tone", "image.tone", IMAGE, {"contrast": 1.2}),
    Row("Tone, gamma 2.2", "image.tone", IMAGE, {"gamma": 2.2}),
    Row("Convert Color", "image.convert_color", IMAGE),
    Row("Grayscale", "image.grayscale", IMAGE, {}, grey),
    Row("Invert", "image.invert", IMAGE, {}, lambda x, **_: 1 - x),
    Row("Levels", "image.levels", IMAGE, {"low": 0.2, "gamma": 1.5}),
    Row("Mix", "image.mix", {"a": "image", "b": "image"}, {}, lambda a, b, **_: (a + b) * 0.5),
    Row("Sort", "data.sort", LIST, {}, lambda x, *, np, **_: np.sort(x)),
    Row(
        "Sort by Key", "data.sort_by_key", {"keys": "list", "x": "list"}, {},
        lambda k, x, *, np, **_: x[np.argsort(k)],
    ),
    Row("Top K", "data.top_k", LIST, {"k": 100}, lambda x, *, np, **_: np.sort(np.partition(x, -100)[-100:])[::-1]),
    Row("Scan", "data.scan", LIST, {}, lambda x, *, np, **_: np.cumsum(x), at=1e-3),
    Row("Compact", "data.compact", {"x": "list", "mask": "half"}),
    Row("Unique", "data.unique", {"x": "bytes"}),
    Row("Reduce by Key", "data.reduce_by_key", {"keys": "half", "x": "list"}),
    Row(
        "Histogram", "data.histogram", LIST, {"bins": 256},
        lambda x, *, np, **_: np.histogram(x, 256, (0.0, 1.0))[0],
    ),
    Row("Gather", "buffer.gather", {"x": "list", "indices": "places"}, {}, lambda x, i, *, np, **_: np.take(x, i)),
    Row("Scatter", "buffer.scatter", {"target": "list", "indices": "places", "x": "list"}),
    Row("Concatenate", "buffer.concatenate", {"a": "list", "b": "list"}, {}, lambda a, b, *, np, **_: np.append(a, b)),
    Row(
        "Where", "math.where", {"mask": "half", "a": "list", "b": "list"}, {},
        lambda m, a, b, *, np, **_: np.where(m, a, b),
    ),
    Row(
        "Mean of columns", "reduce.along_axis", {"x": "table"}, {"axis": 0},
        lambda x, *, np, **_: np.mean(x, axis=0),
    ),
    Row(
        "Mean of rows", "reduce.along_axis", {"x": "table"}, {"axis": 1},
        lambda x, *, np, **_: np.mean(x, axis=1),
    ),
    Row("Interpolate", "math.mix", {"a": "list", "b": "list"}, {}, lambda a, b, **_: (a + b) * 0.5),
    Row("Sound Filter", "signal.filter", LIST, {"resonance": 4.0}),
    Row("Echo", "signal.echo", LIST),
    Row("Resample, 160 / 147", "signal.resample", LIST, {"up": 160, "down": 147}),
    Row("Curves", "image.curves", IMAGE, {"all": "0 0, 0.3 0.2, 0.7 0.8, 1 1"}),
    Row("Pyramid Down", "image.pyramid_down", IMAGE, {}, None, lambda x, *, cv: cv.pyrDown(x)),
    Row("ASCII", "image.ascii", IMAGE),
    Row("Mirror", "image.mirror", IMAGE),
    Row("Transform", "image.transform", IMAGE, {"angle": 10.0}),
)  # fmt: skip


def resize(width: int, height: int, factor: float, mode: str) -> Row:
    """Return a row for another size of an image."""
    size = round(width * factor), round(height * factor)
    return Row(
        f"Resize {factor:g}, {mode}", "image.resize", IMAGE, {"width": size[0], "height": size[1], "mode": mode},
        (lambda x, *, nd, **_: nd.zoom(x, (factor, factor, 1), order=1, mode="nearest", grid_mode=True))
        if mode == "linear" else None,
        lambda x, *, cv: cv.resize(x, size, interpolation=getattr(cv, f"INTER_{mode.upper()}")),
    )  # fmt: skip


#: Categories of blocks that move memory, for `--all`.
CATEGORIES = ("Buffer", "Data", "Field", "Image", "Math", "Reduce")


def kind_of(port: PortSpec, others: Mapping[str, str]) -> str | None:
    """Return which array an input takes: None if none of them fits."""
    rule = port.dtype_rule or ""
    for given in (port.shape, rule):
        if given.startswith("same("):
            return others.get(given[5:-1])
    if port.dtype == float4 or rule in ("image", "pixel"):
        return "image"
    if rule == "complex":
        return "spectrum"
    if port.dtype == f32 or (port.dtype == any_type and rule in ("", "number")):
        return "field" if port.rank == 2 else "list" if port.rank in (None, 1) else None
    return None


def other_blocks() -> list[Row]:
    """Return rows for the blocks that have no row of their own and take nothing but these arrays."""
    known, rows = {row.block for row in ROWS} | {"image.resize"}, []
    for block in sorted(default_catalogue().all(), key=lambda each: each.id):
        if block.category not in CATEGORIES or block.id in known or block.is_live or block.is_value or block.regions:
            continue
        inputs: dict[str, str | None] = {}
        for port in block.inputs():
            if not port.optional:
                inputs[port.name] = kind_of(port, {name: kind for name, kind in inputs.items() if kind})
        if inputs and block.outputs() and not any(port.inplace for port in block.outputs()):
            given = {name: kind for name, kind in inputs.items() if kind}
            if len(given) == len(inputs):
                rows.append(Row(block.title, block.id, given, out=block.outputs()[0].name))
    return rows


def arrays(width: int, height: int) -> dict[str, Array]:
    """Return the inputs by name."""
    random, pixels = np.random.default_rng(5), width * height
    numbers = random.random(8 * pixels, np.float32)
    picture = numbers[: 4 * pixels].reshape(height, width, 4)
    whole = random.integers(0, 256, 32 * pixels, np.uint8)
    return {
        "image": picture, "field": picture.reshape(-1)[:pixels].reshape(height, width), "list": numbers,
        "spectrum": numbers.view(np.complex64).reshape(2 * height, 2 * width), "bytes": whole,
        "table": numbers.reshape(2 * height, 4 * width),
        "mask": whole[: 4 * pixels].reshape(2 * height, 2 * width), "weights": random.random((5, 5), np.float32) / 12.5,
        "half": numbers < 0.5, "places": random.permutation(8 * pixels).astype(np.int32),
    }  # fmt: skip


class Unmeasured(Exception):
    """A block can't run on these arrays, or there is a warning."""


def run_block(device: Device, row: Row, given: Mapping[str, Array], batch: int, pixels: str) -> tuple[float, Array]:
    """Return the time of a frame with a block, and its result."""
    patch = Patch()
    node = patch.add(row.block, **row.parameters)
    for port, kind in row.inputs.items():
        is_image = kind == "image"
        source = patch.add("io.image_array" if is_image else "io.array", data=given[kind])
        if is_image:
            patch.set(source, pixels=pixels)
        patch.connect(source["out"], node[port])
    with Engine(patch, device, profiling=ProfilingLevel.NONE) as engine:
        report = engine.step()
        if report.diagnostics:
            raise Unmeasured(report.diagnostics[0].message)
        compiled, stream = engine.core.updates.compiled, engine.core.launcher.stream
        assert compiled is not None
        return milliseconds(lambda: compiled.launch(stream), stream.synchronize, batch), engine.read(node[row.out])


def peers(row: Row, on_gpu: bool) -> dict[str, tuple[Callable[..., Any], ...]]:
    """Return the call of each library that is installed, what takes its arrays, and what waits for it."""
    found: dict[str, Any] = {}
    with suppress(ImportError):
        if on_gpu and row.peer:
            cupy, ndimage = import_module("cupy"), import_module("cupyx.scipy.ndimage")
            found["CuPy"] = partial(row.peer, np=cupy, nd=ndimage), cupy.asarray, cupy.cuda.Device().synchronize
        elif row.peer:
            ndimage = import_module("scipy.ndimage")
            found["numpy"] = partial(row.peer, np=np, nd=ndimage), np.asarray, lambda: None
    with suppress(ImportError):
        if not on_gpu and row.opencv:
            found["OpenCV"] = partial(row.opencv, cv=import_module("cv2")), np.asarray, lambda: None
    return found


def compare(device: Device, row: Row, given: Mapping[str, Array], copied: float, batch: int, pixels: str) -> None:
    """Print a row: the time, the share of a copy, and the time and the difference of each peer."""
    try:
        taken, result = run_block(device, row, given, batch, pixels)
    except Unmeasured as problem:
        print(f"{row.name:26}{problem}", flush=True)
        return
    inputs = [given[kind] for kind in row.inputs.values()]
    share = PIXELS[pixels].size_bytes / 16
    taken_bytes = (given[kind].nbytes * (share if kind == "image" else 1) for kind in row.inputs.values())
    moved = result.nbytes + sum(taken_bytes)
    line = f"{row.name:26}{taken:10.4f} ms {moved / taken / copied:7.2f}"
    others = peers(row, on_gpu=device.info.name != "host") if pixels == "float4" else {}
    for name, (call, put, wait) in others.items():
        theirs = [put(array) for array in inputs]
        expected = call(*theirs)
        expected = expected.get() if hasattr(expected, "get") else np.asarray(expected)
        if result.ndim == 3:  # alpha is left out
            result, expected = result[..., :3], expected[..., :3]
        difference = np.abs(np.subtract(result, expected, dtype=np.complex128)).max()
        same = difference <= row.at * max(1, np.abs(expected).max())
        time = milliseconds(lambda call=call, theirs=theirs: call(*theirs), wait, 1)  # type: ignore[misc]
        line += f"   {name} {time:10.4f} ms, {time / taken:6.2f} x" + ("" if same else f", DIFFERS by {difference:.2g}")
    print(line, flush=True)


def main() -> None:
    """Print the table for the device on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="host")
    parser.add_argument("--blocks", nargs="*", default=[], help="beginnings of names of rows; all without it")
    parser.add_argument("--all", action="store_true", help="add rows for all blocks on pictures and lists")
    parser.add_argument("--size", nargs=2, type=int, metavar=("WIDTH", "HEIGHT"))
    parser.add_argument("--pixels", default="float4", choices=tuple(PIXELS))
    options = parser.parse_args()
    with closing(open_device(options.device)) as device:
        on_gpu = device.info.name != "host"
        size, batch = options.size or SIZES["gpu" if on_gpu else "host"], 10 if on_gpu else 1
        given = arrays(*size)
        copied = 2 * given["list"].nbytes / run_copy(device, given["list"], batch)
        print(f"{device.info.title}: {size[0]} x {size[1]} pixels; a copy moves {copied * 1e-9:.3f} TB/s")
        rows = [*ROWS, *(resize(size[0], size[1], *how) for how in ((1.5, "linear"), (0.5, "linear"), (0.5, "area")))]
        for row in rows + other_blocks() * options.all:
            if not options.blocks or row.name.lower().startswith(tuple(map(str.lower, options.blocks))):
                compare(device, row, given, copied, batch, options.pixels)


if __name__ == "__main__":
    main()
