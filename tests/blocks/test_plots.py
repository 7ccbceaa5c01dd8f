"""Plots: the position of the curve, the axes and their numbers."""

import re
from typing import Any

import numpy as np
import pytest

from tests.blocks.running import apply
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.types import Array

#: Large enough for the font at its own size.
WIDTH, HEIGHT = 480, 420
GAP, LETTERS = 8, 17
TOP, RIGHT, BOTTOM = 2 * GAP + LETTERS, WIDTH - 1 - GAP, HEIGHT - 1 - 2 * GAP - LETTERS
PAPER, AXIS, TEXT, INK = (np.float32(colour) for colour in (0.014, 0.14, 0.49, 0.95))
_FONT = (KERNELS_FOLDER / "plot_font.cuh").read_text()
_ROWS = re.findall(r"0x([0-9a-f]{15})ull", _FONT)
ADVANCES = dict(zip("0123456789.-e", map(int, re.findall(r"ADVANCES.*{(.*)}", _FONT)[0].split(", ")), strict=True))
#: The levels of each character, i[17, 15].
GLYPHS = {
    character: np.array([[int(level, 16) for level in row] for row in _ROWS[17 * at : 17 * at + 17]])
    for at, character in enumerate(ADVANCES)
}


def plot(x: Any, **parameters: Any) -> Array:
    """Return the blue channel of a plot, f32[HEIGHT, WIDTH]."""
    image = apply(
        "image.plot", {"x": np.asarray(x, np.float32)}, port="image", width=WIDTH, height=HEIGHT, **parameters
    )
    assert (image[..., 3] == 1).all()
    return np.asarray(image[..., 2])


def text_at(image: Array, left: int, top: int, ink: np.float32 = TEXT) -> str:
    """Return the text that starts at a place of the plot."""
    found = ""
    while left < WIDTH:
        levels = np.rint((image[top : top + LETTERS, left:] - PAPER) / (ink - PAPER) * 15)
        fits = [
            name
            for name, glyph in GLYPHS.items()
            if np.array_equal(glyph[:, : ADVANCES[name]], levels[:, : ADVANCES[name]])
        ]
        if len(fits) != 1:
            break
        found, left = found + fits[0], left + ADVANCES[fits[0]]
    return found


def width_of(text: str) -> int:
    """Return the width of a text in pixels."""
    return sum(ADVANCES[character] for character in text)


def axis_column(image: Array) -> int:
    """Return the column of the vertical axis."""
    (column,) = np.flatnonzero((np.abs(image[TOP : BOTTOM + 1] - AXIS) < 1e-6).sum(axis=0) > 0.5 * (BOTTOM - TOP))
    return int(column)


def labels(image: Array) -> dict[int, str]:
    """Return the labels of the vertical axis by their rows."""
    left, found = axis_column(image), {}
    for row in range(TOP, BOTTOM + 1):
        top = row - LETTERS // 2
        written_in = np.flatnonzero((image[top : top + LETTERS, : left - GAP] != PAPER).any(axis=0))
        for start in range(max(written_in[0] - 3, 0), written_in[0] + 1) if written_in.size else ():
            text = text_at(image, start, top)
            if start + width_of(text) == left - GAP:
                found[row] = text
                break
    return found


def curve(image: Array) -> Array:
    """Return the row of the curve's middle in each column, or NaN in a column without curve."""
    inside = (image == INK) & (np.arange(HEIGHT) >= TOP)[:, None]
    rows = np.arange(HEIGHT)[:, None]
    with np.errstate(invalid="ignore"):
        return np.where(inside, rows, 0).sum(axis=0) / inside.sum(axis=0)


def written(value: float) -> str:
    """Return a number as text of three digits."""
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    if -2 <= int(exponent) <= 2:
        return (
            f"{float(f'{value:.2e}'):.{2 - int(exponent)}f}".rstrip("0").rstrip(".")
            if int(exponent) < 2
            else f"{value:.0f}"
        )
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


