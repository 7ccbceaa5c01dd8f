"""Single-pixel adjustments and blends against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine import Engine, Patch

LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


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
    """Exposure, contrast about middle grey, gamma, saturation, in this order; alpha passes through."""
    image = _image()
    out = apply_to_image("image.tone", image, exposure=exposure, contrast=contrast, gamma=gamma, saturation=saturation)
    np.testing.assert_allclose(out, _tone(image, exposure, contrast, gamma, saturation), rtol=2e-5, atol=2e-6)


def test_tone_without_saturation_is_grayscale(apply_to_image: Any) -> None:
    """Both use the same luminance."""
    image = _image()
    np.testing.assert_allclose(
        apply_to_image("image.tone", image, saturation=0.0), apply_to_image("image.grayscale", image), rtol=1e-6
    )


def test_inverting_twice_changes_nothing(apply_to_image: Any) -> None:
    """A negative's negative is the picture; alpha is not inverted."""
    image = _image()
    once = apply_to_image("image.invert", image)
    np.testing.assert_allclose(once[..., :3], 1 - image[..., :3], atol=1e-6)
    np.testing.assert_allclose(apply_to_image("image.invert", once), image, atol=1e-6)


BLENDS = {
    "normal": lambda a, b: b,
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "screen": lambda a, b: a + b - a * b,
    "difference": lambda a, b: np.abs(a - b),
}


@pytest.mark.parametrize("mode", list(BLENDS))
def test_mix_blends_a_smaller_image_with_its_border_extended(mode: str) -> None:
    """`b` lies at the top left; its last row and column extend beyond it."""
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
