"""Tone: numbers become the colours of a picture."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from warploom.engine.types import Array

#: Channels to choose from, by the number of components; the first is chosen at first.
CHANNELS: dict[int, tuple[str, ...]] = {
    1: ("value",),
    2: ("length", "x", "y"),
    3: ("colour", "red", "green", "blue", "length"),
    4: ("colour", "red", "green", "blue", "alpha", "length"),
}
_INDEX = {"value": 0, "x": 0, "y": 1, "red": 0, "green": 1, "blue": 2, "alpha": 3}
COLOUR_MAPS = ("gray", "viridis", "inferno")
#: The colour of NaN: none of the maps has it.
NAN_COLOUR = (255, 0, 255)
# Polynomials in a position from 0 to 1, for red, green and blue (M. Zucker, "matplotlib colormaps", public domain).
_POLYNOMIALS = {
    "viridis": (
        (0.277727, 0.005407, 0.334100),
        (0.105093, 1.404614, 1.384590),
        (-0.330862, 0.214848, 0.095095),
        (-4.634230, -5.799101, -19.332441),
        (6.228270, 14.179933, 56.690553),
        (4.776385, -13.745145, -65.353033),
        (-5.435456, 4.645853, 26.312435),
    ),
    "inferno": (
        (0.000219, 0.001651, -0.019481),
        (0.106513, 0.563956, 3.932712),
        (11.602493, -3.972854, -15.942394),
        (-41.703996, 17.436399, 44.354145),
        (77.162936, -33.402359, -81.807309),
        (-71.319428, 32.626064, 73.209520),
        (25.131126, -12.242669, -23.070325),
    ),
}
_STEPS = 4096


@dataclass(frozen=True)
class Tone:
    """How numbers are shown: a channel, a colour map for single numbers, an exposure in stops, and a range.

    Without a range, it is that of the shown numbers; colours have 0 to 1, and bytes 0 to 255.
    """

    channel: str = ""
    colour_map: str = "gray"
    exposure: float = 0.0
    range: tuple[float, float] | None = None


def components_of(array: Array, axes: int) -> Array:
    """Return an array with a last axis for the components of its elements; complex numbers have two."""
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    return array.reshape(*array.shape[:axes], -1)


def channels_for(components: int) -> tuple[str, ...]:
    """Return the channels of elements with so many components."""
    return CHANNELS.get(components) or tuple(str(index) for index in range(components))


def channel_of(array: Array, channel: str) -> Array:
    """Return one channel as numbers; the last axis of `array` has the components."""
    if channel == "length":
        return np.asarray(np.sqrt((array.astype(np.float32) ** 2).sum(-1)))
    return np.asarray(array[..., _INDEX.get(channel, int(channel) if channel.isdigit() else 0)])


def range_of(array: Array) -> tuple[float, float]:
    """Return the least and greatest finite number; 0 and 1 without any."""
    if array.dtype.kind == "f":
        array = array[np.isfinite(array)]
    return (float(array.min()), float(array.max())) if array.size else (0.0, 1.0)


def picture_of(array: Array, tone: Tone, *, is_linear: bool = True) -> tuple[Array, tuple[float, float]]:
    """Return pixels, (height, width, 4) of uint8, and the range of numbers that they show.

    `array` is (height, width, components). Colours of floats are linear light if `is_linear`.
    """
    channel = tone.channel if tone.channel in channels_for(array.shape[-1]) else channels_for(array.shape[-1])[0]
    pixels = np.empty((*array.shape[:2], 4), np.uint8)
    pixels[..., 3] = 255
    gain = 2.0**tone.exposure
    is_bytes = array.dtype == np.uint8
    if channel == "colour":
        low, high = tone.range or ((0.0, 255.0) if array.dtype.kind in "ui" and is_bytes else (0.0, 1.0))
        if is_bytes and tone.range is None and not tone.exposure:
            pixels[..., :3] = array[..., :3]
            return pixels, (low, high)
        colours = array[..., :3]
        table = _linear_bytes() if is_bytes or not is_linear else _srgb_bytes()
        if is_bytes and tone.exposure:  # exposure is of light
            light = _light_of_bytes()[colours]
            low, high, colours, table = low / 255, high / 255, light, _srgb_bytes()
        pixels[..., :3] = table[_places(colours, low, high, gain)]
        shown = (low * 255, high * 255) if is_bytes and tone.exposure else (low, high)
    else:
        colours = channel_of(array, channel)
        low, high = shown = tone.range or range_of(colours)
        pixels[..., :3] = _map_table(tone.colour_map)[_places(colours, low, high, gain)]
    if colours.dtype.kind == "f":
        missing = np.isnan(colours)
        if missing.any():
            pixels[missing if missing.ndim == 2 else missing.any(-1), :3] = NAN_COLOUR
    return pixels, shown


def _places(numbers: Array, low: float, high: float, gain: float) -> Array:
    """Return positions in a table: numbers from `low` to `high`, the difference from `low` times `gain`."""
    span = high - low
    scale = np.float32(gain * (_STEPS - 1) / span) if span > 0 else np.float32(0)
    with np.errstate(invalid="ignore", over="ignore"):
        places = (numbers.astype(np.float32) - np.float32(low)) * scale
    return np.asarray(np.nan_to_num(np.clip(places, 0, _STEPS - 1), nan=0.0).astype(np.int16))


@cache
def _srgb_bytes() -> Array:
    light = np.linspace(0, 1, _STEPS)
    encoded = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return (encoded * 255 + 0.5).astype(np.uint8)


@cache
def _linear_bytes() -> Array:
    return (np.linspace(0, 255, _STEPS) + 0.5).astype(np.uint8)


@cache
def _light_of_bytes() -> Array:
    encoded = np.linspace(0, 1, 256)
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4).astype(np.float32)


@cache
def _map_table(name: str) -> Array:
    at = np.linspace(0, 1, _STEPS)[:, None]
    if name not in _POLYNOMIALS:
        return np.repeat(_linear_bytes()[:, None], 3, 1)
    colours = sum(np.array(factor) * at**power for power, factor in enumerate(_POLYNOMIALS[name]))
    return (np.clip(colours, 0, 1) * 255 + 0.5).astype(np.uint8)
