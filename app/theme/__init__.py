"""How the editor looks: colours, fonts, icons and the stylesheet, in a dark and a light theme."""

from app.theme.apply import apply_theme
from app.theme.colours import DARK, LIGHT, Colours, current

__all__ = ["DARK", "LIGHT", "Colours", "apply_theme", "current"]
