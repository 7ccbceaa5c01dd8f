"""Pictures of characters: their brightness, their colours, and which characters they take."""

from typing import Any

import numpy as np
import pytest

from tests.blocks.running import problems, run
from warploom import Engine, Patch
from warploom.blocks.draw.ascii import draw_glyphs
from warploom.blocks.draw.draw_text import FONTS
from warploom.engine.device.device import Device
from warploom.engine.patch.changes import PortRef
from warploom.engine.types import Array


def shown(image: Array, device: Device | str = "host", **parameters: Any) -> tuple[Array, Array]:
    """Return the picture and the characters of an image."""
    patch = Patch()
    node = patch.add("image.ascii", **parameters)
    patch.connect(patch.add("io.image_array", data=image)["out"], node["image"])
    out, cells = run(patch, node["out"], node["cells"], device=device)
    return out, cells


def grey(levels: Array) -> Array:
    return np.repeat(levels[..., None], 3, axis=-1).astype(np.float32)


def test_each_cell_has_the_character_with_as_much_ink(device: Device) -> None:
    """The ink of a cell's character is nearest to the cell's brightness, encoded; the picture shows its letter."""
    text, columns, size = "@ .#", 9, 20
    levels = np.random.default_rng(0).random((4, columns))
    image = grey(np.repeat(np.repeat(levels, 6, 0), 3, 1))  # cells of 3 x 6 pixels
    out, cells = shown(image, device, characters=text, columns=columns, size=size, colored=False)
    assert out.shape == (4 * size, columns * size // 2, 4) and cells.shape == (4, columns)
    glyphs = draw_glyphs(text, FONTS["mono"], size, size // 2)
    ink = glyphs.mean(axis=(1, 2))
    encoded = 1.055 * (ink / ink.max()) ** (1 / 2.4) - 0.055
    encoded[ink / ink.max() <= 0.0031308] = 0
    bright = 1.055 * levels ** (1 / 2.4) - 0.055
    off = np.abs(bright - encoded[cells]) - np.abs(bright[..., None] - encoded).min(axis=-1)
    assert off.max() < 2 / 1024
    expected = glyphs[cells].transpose(0, 2, 1, 3).reshape(out.shape[:2])
    np.testing.assert_allclose(out[..., 0], expected, atol=1e-6)
    assert (out[..., 3] == 1).all()


def test_colours_stay(device: Device) -> None:
    """Coloured characters have the hue of their cell, and transparent cells are black."""
    image = np.zeros((8, 8, 4), np.float32)
    image[:, :4] = 0.6, 0.3, 0.0, 1.0
    image[:, 4:] = 1.0, 1.0, 1.0, 0.0
    out, cells = shown(image, device, characters=" #", columns=4, size=16)
    left, right = out[:, :16], out[:, 16:]
    assert (cells[:, :2] == 1).all() and (cells[:, 2:] == 0).all()
    np.testing.assert_allclose(left[..., 1], left[..., 0] / 2, atol=1e-6)
    assert left[..., 0].max() > 0.9 and not left[..., 2].any()
    assert not right[..., :3].any()


def test_dark_characters_on_paper_are_the_negative() -> None:
    """On paper, white is empty and black has the most ink, in black."""
    levels = np.array([[1.0, 0.0], [1.0, 0.0]])
    out, cells = shown(grey(np.repeat(levels, 2, 0)), characters="# ", columns=2, size=8, paper=True, colored=False)
    assert (cells == [[1, 0], [1, 0]]).all()
    assert (out[:, :4, :3] == 1).all() and out[:, 4:, :3].min() < 0.3


@pytest.mark.parametrize(("height", "width", "columns"), [(1, 1, 1), (1, 33, 40), (31, 7, 3), (5, 4, 200)])
def test_any_size_of_image_fills_its_cells(height: int, width: int, columns: int) -> None:
    """Images smaller than their cells, and those of odd sizes, have one brightness in all cells."""
    out, cells = shown(grey(np.full((height, width), 0.5)), characters=" .#", columns=columns, size=4)
    rows = max(1, columns * height // (2 * width))
    assert cells.shape == (rows, columns) and out.shape == (rows * 4, columns * 2, 4)
    assert len(np.unique(cells)) == 1


def test_other_characters_are_uploaded_without_a_rebuild() -> None:
    """Other characters are used from the next frame on."""
    patch = Patch()
    node = patch.add("image.ascii", columns=4, characters=" #")
    patch.connect(patch.add("io.image_array", data=grey(np.ones((8, 8))))["out"], node["image"])
    with Engine(patch, device="host") as engine:
        engine.step()
        assert (engine.read(PortRef(node.id, "cells")) == 1).all()
        patch.set(node, characters="#. ")
        assert not engine.step().diagnostics
        assert (engine.read(PortRef(node.id, "cells")) == 0).all()


def test_no_characters_are_refused() -> None:
    """At least one character is needed."""
    patch = Patch()
    node = patch.add("image.ascii", characters="")
    patch.connect(patch.add("io.image_array", data=grey(np.ones((8, 8))))["out"], node["image"])
    assert "characters must be 1 to 256 of them" in problems(patch)[0][2]
