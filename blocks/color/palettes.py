"""The palettes that a person can choose."""

#: Linear RGB of each palette at 0, 1/3, 2/3 and 1; `kernels/palette.cuh` has the same palettes, in the same order.
PALETTES = {
    "ember": ((1.00, 0.72, 0.34), (1.00, 0.24, 0.06), (0.72, 0.05, 0.38), (0.10, 0.10, 0.95)),
    "aurora": ((0.55, 1.00, 0.75), (0.05, 0.85, 0.50), (0.05, 0.30, 0.95), (0.35, 0.05, 0.70)),
    "ice": ((0.95, 0.98, 1.00), (0.30, 0.70, 1.00), (0.06, 0.28, 0.95), (0.02, 0.06, 0.45)),
}


def ramp(palette: str) -> str:
    """Return lines of an expression that set `ramp` to the colour of a palette at `place`."""
    lines = ["s = 3 * place"]
    stops = [f"vec{stop}" for stop in PALETTES[palette]]
    for at, (start, end) in enumerate(zip(["ramp"] * 3, stops[1:], strict=True)):
        start = start if at else stops[0]
        lines.append(f"ramp = {start} + ({end} - {start}) * saturate(s - {at})")
    return "\n".join(lines)
