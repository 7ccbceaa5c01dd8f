"""Colour tokens by purpose, in the dark and the light theme.

Controls and panels are neutral grey in three steps (canvas, dock, control). One accent is for the selection and primary
actions; orange and red are only for warnings and errors; green is only for "running".
"""

import colorsys
from dataclasses import dataclass
from functools import cache, lru_cache
from zlib import crc32


@dataclass(frozen=True, eq=False)  # hashed by identity, since painters look up colours by their theme
class Colours:
    """One theme; every field is "#rrggbb"."""

    name: str
    canvas: str
    canvas_grid: str
    dock: str
    control: str
    control_hover: str
    border: str
    node: str
    node_border: str
    text: str
    text_dim: str
    text_faint: str
    accent: str
    on_accent: str
    warning: str
    error: str
    running: str
    #: Lightness and saturation (0..1) of category tints on the canvas; the hue is the category's own.
    tint: tuple[float, float]

    @property
    def is_dark(self) -> bool:
        """True for the dark theme."""
        return self.name == "dark"


#: Colours of curves, legible on dark and light. The legend lists the curves in the same order.
CURVES = ("#4f8fe8", "#d9822b", "#3f9f6b", "#b566c9", "#c9a227", "#7f8c9a")

DARK = Colours(
    name="dark",
    canvas="#191919",
    canvas_grid="#2a2a2a",
    dock="#222222",
    control="#2e2e2e",
    control_hover="#393939",
    border="#3d3d3d",
    node="#2b2b2b",
    node_border="#454545",
    text="#e2e2e2",
    text_dim="#a8a8a8",
    text_faint="#969696",
    accent="#5b9bff",
    on_accent="#0b1524",
    warning="#f0a03c",
    error="#f0605a",
    running="#4fb874",
    tint=(0.30, 0.22),
)

LIGHT = Colours(
    name="light",
    canvas="#d8d8d8",
    canvas_grid="#c4c4c4",
    dock="#e9e9e9",
    control="#f7f7f7",
    control_hover="#ffffff",
    border="#bcbcbc",
    node="#f4f4f4",
    node_border="#a4a4a4",
    text="#1b1b1b",
    text_dim="#505050",
    text_faint="#696969",
    accent="#185fc4",
    on_accent="#ffffff",
    warning="#985000",
    error="#be261d",
    running="#1c703d",
    tint=(0.80, 0.30),
)

THEMES = {theme.name: theme for theme in (DARK, LIGHT)}
_current = DARK


def current() -> Colours:
    """Return the colours of the applied theme; the dark ones before any was applied."""
    return _current


def make_current(name: str) -> Colours:
    """Set the theme that `current` returns, "dark" or "light", and return it. Raise ValueError for another name."""
    global _current  # the theme is a property of the whole application
    if name not in THEMES:
        raise ValueError(f"theme must be one of {', '.join(THEMES)}, got {name!r}")
    _current = THEMES[name]
    return _current


# Hues in degrees. The shipped categories have fixed hues, which don't depend on other installed categories. Categories
# that often meet in a patch are far apart.
_HUES = {
    "values": 166,
    "math": 176,
    "linear algebra": 187,
    "reduce": 197,
    "random": 207,
    "io": 218,
    "data": 228,
    "signal": 238,
    "buffer": 249,
    "neural": 259,
    "control": 269,
    "image": 280,
    "fractal": 290,
    "field": 300,
    "geometry": 311,
    "particles": 321,
}


def category_tint(category: str, theme: Colours, own: str = "") -> str:
    """Return the colour of a category's title bars; all have the same lightness, so that none is more prominent.

    A block's `own` colour, one of those of frames, is stronger.
    """
    return own_tint(own, theme) if own else _tint(category.lower(), theme.tint)


def far_tint(category: str, theme: Colours, own: str = "") -> str:
    """Return the colour of a block that is too small for a title bar: stronger, since it is all that is coloured."""
    if own:
        return own_tint(own, theme)
    return _tint(category.lower(), (0.30, 0.40) if theme.is_dark else (0.68, 0.52))


def category_ink(category: str, theme: Colours) -> str:
    """Return the colour of a category's icon on controls and panels."""
    return _tint(category.lower(), (0.68, 0.45) if theme.is_dark else (0.38, 0.40))


@cache
def _tint(key: str, tint: tuple[float, float]) -> str:
    # Unknown categories get hues from cyan to magenta, since orange, red and green have their own meaning.
    hue = _HUES.get(key, 175 + crc32(key.encode()) % 140)
    lightness, saturation = tint
    return _hex(colorsys.hls_to_rgb(hue / 360, lightness, saturation))


