"""Figures for reading: rounded to three digits, with the unit that fits."""

from __future__ import annotations


def three_digits(value: float) -> str:
    """Return a number of 0 to 1000 with three digits: "1.05", "16.6", "708"."""
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def format_bytes(size: int) -> str:
    """Return a size in binary multiples with three digits, such as "708 KB" or "1.05 MB"."""
    if size < 1024:
        return f"{size} B"
    value = float(size)
    for unit in ("KB", "MB", "GB", "TB"):
        value /= 1024
        if value < 1000 or unit == "TB":
            break
    return f"{three_digits(value)} {unit}"
