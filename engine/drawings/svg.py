"""Pieces of SVG: a document that carries its own colours, with rectangles, lines and text."""

from collections.abc import Iterable
from functools import partial
from html import escape

TEXT, FAINT, PAPER, LINE = "#1f2933", "#5f6c7b", "#ffffff", "#8a97a6"
#: Fill colours on which dark text is readable.
FILLS = ("#cfe3fa", "#d5f0dc", "#fbe3c8", "#e8d9f7", "#fad4da", "#d3f0f0", "#f5efc4", "#dfe3e8")
_escape = partial(escape, quote=False)  # `xml.sax.saxutils` would import urllib.request


def document(width: float, height: float, parts: Iterable[str]) -> str:
    """Return a whole SVG file of this size in pixels."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, rectangle(0, 0, width, height, PAPER, ""), *parts, "</svg>", ""])


def rectangle(
    x: float, y: float, width: float, height: float, fill: str, stroke: str = LINE, tip: str = "", dashed: bool = False
) -> str:
    """Return a rectangle; `tip` shows while the pointer is over it."""
    line = f' stroke="{stroke}"' if stroke else ""
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    corner = ' rx="4"' if stroke else ""
    shape = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"{corner} fill="{fill}"{line}{dash}'
    return f"<rect {shape}><title>{_escape(tip)}</title></rect>" if tip else f"<rect {shape}/>"


def text_line(x: float, y: float, words: str, fill: str = TEXT, anchor: str = "start", bold: bool = False) -> str:
    """Return a line of text whose baseline starts, is centred or ends at a point."""
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" text-anchor="{anchor}"{weight}>{_escape(words)}</text>'


def arrow(start: tuple[float, float], way: Iterable[tuple[float, float, float]], end: tuple[float, float]) -> str:
    """Return a curve down from one point to another, with a head; it follows each line (x, top, bottom) of the way."""
    x, y = start
    path = f"M{x:.1f} {y:.1f}"
    for at, top, bottom in way:
        path += f"{_bend(x, y, at, top)} L{at:.1f} {bottom:.1f}"
        x, y = at, bottom
    path += _bend(x, y, end[0], end[1] - 5)
    head = f"M{end[0] - 3.5:.1f} {end[1] - 7:.1f} L{end[0]:.1f} {end[1]:.1f} L{end[0] + 3.5:.1f} {end[1] - 7:.1f} Z"
    return f'<path d="{path}" fill="none" stroke="{LINE}"/><path d="{head}" fill="{LINE}"/>'


def _bend(x: float, y: float, to_x: float, to_y: float) -> str:
    middle = (y + to_y) / 2
    return f" C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}"


def line(x: float, y: float, to_x: float, to_y: float, stroke: str = LINE) -> str:
    """Return a straight line."""
    return f'<path d="M{x:.1f} {y:.1f} L{to_x:.1f} {to_y:.1f}" stroke="{stroke}" fill="none"/>'


def estimated_width(words: str) -> float:
    """Return about how wide a line of text is, in pixels."""
    return 6.6 * len(words)
