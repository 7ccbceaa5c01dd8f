"""Pictures of half4 and uchar4 pass through the blocks that take float4."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.blocks.picture_files import png
from tests.blocks.running import run
from tests.fuzzing import FACTOR
from warploom import Engine, Patch
from warploom.engine.blocktypes.block import Block
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.descriptions.ports import PICTURES, PortSpec
from warploom.engine.device.device import Device
from warploom.engine.patch.changes import PortRef
from warploom.engine.types import Array, float4

HEIGHT, WIDTH = 33, 31
SMALL = ["half4", "uchar4"]
#: What blocks need beside a picture at each input.
PARAMETERS: dict[str, dict[str, Any]] = {
    "filter.mean": {"radius_x": 1, "radius_y": 2},
    "image.crop": {"left": -2, "top": 3, "width": 33, "height": 32},
    "image.mix": {"mode": "over"},
    "image.resize": {"width": 45, "height": 23},
    "image.transform": {"angle": 20.0, "scale": 1.5},
}
#: The pixels that the host tests blocks with. Its compiler takes half a second for most kernels, so `make test` has
#: every third block, with one kind in turn, and those with a way of their own for one. A GPU tests all with both kinds,
#: and `make fuzz` each block with one.
ON_HOST = {"filter.mean": "uchar4", "filter.median": "uchar4", "filter.morphology": "half4"}
#: Blocks that have tests of their own below, need files or a network, or are made of others.
ELSEWHERE = {
    *("image.convert_pixels", "io.viewer", "io.save_image", "io.save_video", "io.ndi_out", "image.lut"),
    *("image.canny", "image.glow", "image.sharpen"),
}


def encoded(light: Array) -> Array:
    """Return numbers as the codes of uchar4, not yet rounded, by IEC 61966-2-1."""
    shares = np.clip(np.nan_to_num(light.astype(np.float64), nan=0.0), 0, 1)
    color = shares[..., :3]
    shares[..., :3] = np.where(color <= 0.0031308, 12.92 * color, 1.055 * color ** (1 / 2.4) - 0.055)
    return 255 * shares


@cache
def picture() -> Array:
    """Return a picture with darks, highlights, and transparent parts."""
    light = np.random.default_rng(40).random((HEIGHT, WIDTH, 4), np.float32)
    light[..., :3] **= 3
    return light


def converted(patch: Patch, source: PortRef, pixels: str) -> PortRef:
    """Add a Convert Pixels."""
    node = patch.add("image.convert_pixels", pixels=pixels)
    patch.connect(source, node["image"])
    return node["out"]


def takers(pixels: str, device: Device) -> list[type[Block]]:
    """Return the types of blocks with a picture at an input that are tested with these pixels."""
    found = [t for t in default_catalogue().all() if any(p.dtype_rule in PICTURES for p in t.inputs())]
    on_host = {t.id: SMALL[place % 2] for place, t in enumerate(found) if FACTOR > 1 or place % 3 == 0} | ON_HOST
    return [t for t in found if t.id not in ELSEWHERE and (device.info.name != "host" or on_host.get(t.id) == pixels)]


def other_input(patch: Patch, port: PortSpec) -> PortRef:
    """Return a source for an input that takes no picture: small numbers, or a large buffer for its size."""
    numbers = np.random.default_rng(41)
    if port.dtype == float4:
        return patch.add("io.image_array", data=numbers.random((HEIGHT, WIDTH, 4), np.float32))["out"]
    height, width = {"weights": (3, 3), "like": (2 * HEIGHT, 2 * WIDTH)}.get(port.name, (HEIGHT, WIDTH))
    source = patch.add("io.array", data=numbers.random((height, width * port.dtype.components), np.float32))["out"]
    if port.dtype.components == 1:
        return source
    node = patch.add("buffer.reinterpret", dtype=str(port.dtype))
    patch.connect(source, node["x"])
    return node["out"]


@pytest.mark.parametrize("pixels", SMALL)
def test_blocks_compute_the_same_with_smaller_pixels(pixels: str, device: Device) -> None:
    """A block's result for small pixels is its result for the same numbers in float4, converted."""
    patch = Patch()
    sources = []
    for order in (1, -1):
        small = converted(patch, patch.add("io.image_array", data=picture()[::order])["out"], pixels)
        sources.append((small, converted(patch, small, "float4")))
    pairs: list[tuple[str, PortRef, PortRef]] = []
    for block in takers(pixels, device):
        both = [patch.add(block.id, **PARAMETERS.get(block.id, {})) for _ in range(2)]
        inputs = [port for port in block.inputs() if not port.optional]
        pictures = [port.name for port in inputs if port.dtype_rule in PICTURES]
        for port in inputs:
            is_picture = port.name in pictures
            ends = sources[pictures.index(port.name)] if is_picture else (other_input(patch, port),) * 2
            for node, end in zip(both, ends, strict=True):
                patch.connect(end, node[port.name])
        for port in block.outputs():
            found, expected = (node[port.name] for node in both)
            pairs.append((block.id, found, converted(patch, expected, pixels) if port.dtype_rule else expected))
    ends = run(patch, *(end for _, *both in pairs for end in both), device=device)
    # Kernels in CUDA C++ may fuse a product and a sum elsewhere, so that a result is rounded to the other neighbour.
    within = {"u": 1.0, "f": 2e-3}
    for (block_id, *_), found, expected in zip(pairs, ends[::2], ends[1::2], strict=True):
        assert found.dtype == expected.dtype, block_id
        apart = np.abs(found.astype(np.float64) - expected)
        assert apart.max() <= within[found.dtype.kind] and (apart > 0).mean() < 0.01, block_id


