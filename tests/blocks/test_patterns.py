"""Generated images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine import Engine, Patch


def _generate(block: str, frames: int = 1, **parameters: Any) -> Any:
    patch = Patch()
    node = patch.add(block, **parameters)
    with Engine(patch, device="host") as engine:
        for _ in range(frames):
            engine.step()
        return engine.read(node["out"])


def test_checkerboard_alternates_from_the_top_left() -> None:
    """Squares of the given edge, also where the image ends within one."""
    out = _generate("image.checkerboard", width=50, height=31, cell=8.0, dark=0.25, light=0.75)
    y, x = np.mgrid[0:31, 0:50]
    np.testing.assert_array_equal(out[..., 0], np.where((x // 8 + y // 8) % 2 == 0, 0.75, 0.25).astype(np.float32))
    assert out.shape == (31, 50, 4) and (out[..., 3] == 1).all()


@pytest.mark.parametrize(("angle", "axis"), [(0.0, 1), (90.0, 0)])
def test_gradient_runs_along_its_angle(angle: float, axis: int) -> None:
    """From the first colour's half pixel to the last colour's, in equal steps."""
    out = _generate("image.gradient", width=20, height=10, angle=angle, red_from=0.0, red_to=1.0)
    count = out.shape[axis]
    line = np.take(out[..., 0], 0, axis=1 - axis)
    np.testing.assert_allclose(line, (np.arange(count) + 0.5) / count, atol=1e-6)
    assert np.ptp(out[..., 0], axis=1 - axis).max() < 1e-6


def test_noise_fills_its_range_smoothly() -> None:
    """Values lie within 0..1, differ, and neighbours differ little."""
    out = _generate("image.noise", width=200, height=151, cell=64.0, octaves=1)[..., 0]
    assert 0 <= out.min() < 0.3 and 0.7 < out.max() <= 1
    assert np.abs(np.diff(out, axis=0)).max() < 1.5 / 64 * 1.01  # a cubic's steepest slope


def test_noise_moves_only_with_speed() -> None:
    """At speed 0 every frame is the same."""
    size = {"width": 64, "height": 48}
    still = [_generate("image.noise", frames, speed=0.0, **size) for frames in (1, 5)]
    np.testing.assert_array_equal(*still)
    moving = [_generate("image.noise", frames, speed=5.0, **size) for frames in (1, 5)]
    assert np.abs(moving[0] - moving[1]).max() > 0.01
