"""Numbers as text for people: rounded to three digits, with the unit that fits."""


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


def format_time(time_ns: float) -> str:
    """Return a time with three digits in the unit that fits, such as "4.70 µs" or "16.6 ms"."""
    for unit, size in (("µs", 1e3), ("ms", 1e6)):
        if time_ns < size * 999.5:
            return f"{three_digits(time_ns / size)} {unit}"
    return f"{three_digits(time_ns / 1e9)} s"


def budget_text(time_ns: float, budget_ns: float) -> str:
    """Return the distance of a time from its budget: "14.9 ms below the budget of 16.6 ms"."""
    side = "over" if time_ns > budget_ns else "below"
    return f"{format_time(abs(budget_ns - time_ns))} {side} the budget of {format_time(budget_ns)}"


def format_rate(per_second: float) -> str:
    """Return frames per second as "60 fps", and few of them as "0.5 fps"."""
    return f"{round(per_second, 0 if per_second >= 9.95 else 1):g} fps"


def format_shape(shape: tuple[int, ...]) -> str:
    """Return a shape as "[1080, 1920]", the length of a vector as "1,920", and "scalar" for the empty shape.

    Only the size of a picture is written "1920 × 1080", width first.
    """
    if len(shape) == 1:
        return f"{shape[0]:,}"
    return f"[{', '.join(map(str, shape))}]" if shape else "scalar"


def plural(count: int, noun: str) -> str:
    """Return "1 block", "3 blocks"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
