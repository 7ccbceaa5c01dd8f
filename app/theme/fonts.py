"""Fonts: one for the UI in four sizes and two weights, and a monospaced one for code. Warploom ships none.

The person chooses the size of the UI. A widget that paints itself takes its lengths and its font from `length` and
`widget_font`; on the canvas, the view has the size.
"""

from functools import cache

from PySide6.QtGui import QFont, QFontDatabase

#: The only pixel sizes: small text such as port names and units, body text, the title of a dock's page, and of a page.
SMALL, BODY, TITLE, PAGE_TITLE = 11, 13, 15, 24
#: Titles on a canvas that is zoomed out, in pixels of the screen.
FAR = 8.5

_MONOSPACE = ("JetBrains Mono", "Cascadia Mono", "SF Mono", "Consolas", "DejaVu Sans Mono")

_zoom = 1.0


def set_zoom(zoom: float) -> None:
    """Set the size of widgets, 1 for the usual one."""
    global _zoom  # the size is a property of the whole application
    _zoom = zoom


def unit() -> float:
    """Return the size of widgets, 1 for the usual one."""
    return _zoom


def length(pixels: float) -> int:
    """Return a length of the usual size in the present one; thin lines stay thin."""
    return round(pixels * _zoom) if pixels > 1 else round(pixels)


def title_font() -> QFont:
    """Return a dock's font. With exactly the application's, Qt would keep titles in the size of its start."""
    font = QFont()
    font.setStyleHint(QFont.StyleHint.SansSerif)
    return font


def widget_font(size: int = BODY) -> QFont:
    """Return the UI font for a widget that paints itself."""
    return ui_font(length(size))


@cache
def ui_font(size: int = BODY, *, strong: bool = False) -> QFont:
    """Return the system's UI font; all digits have one width, so that changing numbers don't jitter."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    font.setPixelSize(size)
    font.setWeight(QFont.Weight.DemiBold if strong else QFont.Weight.Normal)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def code_font() -> QFont:
    """Return the monospace font for code."""
    return _code_font(length(BODY))


@cache
def _code_font(size: int) -> QFont:
    installed = set(QFontDatabase.families())
    family = next((name for name in _MONOSPACE if name in installed), None)
    font = QFont(family) if family else QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPixelSize(size)
    font.setStyleHint(QFont.StyleHint.Monospace)
    return font
