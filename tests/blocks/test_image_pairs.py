"""Blocks that compare two images: their similarity, and how one is moved against the other."""

import numpy as np
import pytest
from scipy import ndimage

from tests.blocks.running import problems, run
from tests.random_patches.image_oracles import structural_similarity
from warploom import Patch
from warploom.engine.types import Array

_WEIGHTS = np.exp(-(np.arange(-5, 6) ** 2) / (2 * 1.5**2))
_LUMINANCE = (0.2126, 0.7152, 0.0722)


def _pair(shape: tuple[int, int], seed: int, noise: float) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    a = rng.random((*shape, 4), np.float32)
    b = np.clip(a + noise * rng.standard_normal(a.shape), 0, 1).astype(np.float32)
    return a, b


@pytest.mark.parametrize("encoded", [True, False])
def test_similarity_is_that_of_the_paper(encoded: bool) -> None:
    """The map and its mean equal the formula, for images smaller and larger than the window."""
    patch, expected, ports = Patch(), [], []
    for seed, shape in enumerate([(1, 1), (1, 33), (31, 2), (11, 11), (40, 65)]):
        for noise, peak in ((0.0, 1.0), (0.2, 1.0), (1.0, 4.0)):
            a, b = _pair(shape, seed, noise)
            node = patch.add("image.structural_similarity", encoded=encoded, range=peak)
            patch.connect(patch.add("io.image_array", data=a)["out"], node["a"])
            patch.connect(patch.add("io.image_array", data=b)["out"], node["b"])
            expected.append(structural_similarity(a, b, encoded=encoded, peak=peak))
            ports += [node["out"], node["mean"]]
    found = run(patch, *ports)
    for wanted, index, mean in zip(expected, found[::2], found[1::2], strict=True):
        np.testing.assert_allclose(index, wanted, atol=2e-4)
        np.testing.assert_allclose(mean, [index.astype(np.float64).mean()], rtol=1e-6)


def test_similarity_of_plain_images_is_that_of_their_light() -> None:
    """Equal images have 1; of two plain ones, the index is a formula of their levels; a negative has less than 0."""
    patch = Patch()
    image = patch.add("io.image_array", data=np.full((20, 30), 0.25, np.float32))
    other = patch.add("io.image_array", data=np.full((20, 30), 0.5, np.float32))
    stripes = np.zeros((40, 40), np.float32)
    stripes[:, ::2] = 1
    cases = [(image, image), (image, other)]
    cases.append((patch.add("io.image_array", data=stripes), patch.add("io.image_array", data=1 - stripes)))
    nodes = [patch.add("image.structural_similarity", encoded=False) for _ in cases]
    for node, (a, b) in zip(nodes, cases, strict=True):
        patch.connect(a["out"], node["a"])
        patch.connect(b["out"], node["b"])
    equal, plain, negative = run(patch, *(node["mean"] for node in nodes))
    np.testing.assert_allclose(equal, [1], atol=1e-6)
    np.testing.assert_allclose(plain, [(2 * 0.125 + 1e-4) / (0.0625 + 0.25 + 1e-4)], rtol=1e-5)
    assert -1 <= negative[0] < -0.9


def _texture(height: int, width: int, seed: int) -> Array:
    """Return smooth noise that can be moved by parts of a pixel."""
    noise = np.random.default_rng(seed).random((height, width))
    return ndimage.gaussian_filter(noise, 1.0, mode="wrap") * 4 - 1.5


def _moved(image: Array, right: float, down: float) -> Array:
    spectrum = ndimage.fourier_shift(np.fft.fft2(image), (down, right))
    return np.asarray(np.fft.ifft2(spectrum).real)


@pytest.mark.parametrize("fade", [False, True])
def test_a_movement_is_found_to_a_part_of_a_pixel(fade: bool) -> None:
    """Whole movements are exact, others to a tenth of a pixel, in either direction; brightness doesn't count.

    Pictures may be as dark as 1e-6.
    """
    moves = [(0, 0), (5, -3), (-11, 7), (2.5, 0.0), (-1.25, 3.75), (15, 0)]
    patch, ports = Patch(), []
    for seed, (right, down) in enumerate(moves):
        image = _texture(64, 96, seed)
        node = patch.add("image.phase_correlation", fade=fade)
        light = 10.0 ** -(seed % 3 * 3)
        for name, pixels in (("a", light * image), ("b", light * (0.5 * _moved(image, right, down) + 0.25))):
            patch.connect(patch.add("io.image_array", data=pixels.astype(np.float32))["out"], node[name])
        ports += [node["shift"], node["confidence"]]
    found = run(patch, *ports)
    for move, shift, confidence in zip(moves, found[::2], found[1::2], strict=True):
        np.testing.assert_allclose(shift, move, atol=0.15 if fade else 0.1, err_msg=f"{move} {confidence}")
        assert confidence[0] > (0.1 if fade else 0.3)


def test_images_of_other_things_have_no_movement_to_trust() -> None:
    """Two noises have a low confidence, black or NaN has none, and images that are too small are refused."""
    patch, rng = Patch(), np.random.default_rng(3)
    noises = [rng.random((33, 47)).astype(np.float32) for _ in range(2)]
    black, empty = np.zeros((33, 47), np.float32), np.full((33, 47), np.nan, np.float32)
    nodes = []
    for a, b in (noises, (noises[0], black), (empty, empty)):
        nodes.append(patch.add("image.phase_correlation"))
        for name, pixels in (("a", a), ("b", b)):
            patch.connect(patch.add("io.image_array", data=pixels)["out"], nodes[-1][name])
    found = run(patch, *(node[name] for node in nodes for name in ("shift", "confidence")))
    assert found[1][0] < 0.2
    assert [part.tolist() for part in found[2:]] == [[0, 0], [0]] * 2
    small = Patch()
    node = small.add("image.phase_correlation")
    image = small.add("io.image_array", data=np.zeros((7, 40), np.float32))
    for name in "ab":
        small.connect(image["out"], node[name])
    assert problems(small) == [(node.id, "a", "a and b must be at least 8 by 8 pixels")]