@lru_cache(maxsize=4096)
def mix(a: str, b: str, amount: float) -> str:
    """Return `a` moved towards `b`: all of `a` at 0, all of `b` at 1."""
    red, green, blue = (x + (y - x) * amount for x, y in zip(_rgb(a), _rgb(b), strict=True))
    return _hex((red, green, blue))


#: Viridis, by Stéfan van der Walt and Nathaniel Smith, from the coldest to the hottest. Its steps look equally large,
#: also without colours.
_VIRIDIS = (
    *("#440154", "#482878", "#3e4989", "#31688e", "#26828e"),
    *("#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"),
)
#: The luminance of a ground on which white and black text contrast equally.
_EVEN = 0.179


@lru_cache(maxsize=256)
def heat_colour(heat: float) -> str:
    """Return the colour of a node by its heat, from 0 to 1."""
    place = min(max(heat, 0.0), 1.0) * (len(_VIRIDIS) - 1)
    index = min(int(place), len(_VIRIDIS) - 2)
    return mix(_VIRIDIS[index], _VIRIDIS[index + 1], place - index)


@lru_cache(maxsize=256)
def ink_on(ground: str) -> str:
    """Return the colour of text that contrasts most with a ground: white or nearly black."""
    return "#101010" if _luminance(ground) > _EVEN else "#ffffff"


#: The least contrast of text that can be read, as the Web Content Accessibility Guidelines ask.
READABLE = 4.5
_FADING_STEPS = 16


@lru_cache(maxsize=1024)
def faded_ink(ink: str, ground: str, towards: str, amount: float) -> str:
    """Return the colour of text moved towards another one by an amount, or less, so that it can be read on a ground."""
    steps = (mix(ink, towards, amount * step / _FADING_STEPS) for step in range(_FADING_STEPS, -1, -1))
    return next((colour for colour in steps if contrast(colour, ground) >= READABLE), ink)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21, as the Web Content Accessibility Guidelines define it."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    """Return the luminance of a colour from 0 to 1, as the Web Content Accessibility Guidelines define it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _rgb(colour: str) -> tuple[float, float, float]:
    return int(colour[1:3], 16) / 255, int(colour[3:5], 16) / 255, int(colour[5:7], 16) / 255


def _hex(rgb: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(c * 255):02x}" for c in rgb)


# Regions: hues in degrees, away from orange, red and green, which have their own meaning.
_REGION_HUES = {
    "control.if": 190,
    "control.if_else": 220,
    "control.switch": 205,
    "control.while": 318,
    "control.for": 266,
}
_OTHER_REGION_HUE = 240


@dataclass(frozen=True)
class RegionColours:
    """Colours of a region's box as "#rrggbb"; `fill` is translucent, and stronger on the title strip."""

    line: str
    fill: str
    fill_opacity: float
    strip_opacity: float


@cache
def region_colours(kind: str, theme: Colours) -> RegionColours:
    """Return the colours of a region block type in a theme; kinds that Warploom does not ship share one hue."""
    hue = _REGION_HUES.get(kind, _OTHER_REGION_HUE) / 360
    lightness, softened, strip_opacity = (0.62, 0.35, 0.16) if theme.is_dark else (0.40, 0.30, 0.14)
    fill = _hex(colorsys.hls_to_rgb(hue, lightness, 0.50))
    return RegionColours(mix(fill, theme.canvas, softened), fill, 0.09, strip_opacity)


#: The hues of frames and blocks by their colours' names, in degrees; grey has none.
_FRAME_HUES = {"blue": 215, "teal": 180, "green": 130, "yellow": 50, "orange": 28, "pink": 330, "purple": 270}


@cache
def frame_colour(name: str, theme: Colours) -> str:
    """Return the colour of a frame in a theme; the frame is painted with it translucently."""
    lightness = 0.62 if theme.is_dark else 0.42
    return _hue(name, lightness, 0.55)


def own_tint(name: str, theme: Colours) -> str:
    """Return the colour of the title bar of a block that has a colour of its own."""
    return _hue(name, *((0.30, 0.50) if theme.is_dark else (0.72, 0.62)))


def _hue(name: str, lightness: float, saturation: float) -> str:
    hue = _FRAME_HUES.get(name)
    return _hex(colorsys.hls_to_rgb((hue or 0) / 360, lightness, 0.0 if hue is None else saturation))