@pytest.mark.parametrize(
    "value",
    [
        0.0,
        1.0,
        -1.0,
        3.14159,
        12.34,
        123.4,
        100.0,
        0.5,
        0.0123,
        0.0999,
        9.996,
        99.96,
        999.6,
        1234,
        0.00123,
        -7.5e-7,
        2e12,
        -1.23e-12,
        -9.87e-39,
        3.4e38,
    ],
)
def test_numbers_are_written_with_three_digits(value: float) -> None:
    """The last number is written above the curve, with three digits."""
    expected = "0" if value == 0 else written(value)
    assert text_at(plot([value]), RIGHT - width_of(expected), GAP, INK) == expected


@pytest.mark.parametrize("count", [2, 3, 50, 471, 5000])
def test_the_curve_follows_the_numbers(count: int) -> None:
    """A rising line is drawn from the lower left to the upper right of the axes, with equal margins."""
    image = plot(np.linspace(-3, 5, count))
    left, rows = axis_column(image), curve(image)
    columns = np.arange(left + 3, RIGHT - 3)
    room = 0.06 / 1.12 * (BOTTOM - TOP)
    expected = (BOTTOM - room) - (columns - left) / (RIGHT - left) * (BOTTOM - TOP - 2 * room)
    assert np.abs(rows[columns] - expected).max() < 1.5


def test_ticks_are_round_numbers_at_their_places() -> None:
    """The vertical axis has labels at round numbers, and a grid line at each; the horizontal one counts the numbers."""
    image = plot(np.linspace(-3, 5, 1001))
    found = labels(image)
    assert sorted(map(float, found.values())) == [-2, 0, 2, 4]
    low, high = -3 - 0.48, 5 + 0.48
    for row, text in found.items():
        assert abs(row - (TOP + (high - float(text)) / (high - low) * (BOTTOM - TOP))) <= 0.51
    left = axis_column(image)
    for place, text in ((0, "0"), (200, "200"), (1000, "1000")):
        middle = left + round(place / 1000 * (RIGHT - left))
        start = min(middle - width_of(text) // 2, WIDTH - GAP // 2 - width_of(text))
        assert text_at(image, start, BOTTOM + GAP) == text


def test_a_power_is_a_straight_line_in_a_logarithmic_plot() -> None:
    """A power is a straight line on a logarithmic axis, with gaps at numbers of 0 and below, and ticks at powers."""
    x = 10.0 ** np.linspace(-4, 2, 421)
    x[200], x[240] = 0, -1
    image = plot(x, axis="logarithmic")
    left, rows = axis_column(image), curve(image)
    assert np.isnan(rows[[left + round(at / 420 * (RIGHT - left)) for at in (200, 240)]]).all()
    steps = np.diff(rows[left + 10 : left + 150])
    assert np.abs(steps - steps.mean()).max() <= 1.5 and steps.mean() < -0.4
    assert set(labels(image).values()) == {"1e-4", "1e-3", "0.01", "0.1", "1", "10", "100"}


def test_what_is_no_number_leaves_gaps_and_a_plot_may_be_empty() -> None:
    """NaN and infinity leave gaps and don't affect the range; a plot of NaNs has no curve."""
    x = np.linspace(0, 1, 401)
    x[100], x[200], x[400] = np.nan, np.inf, -np.inf
    image = plot(x)
    left, rows = axis_column(image), curve(image)
    gaps, there = (
        [left + round(at / 400 * (RIGHT - left)) for at in places] for places in ((100, 200), (50, 150, 300))
    )
    assert np.isnan(rows[gaps]).all() and not np.isnan(rows[there]).any()
    assert set(labels(image).values()) == {"0", "0.2", "0.4", "0.6", "0.8", "1"}
    assert np.isnan(curve(plot([np.nan] * 5))).all()


def test_a_small_plot_is_all_curve() -> None:
    """A plot that is too small for axes has none, and the curve reaches its edges."""
    image = apply("image.plot", {"x": np.arange(8, dtype=np.float32)}, port="image", width=80, height=60)
    inside = image[..., 2] == INK
    assert inside[:, 1].any() and inside[:, -2].any()
