"""`apply_theme`: gives the whole application its look."""

from __future__ import annotations

from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from app.theme.colours import Colours, make_current
from app.theme.fonts import ui_font
from app.theme.stylesheet import stylesheet


def apply_theme(app: QApplication, name: str) -> None:
    """Give `app` the theme "dark" or "light"; widgets repaint, and may ask `colours.current` for its colours.

    Raises ValueError for another name.
    """
    theme = make_current(name)
    if app.styleSheet() == stylesheet(theme):
        return  # setting the same again would have Qt restyle every widget
    app.setStyle("Fusion")
    app.setFont(ui_font())
    app.setPalette(palette(theme))
    app.setStyleSheet(stylesheet(theme))


def palette(theme: Colours) -> QPalette:
    """Return the Qt palette of a theme."""
    role = QPalette.ColorRole
    colours = {
        role.Window: theme.dock,
        role.WindowText: theme.text,
        role.Base: theme.canvas if theme.is_dark else theme.control_hover,
        role.AlternateBase: theme.dock,
        role.Text: theme.text,
        role.PlaceholderText: theme.text_faint,
        role.Button: theme.control,
        role.ButtonText: theme.text,
        role.BrightText: theme.error,
        role.ToolTipBase: theme.control,
        role.ToolTipText: theme.text,
        role.Highlight: theme.accent,
        role.HighlightedText: theme.on_accent,
        role.Accent: theme.accent,
        role.Link: theme.accent,
        role.LinkVisited: theme.accent,
        role.Light: theme.control_hover,
        role.Midlight: theme.control,
        role.Mid: theme.border,
        role.Dark: theme.border,
        role.Shadow: theme.canvas,
    }
    result = QPalette()
    for key, colour in colours.items():
        result.setColor(key, QColor(colour))
    for key in (role.WindowText, role.Text, role.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, key, QColor(theme.text_faint))
    return result
