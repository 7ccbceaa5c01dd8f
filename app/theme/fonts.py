"""Fonts: one for the UI in four sizes and two weights, and a monospaced one for code. Warploom ships none."""

from functools import cache

from PySide6.QtGui import QFont, QFontDatabase

#: The only pixel sizes: small text such as port names and units, body text, the title of a dock's page, and of a page.
SMALL, BODY, TITLE, PAGE_TITLE = 11, 13, 15, 24
#: Titles on a canvas that is zoomed out, in pixels of the screen.
FAR = 8.5

_MONOSPACE = ("JetBrains Mono", "Cascadia Mono", "SF Mono", "Consolas", "DejaVu Sans Mono")


@cache
def ui_font(size: int = BODY, *, strong: bool = False) -> QFont:
    """Return the system's UI font; all digits have one width, so that changing numbers don't jitter."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    font.setPixelSize(size)
    font.setWeight(QFont.Weight.DemiBold if strong else QFont.Weight.Normal)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


@cache
def code_font() -> QFont:
    """Return the monospace font for code."""
    installed = set(QFontDatabase.families())
    family = next((name for name in _MONOSPACE if name in installed), None)
    font = QFont(family) if family else QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPixelSize(BODY)
    font.setStyleHint(QFont.StyleHint.Monospace)
    return font
