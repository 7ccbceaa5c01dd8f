"""image.glow against scipy, and against the two blocks that it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from engine import Engine, Patch, UpdateLevel


@pytest.mark.parametrize("shape", [(1, 1), (3, 37), (40, 33)])
def test_light_is_added_around_what_is_bright(apply_to_image: Any, shape: tuple[int, int]) -> None:
    """The image plus a share of its blurred copy; alpha is unchanged."""
    image = np.random.default_rng(3).random((*shape, 4), np.float32)
    out = apply_to_image("image.glow", image, sigma=2.5, amount=0.25)
    light = [ndimage.gaussian_filter(image[..., c].astype(np.float64), 2.5, mode="nearest") for c in range(3)]
    np.testing.assert_allclose(out[..., :3], image[..., :3] + 0.25 * np.stack(light, 2), atol=3e-6)
    np.testing.assert_array_equal(out[..., 3], image[..., 3])


def test_it_is_its_two_blocks_and_both_sliders_are_live() -> None:
    """Every value gives bit for bit what a Gaussian Blur and a Mix give, at the price of a parameter write."""
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
