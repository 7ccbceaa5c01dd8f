"""The bytes of a decoded frame, and the numbers that turn them into linear light."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from warploom.blocks.io.colour_spaces import srgb_to_linear

if TYPE_CHECKING:
    import av

Array = np.ndarray[Any, Any]

#: Steps of the table from encoded values to linear light; a kernel interpolates between its entries.
TABLE_STEPS = 4096
#: Numbers before the table: 12 from codes to encoded RGB, 9 between primaries, 1 for alpha.
TABLE_START = 22
#: Formats that are taken as they are: one plane for each component, of 8 to 16 bits.
_PLANAR = re.compile(r"(yuvj?|yuva|gbra?|gray)(?:4\d\dp)?p?(?:(?:9|1[0246])le)?$")
#: The weights of red and blue in luma, by the number of the matrix in ITU-T H.273.
_LUMA = {1: (0.2126, 0.0722), 4: (0.30, 0.11), 5: (0.299, 0.114), 6: (0.299, 0.114), 7: (0.212, 0.087)}
_LUMA |= dict.fromkeys((9, 10), (0.2627, 0.0593))
#: The chromaticities x and y of red, green and blue by the number of the primaries in H.273; white is D65.
_PRIMARIES = {
    1: ((0.64, 0.33), (0.30, 0.60), (0.15, 0.06)),
    5: ((0.64, 0.33), (0.29, 0.60), (0.15, 0.06)),
    6: ((0.63, 0.34), (0.31, 0.595), (0.155, 0.07)),
    7: ((0.63, 0.34), (0.31, 0.595), (0.155, 0.07)),
    9: ((0.708, 0.292), (0.170, 0.797), (0.131, 0.046)),
    12: ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060)),
}
_FULL_RANGE = 2
#: The numbers of transfer curves whose light isn't that of sRGB: gammas, linear, PQ and HLG.
_OWN_CURVES = (4, 5, 8, 16, 18)
#: The light in cd/m² that becomes 1 in films for bright displays (ITU-R BT.2408), and the brightest of PQ and HLG.
_WHITE, _PQ_PEAK, _HLG_PEAK = 203.0, 10000.0, 1000.0


@dataclass(frozen=True)
class FrameLayout:
    """How a frame's bytes are arranged and coloured: planes of rows without gaps, one after the other.

    `columns` and `rows` are those of the stored picture, before it is turned clockwise by `rotation` degrees. Planes
    are Y, U, V or G, B, R, or Y alone, then alpha. Samples of more than 8 bits have two bytes, the lower first.
    """

    columns: int
    rows: int
    rotation: int = 0
    #: The format that the library's frames have in these bytes.
    pixel_format: str = "yuv420p"
    bits: int = 8
    is_rgb: bool = False
    is_grey: bool = False
    has_alpha: bool = False
    #: How often the width and the height of U and V are halved.
    halved_x: int = 0
    halved_y: int = 0
    #: Numbers of H.273 for the matrix, the transfer curve and the primaries; 2 stands for unknown.
    matrix: int = 2
    transfer: int = 2
    primaries: int = 2
    is_full_range: bool = False

    @property
    def width(self) -> int:
        """The width of the upright picture."""
        return self.rows if self.rotation % 180 else self.columns

    @property
    def height(self) -> int:
        """The height of the upright picture."""
        return self.columns if self.rotation % 180 else self.rows

    @property
    def sample_bytes(self) -> int:
        """The bytes of a sample."""
        return 1 if self.bits == 8 else 2

    @property
    def is_usual(self) -> bool:
        """True for the layout of most films, for which `film.cu` has a faster kernel."""
        is_half = (self.halved_x, self.halved_y, self.bits, self.rotation) == (1, 1, 8, 0)
        has_srgb = self.primaries not in _PRIMARIES.keys() - {1} and self.transfer not in _OWN_CURVES
        return is_half and has_srgb and not (self.has_alpha or self.is_rgb)

    @property
    def plane_sizes(self) -> tuple[tuple[int, int], ...]:
        """The rows and columns of each plane."""
        full = self.rows, self.columns
        small = -(-self.rows >> self.halved_y), -(-self.columns >> self.halved_x)
        return (full, *(() if self.is_grey else (small, small)), *((full,) if self.has_alpha else ()))

    @property
    def size_bytes(self) -> int:
        """The bytes of a frame."""
        return sum(rows * columns for rows, columns in self.plane_sizes) * self.sample_bytes

    def pack(self, frame: av.VideoFrame) -> Array:
        """Return a frame's bytes, u8[size_bytes]; a frame of another size or format is converted."""
        if (frame.width, frame.height, frame.format.name) != (self.columns, self.rows, self.pixel_format):
            # Threads of the library's conversion sometimes leave rows of small pictures unfilled, and save no time.
            frame = frame.reformat(self.columns, self.rows, self.pixel_format, threads=1)
        packed = np.empty(self.size_bytes, np.uint8)
        at = 0
        for plane, (rows, columns) in zip(frame.planes, self.plane_sizes, strict=True):
            row_bytes = columns * self.sample_bytes
            lines = np.frombuffer(memoryview(plane), np.uint8)[: rows * plane.line_size].reshape(rows, plane.line_size)
            packed[at : at + rows * row_bytes].reshape(rows, row_bytes)[:] = lines[:, :row_bytes]
            at += rows * row_bytes
        return packed

    @property
    def numbers(self) -> Array:
        """The numbers of the conversion, f32[TABLE_START + TABLE_STEPS + 1], for `film.cu` and `to_linear`."""
        return _numbers(self)

    def to_linear(self, packed: Array) -> Array:
        """Return a frame's bytes as linear RGBA, f32[height, width, 4]: the arithmetic of `film.cu` in numpy."""
        numbers, planes, at = self.numbers.astype(np.float64), [], 0
        samples = packed.view(np.uint8 if self.bits == 8 else np.uint16)
        for rows, columns in self.plane_sizes:
            plane = samples[at : at + rows * columns].reshape(rows, columns).astype(np.float64)
            at += rows * columns
            planes.append(plane if (rows, columns) == (self.rows, self.columns) else self._spread(plane))
        codes = [planes[0], *(planes[:1] * 2 if self.is_grey else planes[1:3])]
        matrix = numbers[:12].reshape(3, 4)
        encoded = np.einsum("ij,jyx->yxi", matrix[:, :3], np.stack(codes)) + matrix[:, 3]
        light = np.interp(encoded, np.linspace(0, 1, TABLE_STEPS + 1), numbers[TABLE_START:])
        picture = np.ones((self.rows, self.columns, 4), np.float32)
        picture[..., :3] = light @ numbers[12:21].reshape(3, 3).T
        if self.has_alpha:
            picture[..., 3] = planes[-1] * numbers[21]
        return np.ascontiguousarray(np.rot90(picture, -self.rotation // 90))

    def _spread(self, small: Array) -> Array:
        """Return a plane of U or V at the size of Y: between columns of the left edge and rows of the middle."""
        for axis, halved, size, offset in ((0, self.halved_y, self.rows, 0.5), (1, self.halved_x, self.columns, 0.0)):
            step = 1 << halved
            places = (np.arange(size) + offset) / step - offset
            places = np.clip(places, 0, small.shape[axis] - 1)
            low = np.floor(places).astype(int)
            high = np.minimum(low + 1, small.shape[axis] - 1)
            share = (places - low).reshape((-1, 1) if axis == 0 else (1, -1))
            small = small.take(low, axis) * (1 - share) + small.take(high, axis) * share
        return small


def filled_frame(name: str, width: int, *planes: Array) -> av.VideoFrame:
    """Return a frame of a pixel format with a copy of these planes, u8[rows, bytes].

    Other threads run meanwhile. The library's own `from_ndarray` holds the interpreter, for 10 ms with planes of
    3840 x 2160 pixels, in which no frame of a patch can begin.
    """
    import av

    frame = av.VideoFrame(width, len(planes[0]), name)
    for plane, rows in zip(frame.planes, planes, strict=True):
        lines = np.frombuffer(memoryview(plane), np.uint8).reshape(len(rows), plane.line_size)
        lines[:, : rows.shape[1]] = rows
    return frame


def layout_of(frame: av.VideoFrame, rotation: int) -> FrameLayout:
    """Return the layout for a film's frames, given one of them; `rotation` is clockwise, in degrees."""
    import av

    name = _stored_format(frame.format)
    form = av.VideoFormat(name, frame.width, frame.height)
    colours = [part for part in form.components if not part.is_alpha]
    small, is_rgb, is_grey = colours[-1], form.is_rgb, len(colours) == 1
    return FrameLayout(
        frame.width,
        frame.height,
        rotation % 360,
        name,
        form.components[0].bits,
        is_rgb,
        is_grey,
        len(colours) < len(form.components),
        round(math.log2(frame.width / small.width)),
        round(math.log2(frame.height / small.height)),
        int(frame.colorspace),
        int(frame.color_trc),
        int(frame.color_primaries),
        is_rgb or is_grey or name.startswith("yuvj") or int(frame.color_range) == _FULL_RANGE,
    )


def _stored_format(form: av.VideoFormat) -> str:
    """Return the planar format that holds a format's samples without loss."""
    if _PLANAR.match(form.name):
        return form.name
    deep = max((part.bits for part in form.components), default=8) > 8
    has_alpha = form.has_palette or any(part.is_alpha for part in form.components)
    if form.is_rgb or form.has_palette or form.is_bayer:
        return ("gbrap" if has_alpha else "gbrp") + ("16le" if deep else "")
    colours = [part for part in form.components if not part.is_alpha]
    if len(colours) == 1:
        return "gbrap16le" if has_alpha else "gray16le" if deep else "gray"
    if has_alpha:
        return "yuva444p16le" if deep else "yuva444p"
    size = "420" if colours[1].height < form.height else "422" if colours[1].width < form.width else "444"
    return f"yuv{size}p{'16le' if deep else ''}"


@lru_cache(16)
def _numbers(layout: FrameLayout) -> Array:
    largest = (1 << layout.bits) - 1
    unit = 1 << (layout.bits - 8)  # codes of 8 bits have more bits below them
    black, span = (0, largest) if layout.is_full_range else (16 * unit, 219 * unit)
    if layout.is_rgb:
        matrix = np.array([[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]]) / largest  # planes are green, blue, red
    elif layout.is_grey:
        matrix = np.array([[1, 0, 0, -black]] * 3) / span
    else:
        matrix = _from_yuv(layout, black, span, largest if layout.is_full_range else 224 * unit, 128 * unit)
    primaries = np.eye(3)
    if layout.primaries in _PRIMARIES:
        primaries = np.linalg.inv(_to_xyz(_PRIMARIES[1])) @ _to_xyz(_PRIMARIES[layout.primaries])
    parts = matrix, primaries, [1 / largest], _light(layout.transfer)
    numbers = np.concatenate([np.ravel(part) for part in parts]).astype(np.float32)
    numbers.flags.writeable = False
    return numbers


def _from_yuv(layout: FrameLayout, black: float, luma: float, chroma: float, middle: float) -> Array:
    standard = layout.matrix if layout.matrix in _LUMA else 1 if layout.rows >= 720 else 6
    red, blue = _LUMA[standard]
    green = 1 - red - blue
    of_red, of_blue = 2 * (1 - red) / chroma, 2 * (1 - blue) / chroma
    turn = np.array(
        [
            [1 / luma, 0, of_red],
            [1 / luma, -of_blue * blue / green, -of_red * red / green],
            [1 / luma, of_blue, 0],
        ]
    )
    return np.column_stack([turn, -turn @ np.array([black, middle, middle])])


def _to_xyz(primaries: tuple[tuple[float, float], ...]) -> Array:
    columns = np.array([[x / y, 1, (1 - x - y) / y] for x, y in primaries]).T
    white = np.array([0.3127 / 0.3290, 1, (1 - 0.3127 - 0.3290) / 0.3290])
    return columns * np.linalg.solve(columns, white)


def _light(transfer: int) -> Array:
    """Return linear light for encoded values from 0 to 1, by the number of the transfer curve in H.273.

    Films for usual displays are shown by players as if they were sRGB, whatever camera's curve they name, so their
    light is that of sRGB. Those for bright displays have 1 at the white of BT.2408.
    """
    encoded = np.linspace(0, 1, TABLE_STEPS + 1)
    if transfer == 8:  # linear
        return encoded
    if transfer in (4, 5):
        return encoded ** (2.2 if transfer == 4 else 2.8)
    if transfer == 16:  # PQ, SMPTE ST 2084
        power = encoded ** (32 / 2523)
        share = np.maximum(power - 0.8359375, 0) / (18.8515625 - 18.6875 * power)
        return share ** (16384 / 2610) * _PQ_PEAK / _WHITE
    if transfer == 18:  # HLG, ARIB STD-B67, with the system gamma of its nominal display
        bright = (np.exp((encoded - 0.55991073) / 0.17883277) + 0.28466892) / 12
        return np.where(encoded <= 0.5, encoded**2 / 3, bright) ** 1.2 * _HLG_PEAK / _WHITE
    return srgb_to_linear(encoded)
