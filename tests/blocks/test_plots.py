"""Plots: the position of the curve, and the numbers in the corners."""

from typing import Any

import numpy as np
import pytest

from tests.blocks.running import apply

Array = np.ndarray[Any, Any]
WIDTH, HEIGHT = 200, 120
#: The kernel's glyphs for "0123456789.-e", of 3 x 5 dots each.
GLYPHS = (
    "### .#. ### ### #.# ### ### ### ### ### ... ... ...",
    "#.# ##. ..# ..# #.# #.. #.. ..# #.# #.# ... ... ###",
    "#.# .#. ### .## ### ### ### ..# ### ### ... ### ###",
    "#.# .#. #.. ..# ..# ..# #.# ..# #.# ..# ... ... #..",
    "### ### ### ### ..# ### ### ..# ### ### .#. ... ###",
)
TEXT, INK = np.float32(0.66), np.float32(0.95)
GLYPH_OF = {tuple(row[4 * i : 4 * i + 3] for row in GLYPHS): c for i, c in enumerate("0123456789.-e")}


def plot(x: Any, **parameters: Any) -> Array:
    """Return the blue channel of a plot, f32[HEIGHT, WIDTH]."""
    image = apply(
        "image.plot", {"x": np.asarray(x, np.float32)}, port="image", width=WIDTH, height=HEIGHT, **parameters
    )
    assert (image[..., 3] == 1).all()
    return np.asarray(image[..., 2])


def text_at(image: Array, left: int, top: int) -> str:
    """Return the text at a place of the plot."""
    found = ""
    while left + 3 <= WIDTH:
        dots = image[top : top + 5, left : left + 3] == TEXT
        glyph = GLYPH_OF.get(tuple("".join(".#"[int(dot)] for dot in row) for row in dots))
        if glyph is None:
            break
        found, left = found + glyph, left + 4
    return found


def curve(image: Array) -> Array:
    """Return the row of the curve's middle in each column, or NaN in a column without curve."""
    inside = image == INK
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
    """A plot of one number shows it three times, as largest, smallest and last, with three digits."""
    image = plot([value])
    expected = "0" if value == 0 else written(value)
    assert text_at(image, 2, 2) == expected
    assert text_at(image, 2, HEIGHT - 7) == expected
    assert text_at(image, WIDTH - 2 - 4 * len(expected), 2) == expected


@pytest.mark.parametrize("count", [2, 3, 50, 200, 5000])
def test_the_curve_follows_the_numbers(count: int) -> None:
    """A rising line is drawn from the lower left to the upper right, with equal margins above and below."""
    rows = curve(plot(np.linspace(-3, 5, count)))
    columns = np.arange(WIDTH)[30:-40]  # the columns between the texts
    room = 0.06 / 1.12 * (HEIGHT - 1)
    expected = (HEIGHT - 1 - room) - columns / (WIDTH - 1) * (HEIGHT - 1 - 2 * room)
    assert np.abs(rows[columns] - expected).max() < 1.0


def test_a_power_is_a_straight_line_in_a_logarithmic_plot() -> None:
    """A power is a straight line on a logarithmic axis, with gaps at numbers of 0 and below."""
    x = 10.0 ** np.linspace(-4, 2, WIDTH)
    x[100], x[120] = 0, -1
    rows = curve(plot(x, axis="logarithmic"))
    assert np.isnan(rows[[100, 120]]).all()
    steps = np.diff(rows[30:90])
    assert np.abs(steps - steps.mean()).max() <= 1.0 and steps.mean() < -0.4


def test_what_is_no_number_leaves_gaps_and_a_plot_may_be_empty() -> None:
    """NaN and infinity leave gaps and don't affect the range; a plot of NaNs has no curve."""
    x = np.linspace(0, 1, WIDTH)
    x[80], x[90], x[199] = np.nan, np.inf, -np.inf
    image = plot(x)
    assert np.isnan(curve(image)[[80, 90]]).all() and not np.isnan(curve(image)[60])
    assert text_at(image, 2, HEIGHT - 7) == "0" and text_at(image, 2, 2) == "0.995"
    assert np.isnan(curve(plot([np.nan] * 5))).all()
