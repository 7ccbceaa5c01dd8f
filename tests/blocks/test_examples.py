"""The example patches run, show something, and stay as their script writes them."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blocks.io.decode_image import load_linear
from engine import Engine
from engine.patch.files import dump_patch, load_patch

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "resources" / "examples"


@pytest.mark.parametrize("name", ["particles", "photo"])
def test_example_is_what_its_script_writes(name: str) -> None:
    """tools/make_examples.py and the file agree."""
    script: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "make_examples.py"))
    assert dump_patch(script[name]()) == (EXAMPLES / f"{name}.loom").read_text("utf-8")


def test_fountain_fills_with_light() -> None:
    """After a second there is much to see, and frames differ."""
    patch = load_patch(EXAMPLES / "particles.loom")
    with Engine(patch, device="host") as engine:
        for _ in range(60):
            assert not engine.step().diagnostics
        image = engine.read(patch["render"]["image"])
        engine.step()
        assert np.abs(engine.read(patch["render"]["image"]) - image).max() > 0.1
    assert image.shape == (720, 1280, 4)
    bright = (image[..., :3].max(2) > 0.25).mean()
    assert 0.005 < bright < 0.5
    assert np.isfinite(image).all() and image.min() >= 0 and image.max() <= 1


def test_photograph_becomes_outlines(tmp_path: Path) -> None:
    """The picture is the sample's size, dark where it is even, and saved as a file."""
    patch = load_patch(EXAMPLES / "photo.loom")
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        edges = engine.read(patch["tone"]["out"])[..., :3]
        saved = engine.save_outputs(tmp_path)
    assert edges.shape[:2] == load_linear(ROOT / "resources" / "media" / "still_life.jpg").shape[:2]
    assert np.median(edges) < 0.1 < 0.5 < edges.max()
    assert any(
        Path(item.path or "").suffix == ".png" and Path(item.path or "").stat().st_size > 10_000 for item in saved
    )
