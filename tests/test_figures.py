"""Numbers are written with three digits and the unit that fits."""

import pytest

from warploom.engine.figures import budget_text, format_bytes, format_rate, format_shape, format_time, plural


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KB"),
        (708 * 1024, "708 KB"),
        (1023 * 1024, "1.00 MB"),
        (int(1.05 * 2**20), "1.05 MB"),
        (3 * 2**40, "3.00 TB"),
        (5000 * 2**40, "5000 TB"),
    ],
)
def test_bytes(size: int, text: str) -> None:
    """Sizes have binary units."""
    assert format_bytes(size) == text


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [(0, "0.00 µs"), (4700, "4.70 µs"), (999_600, "1.00 ms"), (16_666_667, "16.7 ms"), (2_290_000_000, "2.29 s")],
)
def test_times(time_ns: int, text: str) -> None:
    """Times use the unit in which they have one to three digits before the point."""
    assert format_time(time_ns) == text


def test_budgets() -> None:
    """A budget text says how much time is left, or by how much the budget is exceeded."""
    assert budget_text(1_700_000, 16_600_000) == "14.9 ms below the budget of 16.6 ms"
    assert budget_text(20_000_000, 16_600_000) == "3.40 ms over the budget of 16.6 ms"


@pytest.mark.parametrize(
    ("per_second", "text"),
    [(59.6, "60 fps"), (240.0, "240 fps"), (9.96, "10 fps"), (3.33, "3.3 fps"), (0.5, "0.5 fps")],
)
def test_rates(per_second: float, text: str) -> None:
    """Rates are whole numbers, except small ones."""
    assert format_rate(per_second) == text


def test_shapes() -> None:
    """A list's length has thousands separators; an image's shape is height, then width."""
    assert format_shape((100_000,)) == "100,000"
    assert format_shape((1080, 1920)) == "[1080, 1920]"
    assert format_shape(()) == "scalar"


def test_plural() -> None:
    """A count of one takes the singular, and every other count takes the plural."""
    assert [plural(n, "block") for n in (0, 1, 2)] == ["0 blocks", "1 block", "2 blocks"]