def test_codes_are_those_of_srgb(device: Device) -> None:
    """A uchar4 has sRGB's codes and linear alpha, rounded to nearest, and each code is read as its own light."""
    codes = np.repeat(np.arange(256, dtype=np.uint8), 4).reshape(16, 16, 4)
    light = np.random.default_rng(3).random((33, 31, 4), np.float32)
    light[:2, :4, 3] = np.array([[0.5, 1.5, 2.5, 254.5], [126.5, 127.5, 3.5, 0.0]], np.float32) / np.float32(255)
    light[2, :6] = np.array([np.nan, -1, np.inf, -np.inf, 1.5, -0.0])[:, None]
    patch = Patch()
    array = patch.add("io.array", data=codes.reshape(16, 64))
    shown = patch.add("buffer.reinterpret", dtype="uchar4")
    patch.connect(array["out"], shown["x"])
    read = converted(patch, shown["out"], "float4")
    again = converted(patch, read, "uchar4")
    written = converted(patch, patch.add("io.image_array", data=light)["out"], "uchar4")
    halves = converted(patch, patch.add("io.image_array", data=light * 70000)["out"], "half4")
    found = run(patch, read, again, written, halves, device=device)
    steps = encoded(found[0]) - codes
    assert np.abs(steps[..., :3]).max() < 0.005
    np.testing.assert_allclose(found[0][..., 3], codes[..., 3] / 255, rtol=2e-7)
    np.testing.assert_array_equal(found[1], codes)
    exact = encoded(light)
    assert np.abs(found[2][..., :3] - exact[..., :3]).max() < 0.51
    shares = np.clip(np.nan_to_num(light[..., 3], nan=0.0), 0, 1) * np.float32(255)
    np.testing.assert_array_equal(found[2][..., 3], np.rint(shares))
    assert found[2][0, :4, 3].tolist() == [0, 2, 2, 254]
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found[3], (light * np.float32(70000)).astype(np.float16))


@pytest.mark.parametrize("shape", [(1, 1), (1, 33), (32, 31)])
def test_fused_blocks_round_between_them(shape: tuple[int, int], device: Device) -> None:
    """Two fused blocks give what they give one by one, in loops and skipped regions too."""
    patch = Patch()
    start = converted(patch, patch.add("io.image_array", data=picture()[: shape[0], : shape[1]])["out"], "uchar4")
    ends, found = [start, start], []
    for block in ("image.invert", "image.tone"):
        small, large = (
            patch.add(block, amount=0.7) if block == "image.invert" else patch.add(block, gamma=1.7) for _ in "ab"
        )
        patch.connect(ends[0], small["image"])
        patch.connect(converted(patch, ends[1], "float4"), large["image"])
        ends = [small["out"], converted(patch, large["out"], "uchar4")]
    skipped, repeated = patch.add("control.if"), patch.add("control.for", count=3)
    patch.connect(patch.add("io.array", data=np.zeros(1, np.float32))["out"], skipped["condition"])
    for region in (skipped, repeated):
        inside, behind = patch.add("image.invert", region=region), patch.add("image.invert")
        patch.connect(ends[0], inside["image"])
        patch.connect(inside["out"], behind["image"])
        found.append(behind["out"])
    last, expected, black, inverted = run(patch, *ends, *found, device=device, frames=2)
    np.testing.assert_array_equal(last, expected)
    np.testing.assert_array_equal(black, np.broadcast_to(np.array([255, 255, 255, 0], np.uint8), black.shape))
    assert (
        np.abs(inverted.astype(int) - last).max() <= 24
    )  # what the codes of dark and bright light lose in two inversions


@pytest.mark.parametrize("pixels", SMALL)
def test_files_keep_their_codes(pixels: str, tmp_path: Path) -> None:
    """A PNG's codes are the same after it was loaded and saved, with any pixels."""
    codes = np.random.default_rng(9).integers(0, 256, (7, 9, 4)).astype(np.uint8)
    (tmp_path / "in.png").write_bytes(png(codes, 8))
    patch = Patch()
    load, show = patch.add("io.load_image", file=tmp_path / "in.png", pixels=pixels), patch.add("io.viewer")
    save = patch.add("io.save_image", file=tmp_path / "out.png")
    for node in (show, save):
        patch.connect(load["out"], node["image"])
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        assert engine.read(load["out"]).dtype == (np.uint8 if pixels == "uchar4" else np.float16)
        assert len(engine.save_outputs()) == 2
    with Image.open(tmp_path / "out.png") as saved:
        np.testing.assert_array_equal(np.asarray(saved), codes)


def test_a_block_without_small_pixels_names_the_one_that_converts() -> None:
    """A block that takes only float4 refuses other pixels at its input, and says what to put in between."""
    patch = Patch()
    small = converted(patch, patch.add("io.image_array", data=picture())["out"], "half4")
    convolve = patch.add("signal.convolve")
    for name in ("image", "weights"):
        patch.connect(small, convolve[name])
    patch.add("io.viewer")
    with Engine(patch, device="host") as engine:
        (problem,) = [each for each in engine.step().diagnostics if each.node == convolve.id]
    assert (problem.port, problem.message) == ("weights", "elements must be float4, got half4 from convert_pixels.out")
    assert problem.remedy == "connect an output of that type, or put a Convert Pixels in between"
