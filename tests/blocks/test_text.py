"""Text in pictures: its place, its size and its shape, compared with the same font drawn by Pillow."""

from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from tests.blocks.running import problems
from warploom import Engine, Patch, UpdateLevel
from warploom.blocks.draw.draw_text import ACROSS, DOWN, draw_text, font_of
from warploom.engine.diagnostics import PatchError

FONT = (
    Path(str(distribution("OpenImageIO").locate_file("OpenImageIO")))
    / "share"
    / "fonts"
    / "OpenImageIO"
    / "DroidSans.ttf"
)


def _draw(text: str, size: int = 40, across: str = "left", down: str = "top", **options: Any) -> Any:
    shape, margin = options.get("shape", (200, 300)), options.get("margin", 10)
    return draw_text(text, "DroidSans", size, shape, across, down, options.get("wraps", True), margin)


def _box(mask: Any) -> tuple[int, int, int, int]:
    rows, columns = np.nonzero(mask > 0.1)
    return rows.min(), rows.max(), columns.min(), columns.max()


@pytest.mark.parametrize("text", ["Warploom", "gjpqy|", "Äöß ñ"])
def test_letters_are_those_of_the_font(text: str) -> None:
    """The covered area is within 3 % of Pillow's and lies in the same place; shares are from 0 to 1."""
    found = _draw(text, shape=(80, 320), margin=0)
    picture = Image.new("L", (320, 80))
    ImageDraw.Draw(picture).text((0, 0), text, 255, font=ImageFont.truetype(str(FONT), 40))
    expected = np.asarray(picture) / 255
    assert found.dtype == np.float32 and found.min() == 0 and found.max() <= 1
    assert found.sum() == pytest.approx(expected.sum(), rel=0.03)
    top, bottom, left, right = _box(found)
    other = _box(expected)
    assert bottom - top == pytest.approx(other[1] - other[0], abs=1)
    assert right - left == pytest.approx(other[3] - other[2], abs=1)


@pytest.mark.parametrize("across", ACROSS)
@pytest.mark.parametrize("down", DOWN)
def test_text_lies_where_it_was_asked_for(across: str, down: str) -> None:
    """Left and right lie at the margin, the centre has as much room on both sides; so does the middle, by lines."""
    top, bottom, left, right = _box(_draw("Ho\nHo", across=across, down=down))
    room = {"left": left - 10, "right": 289 - right, "centre": (left - (299 - right)) / 2}[across]
    assert abs(room) <= 1
    assert {"top": 10 <= top < 22, "bottom": 170 < bottom < 190, "middle": 55 < (top + bottom) / 2 < 145}[down]


def test_long_lines_end_between_words() -> None:
    """With wrapping nothing is wider than the picture less its margins, and no word is lost; without, it is cut off."""
    words = "one two three four five six"
    wrapped = _draw(words, shape=(400, 200))
    top, bottom, left, right = _box(wrapped)
    assert left >= 10 and right <= 190 and bottom - top > 80
    assert wrapped.sum() == pytest.approx(sum(_draw(word).sum() for word in words.split()), rel=0.01)
    assert _box(_draw(words, shape=(400, 200), wraps=False))[1] < 60


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\N{ZERO WIDTH SPACE}"])
def test_no_letters_leave_the_picture_empty(text: str) -> None:
    """A text without ink is no error."""
    assert not _draw(text).any()


@pytest.mark.parametrize("shape", [(1, 1), (1, 33), (31, 1)])
def test_tiny_pictures(shape: tuple[int, int]) -> None:
    """Any size is drawn, also one smaller than its margins."""
    assert _draw("Text", 12, shape=shape).shape == shape


def test_another_text_and_colour_need_no_rebuild() -> None:
    """The picture has the colour everywhere, and the mask as alpha."""
    patch = Patch()
    text = patch.add("image.text", text="one", width=65, height=33, size=20, red=0.25)
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        patch.set(text, text="two", green=0.5)
        assert engine.step().update_level == UpdateLevel.WARM
        image, mask = engine.read(text["image"]), engine.read(text["mask"])
    np.testing.assert_array_equal(image[..., :3], np.broadcast_to(np.float32([0.25, 0.5, 1]), (33, 65, 3)))
    np.testing.assert_array_equal(image[..., 3], mask)
    np.testing.assert_array_equal(mask, draw_text("two", "DroidSans", 20, (33, 65), "centre", "middle", True, 24))


def test_fonts_of_ones_own(tmp_path: Path) -> None:
    """A font file replaces the font, also after it was saved again; no font and no file have one message each."""
    path = tmp_path / "own.ttf"
    found = []
    for name in ("DroidSans", "DroidSerif-Bold"):
        path.write_bytes(FONT.with_name(f"{name}.ttf").read_bytes())
        mask = draw_text("Rag", font_of("mono", str(path)), 40, (60, 120), "left", "top", True, 0)
        np.testing.assert_array_equal(mask, draw_text("Rag", name, 40, (60, 120), "left", "top", True, 0))
        found.append(mask)
    assert np.abs(found[0] - found[1]).max() > 0.5
    path.write_bytes(b"no font")
    with pytest.raises(PatchError, match="must be a TrueType or OpenType font"):
        font_of("sans", str(path))
    patch = Patch()
    patch.add("image.text", font_file=tmp_path / "none.ttf")
    assert "font file must be readable" in problems(patch)[0][2]
