"""How regions look: one hue for each kind, as quiet behind the blocks as a category's tint is on them."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass
from functools import cache

from app.theme.colours import Colours, mix

# Hues in degrees, away from orange, red and green, which have their own meaning.
_HUES = {"control.if": 190, "control.if_else": 220, "control.while": 318, "control.for": 266}
_OTHER_HUE = 240


@dataclass(frozen=True)
class RegionColours:
    """Colours of a region's box as "#rrggbb"; `fill` and `strip` are laid over what is behind them."""

    line: str
    fill: str
    strip: str
    #: How much of `fill` and `strip` covers what is behind, 0..1.
    fill_opacity: float
    strip_opacity: float


@cache
def region_colours(kind: str, theme: Colours) -> RegionColours:
    """Return the colours of a region block type in a theme; kinds that Warploom does not ship share one hue."""
    hue = _HUES.get(kind, _OTHER_HUE) / 360
    if theme.is_dark:
        strong = _hex(hue, 0.62, 0.50)
        return RegionColours(mix(strong, theme.canvas, 0.35), strong, strong, 0.09, 0.16)
    strong = _hex(hue, 0.40, 0.50)
    return RegionColours(mix(strong, theme.canvas, 0.30), strong, strong, 0.09, 0.14)


def _hex(hue: float, lightness: float, saturation: float) -> str:
    return "#" + "".join(f"{round(c * 255):02x}" for c in colorsys.hls_to_rgb(hue, lightness, saturation))
